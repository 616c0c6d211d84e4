"""The exercise in which a learner writes an invariant that catches broken coordinators.

The invariant (a *light*, as the picture shows it: green or red) is a function of one moment, of
plain values:

    log         the coordinator's records, oldest first: (state, epoch, partitions)
    partitions  (name, what it holds) of each: (value or "COMMIT" or "ABORT", epoch), oldest first
    calls       (application, its calls) of each: (call, "ok", "failed …", or "" while it waits)

It says True as long as all is well. It must be True in every moment of a right coordinator, and
False in some moment of each broken one: six that are named, and, for points, others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...explore import Budget, Search
from ...kafka import coordinator
from ...kafka.coordinator import Coordinator
from ...kafka.coordinator.entry import Entry
from ...kafka.messages import SendMarkers, WriteTxnMarkers
from ...kafka.states import TxnState
from ...kernel import NOTHING, Caller, Disk, Effects, Property, Send, Text, Words, World, tr
from ...kernel.world import NodeState
from ..check import Hinted, Rule, RuleError, ask_rule, call_rule, expect_truth
from ..exercises import read_hints
from ..roles import recover_as
from ..verdict import NOT_WRITTEN, Verdict
from .sittings import ONE, TC, TWIN, TWO, BuildSystem, arrange
from .trial import Trial

Result = tuple[Coordinator, Effects]


class MarksOne(Coordinator):
    """It sends one marker and calls the transaction complete."""

    def handle_request(self, body: Any, caller: Caller, disk: Disk, at_ms: int) -> Result:
        if isinstance(body, SendMarkers):
            entry: Entry = self.entries[body.txn_id]
            less = replace(entry, partitions=entry.partitions[:1])
            half = replace(self, entries=self.entries.set(body.txn_id, less))
            return coordinator.send_markers(half, body.txn_id)
        return Coordinator.handle_request(self, body, caller, disk, at_ms)


class CompletesEarly(Coordinator):
    """It writes Complete when the markers have left."""

    def handle_request(self, body: Any, caller: Caller, disk: Disk, at_ms: int) -> Result:
        new, effects = Coordinator.handle_request(self, body, caller, disk, at_ms)
        if not isinstance(body, SendMarkers):
            return new, effects
        sent, written = coordinator.write_complete(new, body.txn_id, disk, at_ms)
        return replace(sent, owed=sent.owed.remove(body.txn_id)), (*effects, *written)


class MarksBoth(Coordinator):
    """The last partition of several receives the opposite marker."""

    def handle_request(self, body: Any, caller: Caller, disk: Disk, at_ms: int) -> Result:
        new, effects = Coordinator.handle_request(self, body, caller, disk, at_ms)
        return new, tuple(_turn_round(one, i) for i, one in enumerate(effects))


def _turn_round(effect: Any, place: int) -> Any:
    if place and isinstance(effect, Send) and isinstance(effect.body, WriteTxnMarkers):
        return replace(effect, body=replace(effect.body, commit=not effect.body.commit))
    return effect


class CommitsTheLate(Coordinator):
    """What times out is committed."""

    def fence(self, entry: Entry, disk: Disk, at_ms: int, caller: Any, answer: Any) -> Result:
        version = self.config.transaction_version
        new = entry.enter(TxnState.PREPARE_COMMIT, version, epoch=entry.epoch + 1)
        return self.write(new, disk, at_ms, caller, answer)


class KnowsOne(Coordinator):
    """It remembers the partition that was added last."""

    def write(self, new: Entry, disk: Disk, *given: Any, **more: Any) -> Result:
        old: Entry | None = self.entries.get(new.txn_id)
        known = set(old.partitions) if old is not None else set()
        if new.state is TxnState.ONGOING and known < set(new.partitions):
            new = replace(new, partitions=tuple(p for p in new.partitions if p not in known))
        return Coordinator.write(self, new, disk, *given, **more)


class CommitsAll(Coordinator):
    """Each marker is a commit."""

    def handle_request(self, body: Any, caller: Caller, disk: Disk, at_ms: int) -> Result:
        new, effects = Coordinator.handle_request(self, body, caller, disk, at_ms)
        return new, tuple(
            replace(one, body=replace(one.body, commit=True))
            if isinstance(one, Send) and isinstance(one.body, WriteTxnMarkers)
            else one
            for one in effects
        )


@dataclass(frozen=True)
class Broken:
    """A broken coordinator, and where it shows: `trial`'s line with `off` before it."""

    says: Text
    trial: Trial
    kind: type[Coordinator] = Coordinator
    off: str = ""

    def system(self) -> BuildSystem:
        trial = replace(self.trial, line=f"{self.off} {self.trial.line}".strip())
        return arrange(trial, partial(recover_as, self.kind, Coordinator.recover, {}))


