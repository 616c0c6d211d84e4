"""The searches. Which safeguard is necessary? Each broker's module in `registry/cases`
says what is searched, how far, and what is found; here it is done.

    search(SAFEGUARD_CASES["lso"]).trace()  # the shortest execution that needs the LSO
    print(table(SEARCHES))                  # safeguard, anomaly, length of the shortest run
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations
from multiprocessing import get_context
from typing import Any

from ..brokers import find_broker, list_brokers, load
from ..explore import Budget, Counterexample, Verdict, explore
from ..explore.verdict import name_claim
from ..kernel import Text, tr
from ..kernel.options import write_calls
from ..kernel.text import Lang, Words, count_columns, speak, spoken
from ..scenario import write_in_blocks
from . import SYSTEMS, find_owner, system
from .tables import Name, columns, in_words, pad, wrap

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


def without(
    name: str, title: Text, anomaly: Text, line: str, broken: str, budget: Budget = Budget()
) -> Case:
    """The case of a safeguard, with the name of the one that is missing."""
    return Case(name, title, anomaly, line, broken, budget, off=name)


@dataclass(frozen=True, slots=True)
class Searches:
    """What is searched of a broker. `lesson`: the system that a name stands for where a user gives
    bounds of his own; `quick`: what `mqlab explore NAME` searches in its plain form, half a
    minute of what shows most, or nothing but the lesson where there is none; `systems`: those of
    `--table`, in which nothing is found; `safeguards`: for each, by its name, the
    smallest system that needs it; `claims`: what the real broker does not promise; `models`:
    where several systems are side by side and each has a lesson, that of each by its name."""

    lesson: Searched
    systems: tuple[Searched, ...]
    safeguards: Mapping[str, Case]
    claims: Mapping[str, Case]
    models: Mapping[str, Searched] = field(default_factory=dict)
    quick: tuple[Searched, ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.safeguards.values(), *self.claims.values())


def searches_of(name: str) -> Searches:
    """A broker's, by its name; raises LookupError with the known names."""
    searches: Searches = load(find_broker(name).searches)
    return searches


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
    model = system(case.system)
    claim = tuple(p for p in model.properties() if p.name == case.broken)
    verdict = explore(model, case.budget, claim, progress)
    if case.broken not in verdict.counterexamples:
        raise LookupError(Words("{}: “{}” holds within {}")(case.name, case.broken, verdict))
    return verdict.counterexamples[case.broken]


def with_everything_on(case: Case) -> Verdict:
    """The same system with its safeguard on, searched for every property."""
    return explore(system(case.line), case.budget)


def exhaust(searched: Searched, memory: int | None = None) -> Verdict:
    """A lesson system, searched to its bounds, or until it has taken so many bytes."""
    return explore(system(searched.line), searched.budget, memory=memory)


def search_all(
    systems: Iterable[Searched], workers: int = 1, memory: int | None = None
) -> Iterator[Verdict]:
    """What comes of each, in their order, as soon as it is known. Each is searched in a process
    of its own, `workers` at a time: memory that an earlier search has given back would be counted
    as saved. `memory`: bytes that all of them together may take."""
    share = None if memory is None else memory // workers
    with get_context("spawn").Pool(workers, _let_go, (spoken(),), maxtasksperchild=1) as pool:
        yield from pool.imap(partial(exhaust, memory=share), systems)


def _let_go(language: Lang) -> None:
    """Ctrl-C is for the process that waits for the searches: it ends them."""
    speak(language)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def write_comments(case: Case, choices: int) -> list[str]:
    """What is above the execution of a case, as comments of a scenario: what happens, and the claim
    that breaks after so many choices."""
    missing = f"Without {case.off}: " if case.off else "With everything on: "
    return [
        f"# {missing}{case.title.en}.",
        f"# {case.anomaly.en[0].upper()}{case.anomaly.en[1:]}: “{case.broken}” breaks, in no fewer",
        f"# than {choices} choices ({case.budget}).",
    ]


def script(case: Case, example: Counterexample) -> str:
    """The execution as a scenario: `mqlab view` opens it, `mqlab run` compares its narration."""
    plain: Any = example.system
    lines = [
        *write_comments(case, len(example.schedule)),
        f"system {replace(plain, programs=(), off=()).line()}",
        *(f"off {name}" for name in plain.off),
        *(f"do run {node} {write_calls(program)}" for node, program in plain.programs),
        *(f"do {choice}" for choice in example.schedule),
    ]
    return write_in_blocks("\n".join(lines), SYSTEMS)


def table(searches: Searches, progress: Progress | None = None) -> str:
    """Safeguard (or claim), anomaly, broken property, length of the shortest execution: every case
    found by a search just now."""
    lines = []
    for case in searches.cases:
        missing = f"without {case.off}" if case.off else f"with all safeguards: {case.name}"
        length = len(search(case, progress).schedule)
        broken = Name(tr(case.broken, "claim"))  # its cell may mean something else: "once"
        lines.append((missing, str(case.anomaly), broken, str(length)))
    return columns([("missing", "anomaly", "broken", "choices"), *lines])


