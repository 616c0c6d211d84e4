"""The searches that lessons rest on. Which safeguard is necessary? Each broker's `cases.py`
says what is searched, how far, and what is found; here it is done.

    search(SAFEGUARD_CASES["lso"]).trace()  # the shortest run that needs the LSO
    print(table(SEARCHES))                  # safeguard, anomaly, length of the shortest run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Any

from ..brokers import find_broker, list_brokers, load
from ..explore import Budget, Counterexample, Verdict, explore
from ..kernel import Text
from ..kernel.options import write_calls
from ..kernel.text import Lang
from ..scenario import write_in_blocks
from .registry import SYSTEMS, find_owner, system
from .tables import columns

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Searched:
    """A system line and the bounds of its search."""

    name: str
    line: str
    budget: Budget = Budget()


@dataclass(frozen=True, slots=True)
class Case:
    """An anomaly. `line`: the system without `off=`; `off`: the safeguard that is missing, ""
    for a claim that the real broker does not keep; `broken`: the property that says so;
    `title`: what happens, in one sentence."""

    name: str
    title: Text
    anomaly: Text
    line: str
    broken: str
    budget: Budget = Budget()
    off: str = ""

    @property
    def system(self) -> str:
        """The line of the system in which the anomaly is found."""
        return f"{self.line} off={self.off}" if self.off else self.line


@dataclass(frozen=True, slots=True)
class Searches:
    """What is searched of a broker. `lesson`: what `mqlab explore NAME` searches; `systems`:
    those of `--table`, in which nothing is found; `safeguards`: for each, by its name, the
    smallest system that needs it; `claims`: what the real broker does not promise; `models`:
    where several systems stand side by side and each has a lesson, that of each by its name."""

    lesson: Searched
    systems: tuple[Searched, ...]
    safeguards: Mapping[str, Case]
    claims: Mapping[str, Case]
    models: Mapping[str, Searched] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.safeguards.values(), *self.claims.values())


def searches_of(name: str) -> Searches:
    """A broker's, by its name; raises LookupError with the known names."""
    found: Searches = load(find_broker(name).searches)
    return found


def find_lesson(line: str) -> tuple[Searches, Searched] | None:
    """The searches to which a bare name belongs, and the lesson that it means: a broker's, or
    that of one of several models. None where the line is no such name."""
    if line in list_brokers("searches"):
        searches = searches_of(line)
        return searches, searches.lesson
    if line in SYSTEMS:
        searches = load(find_owner(line).searches)
        if line in searches.models:
            return searches, searches.models[line]
    return None


def search(case: Case, progress: Progress | None = None) -> Counterexample:
    """The shortest run in which a case's property breaks; LookupError if there is none."""
    found = system(case.system)
    claim = tuple(p for p in found.properties() if p.name == case.broken)
    verdict = explore(found, case.budget, claim, progress)
    if case.broken not in verdict.counterexamples:
        raise LookupError(f"{case.name}: “{case.broken}” holds within {verdict}")
    return verdict.counterexamples[case.broken]


def with_everything_on(case: Case) -> Verdict:
    """The same system with its safeguard on, searched for every property."""
    return explore(system(case.line), case.budget)


def exhaust(searched: Searched) -> Verdict:
    """A lesson system, searched to its bounds."""
    return explore(system(searched.line), searched.budget)


def script(case: Case, found: Counterexample) -> str:
    """The run as a scenario: `mqlab view` opens it, `mqlab run` compares its narration."""
    missing = f"Without {case.off}: " if case.off else "With everything on: "
    plain: Any = found.system
    lines = [
        f"# {missing}{case.title.en}.",
        f"# {case.anomaly.en[0].upper()}{case.anomaly.en[1:]}: “{case.broken}” breaks, in no fewer",
        f"# than {len(found.schedule)} choices ({case.budget}).",
        f"system {replace(plain, programs=(), off=()).line()}",
        *(f"off {name}" for name in plain.off),
        *(f"do run {node} {write_calls(program)}" for node, program in plain.programs),
        *(f"do {choice}" for choice in found.schedule),
    ]
    return write_in_blocks("\n".join(lines), SYSTEMS)


def table(searches: Searches, lang: Lang = "en", progress: Progress | None = None) -> str:
    """Safeguard (or claim), anomaly, broken property, length of the shortest run: every case
    found by a search just now."""
    lines = []
    for case in searches.cases:
        missing = f"without {case.off}" if case.off else f"all on: {case.name}"
        length = len(search(case, progress).schedule)
        lines.append((missing, case.anomaly.of(lang), case.broken, str(length)))
    return columns([("missing", "anomaly", "broken", "choices"), *lines])


def tell_cases(head: str, cases: Iterable[tuple[str, Case]]) -> str:
    """What comes of each case, and in how many choices: searched just now."""
    rows: list[tuple[str, ...]] = [(head, "what comes of it", "in choices")]
    rows += [(name, one.anomaly.en, str(len(search(one).schedule))) for name, one in cases]
    return columns(rows)


def lesson_table(systems: Iterable[Searched]) -> str:
    """The lesson systems: bounds, states, whether those were all, what was found, seconds,
    and the bytes that a state takes. Each is searched in a process of its own, since memory
    that an earlier search has given back would be counted as saved."""
    head = ("system", "bounds", "states", "searched", "found", "seconds", "bytes a state")
    with get_context("spawn").Pool(1, maxtasksperchild=1) as alone:
        return columns([head, *alone.imap(row, systems)])


def row(searched: Searched) -> tuple[str, ...]:
    verdict = exhaust(searched)
    return (
        searched.name,
        str(verdict.budget),
        f"{verdict.states:,}",
        "all" if verdict.complete else "not all",
        ", ".join((*verdict.counterexamples, *verdict.missing)) or "nothing",
        f"{verdict.seconds:.1f}",
        f"{verdict.memory / verdict.states:,.0f}",
    )
