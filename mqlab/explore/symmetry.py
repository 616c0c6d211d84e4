"""A search that looks at one of several worlds which differ only in who is who.

Three resource managers are equal: where the first has prepared and the others work, the rest of
the story is the same as where the second has. `System.symmetric` names such nodes. A world is
replaced by its *image*, in which two of them have changed their names, as long as that makes it a
smaller number; what remains represents all. (Several of those that remain may still be equal in
this sense: that costs states and nothing else.)

Nothing is believed. That renaming changes nothing is looked up for the first world, for every
neighbourhood that is met (the choices of the image are the images of the choices) and for all
that claims read. Where it does change something, say because a coordinator that is killed in the
middle has written to the first and not to the second, the search refuses (`Unequal`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields as fields_of
from dataclasses import is_dataclass, replace
from itertools import pairwise
from typing import Any

from ..kernel.maps import Map
from ..kernel.system import Property, System
from ..kernel.text import BadValue
from .budget import Budget
from .links import Link
from .moves import Group
from .packed import Field
from .search import Search, finish, noticed
from .verdict import Verdict

Swap = tuple[str, str]


class Unequal(BadValue):
    """Nodes that a system calls equal are not, within these bounds."""


class Renaming:
    """Two names that change places, in any value of a world."""

    def __init__(self, swap: Swap) -> None:
        one, other = swap
        self.names = {one: other, other: one}
        self._pattern = re.compile(rf"(?<![\w-])({re.escape(one)}|{re.escape(other)})(?![\w-])")

    def of(self, value: Any) -> Any:
        """Raise Unequal where renaming twice does not lead back: an order distinguishes them."""
        renamed = self._of(value)
        if self._of(renamed) != value:
            raise Unequal(
                "{} are not interchangeable: {} depends on their order",
                " and ".join(self.names),
                value,
            )
        return renamed

    def _of(self, value: Any) -> Any:
        """A value with the two names exchanged, however deep in tuples, sets, maps and dataclasses.
        Sets and maps, and what contains them, are always copied; another value in which nothing
        changes is returned itself."""
        match value:
            case str():  # also a name within a longer text, but not within a longer name
                return self._pattern.sub(lambda match: self.names[match[1]], value)
            case tuple():
                return self._row(value)
            case frozenset():
                return frozenset(map(self._of, value))
            case Map():
                return Map((self._of(key), self._of(item)) for key, item in value.items())
        if is_dataclass(value) and not isinstance(value, type):
            old = {field.name: getattr(value, field.name) for field in fields_of(value)}
            new = {name: self._of(item) for name, item in old.items()}
            changed = {name: item for name, item in new.items() if item is not old[name]}
            return replace(value, **changed) if changed else value
        return value

    def _row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A sorted tuple of texts stands for a set, so it is sorted again after the exchange."""
        new = [self._of(one) for one in row]
        if len(row) > 1 and all(isinstance(one, str) for one in row) and [*row] == sorted(row):
            new.sort()
        return row if all(a is b for a, b in zip(row, new, strict=True)) else tuple(new)


class Images:
    """The images of worlds under one renaming, worked out once for each value of a part."""

    def __init__(self, search: Search, swap: Swap) -> None:
        self.fields, self.renaming = search.fields, Renaming(swap)
        self._parts: dict[Field, dict[int, int]] = {}

    def of(self, world: int, parts: int) -> int:
        """The image of the parts under this mask."""
        return sum(self._images(field, world & field.mask) for field in self._all(parts))

    def _all(self, parts: int) -> Iterator[Field]:
        for field in (*self.fields.counters.values(), *self.fields.nodes):
            if field.mask & parts:
                yield field
        for field in list(self.fields.links.values()):
            if field.mask & parts:
                yield field

    def _images(self, field: Field, worth: int) -> int:
        known = self._parts.setdefault(field, {})
        if worth not in known:
            known[worth] = self._work_out(field, worth)
        return known[worth]

    def _work_out(self, field: Field, worth: int) -> int:
        every, renamed, value = self.fields, self.renaming.of, field.value(worth)
        for name, counter in every.counters.items():
            if counter is field:
                return every.counters[renamed(name)].worth(renamed(value))
        for name, node in zip(every.names, every.nodes, strict=True):
            if node is field:
                return every.nodes[every.names.index(renamed(name))].worth(renamed(value))
        pair = next(pair for pair, link in every.links.items() if link is field)
        to = (renamed(pair[0]), renamed(pair[1]))
        return every.link(to).worth(self._rename(value)) if value != Link() else 0

    def _rename(self, link: Link) -> Link:
        """Messages have numbers; in a network that is a set they are in the order of these."""
        once = self.fields.system.network == "set"

        def queue(notes: tuple[int, ...]) -> tuple[int, ...]:
            new = [self.fields.note(self.renaming.of(self.fields.notes[note])) for note in notes]
            return tuple(sorted(new) if once else new)

        requests = tuple((conn, queue(notes)) for conn, notes in link.requests)
        return Link(link.open, link.number, requests, queue(link.answers))


