"""One choice, done to a whole world: `apply` moves it, `list_choices` says what can come next."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .choice import Choice
from .disk import MemoryDisk
from .maps import Map, replace
from .options import check_calls, check_nodes, read_calls
from .role import AppState, Call, Caller, ConnectionLost, Effect, Event, Fired, Request, Response
from .system import System
from .text import BadValue, Words, say_unknown, tr
from .world import (
    NodeSpec,
    NodeState,
    Note,
    Stage,
    Wire,
    World,
    notice_break,
    run,
    start_node,
    stop_node,
)

OF_NODE = Words(" of {} now")
NO_TIMER = Words("{} has no timer now; there are: {}")
NO_TIMERS = Words("{} has no timer now, and no other node has one")


class Moved(NamedTuple):
    """One stage of a choice: the world after it, which role of which node, and what."""

    world: World
    node: str
    role: str
    event: Event | None
    stage: Stage | None
    what: str = "step"  # step | stop | power | recover | break | drop | noticed (by the other end)
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
def placements(system: System) -> dict[str, tuple[str, int]]:
    """By the name of each role: the name of its node, and its index among the roles there."""
    return {
        role: (spec.name, i) for spec in system.nodes() for i, (role, _) in enumerate(spec.roles)
    }


def initial(system: System, at_ms: int = 0) -> World:
    """The world with every node freshly started, on an empty disk where it is given none."""
    world, disks = World(Map()), dict(system.disks)
    for spec in specs(system).values():
        app = AppState(spec.program) if spec.program is not None else None
        blank = NodeState(up=False, disk=disks.get(spec.name, MemoryDisk()), app=app)
        for _, stage in start_node(spec, blank, at_ms):
            world = emit_stage(system, world, spec.name, stage)
    return world


def emit_stage(system: System, world: World, node: str, stage: Stage) -> World:
    """Put one stage of a step into the world: the node's new state, and the message that the stage
    sent, if any, in flight on its connection. An answer on a connection that has broken since is
    dropped. A network of kind "set" drops nothing; its messages have no sequence and a copy counts
    once, so they are kept sorted."""
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
    node, _ = placements(system)[client]
    number: int = world.nodes[node].conns.get((client, server), 0)
    return number


def list_choices(system: System, world: World) -> list[Choice]:
    """List every choice that is possible now without a fault: first the messages that may arrive,
    then, node by node, its own event, its application's next call, its next timer. Nothing happens
    at a node that is down. Of a connection only the first message may arrive (TCP); of a network
    of kind "set" any. The same world always gives the same sequence."""
    placed = placements(system)
    choices: list[Choice] = []
    for wire in world.wires:
        direction, client, server, conn = wire  # "q": requests, "r": answers
        receiver = server if direction == "q" else client
        if world.nodes[placed[receiver][0]].up:
            kind = "request" if direction == "q" else "response"
            deliverable = len(world.wires[wire]) if system.network == "set" else 1
            choices.extend(Choice(kind, client, server, conn, i) for i in range(deliverable))
    for node_name, node in world.nodes.items():
        if not node.up:
            continue
        if node.inbox:
            choices.append(Choice("local", node_name))
        if node.app is not None and node.app.next_call() is not None:
            choices.append(Choice("call", node_name))
        if node.timers:
            choices.append(Choice("fire", node_name))
    return choices


def apply(system: System, world: World, choice: Choice, at_ms: int = 0) -> list[Moved]:
    """Carry out one choice on a whole world. Returns its stages in sequence; the last one contains
    the new world. Raises ValueError where the choice is not possible in this world. `at_ms`: the
    simulated time, which the roles get with their event."""
    if choice.kind in ("break", "lose", "drop", "refuse"):
        for name in (choice.a, choice.b):
            if name not in placements(system):
                raise ValueError(say_unknown("node", name, placements(system)))
    match choice.kind:
        case "kill" | "power":
            return [_stop(system, world, choice.a, choice.kind == "power", choice.answers)]
        case "restart":
            return _restart(system, world, choice, at_ms)
        case "break":
            return _break_both(system, world, choice.a, choice.b, at_ms)
        case "refuse":
            if world.nodes[placements(system)[choice.b][0]].up:
                raise BadValue("`{}` is not possible: {} is running", choice, choice.b)
            return [_break(system, world, choice.a, choice.b, at_ms, gone=True, refused=True)]
        case "run":
            return [_given(system, world, choice.a, choice.b)]  # more calls for an application
        case "lose" | "drop":
            conn = current(system, world, choice.a, choice.b)
            # the first request ("q") in flight on this connection
            note, world = _take(system, world, ("q", choice.a, choice.b, conn), index=0)
            if choice.kind == "lose":  # a request is lost with its connection
                return _break_both(system, world, choice.a, choice.b, at_ms)
            # a dropped request is handled by no role: the event only names it in the story
            event = Request(Caller(choice.a, conn, note.corr), note.body, at_ms)
            node, _ = placements(system)[choice.b]
            return [Moved(world, node, choice.b, event, stage=None, what="drop")]
    return _step(system, world, choice, at_ms)


def _given(system: System, world: World, name: str, text: str) -> Moved:
    """The application of the client `name` is given more calls (`text`, separated by semicolons),
    which it makes after those it has. ValueError where the client takes no calls, or they cannot be
    read."""
    apps = {
        at: node.app
        for at, node in world.nodes.items()
        if node.app is not None and isinstance(node.app.program, tuple)
    }
    if name not in apps:
        raise ValueError(say_unknown("client", name, apps, tr(" that takes calls")))
    program = (*apps[name].program, *read_calls(system, text))  # type: ignore[misc]
    check_calls(len(program))
    app = replace(apps[name], program=program)
    node = replace(world.nodes[name], app=app)
    world = replace(world, nodes=world.nodes.set(name, node))
    return Moved(world, name, name, event=None, stage=None, what="given")


def _step(system: System, world: World, choice: Choice, at_ms: int) -> list[Moved]:
    """Let one role handle an event (a message, a call, a timer). Returns the world after the
    handler and after each of its effects. A choice with `stop` (-1: none) stops the node after that
    many effects; its crash is then the last stage. ValueError where the choice is not possible, or
    the step has fewer effects than `stop`."""
    world, node_name, role, event, late = _event(system, world, choice, at_ms)
    spec = specs(system)[node_name]
    role_name = spec.roles[role][0]
    stages = run(spec, world.nodes[node_name], role, event)  # the handler, then each effect
    choice.check_stop(len(stages) - 1)
    moved = []
    for stage in stages if choice.stop < 0 else stages[: choice.stop + 1]:
        world = emit_stage(system, world, node_name, stage)
        moved.append(Moved(world, node_name, role_name, event, stage, late=late))
    if choice.stop >= 0:
        stop = _stop(system, world, node_name, power=choice.how == "power", answers=choice.answers)
        planned = _list_effects(stages)
        done = len(moved) - 1
        moved.append(stop._replace(role=role_name, event=event, done=done, planned=planned))
    return moved


def _list_effects(stages: list[Stage]) -> tuple[Effect, ...]:
    return tuple(stage.effect for stage in stages if stage.effect is not None)


def _event(
    system: System, world: World, choice: Choice, at_ms: int
) -> tuple[World, str, int, Event, bool]:
    """Take the event that a choice delivers out of the world. Returns the world without it, the
    node, the index of the role there that handles it, the event, and whether it is a late message:
    one on a connection that has broken since. ValueError where there is no such event, or the node
    is down."""
    placed = placements(system)
    if choice.kind in ("request", "response"):
        kind = "q" if choice.kind == "request" else "r"  # of the wire: requests, or answers
        wire = (kind, choice.a, choice.b, choice.conn)
        note, world = _take(system, world, wire, choice.index)
        node, role = placed[choice.b if kind == "q" else choice.a]
        if not world.nodes[node].up:
            raise BadValue("`{}` is not possible: {} is down; restart it first", choice, node)
        late = choice.conn != current(system, world, choice.a, choice.b)
        if kind == "q":
            caller = Caller(choice.a, choice.conn, note.corr)
            return world, node, role, Request(caller, note.body, at_ms), late
        return world, node, role, Response(choice.b, note.corr, note.body, at_ms), late
    name = choice.a
    state = _find_node(world, name)
    if not state.up:
        raise BadValue("`{}` is not possible: {} is down; restart it first", choice, name)
    if choice.kind == "fire":
        _check_timer(world, choice)
    role, event, state = node_event(state, choice, at_ms)
    return replace(world, nodes=world.nodes.set(name, state)), name, role, event, False


def node_event(state: NodeState, choice: Choice, at_ms: int) -> tuple[int, Event, NodeState]:
    """Take a node's own next event (`local`: its inbox, `call`: its application, `fire`: a timer)
    out of its state. Returns the index of the role that handles it, the event, and the node without
    it; BadValue where it has none. Calls go to role 0, the one that the application uses. `fire`
    takes the timer that is named by `choice.b`, or the first one where that is empty."""
    if choice.kind == "local" and state.inbox:
        role, event = state.inbox[0]
        return role, replace(event, at_ms=at_ms), replace(state, inbox=state.inbox[1:])
    if choice.kind == "call" and state.app is not None:
        call = state.app.next_call()
        if call is not None:
            app = replace(state.app, waiting=True)
            return 0, Call(call, at_ms), replace(state, app=app)
    if choice.kind == "fire":
        for timer in state.timers:  # (index of its role, name, milliseconds)
            if not choice.b or timer[1] == choice.b:
                rest = tuple(t for t in state.timers if t is not timer)
                return timer[0], Fired(timer[1], at_ms), replace(state, timers=rest)
    raise BadValue("`{}` is not possible now", choice)


def _check_timer(world: World, choice: Choice) -> None:
    """ValueError where a node has no timer of the name that is wanted; "": where it has none."""
    timers = {at: [name for _, name, _ in node.timers] for at, node in world.nodes.items()}
    mine = timers[choice.a]
    if choice.b in mine or (mine and not choice.b):
        return
    if mine:
        why = say_unknown("timer", choice.b, mine, OF_NODE(choice.a))
    else:
        others = ", ".join(f"fire {at} {name}" for at, names in timers.items() for name in names)
        why = (NO_TIMER if others else NO_TIMERS)(choice.a, others)
    raise BadValue("`{}` is not possible: {}", choice, why)


def _take(system: System, world: World, wire: Wire, index: int) -> tuple[Note, World]:
    queue = world.wires.get(wire, ())
    if index >= len(queue):
        raise BadValue(
            "nothing is in flight from {} to {} on connection {}", wire[1], wire[2], wire[3]
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
    arrive: bool = False,
    refused: bool = False,
) -> Moved:
    """Break a connection at its client's end: the client's node learns of it, and answers in flight
    are lost. Requests in flight stay and arrive late. `arrive`: the answers reach the client before
    the break; `gone`: the server has stopped, so the requests are lost too; `refused`: it had
    stopped before they were sent."""
    client_node, role = placements(system)[client]
    # a wire is ("q" for requests or "r" for answers, client, server, connection)
    conn = current(system, world, client, server)
    answers = world.wires.get(("r", client, server, conn), ()) if arrive else ()
    wires = world.wires.remove(("r", client, server, conn))
    if gone:
        wires = wires.remove(("q", client, server, conn))
    lost = ConnectionLost(server, at_ms, refused)
    pair = (client, server)
    node = notice_break(world.nodes[client_node], role, pair, at_ms, answers, refused)
    world = World(world.nodes.set(client_node, node), wires)
    return Moved(world, client_node, client, lost, stage=None, what="break")


def _break_both(system: System, world: World, a: str, b: str, at_ms: int) -> list[Moved]:
    """The connection breaks at the end of `a`, and where it serves both ways at the end of `b`."""
    moved = _break(system, world, a, b, at_ms)
    other = world.nodes[placements(system)[b][0]]
    if not (system.both_ways and other.up and (b, a) in other.conns):
        return [moved]
    return [moved, _break(system, moved.world, b, a, at_ms)._replace(what="noticed")]


def _find_node(world: World, name: str) -> NodeState:
    if name not in world.nodes:
        raise ValueError(say_unknown("node", name, list(world.nodes)))
    return world.nodes[name]


def list_answered(system: System, world: World, name: str) -> tuple[str, ...]:
    """The clients to whom answers of a node's roles are in flight, in alphabetical order."""
    where = placements(system)
    wires = (wire for wire in world.wires if wire[0] == "r" and where[wire[2]][0] == name)
    return tuple(sorted({client for _, client, _, _ in wires if world.nodes[where[client][0]].up}))


