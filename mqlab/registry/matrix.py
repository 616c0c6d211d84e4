"""Way × anomaly: what each of four ways makes impossible, and what proves it.

    ✓ impossible (searched)  no execution within bounds that were exhausted
    ✗ possible               an execution that shows it, the shortest one or a scenario
    ▣ only if X is off       the safeguard X forbids it: found with X off, exhausted with X on
    ◐ only with X            found with the option X, exhausted with another value of it
    ◐ excluded with X        it is forbidden where the client asks for X, and happens where not
    ○ not covered            it is about what is outside of the transaction; the words say what
    – no such thing          the way has nothing that it could happen to; the words say why

What a verdict covers is in its cell, with executions beyond that. A cell without its proofs
cannot be made, so it cannot be printed. `prove` does every proof again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..explore import Budget, explore
from ..kernel import Text, Words, tr
from ..kernel.play import encode
from ..places import SCENARIOS
from ..scenario import load
from . import SYSTEMS, system
from .searches import Case, exhaust, search, searches_of, with_everything_on
from .tables import columns, in_words

IMPOSSIBLE = tr("impossible (searched)")
POSSIBLE = tr("possible")
ONLY_WITHOUT = tr("only if {} is off")
ONLY_WITH = tr("only with {}")
ONLY_IF_ASKED = tr("excluded with {}")
NOT_COVERED = tr("not covered")
NO_SUCH_THING = tr("no such thing")

#: verdict → its sign, and its sentence in the list of reasons
SIGNS = {
    IMPOSSIBLE: "✓", POSSIBLE: "✗", ONLY_WITHOUT: "▣", ONLY_WITH: "◐", ONLY_IF_ASKED: "◐",
    NOT_COVERED: "○", NO_SUCH_THING: "–",
}  # fmt: skip
SAID = {
    IMPOSSIBLE: Words("{way}: it is impossible. Searches of all orders of events found none."),
    POSSIBLE: Words("{way}: it can happen{what}."),
    ONLY_WITHOUT: Words("{way}: it happens only if {off} is off. A search with it on found none."),
    ONLY_WITH: Words("{way}: it happens only with {what}."),
    ONLY_IF_ASKED: Words("{way}: it cannot happen with {what}, and can without."),
    NOT_COVERED: Words("{way}: its transaction does not cover this, so it can happen."),
    NO_SUCH_THING: Words("{way}: there is nothing that it could happen to."),
}
WHEN = Words(", if {what}")
COVERS = Words("This is about {what} only.")
SHOWS = Words("An example: {sentence}")
BEYOND = Words("An example beyond that: {sentence}")
RECORDED = Words("A real broker was recorded to do so: {path}")
FULL_STOP = Text(".", "。")

#: in the order of the table
WAYS = ("kafka", "rocketmq", "pulsar", "outbox")
ANOMALIES = (
    "lost write",
    "duplicate",
    "dirty read",
    "aborted read",
    "torn read",
    "zombie write",
    "zombie commit",
    "orphaned half message",
    "hanging transaction",
    "conflict of acknowledgements",
    "row without message",
    "message without row",
)


class Unproved(LookupError):
    """A proof that does not hold any more; the message says which."""


@dataclass(frozen=True, slots=True)
class Found:
    """The shortest execution that shows an anomaly: a case of the broker's searches, by its name.
    Where a safeguard has to be off for it, the search with the safeguard on finds nothing."""

    broker: str
    name: str

    @property
    def case(self) -> Case:
        searches = searches_of(self.broker)
        return {**searches.claims, **searches.safeguards}[self.name]

    @property
    def command(self) -> str:
        how = "--off" if self.case.off else "--claim"
        return f"mqlab explore {self.broker} {how} {self.name}"

    @property
    def sentence(self) -> Text:
        return self.case.title

    def prove(self) -> str:
        """How many choices the execution has, and its token."""
        try:
            example = search(self.case)
        except LookupError as error:
            raise Unproved(f"{self.command}: {error}") from error
        if self.case.off:
            verdict = with_everything_on(self.case)
            if not verdict.complete or verdict.counterexamples:
                raise Unproved(f"{self.command}: with everything on, {verdict}")
        token = encode(example.system, example.trace())
        return f"{len(example.schedule)} choices: mqlab open {token}"


@dataclass(frozen=True, slots=True)
class Excluded:
    """The search of a case of the broker's with another `option`, as in `client=v2`: it ends, and
    finds nothing."""

    broker: str
    name: str
    option: str

    @property
    def line(self) -> str:
        kind, rest = Found(self.broker, self.name).case.line.split(" ", 1)
        key, _, _ = self.option.partition("=")
        return f"{kind} {self.option} " + re.sub(rf"\b{key}=\S+ ", "", rest)

    @property
    def command(self) -> str:
        bounds = self.budget.flags()
        return f'mqlab explore "{self.line}" {bounds}'

    @property
    def budget(self) -> Budget:
        """The case's. What may stop is the first copy of what it names, where there are several."""
        budget = Found(self.broker, self.name).case.budget
        names = {node.name for node in system(self.line).nodes()}
        killable = budget.killable and tuple(n if n in names else f"{n}@1" for n in budget.killable)
        return replace(budget, killable=killable)

    @property
    def sentence(self) -> Text:
        return Words("with {option} the same search ends and finds nothing")(option=self.option)

    def prove(self) -> str:
        case = Found(self.broker, self.name).case
        model = system(self.line)
        if case.broken not in {claim.name for claim in model.properties()}:
            raise Unproved(f"{self.command}: “{case.broken}” is not asked for")
        verdict = explore(model, self.budget)
        if not verdict.complete or verdict.counterexamples:
            raise Unproved(f"{self.command}: {verdict}")
        return f"{verdict.states:,} states, exhausted"


