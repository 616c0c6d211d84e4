"""What of a live trace is drawn: its story.

A client polls, sends a request again until it is answered, and says hello before that. In a live
trace such facts are most of all, and none is news. The server marks them as folded (`Fact.fold`),
and a request that was sent again is found here: it stands in one row with its first, which counts
them and names the answer that they got. Everything is one switch away: then each fact has a row.

After a fault (a request that was lost, a node that was killed) what is sent again has a row of its
own. A lane that is hidden takes with it what it sends and what is sent to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from mqlab.kernel.text import Text
from mqlab.kernel.trace import Fact, FactKind

Row = tuple[int, Fact]
FAULTS = (FactKind.BREAK, FactKind.KILL)


@dataclass
class _Exchange:
    """A request that stands in row `row`, as often as it was `sent`; `answers`: folded ones, by
    what they say."""

    fact: Fact
    row: int
    sent: int = 1
    answers: Counter[Text] = field(default_factory=Counter)
    why: dict[Text, Text] = field(default_factory=dict)

    def is_again(self, fact: Fact) -> bool:
        """If it says the same, whatever its transaction: one that asks to begin is known by the
        transaction before until it is let in, and then by its own."""
        return (fact.node, fact.text) == (self.fact.node, self.fact.text)

    def sum_up(self) -> Fact:
        """The row: what was sent, how often, and what it was answered most."""
        if self.sent == 1:
            return self.fact
        fact, times = self.fact, f" ×{self.sent}"
        suffix, why = times, fact.why
        if self.answers:
            label, often = self.answers.most_common(1)[0]
            suffix, why = f"{times} ⇄ {label.en} ×{often}", self.why[label]
        label = fact.label if fact.label.en else fact.text
        return replace(fact, text=_add(fact.text, suffix), label=_add(label, times), why=why)


def _add(text: Text, more: str) -> Text:
    return Text(text.en + more, text.zh + more)


def choose(
    facts: Sequence[Fact], hidden: Collection[str] = (), everything: bool = False
) -> list[Row]:
    """The facts that have a row, each with its place in `facts`."""
    rows: list[Row] = []
    open_: dict[frozenset[str], _Exchange] = {}  # by the two that talk, the request they are at
    for at, fact in enumerate(facts):
        if fact.node in hidden or fact.peer in hidden:
            continue
        if everything:
            rows.append((at, replace(fact, fold=False)))
            continue
        if fact.kind in FAULTS:
            open_.clear()
        pair = frozenset((fact.node, fact.peer))
        exchange = open_.get(pair)
        if fact.kind is FactKind.SEND and not fact.fold:
            if exchange is not None and exchange.is_again(fact):
                exchange.sent += 1
                exchange.fact = replace(exchange.fact, txn=fact.txn)
                rows[exchange.row] = (rows[exchange.row][0], exchange.sum_up())
                continue
            open_[pair] = _Exchange(fact, len(rows))
        elif fact.kind is FactKind.REPLY and not fact.pushed and fact.fold and exchange is not None:
            exchange.answers[fact.label] += 1
            exchange.why[fact.label] = fact.why
            rows[exchange.row] = (rows[exchange.row][0], exchange.sum_up())
        if not fact.fold:
            rows.append((at, fact))
    return rows
