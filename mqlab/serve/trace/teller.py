"""What observers share: steps and facts are counted, and a fact is told only of participants that
have a lane, its words made only where somebody listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...kernel import Caller, Effect, Fact, FactKind, Send, Telling, Text, Words, tr
from ...kernel.run import RECOVERED, TIMER, describe_effect, new_fact
from ...kernel.text import NOTHING
from .lanes import DISK, Lanes
from .outside import Dropped, Killed, Outside
from .texts import clip

Listener = Callable[[Fact], None]

CLOSED = Words("connection closed")
WHY_CLOSED = Words(
    "The client has closed its connection, or has died: to a broker both look the same."
)

LOST = Words("lost with its connection: {what}")
SHORT_LOST = tr("lost")
WHY_LOST = tr(
    "Nobody but the client knows that it asked: it finds its connection closed, and no answer."
)
NODE_KILLED = Words("killed, with every role of this node")
UNHEARD = Words("killed, with every role of this node, before the answer to {what} has left")
SHORT_UNHEARD = tr("killed, its answer unsent")
WHY_KILLED = tr("Memory is gone and every connection is broken; what was written is found again.")


class Teller:
    """`facts`, `steps`: how many there were so far. A broker's observer says `explain`."""

    def __init__(self, lanes: Lanes, started_ms: int) -> None:
        self.lanes = lanes
        self.facts = 0
        self.steps = 0
        self.held: dict[Caller, int] = {}
        self._started_ms = started_ms
        self._listener: Listener | None = None
        self._at_ms = 0

    def explain(self, fact: Fact) -> Text:
        """One sentence why, where the step's own telling has none."""
        raise NotImplementedError

    def _say_why(self, fact: Fact, telling: Telling) -> Text:
        """One sentence, that of the step itself where it has one."""
        return telling.why if telling.why.en else self.explain(fact)

    def _count(self, at_ms: int, listener: Listener | None) -> None:
        """A step begins, and `listener` hears of it."""
        self.steps += 1
        self._at_ms, self._listener = at_ms - self._started_ms, listener

    def _fact(self, node: str, peer: str, effect: Effect, meaning: Callable[[], Telling]) -> None:
        """An effect's fact, if everybody in it has a lane; its words only where somebody
        listens."""
        admit, step = self.lanes.admit, self.steps
        request = type(effect.body).__name__ if isinstance(effect, Send) else ""
        if not admit(node, step, request) or (peer != DISK and not admit(peer, step)):
            return
        if self._listener is None:
            self.facts += 1
        elif (fact := describe_effect(node, effect)) is not None:
            self._add(fact, meaning())

    def _add(self, fact: Fact, telling: Telling) -> None:
        self.facts += 1
        if self._listener is not None:
            self._listener(
                replace(
                    fact,
                    node=self.lanes.find(fact.node),
                    peer=self.lanes.find(fact.peer),
                    index=self.facts,
                    step=self.steps,
                    text=clip(fact.text),
                    txn=telling.txn,
                    fold=fact.fold or telling.fold,
                    label=clip(telling.label),
                    why=clip(self._say_why(fact, telling)),
                    at_ms=self._at_ms,
                )
            )

    def _add_recovery(self, name: str, role: Any) -> None:
        for text in role.describe_changes(None) or (RECOVERED(),):
            self._add(new_fact(FactKind.RECOVERY, name, text, body=text.made), Telling())

    def _add_timer(self, name: str, timer: str) -> None:
        self._add(new_fact(FactKind.TIMER, name, TIMER(name=timer), body=timer), Telling())

    def _add_change(self, name: str, text: Text, telling: Telling | None = None) -> None:
        change = new_fact(FactKind.CHANGE, name, text, body=text.made)
        self._add(change, telling or Telling())

    def _from_outside(self, name: str, what: Outside | None) -> None:
        """What happened to a client, or to the node of the role `name`; None: it has gone."""
        if isinstance(what, Killed):
            for conn in list(self.lanes.conns):
                self.lanes.end_client(conn)
            self.held.clear()
            kinds = range(1, len(self.lanes.most) + 1)
            roles = [role for kind in kinds for role in self.lanes.list_names(kind)]
            if roles:
                node = name if name in roles else roles[0]
                text = UNHEARD(what=what.unheard) if what.unheard.en else NODE_KILLED()
                telling = Telling(
                    label=SHORT_UNHEARD if what.unheard.en else NOTHING, why=WHY_KILLED
                )
                self._add(new_fact(FactKind.KILL, node, text), telling)
        elif isinstance(what, Dropped):
            lane, _ = self.lanes.end_client(name)
            if lane:
                lost = new_fact(FactKind.BREAK, lane, LOST(what=what.text), what.to)
                self._add(lost, Telling(label=SHORT_LOST, why=WHY_LOST))
        else:
            self._end_client(name)
        self.held = {who: fact for who, fact in self.held.items() if who.name != name}

    def _end_client(self, conn: str) -> None:
        """A connection has ended: it is told of a client that has a lane, and is of interest where
        it was the client's last."""
        lane, stays = self.lanes.end_client(conn)
        if lane:
            closed = new_fact(FactKind.CLOSE, lane, CLOSED())
            self._add(closed, Telling(fold=stays, why=WHY_CLOSED()))
        self.lanes.forget_clients()