HOLDS = Words("“{claim}” holds in {names}")


@dataclass(frozen=True, slots=True)
class Holds:
    """A claim that holds in searches that were exhausted, by the names of their systems."""

    broker: str
    claim: str
    systems: tuple[str, ...]

    @property
    def command(self) -> str:
        return f"mqlab explore {self.broker} --table"

    @property
    def sentence(self) -> Text:
        return HOLDS(claim=self.claim, names=", ".join(self.systems))

    def prove(self) -> str:
        searched = {one.name: one for one in searches_of(self.broker).systems}
        states = 0
        for name in self.systems:
            verdict = exhaust(searched[name])
            kept = {p.name for p in system(searched[name].line).properties() if p.kind == "always"}
            if self.claim not in kept:
                raise Unproved(f"{name} does not claim “{self.claim}”")
            if not verdict.complete or self.claim in verdict.counterexamples:
                raise Unproved(f"{name}: {verdict}")
            states += verdict.states
        return f"{states:,} states, exhausted"


@dataclass(frozen=True, slots=True)
class Told:
    """A scenario that shows it: `story`, its path below datasets/scenarios without `.scn`."""

    story: str

    @property
    def path(self) -> Path:
        return SCENARIOS / f"{self.story}.scn"

    @property
    def command(self) -> str:
        return f"mqlab view datasets/scenarios/{self.story}.scn"

    @property
    def sentence(self) -> Text:
        return load(self.path, SYSTEMS).run.trace.title

    def prove(self) -> str:
        golden = load(self.path, SYSTEMS)
        if not golden.equal:
            raise Unproved(f"{self.path} tells something else now")
        return f"{len(golden.run.facts)} facts, equal to the file"


Proof = Found | Excluded | Holds | Told


