"""The exercise of lab 12: five situations, a way for each, and the examples that forbid the others.

An answer is a text, a line per situation, as in `aggregates: kafka, because zombie and late-end`.
An example is one of `RUNS`; it is played, and what it shows must still be so. A choice without an
example earns nothing. What there is to choose from is in `choice.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..kernel import Run, Text, Trace, Words, tr
from ..places import SCENARIOS
from ..registry import run_scenario
from ..scenario import parse_script
from .check import Hinted
from .exercises import read_hints
from .verdict import NOT_WRITTEN, Verdict

WAYS = ("kafka", "rocketmq", "pulsar", "outbox", "plain", "key")
FORM = tr(
    "write one line for each situation, such as “aggregates: kafka, because zombie and late-end”"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A scenario of datasets/scenarios. `light`: the promise that is broken in the end; where there
    is none, the reader `without` gets nothing in the end. `story`: its name."""

    story: str
    light: str = ""
    without: str = ""

    def play(self) -> Run:
        path = SCENARIOS / f"{self.story}.scn"
        return run_scenario(path.read_text("utf-8"))

    def holds(self, trace: Trace) -> bool:
        """Whether the example shows what it is named for."""
        end = trace.snapshot(len(trace))
        if self.light:
            return any(one.name == self.light and not one.ok for one in end.lights)
        return any(one.name == self.without and not one.got for one in end.readers)

    def title(self) -> Text:
        """The first sentence of the story."""
        return parse_script((SCENARIOS / f"{self.story}.scn").read_text("utf-8")).title


@dataclass(frozen=True, slots=True)
class Situation:
    """`fits`: the ways that do. `forbids`: of each example that shows something here, the ways that
    it rules out; together they rule out the rivals. `wrong`: for each way that does not fit, the
    belief behind it, its sentence and the example that is shown."""

    name: str
    fits: tuple[str, ...]
    forbids: Mapping[str, tuple[str, ...]]
    wrong: Mapping[str, tuple[str, Text, str]]

    @property
    def rivals(self) -> set[str]:
        return {way for ways in self.forbids.values() for way in ways}


def read_situations() -> tuple[dict[str, Shown], tuple[Situation, ...]]:
    """The examples and the situations of `choice.toml`."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    runs = {name: Shown(**one) for name, one in data["runs"].items()}
    situations = tuple(
        Situation(
            name,
            tuple(one["fits"]),
            {run: tuple(ways) for run, ways in one["forbids"].items()},
            {way: _read_wrong(x) for way, x in one["wrong"].items()},
        )
        for name, one in data["situations"].items()
    )
    return runs, situations


def _read_wrong(wrong: Mapping[str, str]) -> tuple[str, Text, str]:
    return wrong["belief"], tr(wrong["says"]), wrong["run"]


FIT = tr("each choice fits, and the examples rule out its rivals")
NO_SITUATION = Words("“{line}” is about none of the situations: {form}")
UNCHOSEN = Words("{at}: nothing is chosen yet: {form}")
NO_WAY = Words("{at}: there is no {way}; choose from {ways}")
NO_REASON = Words("{at}: a choice without an example earns nothing: name what rules out the others")
NO_RUN = Words("{at}: there is no example {name}; there are {there}")
UNFIT = Words("{at}: {way} does not fit: {why}")
IDLE = Words("{at}: {name} rules out none of the rivals here; what does it show?")
STALE = Words("{name} does not show what it is named for any more")
LEFT = Words("{at}: none of your examples rules out {ways}; name one")
ANY_FAILURE = "any failure is a reason"


@dataclass(frozen=True)
class Choice(Hinted):
    """The exercise. `play`: how a scenario is played, for tests. `situations`: each asks for a way
    to send; `runs`: those that an answer may name, by name."""

    situations: tuple[Situation, ...]
    hints: tuple[Text, ...]
    runs: Mapping[str, Shown]
    play: Callable[[Shown], Run] = Shown.play

    def check(self, answer: object, graded: bool = False) -> Verdict:
        """Judge the lines `situation: way because example, example`, situation by situation; the
        verdict is about the first that is not right."""
        if not isinstance(answer, str) or not answer.strip():
            return Verdict(False, NOT_WRITTEN)
        picks: dict[str, tuple[str, list[str]]] = {}
        for line in filter(None, map(str.strip, answer.splitlines())):
            name, colon, choice = line.partition(":")
            way, _, because = choice.partition("because")
            if not colon or name.strip() not in {one.name for one in self.situations}:
                return Verdict(False, NO_SITUATION(line=line, form=FORM))
            names = re.split(r"[\s,]+(?:and\s+)?", because.strip(" ,."))
            picks[name.strip()] = way.strip(" ,."), [name for name in names if name]
        for situation in self.situations:
            if (wrong := self._judge(situation, *picks.get(situation.name, ("", [])))) is not None:
                return wrong
        return Verdict(True, FIT)

    def _judge(self, situation: Situation, way: str, names: list[str]) -> Verdict | None:
        """What is wrong with a choice: a way to send, and the names of examples that rule out its
        rivals in this situation. None where nothing is."""
        place = situation.name
        if not way:
            return Verdict(False, UNCHOSEN(at=place, form=FORM))
        if way not in WAYS:
            return Verdict(False, NO_WAY(at=place, way=way, ways=", ".join(WAYS)))
        if not names:
            return Verdict(False, NO_REASON(at=place))
        if unknown := [name for name in names if name not in self.runs]:
            there = ", ".join(self.runs)
            return Verdict(False, NO_RUN(at=place, name=unknown[0], there=there))
        if way not in situation.fits:
            belief, message, name = situation.wrong[way]  # `name`: the example against it
            return self._show(UNFIT(at=place, way=way, why=message), name, belief)
        for name in names:
            if name not in situation.forbids:
                return self._show(IDLE(at=place, name=name), name, ANY_FAILURE)
            # a mistake of the lab, not of the learner
            if not self.runs[name].holds(self.play(self.runs[name]).trace):
                return Verdict(False, STALE(name=name))
        # `forbids`: example → the ways that it rules out
        ruled_out = {rival for name in names for rival in situation.forbids[name]}
        if missing := sorted(situation.rivals - ruled_out):
            ways = Text(" or ".join(missing), "、".join(missing))
            return Verdict(False, LEFT(at=place, ways=ways))
        return None

    def _show(self, message: Text, name: str, belief: str) -> Verdict:
        """A verdict with the example of that name."""
        run, light = self.play(self.runs[name]), self.runs[name].light
        return Verdict(False, message, belief, tuple(map(str, run.choices)), run.system, light)


HINTS = read_hints("12 choice")
RUNS, SITUATIONS = read_situations()
CHOICE = Choice(SITUATIONS, HINTS, RUNS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"choice": (CHOICE, "value")}
