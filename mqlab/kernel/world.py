"""A world: every node, every message under way. One pure function moves it.

`run` is one step of one node, effect by effect, so that a driver may stop the node after
any of them. `apply` does one choice to a whole world. The explorer calls `run` once for each
neighbourhood of a node and keeps a world as one integer; every other driver uses `apply`.

The network is TCP: a *wire* is one direction of one connection, first in, first out. When
a connection breaks, requests under way may still arrive (late), answers do not; the
client hears `ConnectionLost` and what it sends next goes over a new connection. Where it
breaks because the server stops, what the server had answered may have left before: then the
client hears these answers first, and of the break after them (`Choice.answers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from .application import AppState
from .choice import Choice
from .disk import MemoryDisk
from .maps import Map
from .options import check_calls, check_nodes, read_calls
from .role import (
    Append,
    Appended,
    Call,
    Caller,
    CancelTimer,
    ConnectionLost,
    Effect,
    Effects,
    Event,
    Fired,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
)
from .system import NodeSpec, System
from .text import say_unknown
from .values import frozen, replace

Wire = tuple[str, str, str, int]  # ("q" requests | "r" answers, client, server, connection)


@frozen
class Note:
    """A message under way: the number its sender gave it, and what it says."""

    corr: int
    body: Any


@frozen
class NodeState:
    """A node: its roles (None while it is down), disk, own next events, pending timers
    ((role, timer, ms), the shortest first) and the number of each connection it opened."""

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
    """The node after each effect of a step of `role`, in order."""
    me = spec.roles[role][0]
    local = {name: i for i, (name, _) in enumerate(spec.roles)}
    for effect in effects:
        wire: Wire | None = None
        note: Note | None = None
        match effect:
            case Send(to=to, body=body, corr=corr) if to in local:
                mail = Request(Caller(me, 0, corr), body)
                node = replace(node, inbox=(*node.inbox, (local[to], mail)))
            case Send(to=to) if any(role == at and is_lost(e, to) for at, e in node.inbox):
                pass  # Written into a connection that broke: its sender will hear of it.
            case Send(to=to, body=body, corr=corr):
                if (me, to) not in node.conns:
                    node = replace(node, conns=node.conns.set((me, to), 0))
                wire, note = ("q", me, to, node.conns[me, to]), Note(corr, body)
            case Reply(caller=Caller(name=name, corr=corr), body=body) if name in local:
                answer = Response(me, corr, body)
                node = replace(node, inbox=(*node.inbox, (local[name], answer)))
            case Reply(caller=caller, body=body):
                wire, note = ("r", caller.name, me, caller.conn), Note(caller.corr, body)
            case SetTimer(timer=timer, after_ms=ms):
                kept = [t for t in node.timers if t[:2] != (role, timer)]
                timers = sorted([*kept, (role, timer, ms)], key=lambda t: t[2])
                node = replace(node, timers=tuple(timers))
            case CancelTimer(timer=timer):
                kept = [t for t in node.timers if t[:2] != (role, timer)]
                node = replace(node, timers=tuple(kept))
            case Return(value=value):
                assert node.app is not None
                app = replace(node.app, results=(*node.app.results, value), waiting=False)
                node = replace(node, app=app)
            case _:
                node = replace(node, disk=node.disk.apply(effect))
                if isinstance(effect, Append) and effect.notify:
                    safe = Appended(effect.log, effect.entry.last + 1)
                    node = replace(node, inbox=(*node.inbox, (role, safe)))
        yield Stage(node, effect, wire, note)


def hear_break(
    node: NodeState,
    role: int,
    pair: tuple[str, str],
    at_ms: int = 0,
    answers: tuple[Note, ...] = (),
) -> NodeState:
    """The node after a connection of its client broke: it hears so, if it is up, and what it
    sends next goes over a new one. `answers`: what reaches it before it hears of the break."""
    mail = [Response(pair[1], note.corr, note.body) for note in answers]
    events: tuple[Event, ...] = (*mail, ConnectionLost(pair[1], at_ms))
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
    """A start from the node's disk: every role recovers; stages with their role's index.
    The node serves nobody before its last effect is done."""
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


class Moved(NamedTuple):
    """One stage of a choice: the world after it, which role of which node, and what."""

    world: World
    node: str
    role: str
    event: Event | None
    stage: Stage | None
    what: str = "step"  # step | stop | power | recover | break | heard (by the other end)
    late: bool = False
    done: int = 0  # of a stop inside a step: effects done,
    planned: tuple[Effect, ...] = ()  # and the effects the whole step would have had
    answers: tuple[str, ...] = ()  # of a stop: the clients whom its answers still reach


@cache
def specs(system: System) -> dict[str, NodeSpec]:
    """The nodes by name. Asked for once: what a role is configured with may hold functions,
    and two functions made alike are not equal, nor are worlds that hold them. ValueError where two
    have one name."""
    nodes = system.nodes()
    check_nodes(system, nodes)
    return {spec.name: spec for spec in nodes}


@cache
def homes(system: System) -> dict[str, tuple[str, int]]:
    """For every role: its node and its place there."""
    return {
        role: (spec.name, i) for spec in system.nodes() for i, (role, _) in enumerate(spec.roles)
    }


def initial(system: System, at_ms: int = 0) -> World:
    """The world with every node freshly started on an empty disk."""
    world = World(Map())
    for spec in specs(system).values():
        app = AppState(spec.program) if spec.program is not None else None
        blank = NodeState(up=False, app=app)
        for _, stage in start_node(spec, blank, at_ms):
            world = emit_stage(system, world, spec.name, stage)
    return world


def emit_stage(system: System, world: World, node: str, stage: Stage) -> World:
    """The world with the node as it is after the stage and the stage's message under way.

    An answer on a connection that is no longer the current one is dropped.
    """
    world = replace(world, nodes=world.nodes.set(node, stage.node))
    if stage.wire is None or stage.note is None:
        return world
    queue = world.wires.get(stage.wire, ())
    if system.network == "set":
        if stage.note in queue:
            return world
        queue = tuple(sorted((*queue, stage.note), key=repr))
        return replace(world, wires=world.wires.set(stage.wire, queue))
    kind, client, server, conn = stage.wire
    if kind == "r" and current(system, world, client, server) != conn:
        return world
    return replace(world, wires=world.wires.set(stage.wire, (*queue, stage.note)))


def current(system: System, world: World, client: str, server: str) -> int:
    """The number of the connection that `client` has to `server` now."""
    node, _ = homes(system)[client]
    number: int = world.nodes[node].conns.get((client, server), 0)
    return number


def list_choices(system: System, world: World) -> list[Choice]:
    """What can happen next without a fault, in a fixed order."""
    where = homes(system)
    out: list[Choice] = []
    for wire in world.wires:
        kind, client, server, conn = wire
        target = server if kind == "q" else client
        if world.nodes[where[target][0]].up:
            name = "request" if kind == "q" else "response"
            many = len(world.wires[wire]) if system.network == "set" else 1
            out.extend(Choice(name, client, server, conn, i) for i in range(many))
    for name, node in world.nodes.items():
        if not node.up:
            continue
        if node.inbox:
            out.append(Choice("local", name))
        if node.app is not None and node.app.next_call() is not None:
            out.append(Choice("call", name))
        if node.timers:
            out.append(Choice("fire", name))
    return out


def apply(system: System, world: World, choice: Choice, at_ms: int = 0) -> list[Moved]:
    """Everything one choice does, stage by stage; the last stage holds the new world.

    Raises ValueError when the choice is not possible in this world.
    """
    if choice.kind in ("break", "lose"):
        for name in (choice.a, choice.b):
            if name not in homes(system):
                raise ValueError(say_unknown("node", name, homes(system)))
    match choice.kind:
        case "kill" | "power":
            return [_stop(system, world, choice.a, choice.kind == "power", choice.answers)]
        case "restart":
            return _restart(system, world, choice, at_ms)
        case "break":
            return _break_both(system, world, choice.a, choice.b, at_ms)
        case "run":
            return [_given(system, world, choice.a, choice.b)]
        case "lose":
            wire = ("q", choice.a, choice.b, current(system, world, choice.a, choice.b))
            _, world = _take(system, world, wire, 0)
            return _break_both(system, world, choice.a, choice.b, at_ms)
    return _step(system, world, choice, at_ms)


def _given(system: System, world: World, name: str, text: str) -> Moved:
    """The application beside a client is given more calls, separated by semicolons."""
    apps = {
        at: node.app
        for at, node in world.nodes.items()
        if node.app is not None and isinstance(node.app.program, tuple)
    }
    if name not in apps:
        raise ValueError(say_unknown("client", name, apps, " that takes calls"))
    program = (*apps[name].program, *read_calls(system, text))  # type: ignore[misc]
    check_calls(len(program))
    app = replace(apps[name], program=program)
    node = replace(world.nodes[name], app=app)
    world = replace(world, nodes=world.nodes.set(name, node))
    return Moved(world, name, name, None, None, what="given")


def _step(system: System, world: World, choice: Choice, at_ms: int) -> list[Moved]:
    world, node_name, role, event, late = _event(system, world, choice, at_ms)
    spec = specs(system)[node_name]
    me = spec.roles[role][0]
    stages = run(spec, world.nodes[node_name], role, event)
    moved = []
    for stage in stages if choice.stop < 0 else stages[: choice.stop + 1]:
        world = emit_stage(system, world, node_name, stage)
        moved.append(Moved(world, node_name, me, event, stage, late=late))
    if choice.stop >= 0:
        stop = _stop(system, world, node_name, choice.how == "power", choice.answers)
        planned = _list_effects(stages)
        done = len(moved) - 1
        moved.append(stop._replace(role=me, event=event, done=done, planned=planned))
    return moved


def _list_effects(stages: list[Stage]) -> tuple[Effect, ...]:
    return tuple(stage.effect for stage in stages if stage.effect is not None)


def _event(
    system: System, world: World, choice: Choice, at_ms: int
) -> tuple[World, str, int, Event, bool]:
    """Takes what the choice delivers out of the world: (world, node, role, event, late)."""
    where = homes(system)
    if choice.kind in ("request", "response"):
        kind = "q" if choice.kind == "request" else "r"
        wire = (kind, choice.a, choice.b, choice.conn)
        note, world = _take(system, world, wire, choice.index)
        node, role = where[choice.b if kind == "q" else choice.a]
        if not world.nodes[node].up:
            raise ValueError(f"`{choice}` is not possible: {node} is down; restart it first")
        late = choice.conn != current(system, world, choice.a, choice.b)
        if kind == "q":
            caller = Caller(choice.a, choice.conn, note.corr)
            return world, node, role, Request(caller, note.body, at_ms), late
        return world, node, role, Response(choice.b, note.corr, note.body, at_ms), late
    name = choice.a
    state = _find_node(world, name)
    if not state.up:
        raise ValueError(f"`{choice}` is not possible: {name} is down; restart it first")
    if choice.kind == "fire":
        _check_timer(world, choice)
    role, event, state = node_event(state, choice, at_ms)
    return replace(world, nodes=world.nodes.set(name, state)), name, role, event, False


def node_event(state: NodeState, choice: Choice, at_ms: int) -> tuple[int, Event, NodeState]:
    """A node's own next event (local, call, fire) and the node without it."""
    if choice.kind == "local" and state.inbox:
        role, event = state.inbox[0]
        return role, replace(event, at_ms=at_ms), replace(state, inbox=state.inbox[1:])
    if choice.kind == "call" and state.app is not None:
        call = state.app.next_call()
        if call is not None:
            app = replace(state.app, waiting=True)
            return 0, Call(call, at_ms), replace(state, app=app)
    if choice.kind == "fire":
        for timer in state.timers:
            if not choice.b or timer[1] == choice.b:
                rest = tuple(t for t in state.timers if t is not timer)
                return timer[0], Fired(timer[1], at_ms), replace(state, timers=rest)
    raise ValueError(f"`{choice}` is not possible now")


