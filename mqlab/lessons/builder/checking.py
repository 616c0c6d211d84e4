"""Is a learner's file right? Each trial is searched, to the first execution that breaks it.

Reported are the claim that breaks, what the execution shows of it (`explain`), and its trace.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from ...explore import Counterexample, Search
from ...kernel import Play, Snapshot, Text, Trace, Words, World
from ...kernel.moves import Moved, initial
from ...kernel.simulate import Timing, Untold, advance
from ..check import Hinted
from ..exercises import read_hints
from ..verdict import NOT_WRITTEN, Verdict
from .host import BuildError, read_file
from .trial import DOWN_MS, Timed, Trial
from .whats import COORDINATOR, What, find_what

MOST_STATES = 200_000  # of a trial; a right coordinator has half as many in the largest
MOST_CHOICES = 700  # of an execution in simulated time; a right coordinator makes half as many
MOST_ASKED = 20_000  # different questions of a file; a right coordinator is asked 3,000
SLICE_S = 0.1
HOLDS = Words("{trials} trials, {states:,} states, and nothing breaks (part {sitting}): {names}")
TOO_MANY = Words("it has more than {states:,} states: what in its state grows for ever?")
UNDOABLE = Words("in the trial “{trial}” something that it did cannot be done: {error}: {why}")
NO_SITTING = Words("there is no part {sitting}: name one of 1 to {last}")


@dataclass(frozen=True)
class Card(Verdict):
    """`states`: how many worlds were looked at, over `trials` trials; `trial`: the one that
    refutes the file; `lost`: the position in the trace from which no way leads on to what must
    stay reachable, where `light` says that."""

    states: int = 0
    trials: int = 0
    trial: str = ""
    lost: int = 0

    @cached_property
    def _trace(self) -> Trace | None:
        """The trace. A world does not tell if something is still reachable from it, only the search
        does: such a claim is red from where the search has lost it, and dark if it did not."""
        trace: Trace | None = super()._trace
        if trace is None or self.system is None:
            return None
        lasting = {one.name for one in self.system.properties() if one.kind == "can_always"}
        judged = (self._judge(one, at, lasting) for at, one in enumerate(trace.snapshots))
        return replace(trace, snapshots=tuple(judged))

    def _judge(self, shown: Snapshot, at: int, lasting: set[str]) -> Snapshot:
        lights = (
            replace(light, ok=at < self.lost) if light.name in lasting else light
            for light in shown.lights
            if light.name == self.light or light.name not in lasting
        )
        return replace(shown, lights=tuple(lights))


def check_file(path: Path, sitting: int = 1) -> Card:
    """Judge what a file holds. BuildError where it cannot be read or loaded."""
    return check_source(read_file(path), sitting)


def check_source(
    source: str, sitting: int = 1, what: What | None = None, alone: bool = False
) -> Card:
    """Judge the text of a learner's file by the trials (systems to search) of the lab's parts up to
    number `sitting`, or of that part `alone`; the card shows the first failure, or that all hold.

    `what`: which part of a broker it programs; by default the file itself tells. BuildError where
    it cannot be loaded, and where there is no such part.
    """
    what = what or find_what(source)
    if sitting not in what.sittings:
        raise BuildError(NO_SITTING(sitting=sitting, last=len(what.sittings)))
    states = 0
    trials = what.sittings[sitting] if alone else what.list_trials(sitting)
    with what.host(source) as host:
        for number, trial in enumerate(trials, 1):
            card = search_trial(trial, host, what)
            states += card.states
            if not card.ok:
                return replace(card, states=states, trials=number)
    titles = [trial.title for trial in trials]
    names = Text(", ".join(one.en for one in titles), "；".join(one.of("zh") for one in titles))
    sentence = HOLDS(trials=len(trials), states=states, sitting=sitting, names=names)
    return Card(True, sentence, states=states, trials=len(trials))


def search_trial(trial: Trial, host: Any, what: What = COORDINATOR) -> Card:
    """Try one system until something breaks. The execution is played while the host still answers.
    What the engine cannot do, such as a marker for a partition that there is not, is said too."""
    system = what.arrange(trial, host.recover)
    try:
        if trial.timed is not None:
            return run_trial(trial, trial.timed, system, what)
        return _search(trial, system, what, host)
    except Exception as error:
        sentence = UNDOABLE(trial=trial.title, error=type(error).__name__, why=error)
        return Card(False, sentence, trial=trial.name)


def _search(trial: Trial, system: Any, what: What, host: Any) -> Card:
    """Search the schedules of a trial's `system`, in which the learner's role runs (in the process
    `host`), and return a card: with the shortest execution found that breaks a claim; with one that
    ends although something has not happened that must; with TOO_MANY states; or that all is well.
    `what`: which part of a broker the role is; it words the card."""
    search = Search(system, replace(trial.budget, states=MOST_STATES))
    always = {i for i, claim in enumerate(search.properties) if claim.kind == "always"}
    # until all is searched, or a claim of `always` is broken (`found`: claim → the world in
    # which it breaks, or comes true where it must)
    while search.advance(SLICE_S) and not always & search.found.keys():
        if host.asked > MOST_ASKED:
            search.stop()
    verdict = search.verdict()
    examples = sorted(verdict.counterexamples.values(), key=lambda one: len(one.schedule))
    if examples:
        return _show(trial, examples[0], system, search.states, what)
    if verdict.missing:
        # The last world that was found is one of those in which nothing more can happen.
        schedule = search.schedule(search.states - 1)
        sentence = what.explain(system, schedule, verdict.missing[0])
        card = Card(
            False, sentence, "", schedule, system,
            states=search.states, trial=trial.name, shortest=False,
        )  # fmt: skip
        card.trace()  # while the learner's process runs: `host` keeps its answers for later
        return card
    if not verdict.complete:
        sentence = TOO_MANY(states=search.states)
        return Card(False, sentence, states=search.states, trial=trial.name)
    return Card(True, Text(trial.name), states=search.states, trial=trial.name)


def run_trial(trial: Trial, timed: Timed, system: Any, what: What) -> Card:
    """Run one system in simulated time, once from each seed, and return a card with the first
    execution that breaks a claim, or that all hold; `timed` says when the learner's node crashes,
    and how likely its connections break. A "can_always" or "sometimes" claim is judged at the end
    of an execution only. The clock is not passed to the coordinator, as in a search: so an
    execution is its choices alone, and can be played again."""
    steps, partitions = 0, system.cluster.partitions if timed.loss else ()
    # the connections that may break
    lossy = tuple((what.restart, name) for name in partitions)
    timing = Timing(call_ms=timed.call_ms, loss=timed.loss, lossy=lossy)
    stops = [(at, f"kill {what.restart}") for at in timed.kills]
    starts = [(at + DOWN_MS, f"restart {what.restart}") for at in timed.kills]
    for seed in range(timed.seeds):
        run = Watched(system, initial(system))
        with suppress(Breaks):  # `Watched` ends it where a claim breaks, or it gets too long
            advance(run, Random(seed), timed.until_ms, sorted(stops + starts), timing)
        steps += len(run.choices)
        final = [one for one in system.properties() if one.kind != "always"]
        broken = run.broken or next((one.name for one in final if not one.holds(run.world)), "")
        if broken:
            return _show_run(trial, broken, tuple(run.choices), system, steps, what)
    return Card(True, Text(trial.name), states=steps, trial=trial.name)


class Breaks(Exception):
    """A claim is broken: the execution ends here."""


@dataclass
class Watched(Untold):
    """An execution in simulated time, and its choices. Ends in the first world where a claim
    breaks, and after `MOST_CHOICES`: a coordinator that asks for ever is called no further."""

    broken: str = ""
    choices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._always = [one for one in self.system.properties() if one.kind == "always"]

    def do(self, choice: str, at_ms: int = 0) -> list[Moved]:
        before = self.world
        moved = super().do(choice)
        self.choices.append(choice)
        for after in (move.world for move in moved):
            self.broken = self._find_broken(before, after)
            if self.broken:
                raise Breaks
            before = after
        if len(self.choices) == MOST_CHOICES:
            raise Breaks
        return moved

    def _find_broken(self, before: World, after: World) -> str:
        """The first claim that holds before and not after. One that reads the same of each node is
        not asked again."""
        pairs = ((name, before.nodes[name], node) for name, node in after.nodes.items())
        changed = [(name, old, new) for name, old, new in pairs if old is not new]
        for one in self._always:
            news = any(one.reads(name, old) != one.reads(name, new) for name, old, new in changed)
            if news and not one.holds(after):
                return one.name
        return ""


def _show_run(
    trial: Trial, claim: str, schedule: tuple[str, ...], system: Any, states: int, what: What
) -> Card:
    kind = next(one.kind for one in system.properties() if one.name == claim)
    says = what.explain(system, schedule, claim)
    light = "" if kind == "sometimes" else claim
    marked = _light(system, claim, what)
    # judged at the end of the execution only: it is red in the last snapshot of the trace
    lost = len(Play(marked, schedule).trace) if kind == "can_always" else 0
    card = Card(
        False, says, light, schedule, marked, light,
        states=states, trial=trial.name, lost=lost, shortest=False,
    )  # fmt: skip
    card.trace()
    return card


def _light(system: Any, claim: str, what: What) -> Any:
    """The system whose picture also shows this claim as an invariant (a light), where a system line
    may name it (`claims=…`)."""
    key = claim.replace(" ", "_")
    return replace(system, claims=(key,)) if key in what.claims else system


def _show(trial: Trial, example: Counterexample, system: Any, states: int, what: What) -> Card:
    """Make the card, which is shown to the learner, of a counterexample: in words, and as a trace
    in which an invariant stands for the claim that breaks. A claim of "can_always" breaks where it
    can no longer come true: there the execution is played on to its end, and the card's `lost` is
    the position from which on this is so. `states`: how many were searched; `what`: which part of a
    broker the role is."""
    schedule, marked, lost_at = example.schedule, _light(system, example.property, what), 0
    if example.claim.kind == "can_always":
        play = Play(marked, schedule)
        lost_at = len(play.trace)
        play.go_on()
        # where the role has stopped it is started again: even so the claim does not come true
        restart = f"restart {what.restart}"
        if restart in [option.choice for option in play.options()]:
            play.do(restart)
            play.go_on()
        schedule = play.choices
    says = what.explain(marked, schedule, example.property)
    # the belief of a wrong part is the claim that breaks
    card = Card(
        False, says, example.property, schedule, marked, light=example.property,
        states=states, trial=trial.name, lost=lost_at, shortest=not lost_at,
    )  # fmt: skip
    card.trace()  # made now, while the learner's process runs, and kept
    return card


@dataclass(frozen=True)
class Building(Hinted):
    """The graded exercise: the text of a coordinator, judged by the trials of `sitting` alone, so
    that what an earlier one has found costs no point twice."""

    sitting: int
    hints: tuple[Text, ...]

    def check(self, answer: object, graded: bool = False) -> Verdict:
        if not isinstance(answer, str) or not answer.strip():
            return Verdict(False, NOT_WRITTEN)
        try:
            return check_source(answer, self.sitting, COORDINATOR, alone=True)
        except BuildError as error:
            return Verdict(False, error.args[0])


IT_WORKS, IT_DIES, NOT_ALONE, NOBODY_COMES_BACK = (
    Building(sitting, read_hints(f"13 coordinator {sitting}")) for sitting in range(1, 5)
)
GRADED = {
    "coordinator 1": (IT_WORKS, "value"),
    "coordinator 2": (IT_DIES, "value"),
    "coordinator 3": (NOT_ALONE, "value"),
    "coordinator 4": (NOBODY_COMES_BACK, "value"),
}
