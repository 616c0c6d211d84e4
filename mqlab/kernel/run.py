"""Executions (`Run`): choices done one after the other, each narrated fact by fact.

`Run` is what `replay`, `play`, `simulate` and the scenario language share. It holds the
world and writes the Trace; it contains no protocol logic.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from .choice import Choice, parse
from .moves import Moved, apply, initial, placements
from .reasons import say_unguarded
from .role import (
    Append,
    ConnectionLost,
    Effect,
    Fired,
    Flush,
    Put,
    Reply,
    Request,
    Return,
    Send,
    Truncate,
)
from .snapshot import Light, Snapshot
from .stops import describe_stop
from .story import SOME, tell, tell_again
from .system import Property, System
from .text import BadValue, Lang, Text, Words, phrase_word, say_both
from .trace import GLYPHS, Fact, FactKind, Trace
from .world import World

RECOVERED = Words("recovered")
BROKEN = Words("connection broken")
REFUSED = Words("connection refused")
DROPPED = Words("thrown away: {what}")
COMES_LATE = Words("{what} (late)")
SENT_BEFORE = Words("{what} (sent before, arrives now)")
IDLE = Words("{what}: nothing to do")
TIMER = Words("timer {name}")
NOTED = Words("{named} = {value}")
CUT = Words("{log} cut back to {end}")
FLUSHED = Words("flushed")

#: Each fact has a Snapshot of the whole world, so the cost of an execution grows with the square of
#: its facts, and more than these are too many to step through.
MOST_FACTS = 2_000
TOO_LONG = Words(
    "a scenario has at most {:,} facts, and this one has more: let it make fewer calls, or send "
    "so many to a server (`mqlab serve`), whose picture shows the latest part"
)(MOST_FACTS)


def put_in_words(value: object) -> Text:
    """What a message, entry or call says of itself. Most are said often, and two of a class that
    say the same in English do so in Chinese: it is put together once."""
    if isinstance(value, Text):
        return value
    key = type(value), str(value)
    if key not in _SAID:
        if len(_SAID) == MOST_SAID:
            _SAID.clear()
        _SAID[key] = say_both(partial(str, value))
    return _SAID[key]


_SAID: dict[tuple[type, str], Text] = {}
MOST_SAID = 10_000


@dataclass
class Run:
    """A system being executed. `do` makes one choice; `trace` is what happened so far. `claims`
    have a light in each Snapshot, before those of the system. `world`: as it is now; `choices`,
    `facts`, `snapshots`: what has been chosen and narrated so far; `steps`: handler calls."""

    system: System
    title: Text = Text("")
    claims: tuple[Property, ...] = ()
    world: World = field(init=False)
    choices: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    snapshots: list[Snapshot] = field(init=False)
    steps: int = 0
    red: frozenset[str] = frozenset()  # the lights that went red and stay so
    counts: tuple[int, ...] = ()  # of the last choice: how many facts there were after each move

    def __post_init__(self) -> None:
        self.world = initial(self.system)
        self.snapshots = [self._with_claims(self.system.snapshot(self.world), self.world)]

    def fork(self) -> Run:
        """A copy of this execution, which goes on by itself from here."""
        twin = copy(self)
        twin.choices, twin.facts, twin.snapshots = (
            list(self.choices),
            list(self.facts),
            list(self.snapshots),
        )
        return twin

    def do(self, choice: Choice | str, at_ms: int = 0, ahead_ms: int = 0) -> list[Moved]:
        """Make one choice: move the world and add a fact and a Snapshot for each thing that
        happened and is shown. Returns the stages of the move. ValueError where the choice is not
        possible or there would be more than MOST_FACTS facts. `at_ms`: the simulated time;
        `ahead_ms`: by how much the clock of the choice's node is ahead of it."""
        choice = parse(choice) if isinstance(choice, str) else choice
        moved = apply(self.system, self.world, choice, at_ms + ahead_ms)
        self.steps += 1
        world_before = self.world
        facts_before = len(self.facts)
        counts = []
        for move in moved:
            self.world = move.world
            for fact in self._list_facts(move, world_before):
                self._add(replace(fact, at_ms=at_ms), move)
            counts.append(len(self.facts))
        self.counts = tuple(counts)
        self.choices.append(str(choice))
        if len(self.facts) == facts_before and moved:
            self._add_idle(moved[0], at_ms)
        if len(self.facts) > facts_before and self.system.judged_between_steps:
            self._judge()
        return moved

    def _add_idle(self, move: Moved, at_ms: int) -> None:
        """A request that changed nothing is still something that happened, unless it calls
        itself `quiet`: news that most who hear it have no use for. One that cannot come to
        nothing says what it does instead (`idle`)."""
        if isinstance(move.event, Request) and not getattr(move.event.body, "quiet", False):
            body, caller = move.event.body, move.event.caller.name
            text = getattr(body, "idle", IDLE)(what=put_in_words(body))
            idle = new_fact(FactKind.IDLE, move.role, text, caller, body, fold=True)
            self._add(replace(idle, at_ms=at_ms), move)

    def _add(self, fact: Fact, move: Moved) -> None:
        """Add one fact to the execution, with all that the system says of it (label, why,
        transaction, stage, the sentence of the story), and the Snapshot after it. A fact that the
        system hides is not added; BadValue where the execution has MOST_FACTS already. `move`: the
        stage that the fact is of."""
        effect = move.stage.effect if move.stage else None
        event = move.event if move.what == "step" else None  # a fault explains itself
        telling = self.system.annotate(move.world, move.role, event, effect)
        if telling.hide:
            return
        if len(self.facts) == MOST_FACTS:
            raise BadValue(TOO_LONG)
        why = telling.why if telling.why.en else self.system.explain(fact)
        # a sentence that a switched-off safeguard would make untrue is replaced
        off, unguarded = getattr(self.system, "off", ()), self.system.unguarded()
        why = say_unguarded(why, off, unguarded)
        label = telling.label
        if fact.kind is FactKind.LATE and label.en:
            label = COMES_LATE(what=label)
        new = self.system.snapshot(move.world)
        # for the level Story: what was written or read, as an outsider calls it, and the sentence
        # (empty where an outsider notices nothing), which `tell_again` changes at a repetition
        record = self.system.name_record(telling.record)
        story = tell(fact, telling.story, new.lanes, txn=telling.txn or SOME, what=record, why=why)
        # `fold`: whether a picture hides the row at first; a telling may want it shown, or hidden
        self.facts.append(
            replace(
                fact,
                index=len(self.facts) + 1,
                step=self.steps,
                txn=telling.txn,
                fold=(fact.fold and not telling.show) or telling.fold,
                label=label,
                why=why,
                stage=str(telling.stage or ""),
                story=tell_again(say_unguarded(story, off, unguarded), record, fact, self.facts),
            )
        )
        # lights (of the Snapshot): whether each claim holds. Where claims may be broken within a
        # step they are judged at its end (`do`), and until then the lights stay; else after each
        # fact, and a light that went red stays red
        if self.system.judged_between_steps:
            self.snapshots.append(self._with_old_lights(new))
        else:
            self.snapshots.append(self._keep_red(self._with_claims(new, move.world)))

    def _with_old_lights(self, new: Snapshot) -> Snapshot:
        """Within a step the lights, and whether money is lost, stay as they were before it."""
        old, money = self.snapshots[-1], new.money
        if money is not None and old.money is not None:
            money = replace(money, missing=old.money.missing, extra=old.money.extra)
        return replace(new, lights=old.lights, money=money)

    def _judge(self) -> None:
        """The lights and the money of a step that is over."""
        judged = self._keep_red(self._with_claims(self.system.snapshot(self.world), self.world))
        last = self.snapshots[-1]
        self.snapshots[-1] = replace(last, lights=judged.lights, money=judged.money)

    @cached_property
    def _lasting(self) -> frozenset[str]:
        """The claims that may be broken for a moment, by their names."""
        claims = (*self.claims, *self.system.properties())
        return frozenset(claim.name for claim in claims if claim.kind == "can_always")

    def judge_again(self) -> None:
        """From here on the `claims` are judged as if nothing had been before: what broke one of
        them for a moment, in choices given to a learner, is not the learner's fault."""
        self.red -= {claim.name for claim in self.claims}
        self._judge()

    def _with_claims(self, new: Snapshot, world: World) -> Snapshot:
        if not self.claims:
            return new
        names = {claim.name for claim in self.claims}
        first = tuple(Light(c.name, c.sentence, c.holds(world)) for c in self.claims)
        return replace(new, lights=first + tuple(g for g in new.lights if g.name not in names))

    def _keep_red(self, new: Snapshot) -> Snapshot:
        """A light that went red stays red: the invariant was broken in this execution. Not that of
        a claim which can always still be kept: it describes the present state."""
        red = {light.name for light in new.lights if not light.ok}
        self.red = frozenset(name for name in self.red if name not in self._lasting) | red
        lights = tuple(replace(g, ok=g.name not in self.red) for g in new.lights)
        return replace(new, lights=lights)

    def _list_facts(self, move: Moved, before: World) -> Iterable[Fact]:
        """The facts of one stage of a choice: of a fault, of a handler's begin, or of one effect.
        `before`: the world before the choice, with which a role's memory is compared. A stage that
        is not shown has none, such as that the other end of a connection notices the break."""
        if move.what in ("stop", "power"):
            yield self._stopped(move)
        elif move.what == "break":
            assert isinstance(move.event, ConnectionLost)
            lost, peer = move.event, move.event.peer
            if lost.refused:
                yield new_fact(FactKind.BREAK, move.role, REFUSED(), peer, lost)
            else:
                yield new_fact(FactKind.BREAK, move.role, BROKEN(), peer)
        elif move.what == "drop":
            assert isinstance(move.event, Request)
            body, peer = move.event.body, move.event.caller.name
            yield new_fact(FactKind.DROP, peer, DROPPED(what=put_in_words(body)), move.role, body)
        elif move.stage is not None and move.stage.effect is None:
            yield from self._list_begin_facts(move, before)
        elif move.stage is not None and move.stage.effect is not None:
            fact = describe_effect(move.role, move.stage.effect)
            if fact is not None:
                yield fact

    def _stopped(self, move: Moved) -> Fact:
        power = move.what == "power"
        name = partial(self.system.name_effect, move.role)
        text = describe_stop(power, move.planned, move.done, name, move.answers)
        return new_fact(FactKind.POWER_CUT if power else FactKind.KILL, move.node, text)

    def _list_begin_facts(self, move: Moved, before: World) -> Iterable[Fact]:
        """The facts of a step before its first effect: that its request is late or a timer has
        expired; then that a role has recovered from its disk, or what the role says has changed in
        its memory; the body of these is the template and the values of the text (`Text.made`)."""
        event = move.event
        if isinstance(event, Request) and move.late:
            body = event.body
            text = SENT_BEFORE(what=put_in_words(body))
            yield new_fact(FactKind.LATE, event.caller.name, text, move.role, body)
        elif isinstance(event, Fired):
            name = event.timer
            text = TIMER(name=say_both(partial(phrase_word, name)))
            yield new_fact(FactKind.TIMER, move.role, text, body=name)
        role_index = placements(self.system)[move.role][1]
        role_after = move.world.nodes[move.node].roles[role_index]
        if move.what == "recover":
            # None: nothing to compare with; a recovery is one fact, so only its first text counts
            texts = role_after.describe_changes(None) or (RECOVERED(),)
            yield new_fact(FactKind.RECOVERY, move.role, texts[0], body=texts[0].made)
            return
        role_before = before.nodes[move.node].roles[role_index]
        for text in role_after.describe_changes(role_before):
            yield new_fact(FactKind.CHANGE, move.role, text, body=text.made)

    @property
    def trace(self) -> Trace:
        return Trace(
            system=self.system.line(),
            choices=tuple(self.choices),
            facts=tuple(self.facts),
            snapshots=tuple(self.snapshots),
            title=self.title,
            label=self.system.label(),
            terms=self.system.terms(),
        )

    def narrate(self, lang: Lang = "en") -> str:
        return self.trace.narrate(lang)


