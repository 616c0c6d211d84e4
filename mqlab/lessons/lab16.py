"""What lab 16 shows: what an operator sees first, what `inspect` says, the execution of each
remedy; and the exercise.

An answer names the evidence, the remedy and what is reported to the customer, a line each, as in
`offset: 5`. The evidence comes first: a remedy without it is a guess, and earns nothing. A wrong
remedy opens the execution in which it was tried, from the moment of the call.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

from IPython.display import display
from ipywidgets import HTML, Dropdown
from mqlab_widgets import Player, Playground, vary

from ..inspect import Ask, Report, inspect
from ..kernel import Text, Words, tr
from ..places import ON_CALL
from ..registry import scenario
from .experiments import Experiment
from .lab15 import Played
from .misconceptions import met as met
from .steps import At
from .verdict import NOT_WRITTEN, Verdict

REMEDY, CUSTOMER = "remedy", "customer"
SHORTEST = 12  # letters of a sentence
#: what a customer does not know, in both languages
INSIDE = re.compile(
    r"\b(LSO|offsets?|markers?|producers?|coordinators?|partitions?|epochs?|txn|subscriptions?"
    r"|acknowledge\w*|half messages?|brokers?)\b|偏移|标记|控制消息|生产者|协调者|分区|订阅|确认|半消息",
    re.IGNORECASE,
)
NO_LINE = Words("“{line}” is no line of this report: write NAME: VALUE, with one of {names}")
MISSING = Words("these lines are missing: {names}")
WRONG = Words("{name}: the data show something else; {looks}")
NO_REMEDY = Words("no remedy is called {name}; there are: {there}")
TRIED = Words("{name} was tried: {tells}")
SHORT = tr("customer: write one sentence, as you would say it on the phone")
JARGON = Words("customer: “{word}” is jargon; say what it means for their orders")
RIGHT = tr("the evidence is in the data, and the remedy works in the engine")


@dataclass(frozen=True, slots=True)
class Remedy:
    """`belief`: why one takes a wrong one; the right one has none."""

    says: Text
    tells: Text
    experiment: Experiment
    belief: Text | None


@dataclass(frozen=True)
class Call:
    """`evidence`: each fact that has to be named, with the words that are right."""

    name: str
    broker: str
    target: str
    now_ms: int
    looks: Text
    begin: str
    evidence: Mapping[str, tuple[str, ...]]
    remedies: Mapping[str, Remedy]

    @property
    def tool(self) -> str:
        """What an operator gets to see first."""
        with chdir(unpack()), open(f"{self.name}.txt", encoding="utf-8") as file:
            return file.read()

    def look(self, play: bool = False) -> Report:
        """What `mqlab inspect` says of the data, at the time of the call."""
        with chdir(unpack()):
            return inspect(self.broker, Ask(self.target, now_ms=self.now_ms), play)

    def check(self, answer: object, graded: bool = False) -> Verdict:
        """Judge a report, in this sequence: its evidence, its remedy (its example is shown where it
        does not help), and its sentence to the customer. `graded` makes no difference here."""
        try:
            report = self._read(answer)
        except ValueError as error:
            return Verdict(False, error.args[0])
        if not any(report.values()):
            return Verdict(False, NOT_WRITTEN)
        if missing := [name for name, value in report.items() if not value]:
            return Verdict(False, MISSING(names=", ".join(missing)))
        for name, right in self.evidence.items():  # case, blanks and a code's quotes do not matter
            if "".join(report[name].lower().split()).strip("`.") not in right:
                return Verdict(False, WRONG(name=name, looks=self.looks))
        remedy = self.remedies.get(report[REMEDY].strip("`."))
        if remedy is None:
            known = ", ".join(self.remedies)
            return Verdict(False, NO_REMEDY(name=report[REMEDY], there=known))
        if remedy.belief is not None:  # a wrong remedy: its example shows that it does not help
            trace = remedy.experiment.play().trace
            step = At(remedy.experiment.step(trace))
            message = TRIED(name=report[REMEDY], tells=remedy.tells)
            belief = remedy.belief
            return Played(
                False, message, belief.en, tells=step, shortest=False, played=trace, behind=belief
            )
        if jargon := INSIDE.search(report[CUSTOMER]):
            return Verdict(False, JARGON(word=jargon[0]))
        # long enough to say what happened
        return Verdict(*((True, RIGHT) if len(report[CUSTOMER]) >= SHORTEST else (False, SHORT)))

    def _read(self, answer: object) -> dict[str, str]:
        """The lines of a report; ValueError with a text for one that is none."""
        given = dict.fromkeys((*self.evidence, REMEDY, CUSTOMER), "")
        for line in filter(None, map(str.strip, str(answer or "").splitlines())):
            name, colon, value = re.sub("：", ":", line, count=1).partition(":")
            if not colon or name.strip() not in given:
                raise ValueError(NO_LINE(line=line, names=", ".join(given)))
            given[name.strip()] = value.strip()
        return given


@cache
def unpack() -> str:
    """The folder with the data of the calls; it lasts as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="mqlab-on-call-")
    _KEPT.append(folder)
    shutil.unpack_archive(ON_CALL, folder.name)
    return folder.name


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def read_calls() -> dict[str, Call]:
    """The calls of `on_call.toml`, by their names."""
    data = tomllib.loads(Path(__file__).with_name("on_call.toml").read_text("utf-8"))
    return {name: _call(name, one) for name, one in data.items()}


