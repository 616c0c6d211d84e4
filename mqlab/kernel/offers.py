"""What may happen next in an execution, and where in it a node might have died: what a learner is
offered.

The words appear next to the node they are about, as a picture's lanes do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

from .choice import Choice, parse
from .maps import frozen
from .moves import Moved, apply, current, list_answered, list_choices
from .role import Appended, AppendFailed, ConnectionLost, Effect, Response
from .run import Run, put_in_words
from .stops import describe_progress, join_names
from .system import System
from .text import NOTHING, Text, Words, phrase_word, say_both
from .world import Wire, World

DELIVER = Words("{what} arrives from {src}")
DELIVER_LATE = Words("{what} arrives late from {src}: its connection has broken since")
ANSWER = Words("{src} answers: {what}")
SAFE = Words("its disk reports: the record in {log} is safe")
REFUSED = Words("it hears that its record in {log} could not be made safe")
NOTICES = Words("it notices that the connection to {peer} is lost")
CALLS = Words("the application calls {what}")
TIMER = Words("the timer “{name}” runs out")
BREAK = Words("break the connection to {b}")
KILL = Words("kill {node}")
POWER = Words("cut {node}'s power")
ARRIVES = Words("{what}; its answer to {clients} still arrives")
RESTART = Words("restart {node}")


@frozen
class Option:
    """Something that may happen now. `kind`: call, deliver, local, timer, break, kill,
    power or restart; `what`: the message, call or timer itself. `stops`: what of the step would
    have been done, for each number of effects after which its node may be killed
    (`f"{choice} kill=1"`), `answered`: whose answers would then be in flight (`… answers=app`).
    `sent`: the fact that sent the message, 0 for none. `ends`: of a message its sender and its
    receiver, of a connection its client and its server."""

    choice: str
    label: Text
    kind: str
    node: str
    what: Text = NOTHING
    stops: tuple[Text, ...] = ()
    answered: tuple[tuple[str, ...], ...] = ()
    sent: int = 0
    ends: tuple[str, str] = ("", "")

    @property
    def effects(self) -> int:
        """How many effects the step would have."""
        return max(len(self.stops) - 1, 0)


@frozen
class Gap:
    """A place in an execution at which `node` might have died: after the fact number `after`. The
    first `keep` choices stay as they are, then comes `kill`, or `power` for a power cut;
    `progress`: what of the step would have been done, nothing between two steps; `answered`: the
    clients to whom its answers are in flight then."""

    after: int
    node: str
    keep: int
    kill: str
    power: str
    progress: Text = NOTHING
    answered: tuple[str, ...] = ()


@frozen
class Done:
    """A choice that was made: its step's node, role and effects (of a step that was stopped, or of
    no step: none), the number of its first fact, and for each fact how many effects were done, and
    to which clients the node's answers were in flight."""

    choice: str
    node: str
    role: str = ""
    effects: tuple[Effect, ...] = ()
    first: int = 0
    progress: tuple[int, ...] = ()
    answered: tuple[tuple[str, ...], ...] = ()


Flights = Mapping[tuple[Wire, int], int]
"""By wire and number: the fact that sent a message which may be in flight."""


def record_choice(run: Run, moved: list[Moved]) -> Done:
    """Describe the last choice of an execution for `list_gaps` (which lists where a node might have
    been stopped): its step's effects, and for each of its facts how many effects were done by then
    and to which clients answers were in flight. A step that was itself stopped gets no effects, nor
    does a fault other than a restart: it offers no place for a crash. `moved`: the stages of the
    choice."""
    # run.counts[i]: the number of facts that the execution had after stage i of its last choice,
    # whose own facts have the step number run.steps
    facts_before = sum(fact.step < run.steps for fact in run.facts[: run.counts[0]])
    progress: list[int] = []
    answered: list[tuple[str, ...]] = []
    done, count = 0, facts_before
    for move, facts_after in zip(moved, run.counts, strict=True):
        done += _has_effect(move)
        progress += [done] * (facts_after - count)
        answered += [list_answered(run.system, move.world, move.node)] * (facts_after - count)
        count = facts_after
    stopped = parse(run.choices[-1]).stop >= 0 or moved[0].what not in ("step", "recover")
    effects = tuple(m.stage.effect for m in moved if m.stage is not None and m.stage.effect)
    name, role = moved[0].node, moved[0].role
    effects = () if stopped else effects
    first = facts_before + 1
    return Done(run.choices[-1], name, role, effects, first, tuple(progress), tuple(answered))


def find_flights(run: Run, moved: list[Moved]) -> dict[tuple[Wire, int], int]:
    """The messages that the last choice of an execution has sent, with the facts that narrate
    it."""
    sent = {}
    for move, now in zip(moved, run.counts, strict=True):
        stage = move.stage
        if stage is not None and stage.wire is not None and stage.note is not None:
            sent[stage.wire, stage.note.corr] = now
    return sent


