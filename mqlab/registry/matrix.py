"""Way × anomaly: what each of four ways makes impossible, and what proves it.

    impossible          no run within bounds that were exhausted
    possible            a run that shows it, the shortest one or a story
    only without X      the safeguard X forbids it: found with X off, exhausted with X on
    only if asked       it is forbidden where the client asks for that, and happens where not
    no such thing       the way has nothing that it could happen to; the words say why

A cell without its proofs cannot be made, so it cannot be printed. `prove` does every proof again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..kernel import Text
from ..kernel.token import encode
from ..places import SCENARIOS
from ..scenario import load
from . import SYSTEMS, system
from .searches import Case, exhaust, search, searches_of, with_everything_on
from .tables import columns, in_words

IMPOSSIBLE = Text("impossible", "不可能")
POSSIBLE = Text("possible", "可能")
ONLY_WITHOUT = Text("only without {}", "仅当关闭 {}")
ONLY_IF_ASKED = Text("excluded if asked", "客户端要求才排除")
NO_SUCH_THING = Text("no such thing", "不存在")

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
    """The shortest run that shows an anomaly: a case of the broker's searches, by its name. Where a
    safeguard has to be off for it, the search with the safeguard on finds nothing."""

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
        """How many choices the run has, and its token."""
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
        names = ", ".join(self.systems)
        return Text(f"“{self.claim}” holds in {names}", f"“{self.claim}”成立：{names}")

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
    """A story that shows it, by its path below datasets/scenarios without `.scn`."""

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


Proof = Found | Holds | Told


@dataclass(frozen=True, slots=True)
class Cell:
    """What one way makes of one anomaly. `condition`: what a client must ask for; `words`: why
    there is no such thing, or what else one should know; `recorded`: what a real broker was
    recorded to do, by the path below datasets/recordings without `.json`."""

    verdict: Text
    proofs: tuple[Proof, ...] = ()
    condition: Text = Text("")
    words: Text = Text("")
    recorded: str = ""

    def __post_init__(self) -> None:
        """ValueError for a cell that nothing proves."""
        if self.verdict == NO_SUCH_THING:
            proved = bool(self.words.en) and not self.proofs
        elif self.verdict == IMPOSSIBLE:
            proved = bool(self.proofs) and all(isinstance(p, Holds) for p in self.proofs)
        elif self.verdict == ONLY_IF_ASKED:
            proved = len(self.proofs) == 2 and bool(self.condition.en)
        else:
            proved = bool(self.proofs) and not any(isinstance(p, Holds) for p in self.proofs)
        if not proved:
            raise ValueError(f"nothing proves “{self.verdict.en}”")

    @property
    def label(self) -> Text:
        """What stands in the table."""
        off = [p.case.off for p in self.proofs if isinstance(p, Found) and p.case.off]
        if self.verdict == ONLY_WITHOUT:
            return Text(self.verdict.en.format(off[0]), self.verdict.of("zh").format(off[0]))
        return self.verdict


Matrix = dict[str, dict[str, Cell]]


def tabulate(matrix: Matrix, ways: Sequence[str] = WAYS) -> str:
    """The table as text: a row for each anomaly."""
    rows: list[tuple[str, ...]] = [("anomaly", *ways)]
    rows += [(anomaly, *(str(matrix[way][anomaly].label) for way in ways)) for anomaly in ANOMALIES]
    return columns(rows)


def list_reasons(matrix: Matrix, ways: Iterable[str] = WAYS) -> Iterator[str]:
    """Behind each cell: its words, its proofs and the commands that show them."""
    for anomaly in ANOMALIES:
        yield f"\n{in_words(anomaly)}"
        for way in ways:
            cell = matrix[way][anomaly]
            question = f" ({cell.condition})" if cell.condition.en else ""
            yield f"  {way}: {cell.label}{question}"
            if cell.words.en:
                yield f"    {cell.words}"
            for proof in cell.proofs:
                yield f"    {proof.sentence}"
                yield f"      {proof.command}"
            if cell.recorded:
                yield f"    recorded: datasets/recordings/{cell.recorded}.json"


def prove(matrix: Matrix, say: Callable[[str], None]) -> list[str]:
    """Every proof of every cell again, each of them once; the sentences of those that fail."""
    done: dict[Proof, str] = {}
    failed = []
    for anomaly in ANOMALIES:
        for way in WAYS:
            for proof in matrix[way][anomaly].proofs:
                if proof in done:
                    continue
                try:
                    done[proof] = proof.prove()
                    say(f"{way} · {anomaly}: {done[proof]}")
                except Unproved as error:
                    done[proof] = str(error)
                    failed.append(f"{way} · {anomaly}: {error}")
                    say(f"NOT PROVED {failed[-1]}")
    return failed