def _check_timer(world: World, choice: Choice) -> None:
    """ValueError where a node has no timer of the name that is wanted; "": where it has none."""
    timers = {at: [name for _, name, _ in node.timers] for at, node in world.nodes.items()}
    mine = timers[choice.a]
    if choice.b in mine or (mine and not choice.b):
        return
    if mine:
        why = say_unknown("timer", choice.b, mine, f" of {choice.a} now")
    else:
        others = ", ".join(f"fire {at} {name}" for at, names in timers.items() for name in names)
        why = f"{choice.a} has no timer now; there are: {others or 'none'}"
    raise ValueError(f"`{choice}` is not possible: {why}")


def _take(system: System, world: World, wire: Wire, index: int) -> tuple[Note, World]:
    queue = world.wires.get(wire, ())
    if index >= len(queue):
        raise ValueError(
            f"nothing is under way from {wire[1]} to {wire[2]} on connection {wire[3]}"
        )
    if system.network == "set":
        return queue[index], world
    rest = (*queue[:index], *queue[index + 1 :])
    wires = world.wires.set(wire, rest) if rest else world.wires.remove(wire)
    return queue[index], replace(world, wires=wires)


def _break(
    system: System,
    world: World,
    client: str,
    server: str,
    at_ms: int,
    gone: bool = False,
    heard: bool = False,
) -> Moved:
    """The connection breaks: answers under way are lost (or arrive first, where they are `heard`),
    requests become late (or are lost too, where the server is `gone`), and the client hears of
    it."""
    name, role = homes(system)[client]
    conn = current(system, world, client, server)
    answers = world.wires.get(("r", client, server, conn), ()) if heard else ()
    wires = world.wires.remove(("r", client, server, conn))
    if gone:
        wires = wires.remove(("q", client, server, conn))
    node = hear_break(world.nodes[name], role, (client, server), at_ms, answers)
    world = World(world.nodes.set(name, node), wires)
    return Moved(world, name, client, ConnectionLost(server, at_ms), None, what="break")


