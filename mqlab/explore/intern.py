"""Worlds as tuples of small integers.

Slots 0 … n-1 hold the nodes, slot n what was spent of the budget, every later slot one
wire; a wire gets its slot when it first holds something, and trailing empty wires are cut
off, so that equal worlds are equal tuples. `Table` gives each value one number.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from ..kernel.choice import Choice
from ..kernel.maps import Map
from ..kernel.role import Caller, Event, Request, Response
from ..kernel.system import System
from ..kernel.world import NodeState, Note, Stage, Wire, World, homes, node_event, run

Ints = tuple[int, ...]
Spent = tuple[int, int, int, int]  # kills, power cuts, breaks, timers


class Table:
    """Numbers for values: equal values have equal numbers, from 0 in order of arrival."""

    __slots__ = ("ids", "values")

    def __init__(self) -> None:
        self.ids: dict[Any, int] = {}
        self.values: list[Any] = []

    def id(self, value: Hashable) -> int:
        found = self.ids.get(value)
        if found is None:
            found = self.ids[value] = len(self.values)
            self.values.append(value)
        return found


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a step has done after one of its effects: the node's number, and the messages
    that left ((slot, note) in order)."""

    node: int
    sent: tuple[tuple[int, int], ...]


class Interned:
    """A system's worlds as integers, and memos of everything that moves them."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.specs = system.nodes()
        self.names = [spec.name for spec in self.specs]
        self.place = {name: i for i, name in enumerate(self.names)}
        self.first_wire = len(self.names) + 1
        self.node_values = Table()
        self.spent = Table()
        self.notes = Table()
        self.queues = Table()
        self.queues.id(())
        self.wires = Table()
        self._steps: dict[tuple[Any, ...], list[Prefix]] = {}
        self._push: dict[tuple[int, int], int] = {}
        self._pop: dict[tuple[int, int], tuple[int, int]] = {}
        self._current: dict[tuple[int, int], bool] = {}
        self._own: dict[int, tuple[str, ...]] = {}
        self._target: list[tuple[int, int]] = []
        self._homes = {role: (self.place[n], i) for role, (n, i) in homes(system).items()}
        self.consumes = system.network != "set"

    # -- whole worlds, for the rare transitions (faults) and for people ------------------

    def pack(self, world: World, spent: Spent) -> Ints:
        slots = [self.node_values.id(world.nodes[name]) for name in self.names]
        slots.append(self.spent.id(spent))
        for wire, queue in world.wires.items():
            slot = self.slot(wire)
            slots.extend([0] * (slot + 1 - len(slots)))
            slots[slot] = self.queues.id(tuple(self.notes.id(note) for note in queue))
        return trimmed(slots, self.first_wire)

    def unpack(self, state: Ints, wires: bool = True) -> World:
        nodes = Map((name, self.node_values.values[state[i]]) for i, name in enumerate(self.names))
        held: dict[Wire, tuple[Note, ...]] = {}
        if wires:
            for slot in range(self.first_wire, len(state)):
                queue = self.queues.values[state[slot]]
                if queue:
                    wire = self.wires.values[slot - self.first_wire]
                    held[wire] = tuple(self.notes.values[note] for note in queue)
        return World(nodes, Map(held.items()))

    def slot(self, wire: Wire) -> int:
        number = self.wires.id(wire)
        if number == len(self._target):
            kind, client, server, _ = wire
            self._target.append(self._homes[server if kind == "q" else client])
        return number + self.first_wire

    # -- steps ---------------------------------------------------------------------------

    def target(self, slot: int) -> int:
        """The place of the node that a wire leads to."""
        return self._target[slot - self.first_wire][0]

    def delivered(self, state: Ints, slot: int, index: int) -> list[Prefix]:
        """The step that the message at `index` of a wire brings about, effect by effect."""
        note = self.queues.values[state[slot]][index]
        place, role = self._target[slot - self.first_wire]
        key = (slot, note, state[place])
        steps = self._steps.get(key)
        if steps is None:
            event = self._event(slot, self.notes.values[note])
            node = self.node_values.values[state[place]]
            steps = self._steps[key] = self._run(place, node, role, event)
        return steps

    def _event(self, slot: int, note: Note) -> Event:
        kind, client, server, conn = self.wires.values[slot - self.first_wire]
        if kind == "q":
            return Request(Caller(client, conn, note.corr), note.body)
        return Response(server, note.corr, note.body)

    def own(self, node: int) -> tuple[str, ...]:
        """Which events of its own a node (by number) can have: local, call, fire."""
        kinds = self._own.get(node)
        if kinds is None:
            value: NodeState = self.node_values.values[node]
            can = {
                "local": value.up and bool(value.inbox),
                "call": value.up and value.app is not None and value.app.next_call() is not None,
                "fire": value.up and bool(value.timers),
            }
            kinds = self._own[node] = tuple(kind for kind, yes in can.items() if yes)
        return kinds

    def up(self, node: int) -> bool:
        return bool(self.node_values.values[node].up)

    def own_step(self, place: int, node: int, kind: str) -> list[Prefix]:
        """The step that a node's own next event brings about, effect by effect."""
        key = (kind, place, node)
        steps = self._steps.get(key)
        if steps is None:
            choice = Choice(kind, self.names[place])
            role, event, rest = node_event(self.node_values.values[node], choice, 0)
            steps = self._steps[key] = self._run(place, rest, role, event)
        return steps

    def _run(self, place: int, node: NodeState, role: int, event: Event) -> list[Prefix]:
        prefixes: list[Prefix] = []
        sent: tuple[tuple[int, int], ...] = ()
        stage: Stage
        for stage in run(self.specs[place], node, role, event):
            if stage.wire is not None:
                sent = (*sent, (self.slot(stage.wire), self.notes.id(stage.note)))
            prefixes.append(Prefix(self.node_values.id(stage.node), sent))
        return prefixes

    def after(
        self, state: Ints, place: int, prefix: Prefix, taken: int = 0, index: int = 0
    ) -> Ints:
        """The world after (part of) a step; `taken` is the slot whose message it consumed."""
        slots = list(state)
        slots[place] = prefix.node
        if taken and self.consumes:
            slots[taken] = self._without(slots[taken], index)
        for slot, note in prefix.sent:
            if slot >= len(slots):
                slots.extend([0] * (slot + 1 - len(slots)))
            if self._alive(slots, slot):
                slots[slot] = self._with(slots[slot], note)
        return trimmed(slots, self.first_wire)

    def _alive(self, slots: list[int], slot: int) -> bool:
        """Whether a message may enter a wire: an answer on a broken connection may not."""
        kind, client, server, conn = self.wires.values[slot - self.first_wire]
        if kind == "q":
            return True
        node = slots[self._homes[client][0]]
        key = (node, slot)
        alive = self._current.get(key)
        if alive is None:
            conns = self.node_values.values[node].conns
            alive = self._current[key] = conns.get((client, server), 0) == conn
        return alive

    def _with(self, queue: int, note: int) -> int:
        key = (queue, note)
        made = self._push.get(key)
        if made is None:
            notes = self.queues.values[queue]
            if self.consumes:
                notes = (*notes, note)
            elif note not in notes:
                notes = tuple(sorted((*notes, note)))
            made = self._push[key] = self.queues.id(notes)
        return made

    def _without(self, queue: int, index: int) -> int:
        key = (queue, index)
        made = self._pop.get(key)
        if made is None:
            notes = self.queues.values[queue]
            made_queue = self.queues.id((*notes[:index], *notes[index + 1 :]))
            made = self._pop[key] = (made_queue, notes[index])
        return made[0]


def trimmed(slots: list[int], keep: int) -> Ints:
    """The slots without empty wires at the end."""
    while len(slots) > keep and slots[-1] == 0:
        slots.pop()
    return tuple(slots)
