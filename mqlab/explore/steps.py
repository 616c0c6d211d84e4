"""The choices of `moves.py` as arrays: which groups the worlds of a slice have, and what each
choice adds to a row.

A *group* is all choices of one neighbourhood. Groups are numbered as they are worked out, over
all places, and their steps come one after the other: group 7 has the `counts[7]` steps from
`starts[7]` on. So the successors of a slice of worlds are one addition, the worlds' rows taken
as often as each has steps, and the rows of these steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import islice
from operator import or_

import numpy as np

from .change import PeerBreak
from .index import Index
from .moves import Group, Moves
from .rows import Column, Layout, Numbers, Parts, Rows, Words, mix

Fresh = tuple[int, int, int]  # the first world of the slice that has it, place, number there


def mix_masked(masks: Sequence[tuple[int, int]], words: Sequence[Words]) -> Words:
    """Keys of rows in which all words but these are 0."""
    return mix([words[word] for word, _ in masks] or words)


class Neighbourhoods:
    """Those of one place that were met so far: the world's rows with all other parts 0."""

    def __init__(self, parts: Parts, mask: int, layout: Layout) -> None:
        self._parts = parts
        self.rows, self.index = Rows(layout), Index()
        self.groups = Column(np.int64)  # by number here: the group's number
        self._settle(mask)

    def _settle(self, mask: int) -> None:
        self.parts = self._parts.under(mask)
        self.masks = self.rows.layout.masks(self.parts)

    def find(self, words: Sequence[Words]) -> tuple[Numbers, Numbers]:
        """The number that each world's neighbourhood has here, and where those are that are new."""
        tail = self.rows.reserve(len(words[0]))
        for column in tail:
            column[:] = 0
        for word, mask in self.masks:
            np.bitwise_and(words[word], mask, out=tail[word])
        return self.index.add(self.rows, mix_masked(self.masks, tail))

    def worlds(self, numbers: Sequence[int]) -> list[int]:
        """Some of them as large integers."""
        words = [w[numbers] for w in self.rows.words]
        return self._parts.worlds(self.rows.layout, words, self.parts)

    def repack(self, layout: Layout, mask: int) -> None:
        self.rows.repack(layout)
        self._settle(mask)
        self.index.rebuild(mix_masked(self.masks, self.rows.words))


def spread(counts: Numbers, starts: Numbers, groups: Numbers) -> tuple[Numbers, Numbers]:
    """Of worlds with these groups (one after the other, as many for each world): the steps, in
    their order, and up to where those of each group go."""
    each = counts[groups]
    ends = np.cumsum(each)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts[groups] - (ends - each), each) + np.arange(total), ends


class PeerBreaks:
    """What a peer becomes when its connections to a node that stops break: by the number of its
    state, the number it then has."""

    def __init__(self, peer: PeerBreak, part: int, learned: Callable[[int], None]) -> None:
        self.part, self._peer, self._learned = part, peer, learned
        self._after = Column(np.int64)

    @property
    def after(self) -> Numbers:
        """By the node's number, the number it then has; -1 where that was not worked out."""
        self._after.extend([-1] * (len(self._peer.field.values) - self._after.count))
        return self._after.all

    def learn(self, numbers: Words) -> None:
        """Work out what is new among these numbers of the node."""
        field, at = self._peer.field, numbers.view(np.int64)
        missing = np.unique(at[self.after[at] < 0]).tolist()
        worths = list(field.values) if missing else []
        for number in missing:
            worth = worths[number]
            self._learned(number)
            self._after.all[number] = field.number(worth + self._peer[worth])

    def added(self, numbers: Words) -> Words:
        """What is added to these numbers of the node, modulo 2^64."""
        return self._after.all[numbers.view(np.int64)].view(np.uint64) - numbers


