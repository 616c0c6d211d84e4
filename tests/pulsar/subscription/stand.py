"""A subscription on a stand: a topic's ledger beside it, and whatever it sends kept in a list."""

from __future__ import annotations

from typing import Any

from mqlab.kernel import Append, Caller, Effects, Map, MemoryDisk, Reply, Send
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.ledger import TopicView
from mqlab.pulsar.messages import (
    Ack,
    AckPosition,
    EndTxnOnSubscription,
    Flow,
    LedgerEntry,
    PushMessage,
    Redeliver,
    Subscribe,
    TxnID,
)
from mqlab.pulsar.states import AckType, MarkerType, SubType, TxnAction
from mqlab.pulsar.subscription import Subscription

TOPIC, NAME = "orders-0", "shop"
T1, T2, T3 = TxnID(0, 1), TxnID(0, 2), TxnID(0, 3)


class Stand:
    """`entries`: what lies in the topic: a word, a tuple (a batch), or (marker, transaction).
    `max_read` None: everything may be read."""

    def __init__(
        self,
        *entries: Any,
        sub_type: SubType = SubType.SHARED,
        max_read: int | None = None,
        aborts: tuple[TxnID, ...] = (),
        off: tuple[str, ...] = (),
        durable: bool = True,
        **options: Any,
    ) -> None:
        self.config = PulsarConfig(on=frozenset(SAFEGUARDS) - set(off), **options)
        self.sub_type, self.max_read = sub_type, max_read
        self.aborts = Map((txn, 0) for txn in aborts)
        self.disk = MemoryDisk()
        for base, entry in enumerate(entries):
            self.disk = self.disk.apply(Append(TOPIC, build_entry(base, entry)))
        self.sent: list[tuple[str, Any]] = []
        self.answers: list[Any] = []
        self.sub, effects = Subscription(self.config, TOPIC, NAME).create(-1, durable)
        self._do(effects)

    @property
    def view(self) -> TopicView:
        log = self.disk.log(TOPIC)
        lac = log.end - 1
        bound = lac if self.max_read is None else self.max_read
        return TopicView(TOPIC, log, lac, bound, self.aborts)

    # -- what happens to it ------------------------------------------------------------------

    def connect(self, client: str = "app", permits: int = 100) -> list[str]:
        """A consumer connects and says how much it can take; gives what it is sent."""
        self.ask(Subscribe(TOPIC, NAME, self.sub_type), client)
        return self.ask(Flow(TOPIC, NAME, permits), client)

    def ack(self, *positions: Any, txn: TxnID | None = None, client: str = "app") -> str:
        """Gives the refusal, or "" where there was none."""
        return self._ack(AckType.INDIVIDUAL, positions, txn, client)

    def ack_up_to(self, position: int, txn: TxnID | None = None, client: str = "app") -> str:
        return self._ack(AckType.CUMULATIVE, (position,), txn, client)

    def end_txn(self, txn: TxnID, action: TxnAction, low_watermark: int = -1) -> list[str]:
        """Gives what consumers are sent then."""
        return self.ask(EndTxnOnSubscription(txn, action, TOPIC, NAME, low_watermark), "tc-0")

    def redeliver(self, client: str = "app") -> list[str]:
        return self.ask(Redeliver(TOPIC, NAME), client)

    def lose(self, client: str) -> list[str]:
        return self._take(*self.sub.lose_consumer(client, self.view))

    def move_bound(self, max_read: int) -> list[str]:
        self.max_read = max_read
        return self._take(*self.sub.dispatch(self.view))

    def restart(self) -> None:
        """Memory is gone; the disk is there."""
        self.sub, effects = Subscription(self.config, TOPIC, NAME).load(self.disk, self.view.lac)
        self._do(effects)

    def ask(self, body: Any, client: str) -> list[str]:
        caller = Caller(client)
        return self._take(*self.sub.handle_request(body, caller, self.view, self.disk))

    # -- inside ------------------------------------------------------------------------------

    def _ack(self, kind: AckType, positions: Any, txn: TxnID | None, client: str) -> str:
        asked = tuple(p if isinstance(p, AckPosition) else AckPosition(p) for p in positions)
        before = len(self.answers)
        self.ask(Ack(TOPIC, NAME, asked, kind, txn), client)
        return self.answers[before].message if len(self.answers) > before else ""

    def _take(self, sub: Subscription, effects: Effects) -> list[str]:
        before = len(self.sent)
        self.sub = sub
        self._do(effects)
        while self.sub.waiting:
            end = self.disk.log(self.sub.log).end
            self.sub, effects = self.sub.finish_append(end, self.view, self.disk)
            self._do(effects)
        return [describe(client, body) for client, body in self.sent[before:]]

    def _do(self, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Send(to=to, body=PushMessage() as body):
                    self.sent.append((to, body))
                case Send(body=body) | Reply(body=body):
                    self.answers.append(body)
                case _:
                    self.disk = self.disk.apply(effect)


def build_entry(base: int, entry: Any) -> LedgerEntry:
    match entry:
        case (MarkerType() as marker, txn):
            return LedgerEntry(base, txn=txn, marker=marker)
        case (TxnID() as txn, *values):
            return LedgerEntry(base, tuple(values), txn=txn)
        case tuple():
            return LedgerEntry(base, entry)
    return LedgerEntry(base, (entry,))


def describe(client: str, message: PushMessage) -> str:
    """`app b`, or `app b+1` where it was sent again."""
    again = f"+{message.redelivery_count}" if message.redelivery_count else ""
    live = [str(v) for i, v in enumerate(message.values) if i not in message.acked]
    return f"{client} {','.join(live)}{again}"