def _stop(
    system: System, world: World, name: str, power: bool, answers: tuple[str, ...] = ()
) -> Moved:
    """Stop a running node, by a crash or (`power`) a power cut: its memory is gone, and each
    connection to or from it breaks. Of the answers it had sent, those to the clients in `answers`
    still arrive. BadValue where it is not running, or no answer to such a client is in flight."""
    if not _find_node(world, name).up:
        raise BadValue("{} cannot be stopped: it is not running", name)
    answered = list_answered(system, world, name)
    if unanswered := sorted(set(answers) - set(answered)):
        raise BadValue(
            "no answer from {} to {} is in flight; in flight are answers to: {}",
            name,
            " or ".join(unanswered),
            ", ".join(answered) or "–",
        )
    stopped_roles = {role for role, (node, _) in placements(system).items() if node == name}
    stopped = world.nodes[name]
    wires = world.wires
    for pair, conn in stopped.conns.items():
        # answers ("r") to the stopped node reach no client; its requests stay in flight
        wires = wires.remove(("r", *pair, conn))
    world = World(world.nodes.set(name, stop_node(stopped, power and not system.synced)), wires)
    for other, node in world.nodes.items():
        if other != name and node.up:
            for client, server in node.conns:
                if server in stopped_roles:
                    arrive = client in answers
                    # at_ms=0: the client learns of it in a later choice, which sets the time
                    world = _break(system, world, client, server, 0, gone=True, arrive=arrive).world
    what = "power" if power else "stop"
    return Moved(world, name, name, event=None, stage=None, what=what, answers=answers)