LATE = Trial("late", "partitions=1 'app=init; begin; send orders-0 a; flush'", Budget(timers=1))
BOTH = Trial("two partitions", TWO)
TWINS = Trial("a second producer", f"partitions=1 {TWIN} {ONE}", Budget(timers=1))
ABORTED = Trial("an abort", "partitions=1 'app=init; begin; send orders-0 a; abort'")
BROKEN = (
    Broken(
        tr("its markers are sent before the decision is in the log"),
        BOTH, off="off=prepare_before_markers",
    ),
    Broken(
        tr("it marks one partition of two and writes Complete"),
        BOTH, MarksOne,
    ),
    Broken(
        tr("it writes Complete before the partitions have answered"),
        BOTH, CompletesEarly,
    ),
    Broken(
        tr("it sends one partition a commit, and the other an abort"),
        BOTH, MarksBoth,
    ),
    Broken(tr("it commits a transaction that has timed out"), LATE, CommitsTheLate),
    Broken(
        tr("an old producer continues beside its successor"),
        TWINS, off="off=epoch_fencing",
    ),
)  # fmt: skip
HIDDEN = (
    Broken(
        tr("it drops the first partition when the second is added"),
        BOTH, KnowsOne,
    ),
    Broken(tr("it marks an abort as a commit"), ABORTED, CommitsAll),
)  # fmt: skip
UNNAMED = tr("one that is not named here")
TOO_DARK = tr("the invariant turns False although all is well: look at the last moment")
SOME = Words("it catches {caught} of {all}. Not caught: {missed}")
ALL = Words("it catches all {all}, and stays True for a right one")


def _look(system: BuildSystem, world: World) -> tuple[Any, ...]:
    """A moment as the learner's property receives it."""
    disk = world.disk(TC)
    log = tuple(
        (str(record.entry.state), record.entry.epoch, record.entry.partitions)
        for name in disk.logs("__transaction_state")
        for record in disk.log(name).read(0)
    )
    held = tuple(
        (name, tuple(_describe(batch) for batch in world.disk(name).log(name).read(0)))
        for name in system.cluster.partitions
    )
    calls = tuple((name, _calls(world.nodes[name])) for name, _ in system.producers)
    return log, held, calls


def _describe(batch: Any) -> tuple[str, int]:
    return batch.control or ", ".join(map(str, batch.records)), batch.epoch


def _calls(node: NodeState) -> tuple[tuple[str, str], ...]:
    app = node.app
    if app is None:
        return ()
    made = [(str(result.call), result.result) for result in app.results]
    if app.waiting and isinstance(app.program, tuple):
        made.append((str(app.program[len(made)]), ""))
    return tuple(made)


def _reads(system: BuildSystem, name: str, node: NodeState) -> Hashable:
    if name == TC or name in system.cluster.partitions:
        return node.disk
    return _calls(node)


EXPECTS = expect_truth(tr("an invariant returns True or False"))


@dataclass(frozen=True)
class Lights(Hinted):
    """The exercise; an answer is one function, which may ask several things."""

    hints: tuple[Text, ...]

    def check(self, light: Rule, graded: bool = False) -> Verdict:
        """Judge a learner's invariant `light`, a function of what one sees of a state of the
        system: it must be True in every state of a right coordinator, and False in some state of
        each wrong one of BROKEN (and of HIDDEN, if `graded`)."""
        answers: dict[tuple[Any, ...], bool] = {}

        # Many states look the same to the invariant, which is asked once for each look.
        def ask(*seen: Any) -> bool:
            if seen not in answers:
                answers[seen] = ask_rule(light, seen, EXPECTS)
            return answers[seen]

        # `_find_dark`: the schedule to a world in which the invariant is False, or None
        cases = (*BROKEN, *(HIDDEN if graded else ()))
        try:
            # an untouched stub returns None in the first state of a right system
            if call_rule(light, _look(BOTH_RIGHT, _first(BOTH_RIGHT))) is None:
                return Verdict(False, NOT_WRITTEN)
            for trial in dict.fromkeys(case.trial for case in cases):
                system = Broken(NOTHING, trial).system()
                if (schedule := _find_dark(system, trial.budget, ask)) is not None:
                    # The execution stops halfway, where a promise about its end says nothing.
                    shown = replace(system, dropped=(*system.dropped, "delivered", "returns"))
                    return Verdict(False, TOO_DARK, "", schedule, shown)
            missed = [
                one for one in cases if _find_dark(one.system(), one.trial.budget, ask) is None
            ]
        except RuleError as error:
            return Verdict(False, error.args[0])
        if missed:
            # a mistake of HIDDEN stays unnamed
            lines = [one.says for one in missed if one in BROKEN] or [UNNAMED]
            listed = Text("; ".join(one.en for one in lines), "；".join(one.zh for one in lines))
            caught = len(cases) - len(missed)
            return Verdict(False, SOME(caught=caught, all=len(cases), missed=listed))
        return Verdict(True, ALL(all=len(cases)))


def _first(system: BuildSystem) -> World:
    return Search(system).first_world()


def _find_dark(
    system: BuildSystem, budget: Budget, light: Callable[..., bool]
) -> tuple[str, ...] | None:
    """The shortest execution after which the light is out; None where there is none."""
    claim = Property(
        "light", tr("the invariant"), lambda world: light(*_look(system, world)),
        reads=partial(_reads, system),
    )  # fmt: skip
    search = Search(system, budget, (claim,))
    while search.advance() and not search.found:
        pass
    return search.schedule(search.found[0]) if search.found else None


BOTH_RIGHT = Broken(NOTHING, BOTH).system()
LIGHTS = Lights(read_hints("13 lights"))
GRADED = {"lights": (LIGHTS, "rule")}
