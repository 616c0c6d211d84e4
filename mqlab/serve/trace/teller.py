"""What observers share: steps and facts are counted, and a fact is told only of participants that
have a lane, its words made only where somebody listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...kernel import Effect, Fact, FactKind, Telling, Text
from ...kernel.run import BROKEN, describe_effect, new_fact
from .lanes import Lanes
from .texts import clip

Tell = Callable[[Fact], None]


class Teller:
    """`facts`, `steps`: how many there were so far. A broker's observer says `explain`."""

    def __init__(self, lanes: Lanes, started_ms: int) -> None:
        self.lanes = lanes
        self.facts = 0
        self.steps = 0
        self._started_ms = started_ms
        self._tell: Tell | None = None
        self._at_ms = 0

    def explain(self, fact: Fact) -> Text:
        """One sentence why, where the step's own telling has none."""
        raise NotImplementedError

    def _say_why(self, fact: Fact, told: Telling) -> Text:
        """One sentence, that of the step itself where it has one."""
        return told.why if told.why.en else self.explain(fact)

    def _count(self, at_ms: int, tell: Tell | None) -> None:
        """A step begins, and `tell` listens to it."""
        self.steps += 1
        self._at_ms, self._tell = at_ms - self._started_ms, tell

    def _fact(self, node: str, peer: str, effect: Effect, meaning: Callable[[], Telling]) -> None:
        """An effect's fact, if everybody in it has a lane; its words only where somebody
        listens."""
        admit, step = self.lanes.admit, self.steps
        if not admit(node, step) or (peer != "disk" and not admit(peer, step)):
            return
        if self._tell is None:
            self.facts += 1
        elif (fact := describe_effect(node, effect)) is not None:
            self._add(fact, meaning())

    def _add(self, fact: Fact, told: Telling) -> None:
        self.facts += 1
        if self._tell is not None:
            self._tell(
                replace(
                    fact,
                    index=self.facts,
                    step=self.steps,
                    text=clip(fact.text),
                    txn=told.txn,
                    fold=fact.fold or told.fold,
                    label=clip(told.label),
                    why=clip(self._say_why(fact, told)),
                    at_ms=self._at_ms,
                )
            )

    def _end_client(self, conn: str) -> None:
        """A client has left: its lane ends, if it has one."""
        if self.lanes.end_client(conn):
            self._add(new_fact(FactKind.BREAK, conn, BROKEN()), Telling(fold=True))
        self.lanes.forget_clients()