class Steps:
    """All groups and steps met so far."""

    def __init__(self, moves: Moves, parts: Parts, layout: Layout) -> None:
        """Begin without any group. The columns below are indexed by group (`counts`: how many steps
        it has, `starts`: the first of them, `sums`) or by step (`choices`: the number of its
        choice, `stops`, and what it adds to a row, `words`, and to its hash, `keys`)."""
        self.moves, self.parts = moves, parts
        self.places = [Neighbourhoods(parts, place.mask, layout) for place in moves.places]
        self.counts, self.starts = Column(np.int64), Column(np.int64)
        self.sums = Column(np.int64)  # of each group: its choices, also those without a step
        self.choices = Column(np.uint32)
        self.stops = Column(np.int64)  # of each step: 1 + the place of its peers in `sets`
        self.sets: list[tuple[PeerBreaks, ...]] = []
        # by the ids of peers: their number in `stops`; of one peer: what noticing a stop adds
        self._sets: dict[tuple[int, ...], int] = {(): 0}
        self._breaks: dict[int, PeerBreaks] = {}
        self.words = [Column(np.uint64) for _ in range(layout.words)]
        self.keys = Column(np.uint64)
        self._before, self._after = Rows(layout), Rows(layout)  # of each group, of each step
        self._new: list[tuple[int, int, Group]] = []  # place, neighbourhood, its choices
        #: everything that was worked out in Python, in its order: a place and a neighbourhood,
        #: or the place that stops, the number of the peer, and that of its state
        self.log: list[tuple[int, ...]] = []
        self.logged = False  # whether `log` is written: a search on disk works out again from it

    def find(self, words: Sequence[Words]) -> tuple[Numbers, list[Fresh]]:
        """For a slice of worlds: each one's neighbourhood at each place (a column a place), and
        those that are new, in the order in which a search world by world would come to them."""
        numbers = np.empty((len(words[0]), len(self.places)), np.int64)
        fresh: list[Fresh] = []
        for number, place in enumerate(self.places):
            numbers[:, number], first = place.find(words)
            new = numbers[first, number].tolist()
            fresh += [(at, number, own) for at, own in zip(first.tolist(), new, strict=True)]
        return numbers, sorted(fresh)

    def groups(self, numbers: Numbers) -> Numbers:
        """The group of each of these neighbourhoods."""
        out = np.empty_like(numbers)
        for number, place in enumerate(self.places):
            out[:, number] = place.groups.all[numbers[:, number]]
        return out

    def integers(self, fresh: Sequence[Fresh]) -> list[int]:
        """The neighbourhoods that are new as large integers."""
        out = [0] * len(fresh)
        for number, place in enumerate(self.places):
            mine = [i for i, (_, at, _) in enumerate(fresh) if at == number]
            worlds = place.worlds([fresh[i][2] for i in mine]) if mine else []
            for i, world in zip(mine, worlds, strict=True):
                out[i] = world
        return out

    def work_out(self, place: int, world: int) -> None:
        """Run the handlers of a new neighbourhood. Its group is kept as arrays only."""
        if self.logged:
            self.log.append((place, world))
        group = self.moves.places[place][world]
        self._new.append((place, world, group))
        del self.moves.places[place][world]

    def register(self) -> None:
        """Give numbers to the groups (all choices of one neighbourhood of a node) and to their
        steps that were worked out since the last time. The rows of the steps follow in `settle`,
        since they may need a new layout first."""
        # a step is (what it adds, choice), or with `peers`, which notice that the node stops; in
        # `stops` 0 means that none notices. `_new`: place of the node, neighbourhood, group
        counts: list[int] = []
        choices: list[int] = []
        stops: list[int] = []
        groups: list[list[int]] = [[] for _ in self.places]
        for number, (place, _, group) in enumerate(self._new, self.counts.count):
            groups[place].append(number)
            counts.append(len(group.steps) + len(group.stops))
            choices += [choice for _, choice in group.steps]
            choices += [choice for _, choice, _ in group.stops]
            stops += [0] * len(group.steps)
            # the number of this set of peers, which `stops` has instead of the peers
            stops += [self._set(place, peers) for *_, peers in group.stops]
        for neighbourhoods, numbers in zip(self.places, groups, strict=True):
            neighbourhoods.groups.extend(numbers)
        ends = self.choices.count + np.cumsum(counts, dtype=np.int64)
        self.starts.extend(ends - counts)
        self.counts.extend(counts)
        self.sums.extend([group.count for *_, group in self._new])
        self.choices.extend(choices)
        self.stops.extend(stops)

    def _set(self, place: int, peers: tuple[PeerBreak, ...]) -> int:
        number = self._sets.setdefault(tuple(map(id, peers)), len(self._sets))
        if number > len(self.sets):
            self.sets.append(tuple(self._find_breaks(place, one) for one in peers))
        return number

    def _find_breaks(self, place: int, peer: PeerBreak) -> PeerBreaks:
        if id(peer) not in self._breaks:
            node = self.moves.fields.nodes.index(peer.field)

            def learned(number: int) -> None:
                if self.logged:
                    self.log.append((place, peer.number, number))

            self._breaks[id(peer)] = PeerBreaks(peer, self.parts.node(node), learned)
        return self._breaks[id(peer)]

    def work_out_again(self, log: Iterable[tuple[int, ...]]) -> None:
        """What another process has worked out, in its order: values get the same numbers."""
        for place, *rest in log:
            if len(rest) == 1:
                self.moves.places[place][rest[0]]
            else:
                peer, number = self.moves.places[place].peers[rest[0]], rest[1]
                peer[next(islice(peer.field.values, number, None))]

    def settle(self) -> None:
        """Compute the rows of the steps registered since the last time: the difference between the
        row after a step and the row before it, modulo 2^64."""
        if not self._new:
            return
        layout = self._before.layout
        masks = (self.moves.places[place].mask for place in {place for place, *_ in self._new})
        parts = self.parts.under(reduce(or_, masks))  # that a step at these places can change
        worlds = [world for _, world, _ in self._new]
        # s[0]: what the step adds to the large integer of the world
        after = [
            world + added
            for _, world, group in self._new
            for added in (*(s[0] for s in group.steps), *(s[0] for s in group.stops))
        ]
        before, keys = self.parts.pack(layout, worlds, parts)
        first = self._before.count  # the number of the first new group
        self._before.extend(before)
        parent = np.repeat(np.arange(len(worlds)), self.counts.all[first:])
        words, changed = self.parts.pack(layout, after, parts)
        self._after.extend(words)
        # (a row's key is a sum over its values, so a step adds the same to it in every world)
        self.keys.extend(changed - keys[parent])
        for column, new, old in zip(self.words, words, before, strict=True):
            column.extend(new - old[parent])
        self._new = []

    def repack(self, layout: Layout) -> None:
        """Everything in a layout with room for what is new."""
        for move, place in zip(self.moves.places, self.places, strict=True):
            place.repack(layout, move.mask)
        self._before.repack(layout)
        self._after.repack(layout)
        group = np.repeat(np.arange(self._before.count), self.counts.all[: self._before.count])
        self.words = [Column(np.uint64) for _ in range(layout.words)]
        for column, new, old in zip(self.words, self._after.words, self._before.words, strict=True):
            column.extend(new - old[group])
