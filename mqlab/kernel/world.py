"""A world: every node, every message in flight, and one step of one node.

`run` is one step of one node, effect by effect, so that a driver may stop the node after
any of them. `moves.py` does one choice to a whole world. The explorer calls `run` once for each
neighbourhood of a node and keeps a world as one integer; every other driver uses `moves.apply`.

The network is TCP: a *wire* is one direction of one connection, first in, first out. When
a connection breaks, requests in flight may still arrive (late), answers do not; the
client hears `ConnectionLost` and what it sends next goes over a new connection. Where it
breaks because the server stops, what the server had answered may have left before: then the
client hears these answers first, and of the break after them (`Choice.answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .disk import MemoryDisk
from .maps import Map, frozen, replace
from .role import (
    Append,
    Appended,
    AppState,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Program,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
)

Wire = tuple[str, str, str, int]  # ("q" requests | "r" answers, client, server, connection)


Recover = Callable[[Disk, int], tuple[Any, Effects]]


@frozen
class NodeSpec:
    """One process: its roles (name, how to start it from a disk) and, beside the first role, an
    application. A crash, a power cut and a restart hit the whole node. `program`: that
    application's."""

    name: str
    roles: tuple[tuple[str, Recover], ...]
    program: Program | None = None


@frozen
class Note:
    """A message in flight: the number its sender gave it, and what it says. `corr`: that number."""

    corr: int
    body: Any


@frozen
class NodeState:
    """A node: its roles (None while it is down), disk, own next events, pending timers ((role,
    timer, ms), the shortest first) and the number of each connection it opened. `up`: it runs;
    `inbox`: its own next events; `conns`: those numbers, by (client, server); `app`: the
    application."""

    up: bool = True
    roles: tuple[Any, ...] = ()
    disk: MemoryDisk = MemoryDisk()
    inbox: tuple[tuple[int, Event], ...] = ()
    timers: tuple[tuple[int, str, int], ...] = ()
    conns: Map[tuple[str, str], int] = Map()
    app: AppState | None = None


class Stage(NamedTuple):
    """The node after one effect (None: after the handler, before the first effect), and
    the message that left with it. Never compared, so a NamedTuple does no harm here."""

    node: NodeState
    effect: Effect | None = None
    wire: Wire | None = None
    note: Note | None = None


def run(spec: NodeSpec, node: NodeState, role: int, event: Event) -> list[Stage]:
    """One step of one role, effect by effect; the first stage has no effect yet."""
    new, effects = node.roles[role].step(event, node.disk)
    node = replace(node, roles=(*node.roles[:role], new, *node.roles[role + 1 :]))
    return [Stage(node), *do_effects(spec, node, role, effects)]


def do_effects(spec: NodeSpec, node: NodeState, role: int, effects: Effects) -> Iterator[Stage]:
    """Carry out the effects of one role's step on its node, one by one. Yields the node after each,
    with the message that it sent to another node, if any. A message to a role of the same node goes
    to the end of the node's inbox instead, as an event of its own. `role`: the role's index in
    `spec.roles`; a message's `corr` is the number by which an answer finds its request."""
    sender = spec.roles[role][0]
    local = {name: i for i, (name, _) in enumerate(spec.roles)}
    for effect in effects:
        wire: Wire | None = None  # set for a message to another node: "q" a request, "r" an answer
        note: Note | None = None
        match effect:
            case Send(to=to, body=body, corr=corr) if to in local:
                # 0: within a node there is no connection, so the answer is never lost with one
                mail = Request(Caller(sender, 0, corr), body)
                node = replace(node, inbox=(*node.inbox, (local[to], mail)))
            case Send(to=to) if any(i == role and is_lost(event, to) for i, event in node.inbox):
                pass  # Written into a connection that has broken: the sender learns of that next.
            case Send(to=to, body=body, corr=corr):
                if (sender, to) not in node.conns:
                    node = replace(node, conns=node.conns.set((sender, to), 0))
                wire, note = ("q", sender, to, node.conns[sender, to]), Note(corr, body)
            case Reply(caller=Caller(name=name, corr=corr), body=body) if name in local:
                answer = Response(sender, corr, body)
                node = replace(node, inbox=(*node.inbox, (local[name], answer)))
            case Reply(caller=caller, body=body):
                wire, note = ("r", caller.name, sender, caller.conn), Note(caller.corr, body)
            case SetTimer(timer=timer, after_ms=ms):
                kept = [t for t in node.timers if t[:2] != (role, timer)]
                # one of the same name is replaced; those set for a shorter time come first
                timers = sorted([*kept, (role, timer, ms)], key=lambda t: t[2])
                node = replace(node, timers=tuple(timers))
            case CancelTimer(timer=timer):
                kept = [t for t in node.timers if t[:2] != (role, timer)]
                node = replace(node, timers=tuple(kept))
            case Return(value=value):
                assert node.app is not None
                app = replace(node.app, results=(*node.app.results, value), waiting=False)
                node = replace(node, app=app)
            case _:  # an effect on the disk
                node = replace(node, disk=node.disk.apply(effect))
                # notify: the role is notified of a durable append by an event of its own
                if isinstance(effect, Append) and effect.notify:
                    safe = Appended(effect.log, effect.entry.last + 1)
                    node = replace(node, inbox=(*node.inbox, (role, safe)))
        yield Stage(node, effect, wire, note)