PAIRS = Words("{} pairs searched; in {} of them a claim breaks only when both are off")


def list_pairs(searches: Searches, progress: Progress | None = None) -> Iterator[tuple[str, ...]]:
    """Yield three texts for each pair of safeguards: their names, and the claims that break only
    when both are off, each with the length of its shortest counterexample ("" for none). Each
    safeguard has a system that needs it; these two are searched, with all their claims, and a pair
    is left out unless both of them have both safeguards."""

    @cache
    def find_broken(case: str, *off: str) -> dict[str, Counterexample]:
        # the smallest system that needs the safeguard `case`, here with those of `off` missing
        searched = searches.safeguards[case]
        missing = system(f"{searched.line} off={','.join(off)}")
        return explore(missing, searched.budget, progress=progress).counterexamples

    for first, second in combinations(searches.safeguards, 2):
        # _beside: all safeguards of the system that needs this one
        if not {first, second} <= _beside(searches, first) & _beside(searches, second):
            continue
        lengths: dict[str, int] = {}
        for case in (first, second):
            broken_by_one = {*find_broken(case, first), *find_broken(case, second)}
            for name, example in find_broken(case, first, second).items():
                if name not in broken_by_one:
                    length = len(example.schedule)
                    lengths[name] = min(length, lengths.get(name, length))
        broken = ", ".join(f"{name_claim(name)} ({length})" for name, length in lengths.items())
        yield first, second, broken


def _beside(searches: Searches, name: str) -> set[str]:
    """The safeguards of the system that needs this one: a broker has several models."""
    return set(system(searches.safeguards[name].line).safeguards())


def pairs(searches: Searches, progress: Progress | None = None) -> str:
    """The pairs of safeguards of which something breaks only where both are missing, then how
    many pairs there are."""
    rows = list(list_pairs(searches, progress))
    breaking = [row for row in rows if row[2]]
    count = str(PAIRS(len(rows), len(breaking)))
    head = ("missing", "and", "broken only without both (choices)")
    return f"{columns([head, *breaking])}\n{count}" if breaking else count


def tabulate_cases(head: str, cases: Iterable[tuple[str, Case]]) -> str:
    """What comes of each case, and in how many choices, by a search."""
    rows: list[tuple[str, ...]] = [(head, "what comes of it", "in choices")]
    rows += [(name, one.anomaly.en, str(len(search(one).schedule))) for name, one in cases]
    return columns(rows)


NOTHING_FOUND = tr("nothing found; every state was searched, with these faults and timers:")

#: a row's head: bounds, how many states, whether those were all, what a state took, what was found
HEAD = ("system", "bounds", "states", "searched", "seconds", "bytes/state", "found")


def list_rows(systems: Sequence[Searched], verdicts: Iterable[Verdict]) -> Iterator[str]:
    """A table of searches, line by line, so that each is seen as soon as it has ended."""
    most = (
        max(len(HEAD[0]), *(len(one.name) for one in systems)),
        max(len(HEAD[1]), *(count_columns(one.budget.text.of()) for one in systems)),
        len("1,000,000"),
        *(len(word) for word in HEAD[3:-1]),
    )
    for cells in (HEAD, tuple("-" * width for width in (*most, len(HEAD[-1])))):
        yield _line(cells, most)
    for searched, verdict in zip(systems, verdicts, strict=True):
        yield _line((searched.name, *_cells(verdict)), most)


def sum_up(systems: Sequence[Searched], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The table of those that found something or were cut short; the names of all others, by their
    bounds, in few lines."""
    told = {s: v for s, v in zip(systems, verdicts, strict=True) if not (v.ok and v.complete)}
    if told:
        yield from list_rows(tuple(told), told.values())
    quiet: dict[str, list[str]] = {}
    for one in (one for one in systems if one not in told):
        quiet.setdefault(str(one.budget.text), []).append(in_words(one.name))
    if quiet:
        yield str(NOTHING_FOUND)
    for bounds, names in quiet.items():
        yield from wrap(f"{bounds}: {'; '.join(names)}", 96, "  ", "    ")


def _line(cells: tuple[str, ...], most: tuple[int, ...]) -> str:
    *padded, last = cells
    told = [pad(in_words(cell), n) for cell, n in zip(padded, most, strict=True)]
    return "  ".join([*told, in_words(last)])


def _cells(verdict: Verdict) -> tuple[str, ...]:
    names = map(name_claim, (*verdict.counterexamples, *verdict.missing))
    broken = ", ".join(map(str, names)) or in_words("nothing")
    return (
        verdict.budget.text.of(),
        f"{verdict.states:,}",
        "all" if verdict.complete else "not all",
        f"{verdict.seconds:.1f}",
        f"{verdict.memory / verdict.states:,.0f}",
        f"{broken}; {verdict.ended}" if verdict.ended else broken,
    )