@dataclass(frozen=True, slots=True)
class Cell:
    """What one way makes of one anomaly. `condition`: with what it is possible or is excluded;
    `covers`: what the verdict is said of, where that is not all; `beyond`: executions of the rest;
    `words`: why there is no such thing, or what else one should know; `recorded`: what a real
    broker was recorded to do, by the path below datasets/recordings without `.json`."""

    verdict: Text
    proofs: tuple[Proof, ...] = ()
    condition: Text = Text("")
    covers: Text = Text("")
    beyond: tuple[Told, ...] = ()
    words: Text = Text("")
    recorded: str = ""

    def __post_init__(self) -> None:
        """Refuse (ValueError) a cell whose proofs are not of the kind or number that its verdict
        needs, or that lacks the words that this verdict needs. A cell names the part that it
        `covers` exactly where it has examples `beyond` that part."""
        if self.verdict == NO_SUCH_THING:
            proved = bool(self.words.en) and not self.proofs
        elif self.verdict == NOT_COVERED:
            proved = bool(self.words.en)
        elif self.verdict == IMPOSSIBLE:
            proved = bool(self.proofs) and all(isinstance(p, Holds) for p in self.proofs)
        elif self.verdict == ONLY_WITH:
            kinds = [type(p) for p in self.proofs]
            proved = kinds == [Found, Excluded] and bool(self.condition.en)
        elif self.verdict == ONLY_IF_ASKED:
            proved = len(self.proofs) == 2 and bool(self.condition.en)
        else:  # possible, or only with a safeguard off: executions, by a search or from a scenario
            proved = bool(self.proofs) and all(isinstance(p, Found | Told) for p in self.proofs)
            proved = proved and (bool(self.off) or self.verdict != ONLY_WITHOUT)
        if not proved or bool(self.covers.en) != bool(self.beyond):
            raise ValueError(f"nothing proves “{self.verdict.en}”")

    @property
    def off(self) -> str:
        """The first safeguard that has to be off for it; "" for none."""
        return next((p.case.off for p in self.proofs if isinstance(p, Found) and p.case.off), "")

    @property
    def sign(self) -> str:
        return SIGNS[self.verdict]

    @property
    def outcome(self) -> Text:
        """The verdict with its condition."""
        with_what = Text(self.off, self.off) if self.verdict == ONLY_WITHOUT else self.condition
        english = self.verdict.en.format(with_what.en)
        chinese = self.verdict.of("zh").format(with_what.of("zh"))
        if self.verdict == POSSIBLE and self.condition.en:
            english, chinese = f"{english}: {with_what.en}", f"{chinese}：{with_what.of('zh')}"
        return Text(english, chinese)

    @property
    def label(self) -> Text:
        """What the table shows: the outcome, and what it is said of."""
        one, covers = self.outcome, self.covers
        if not covers.en:
            return one
        return Text(f"{one.en} ({covers.en})", f"{one.of('zh')}（{covers.of('zh')}）")


Matrix = dict[str, dict[str, Cell]]


def tabulate(matrix: Matrix, ways: Sequence[str] = WAYS) -> str:
    """The table as text: a row for each anomaly."""
    rows: list[tuple[str, ...]] = [("anomaly", *ways)]
    rows += [
        (anomaly, *(f"{cell.sign} {cell.label}" for cell in (matrix[way][anomaly] for way in ways)))
        for anomaly in ANOMALIES
    ]
    return columns(rows)


def list_reasons(matrix: Matrix, ways: Iterable[str] = WAYS) -> Iterator[str]:
    """Yield the lines that explain the table: for each cell its verdict in a sentence, what one
    should know besides, and each of its examples with the command that shows it. `ways`: the
    columns, ways to send a message."""
    for anomaly in ANOMALIES:
        yield f"\n{in_words(anomaly)}"
        for way in ways:
            cell = matrix[way][anomaly]
            yield f"  {cell.sign} {_state_verdict(way, cell)}"
            if cell.words.en:
                yield f"    {cell.words}"
            for proof in (*cell.proofs, *cell.beyond):
                sentence = _as_sentence(str(proof.sentence))
                if isinstance(proof, Found | Told):
                    template = BEYOND if proof in cell.beyond else SHOWS
                    sentence = str(template(sentence=sentence))
                yield f"    {sentence}"
                yield f"      {proof.command}"
            if cell.recorded:
                yield f"    {RECORDED(path=f'datasets/recordings/{cell.recorded}.json')}"


def _state_verdict(way: str, cell: Cell) -> str:
    """The sentence that says what this way makes of the anomaly, with its condition."""
    condition = cell.condition
    if cell.verdict == POSSIBLE:
        condition = WHEN(what=condition) if condition.en else condition
    sentence = str(SAID[cell.verdict](way=way, what=condition, off=cell.off))
    return f"{sentence} {COVERS(what=cell.covers)}" if cell.covers.en else sentence


def _as_sentence(sentence: str) -> str:
    """With a capital letter and a full stop."""
    stop = "" if sentence[-1] in ".。" else FULL_STOP.of()
    return sentence[0].upper() + sentence[1:] + stop


def prove(matrix: Matrix, say: Callable[[str], None]) -> list[str]:
    """Prove every cell of the table again (`mqlab matrix --check`) and return a line for each proof
    that failed. Cells have proofs in common: each is run once, and named by the first cell that has
    it. `say` gets each result as it comes."""
    results: dict[Proof, str] = {}
    failures = []
    for anomaly in ANOMALIES:
        for way in WAYS:
            for proof in (*matrix[way][anomaly].proofs, *matrix[way][anomaly].beyond):
                if proof in results:
                    continue
                try:
                    results[proof] = proof.prove()
                    say(f"{way} · {anomaly}: {results[proof]}")
                except Unproved as error:
                    results[proof] = str(error)
                    failures.append(f"{way} · {anomaly}: {error}")
                    say(f"NOT PROVED {failures[-1]}")
    return failures