def new_fact(
    kind: FactKind,
    node: str,
    text: Text,
    peer: str = "",
    body: object = None,
    *,
    fold: bool = False,
) -> Fact:
    """A fact of this kind, with its glyph; its index and step are given where it is added."""
    return Fact(0, 0, node, GLYPHS[kind], text, peer, fold=fold, kind=kind, body=body)


def describe_effect(role: str, effect: Effect) -> Fact | None:
    """The fact that one effect of a role becomes, not yet numbered or explained. None for an effect
    that is not shown: timers appear only when they fire. `fold`: hidden at first in the picture."""
    match effect:
        case Send(to=to, body=body):
            # some answers travel as a Send of the broker's own (Pulsar's ProducerOpened, whose
            # class has `answers = True`); they are shown as replies
            kind = FactKind.REPLY if getattr(body, "answers", False) else FactKind.SEND
            return new_fact(kind, role, put_in_words(body), to, body, fold=to == role)
        case Reply(caller=caller, body=body):
            return new_fact(FactKind.REPLY, role, put_in_words(body), caller.name, body)
        case Append(entry=entry):
            return new_fact(FactKind.APPEND, role, put_in_words(entry), "disk", entry)
        case Truncate(log=log, end=end):
            return new_fact(FactKind.TRUNCATE, role, CUT(log=log, end=end), "disk")
        case Put(table=table) if table.startswith("."):
            return None  # a checkpoint that only the role itself reads
        case Put(table=table, key=key, value=value):
            named = say_both(lambda: f"{phrase_word(table)}[{phrase_word(str(key))}]")
            text = NOTED(named=named, value=put_in_words(value))
            return new_fact(FactKind.PUT, role, text, "disk", value, fold=True)
        case Flush():
            return new_fact(FactKind.FLUSH, role, FLUSHED(), "disk", fold=True)
        case Return(value=value):
            return new_fact(FactKind.RETURN, role, put_in_words(value), body=value)
    return None


def replay(system: System, schedule: Iterable[str], title: Text = Text("")) -> Trace:
    """Do a list of choices; the trace of exactly that execution."""
    return run_choices(system, schedule, title).trace


def run_choices(system: System, schedule: Iterable[str], title: Text = Text("")) -> Run:
    """The execution of a list of choices; BadValue where one is not possible."""
    run = Run(system, title)
    for choice in schedule:
        run.do(choice)
    return run