def explore_equal(
    system: System,
    budget: Budget = Budget(),
    properties: tuple[Property, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
    memory: int | None = None,
) -> Verdict:
    """As `explore`, but the nodes that the system calls equal may change their names. ValueError
    where they are not equal."""
    return finish(Quotient(system, budget, properties), progress, memory)


class Quotient(Search):
    """A search world by world in which equal nodes may change their names."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{**more, "many": None})
        self.images = [Images(self, swap) for swap in pairwise(self.system.symmetric)]
        self._checked: list[set[int]] = [set() for _ in self.moves.places]
        self._read: set[int] = set()
        first = self.fields.pack(self.first_world())
        for images in self.images:
            if images.of(first, -1) != first:
                raise Unequal(
                    "{} are not interchangeable: they differ at the start",
                    " and ".join(images.renaming.names),
                )
        self._check_claims(first)
        if not self.images:
            raise Unequal("this system declares no interchangeable nodes: leave out --symmetry")

    def smallest(self, world: int) -> int:
        """The world that represents this one."""
        before = -1
        while world != before:
            before = world
            for images in self.images:
                world = min(world, images.of(world, -1))
        return world

    def _level(self) -> Iterator[None]:
        """Expand one level of the quotient: of worlds that are equal up to a renaming only one is
        kept, the smallest that `smallest` finds. Raises Unequal where a renaming changes the
        choices or claims of a world. Yields now and then so that the caller may stop."""
        frontier, following = self.frontier, []
        for parent, world in enumerate(frontier, self.states - len(frontier)):
            self.at = parent
            self._check(world)
            for place in self.moves.places:
                self.transitions += place[world & place.mask].count
            for new, choice in self.successors(world):
                new = self.smallest(new)
                # the number of the world, or the next free one if it is new
                number = self.index.setdefault(new, self.states)
                if number == self.states:
                    self._check_claims(new)
                    self._add(new, parent, choice)
                    following.append(new)
                if self.lasting:  # a *can always* property is judged at the end, from the edges
                    self.edges.append(number)
            if self.lasting:
                self.ends.append(len(self.edges))
            if not parent % 50:
                yield
        self.frontier = following

    def successors(self, world: int) -> Iterator[tuple[int, int]]:
        """Where the choices of a world lead to, each with its choice's number."""
        for place in self.moves.places:
            group = place[world & place.mask]
            for added, choice in (*group.steps, *noticed(world, group.stops)):
                yield world + added, choice

    def _check(self, world: int) -> None:
        """Raises Unequal where something that is new in this world depends on names."""
        for number, place in enumerate(self.moves.places):
            key = world & place.mask
            if key not in self._checked[number]:
                group = place[key]
                self._checked[number].add(world & place.mask)  # its links may be more by now
                for images in self.images:
                    self._compare(images, number, world & place.mask, group)

    def _check_claims(self, world: int) -> None:
        """Raises Unequal where a claim is true of a world and not of its image."""
        read = world & self.fields.parts
        if read not in self._read:
            self._read.add(read)
            for images in self.images:
                if self.judge[images.of(world, -1) & self.fields.parts] != self.judge[read]:
                    raise Unequal(
                        "{} are not interchangeable: a claim tells them apart",
                        ", ".join(images.renaming.names),
                    )

    def _compare(self, images: Images, number: int, key: int, group: Group) -> None:
        places, names = self.moves.places, self.fields.names
        other = places[names.index(images.renaming.of(names[number]))]
        image = images.of(key, places[number].mask)
        there = other[image & other.mask]
        mine = {images.of(key + added, places[number].mask) for added in _added(group)}
        if mine != {image + added for added in _added(there)}:
            raise Unequal(
                "{} are not interchangeable within these bounds: what {} does next "
                "depends on which is which",
                " and ".join(images.renaming.names),
                names[number],
            )

    def schedule(self, at: int) -> tuple[str, ...]:
        """The choices that lead from the first world to one that is equal, up to a renaming, to
        world number `at`. Only the smallest of equal worlds is stored; so at each step the
        successor is chosen whose smallest one was stored."""
        numbers = [at]  # back along the parents; the first world has the number 0
        while numbers[-1]:
            numbers.append(self.parents[numbers[-1]])
        world, choices = self.fields.pack(self.first_world()), []
        by_number = list(self.worlds())
        for number in reversed(numbers[:-1]):
            world, choice = next(
                (new, choice)
                for new, choice in self.successors(world)
                if self.smallest(new) == by_number[number]
            )
            choices.append(str(self.moves.choices[choice]))
        return tuple(choices)


def _added(group: Group) -> set[int]:
    return {step[0] for step in group.steps} | {stop[0] for stop in group.stops}