def list_gaps(system: System, done: tuple[Done, ...], kept: int) -> Iterator[Gap]:
    """Yield each place in an execution at which a node might have died: after each fact of a step
    that has effects. After its last fact that is before the next choice, so not where there is
    none. `done`: what `record_choice` returned for each choice; the first `kept` of them cannot be
    changed and offer no place."""
    for position, step in enumerate(done[kept:], kept):
        if not step.effects:
            continue
        name_effect = partial(system.name_effect, step.role)
        last = step.first + len(step.progress) - 1
        # of each fact: how many effects were done by then, to whom answers were in flight
        by_fact = zip(step.progress, step.answered, strict=True)
        for fact_number, (effects, answered) in enumerate(by_fact, step.first):
            if fact_number < last:
                progress = describe_progress(step.effects, effects, name_effect)
                kill, power = (f"{step.choice} {how}={effects}" for how in ("kill", "power"))
                yield Gap(fact_number, step.node, position, kill, power, progress, answered)
            elif position + 1 < len(done):
                kill, power = f"kill {step.node}", f"power {step.node}"
                yield Gap(fact_number, step.node, position + 1, kill, power, NOTHING, answered)


def list_options(system: System, world: World, flights: Flights) -> tuple[Option, ...]:
    """List everything that may happen now, each with its label: first the steps, then the faults of
    each node (a restart of one that is down; a crash, a power cut, a broken connection of one that
    runs). `flights`: which fact of the picture sent each message in flight."""
    steps = [_option(system, world, choice, flights) for choice in list_choices(system, world)]
    faults = []
    for name, node in world.nodes.items():
        if not node.up:
            restart = Choice("restart", name)
            stops, _ = _describe_stops(system, apply(system, world, restart))
            label = RESTART(node=name)
            faults.append(Option(str(restart), label, "restart", name, stops=stops))
            continue
        faults += _list_stops(name, list_answered(system, world, name))
        for a, b in node.conns:
            if system.both_ways and any((f.ends == (b, a)) for f in faults):
                continue  # the same connection, listed already at its other end
            broken = BREAK(b=b)
            faults.append(Option(f"break {a} {b}", broken, "break", name, ends=(a, b)))
    return (*steps, *faults)


def _option(system: System, world: World, choice: Choice, flights: Flights) -> Option:
    """Describe one possible step as an Option for the learner, whose fields its class explains. The
    step is carried out for this on the world, which itself does not change. `flights`: which fact
    of the picture sent each message in flight."""
    moved = apply(system, world, choice)
    event, node = moved[0].event, moved[0].node
    # of a message or call; a timer or an own event has no body
    what = put_in_words(getattr(event, "body", ""))
    sent, ends = find_sent(world, choice, flights), ("", "")
    match choice.kind:
        case "request":
            late = choice.conn != current(system, world, choice.a, choice.b)
            label, kind = (DELIVER_LATE if late else DELIVER)(src=choice.a, what=what), "deliver"
            ends = (choice.a, choice.b)
        case "response":
            label, kind = ANSWER(src=choice.b, what=what), "deliver"
            ends = (choice.b, choice.a)
        case "call":
            label, kind = CALLS(what=what), "call"
        case "fire":
            what = say_both(partial(phrase_word, getattr(event, "timer", "")))
            label, kind = TIMER(name=what), "timer"
        case _:
            label, kind = _name_own_event(event), "local"
    stops, answered = _describe_stops(system, moved)
    return Option(str(choice), label, kind, node, what, stops, answered, sent, ends)


def _list_stops(name: str, answered: tuple[str, ...]) -> Iterator[Option]:
    """The two ways in which a node stops, and each with its answers arriving, where it has any."""
    for kind, words in (("kill", KILL), ("power", POWER)):
        label = words(node=name)
        yield Option(f"{kind} {name}", label, kind, name)
        if answered:
            text = ARRIVES(what=label, clients=join_names(answered))
            yield Option(f"{kind} {name} answers={','.join(answered)}", text, kind, name)


def find_sent(world: World, choice: Choice, flights: Flights) -> int:
    """The fact that sent the message that a choice delivers; 0 for any other choice."""
    if choice.kind not in ("request", "response"):
        return 0
    wire = ("q" if choice.kind == "request" else "r", choice.a, choice.b, choice.conn)
    return flights.get((wire, world.wires[wire][choice.index].corr), 0)


def _describe_stops(
    system: System, moved: list[Moved]
) -> tuple[tuple[Text, ...], tuple[tuple[str, ...], ...]]:
    """What would have been done, and whose answers would be in flight, after each number of
    effects."""
    done = [m for m in moved if _has_effect(m)]
    effects = tuple(m.stage.effect for m in done if m.stage is not None and m.stage.effect)
    name = partial(system.name_effect, moved[0].role)
    stops = tuple(describe_progress(effects, many, name) for many in range(len(effects) + 1))
    answered = (list_answered(system, m.world, m.node) for m in (moved[0], *done))
    return stops, tuple(answered)


def _has_effect(move: Moved) -> bool:
    return move.stage is not None and move.stage.effect is not None


@cache
def _name_own_event(event: object) -> Text:
    """A node's own event in words."""
    match event:
        case Appended(log=log):
            return SAFE(log=log)
        case AppendFailed(log=log):
            return REFUSED(log=log)
        case ConnectionLost(peer=peer):
            return NOTICES(peer=peer)
        case Response(peer=peer, body=body):
            return ANSWER(src=peer, what=put_in_words(body))
    return put_in_words(getattr(event, "body", type(event).__name__))