def notice_break(
    node: NodeState,
    role: int,
    pair: tuple[str, str],
    at_ms: int = 0,
    answers: tuple[Note, ...] = (),
    refused: bool = False,
) -> NodeState:
    """The node after a connection of one of its roles (the index `role`) broke: it gets an event
    that says so, if it is up, and what it sends next goes over a new connection. `pair`: the
    client, which is this role, and the server; `answers`: what it still gets before that event;
    `refused`: there was no connection, since the server is down."""
    mail = [Response(pair[1], note.corr, note.body) for note in answers]
    events: tuple[Event, ...] = (*mail, ConnectionLost(pair[1], at_ms, refused))
    inbox = (*node.inbox, *((role, event) for event in events))
    conns = node.conns.set(pair, node.conns.get(pair, 0) + 1)
    return replace(node, conns=conns, inbox=inbox if node.up else ())


def is_lost(event: Event, peer: str) -> bool:
    """Whether an event not yet heard says that the connection to `peer` broke."""
    return isinstance(event, ConnectionLost) and event.peer == peer


def stop_node(node: NodeState, power: bool = False) -> NodeState:
    """The node after a stop: memory is gone; `power`: what was not flushed as well."""
    return NodeState(
        up=False,
        disk=node.disk.power_cut() if power else node.disk,
        conns=Map((pair, n + 1) for pair, n in node.conns.items()),
        app=AppState(node.app.program) if node.app is not None else None,
    )


def start_node(spec: NodeSpec, node: NodeState, at_ms: int = 0) -> list[tuple[int, Stage]]:
    """Start a node from its disk: its roles recover one after the other. Returns the stages, each
    with the index of its role: for each role one without an effect, then one for each of its
    effects. The node is up only after the last one."""
    node = replace(node, roles=(None,) * len(spec.roles))
    stages: list[tuple[int, Stage]] = []
    for i, (_, recover) in enumerate(spec.roles):
        role, effects = recover(node.disk, at_ms)
        node = replace(node, roles=(*node.roles[:i], role, *node.roles[i + 1 :]))
        stages.append((i, Stage(node)))
        for stage in do_effects(spec, node, i, effects):
            stages.append((i, stage))
            node = stage.node
    last, stage = stages[-1]
    stages[-1] = (last, stage._replace(node=replace(stage.node, up=True)))
    return stages


@frozen
class World:
    """All nodes by name and all wires that hold something."""

    nodes: Map[str, NodeState]
    wires: Map[Wire, tuple[Note, ...]] = Map()

    def role(self, name: str, node: str = "") -> Any:
        """The state of a role that has the name of its node; None while it is down."""
        state = self.nodes[node or name]
        return state.roles[0] if state.up else None

    def disk(self, node: str) -> MemoryDisk:
        return self.nodes[node].disk