def _call(name: str, given: Mapping[str, Any]) -> Call:
    remedies = {key: _remedy(given["begin"], one) for key, one in given["remedies"].items()}
    evidence = {key: tuple(words) for key, words in given["evidence"].items()}
    return Call(
        name, given["broker"], given["target"], given["now_ms"], tr(given["looks"]),
        given["begin"].strip(), evidence, remedies,
    )  # fmt: skip


def _remedy(begin: str, given: Mapping[str, Any]) -> Remedy:
    run = f"{begin.strip()}\n{given['then'].strip()}\n"
    belief = tr(given["belief"]) if "belief" in given else None
    experiment = Experiment(run, (f"some: {given['at']}",), given["at"])
    return Remedy(tr(given["says"]), tr(given["tells"]), experiment, belief)


CALLS = read_calls()

HANGING, MARKER, PENDING, PARKED, ACKS = (
    CALLS[name] for name in ("hanging", "marker", "pending", "parked", "acks")
)
TRY = Words("<p>{says} <b>{tells}.</b></p>")
FIRST = tr("What would you do? Say what the reader will get, and then choose.")
TITLE, BEFORE = Words("Remedy: {name}"), tr("The events up to the call")


def look(call: Call) -> Report:
    """What `mqlab inspect` says of the call's data."""
    return call.look()


def try_remedies(call: Call) -> None:
    """Show a menu of remedies, none of them chosen at first; each opens its example at the step
    that shows what it does, below a sentence."""
    menu, caption = Dropdown(options=[("…", ""), *((name, name) for name in call.remedies)]), HTML()

    def show_words(_: object = None) -> None:
        caption.value = f"<p>{escape(str(FIRST))}</p>"
        if menu.value:
            remedy = call.remedies[menu.value]
            says, tells = escape(str(remedy.says)), escape(str(remedy.tells))
            caption.value = str(TRY(says=says, tells=tells[0].upper() + tells[1:]))

    menu.observe(show_words, "value")
    show_words()
    show: Any = display  # IPython does not say its type
    show(caption)
    vary(partial(_open, call), remedy=menu)


def _open(call: Call, remedy: str) -> Player:
    if not remedy:
        trace = scenario(call.begin)
        return Player(trace, step=len(trace), title=str(BEFORE), level="protocol")
    experiment = call.remedies[remedy].experiment
    trace = experiment.play().trace
    step, title = experiment.step(trace), str(TITLE(name=remedy))
    return Player(trace, step=step, title=title, level="protocol")


def play_on(call: Call) -> Playground:
    """The broker of the call, to be played on by hand from its own records."""
    return call.look(play=True).playground()


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {
    "call hanging": (CALLS["hanging"], "value"),
    "call marker": (CALLS["marker"], "value"),
    "call pending": (CALLS["pending"], "value"),
    "call parked": (CALLS["parked"], "value"),
    "call acks": (CALLS["acks"], "value"),
}