def _break_both(system: System, world: World, a: str, b: str, at_ms: int) -> list[Moved]:
    """The connection breaks at the end of `a`, and where it serves both ways at the end of `b`."""
    moved = _break(system, world, a, b, at_ms)
    other = world.nodes[homes(system)[b][0]]
    if not (system.both_ways and other.up and (b, a) in other.conns):
        return [moved]
    return [moved, _break(system, moved.world, b, a, at_ms)._replace(what="heard")]


def _find_node(world: World, name: str) -> NodeState:
    if name not in world.nodes:
        raise ValueError(say_unknown("node", name, list(world.nodes)))
    return world.nodes[name]


def list_answered(system: System, world: World, name: str) -> tuple[str, ...]:
    """The clients to whom answers of a node's roles are under way, in alphabetical order."""
    where = homes(system)
    wires = (wire for wire in world.wires if wire[0] == "r" and where[wire[2]][0] == name)
    return tuple(sorted({client for _, client, _, _ in wires if world.nodes[where[client][0]].up}))


def _stop(
    system: System, world: World, name: str, power: bool, answers: tuple[str, ...] = ()
) -> Moved:
    """A stop: the node's memory is gone, and every connection to and from it breaks. The clients
    in `answers` still hear what it had answered them."""
    if not _find_node(world, name).up:
        raise ValueError(f"{name} cannot be stopped: it is not running")
    under_way = list_answered(system, world, name)
    if without := sorted(set(answers) - set(under_way)):
        raise ValueError(
            f"no answer of {name} to {' or '.join(without)} is under way; "
            f"there are answers to: {', '.join(under_way) or 'nobody'}"
        )
    mine = {role for role, (node, _) in homes(system).items() if node == name}
    old = world.nodes[name]
    wires = world.wires
    for pair, conn in old.conns.items():
        wires = wires.remove(("r", *pair, conn))
    world = World(world.nodes.set(name, stop_node(old, power)), wires)
    for other, node in world.nodes.items():
        if other != name and node.up:
            for client, server in node.conns:
                if server in mine:
                    heard = client in answers
                    world = _break(system, world, client, server, 0, gone=True, heard=heard).world
    what = "power" if power else "stop"
    return Moved(world, name, name, None, None, what, answers=answers)


def _restart(system: System, world: World, choice: Choice, at_ms: int) -> list[Moved]:
    """A start from the disk, whole or stopped after some effects. Nobody is connected to a
    node that is starting, so nobody hears of such a stop; what it asked for is under way."""
    name = choice.a
    if _find_node(world, name).up:
        raise ValueError(f"{name} cannot be restarted: it is running")
    spec = specs(system)[name]
    stages = start_node(spec, world.nodes[name], at_ms)
    planned = _list_effects([stage for _, stage in stages])
    moved: list[Moved] = []
    done = 0
    for role, stage in stages:
        if stage.effect is not None:
            if done == choice.stop:
                break
            done += 1
        world = emit_stage(system, world, name, stage)
        moved.append(Moved(world, name, spec.roles[role][0], None, stage, what="recover"))
    if choice.stop < 0:
        return moved
    node = world.nodes[name]
    wires = world.wires
    for pair, conn in node.conns.items():
        wires = wires.remove(("r", *pair, conn))
    how = choice.how == "power"
    world = World(world.nodes.set(name, stop_node(node, how)), wires)
    what = "power" if how else "stop"
    return [*moved, Moved(world, name, name, None, None, what, done=done, planned=planned)]
