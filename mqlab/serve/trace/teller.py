"""What observers share: steps and facts are counted, and a fact is told only of participants that
have a lane, its words made only where somebody listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...kernel import Effect, Fact, FactKind, Send, Telling, Text, Words
from ...kernel.run import describe_effect, new_fact
from .lanes import DISK, Lanes
from .texts import clip

Tell = Callable[[Fact], None]

CLOSED = Words("connection closed", "连接关闭")
WHY_CLOSED = Words(
    "The client has closed its connection, or has died: to a broker both look the same.",
    "客户端关闭了连接，或者已经崩溃：在消息服务器看来两者一样。",
)


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
        asked = type(effect.body).__name__ if isinstance(effect, Send) else ""
        if not admit(node, step, asked) or (peer != DISK and not admit(peer, step)):
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
                    node=self.lanes.find(fact.node),
                    peer=self.lanes.find(fact.peer),
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
        """A connection has ended: it is told of a client that has a lane, and is of interest where
        it was the client's last."""
        lane, stays = self.lanes.end_client(conn)
        if lane:
            closed = new_fact(FactKind.CLOSE, lane, CLOSED())
            self._add(closed, Telling(fold=stays, why=WHY_CLOSED()))
        self.lanes.forget_clients()
