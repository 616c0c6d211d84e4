"""A world as one integer.

Every part of a world (a node, what is between two roles, what was spent of the budget) has
a *field*: some bits of a large integer. Each distinct value a part ever takes gets a number
when it first turns up; the number, shifted to the part's field, is the value's *worth*. A
world is the sum of the worths of its parts:

    world  =  worth(tc) + worth(orders-0) + … + worth(app↔tc) + … + worth(kills so far)

Equal worlds are equal integers, and what happens in one place adds a number to the world:

    new world  =  world + (worth of what changed, afterwards) - (its worth before)

Two things follow, and they are what makes the search quick. A number is added, looked up
and kept far faster than a tree of objects. And which numbers can be added depends only on
the node that acts and the links it has, `world & mask`: that is worked out once for each
such *neighbourhood*, and a few thousand of those make millions of worlds (see `moves.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from ..kernel.maps import Map
from ..kernel.moves import placements
from ..kernel.system import System
from ..kernel.world import NodeState, Note, Wire, World
from .links import Link, Pair

WIDE = 24  # bits: sixteen million values of one part are more than fit into memory
NARROW = 8  # bits of a counter


class Field:
    """The values of one part of the world, and the bits where their numbers are."""

    __slots__ = ("_worths", "limit", "mask", "shift", "values")

    def __init__(self, shift: int, width: int) -> None:
        self.shift = shift
        self.limit = 1 << width
        self.mask = (self.limit - 1) << shift
        self.values: dict[int, Any] = {}
        self._worths: dict[Any, int] = {}

    def worth(self, value: Hashable) -> int:
        """The value's number in its place. Equal values have equal worths."""
        shifted = self._worths.get(value)
        if shifted is None:
            number = len(self.values)
            if number >= self.limit:
                raise OverflowError(f"a part of the world has more than {self.limit:,} values")
            shifted = self._worths[value] = number << self.shift
            self.values[shifted] = value
        return shifted

    def number(self, world: int) -> int:
        """The number of the value this part has in a world."""
        return world >> self.shift & self.limit - 1

    def value(self, world: int) -> Any:
        """The value this part has in a world."""
        return self.values[world & self.mask]


class NodeField(Field):
    """A node: beside its number is the number of what the properties read of it, so
    that `world & mask` alone shows whether a world was judged before."""

    __slots__ = ("_read", "part", "samples")

    def __init__(self, shift: int, read: Callable[[NodeState], Hashable]) -> None:
        super().__init__(shift, WIDE)
        self.part = Field(shift + WIDE, WIDE)
        self.mask |= self.part.mask
        self.samples: dict[int, NodeState] = {}
        self._read = read

    def worth(self, value: Hashable) -> int:
        shifted = self._worths.get(value)
        if shifted is None:
            assert isinstance(value, NodeState)
            number = len(self.values)
            if number >= self.limit:
                raise OverflowError(f"a node has more than {self.limit:,} states")
            part = self.part.worth(self._read(value))
            self.samples.setdefault(part, value)
            shifted = (number << self.shift) + part
            self._worths[value] = shifted
            self.values[shifted] = value
        return shifted


class Fields:
    """The fields of a system's worlds. Links get theirs when they are first used, above
    all others, where every world so far has zeros; a link never used is worth 0."""

    def __init__(
        self,
        system: System,
        read: Callable[[str, NodeState], Hashable],
        counters: Mapping[str, Hashable],
    ) -> None:
        """Lay out the integer that represents a world of this system: a field of bits for each
        counter (with its first value) and for each node. Links get theirs when they are first used.
        `read`: what the properties read of a node, given its name and state."""
        self.system = system
        self.names = [spec.name for spec in system.nodes()]
        # by role: its node's place in `names`, and its own place among the roles of that node
        self.placed = {r: (self.names.index(n), i) for r, (n, i) in placements(system).items()}
        self.notes: list[Note] = []
        self._note_numbers: dict[Note, int] = {}
        self._top = 0  # the lowest bit that no field has yet
        self.counters: dict[str, Field] = {}
        for name, first in counters.items():
            self.counters[name] = Field(self._place(NARROW), NARROW)
            self.counters[name].worth(first)  # so that the first value has the number 0
        # a node's state, and beside it the number of what the properties read of it (`part`)
        self.nodes = [NodeField(self._place(2 * WIDE), partial(read, name)) for name in self.names]
        self.parts = sum(field.part.mask for field in self.nodes)
        self.links: dict[Pair, Field] = {}
        self._watching: list[Callable[[Pair], None]] = []  # called with each link's first use

    @property
    def bytes(self) -> int:
        """How many bytes a world has by now: every field begins and ends with one."""
        return self._top // 8

    def _place(self, width: int) -> int:
        shift, self._top = self._top, self._top + width
        return shift

    def watch(self, joined: Callable[[Pair], None]) -> None:
        """Be notified of every link there is and of every further one."""
        self._watching.append(joined)
        for pair in self.links:
            joined(pair)

    def link(self, pair: Pair) -> Field:
        field = self.links.get(pair)
        if field is None:
            field = self.links[pair] = Field(self._place(WIDE), WIDE)
            field.worth(Link())
            for joined in self._watching:
                joined(pair)
        return field

    def note(self, note: Note) -> int:
        number = self._note_numbers.get(note)
        if number is None:
            number = self._note_numbers[note] = len(self.notes)
            self.notes.append(note)
        return number

    # -- whole worlds, for the first one and for people -----------------------------------

    def pack(self, world: World) -> int:
        """The integer of a world in which nothing of the budget was spent yet."""
        total = sum(f.worth(world.nodes[n]) for f, n in zip(self.nodes, self.names, strict=True))
        links: dict[Pair, Link] = {}
        for node in world.nodes.values():
            for pair, number in node.conns.items():
                links[pair] = Link(node.up, number)
        once = self.system.network == "set"
        for (kind, client, server, conn), notes in world.wires.items():
            link = links.get((client, server), Link())
            for note in notes:
                put = link.add_request if kind == "q" else link.add_answer
                link = put(conn, self.note(note), once)
            links[client, server] = link
        return total + sum(self.link(pair).worth(link) for pair, link in links.items())

    def unpack(self, world: int) -> World:
        wires: dict[Wire, tuple[Note, ...]] = {}
        for pair, field in self.links.items():
            link: Link = field.value(world)
            for conn, queue in link.requests:
                wires["q", *pair, conn] = tuple(self.notes[n] for n in queue)
            if link.answers:
                wires["r", *pair, link.number] = tuple(self.notes[n] for n in link.answers)
        pairs = zip(self.names, self.nodes, strict=True)
        nodes = ((name, field.value(world)) for name, field in pairs)
        return World(Map(nodes), Map(wires.items()))

    def sample(self, parts: int) -> World:
        """A world without messages, of which the properties read what `parts` says."""
        pairs = zip(self.names, self.nodes, strict=True)
        return World(Map((name, field.samples[parts & field.part.mask]) for name, field in pairs))