class StillRunning(BadValue):
    """The node to be restarted had not stopped."""


def _restart(system: System, world: World, choice: Choice, at_ms: int) -> list[Moved]:
    """Start a stopped node from its disk. Returns a stage for the start and each effect of its
    roles' recovery. A choice with `stop` (-1: none) stops the node again after that many effects;
    no client is connected to it yet, so none notices, and what it had sent stays in flight."""
    name = choice.a
    if _find_node(world, name).up:
        raise StillRunning("{} cannot be restarted: it is running", name)
    spec = specs(system)[name]
    stages = start_node(spec, world.nodes[name], at_ms)
    # what the whole recovery would do: the picture shows which of it a stop prevented
    planned = _list_effects([stage for _, stage in stages])
    choice.check_stop(sum(stage.effect is not None for _, stage in stages))
    moved: list[Moved] = []
    done = 0
    for role, stage in stages:
        if stage.effect is not None:
            if done == choice.stop:  # never where there is no stop, -1
                break
            done += 1
        world = emit_stage(system, world, name, stage)
        moved.append(Moved(world, name, spec.roles[role][0], None, stage, what="recover"))
    if choice.stop < 0:
        return moved
    node = world.nodes[name]
    wires = world.wires
    for pair, conn in node.conns.items():
        # answers ("r") to the stopped node reach no client
        wires = wires.remove(("r", *pair, conn))
    by_power = choice.how == "power"
    world = World(world.nodes.set(name, stop_node(node, by_power and not system.synced)), wires)
    what = "power" if by_power else "stop"
    return [*moved, Moved(world, name, name, None, None, what, done=done, planned=planned)]
