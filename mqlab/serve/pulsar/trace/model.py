"""What the live picture knows: read off the steps as they go by, in bounded memory.

A lesson's world keeps every log, so its picture is read off the world. A server cannot look back,
so it takes notes: the last entries of a few topics, those that were written to last, the last
records of the coordinators, the latest transactions, and what consumers were sent last. Of a
message only a few characters are kept. What they mean is worked out by `mqlab/pulsar/picture`, as
in a lesson.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any

from ....kernel import Got, frozen, replace
from ....pulsar.claims.invariants import CLEAN_READ, LIT, TOLD_TO_ALL
from ....pulsar.messages import (
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    LedgerEntry,
    PushMessage,
    SendMessage,
    TransactionMetadataEntry,
    TxnID,
)
from ....pulsar.picture.ledgers import DECIDED, Written
from ....pulsar.states import ENDED, MarkerType, TxnStatus
from ...trace.parts import LEAST, Lights, Strip, label
from .lanes import name_shortly

TOPICS = 6  # topics kept
TXNS = 64  # transactions kept
READERS = 4  # consumers whose messages are kept
TOGETHER = 8  # messages of a batch that are told
PLACES = 64  # topics of a transaction whose markers are watched


@frozen
class LastWritten(Written):
    """The latest transactions. `before`: how many there were before the first of them."""

    before: int = 0

    def name(self, txn: TxnID | None) -> str:
        known = txn in self.begun
        return f"T{self.before + self.begun.index(txn) + 1}" if known and txn is not None else ""


class Model:
    """`strips`: by topic, that which was written to last at the end; `records`: by coordinator;
    `readers`: by consumer, what it was sent. `changes` counts records and messages sent.
    `unmarked`: of a transaction, the topics that it wrote to and that have no commit marker yet.
    Transactions that have left the notes are judged no more."""

    def __init__(self) -> None:
        self.strips: dict[str, Strip[LedgerEntry]] = {}
        self.records: dict[str, Strip[TransactionMetadataEntry]] = {}
        self.readers: dict[str, deque[Got]] = {}
        self.written = LastWritten(())
        self.changes = 0
        self.lights = Lights(LIT)
        self.unmarked: dict[TxnID, set[str]] = {}

    def note_entry(self, topic: str, entry: LedgerEntry) -> None:
        """An entry of a topic, as `simplify` has left it."""
        strip = self.strips.pop(topic) if topic in self.strips else Strip()
        self.strips[topic] = strip
        strip.add(entry)
        self._watch_markers(topic, entry)
        for name in list(islice(self.strips, max(0, len(self.strips) - TOPICS))):
            del self.strips[name]

    def _watch_markers(self, topic: str, entry: LedgerEntry) -> None:
        """What is written before the decision has to be marked after it."""
        places = self.unmarked.get(entry.txn) if entry.txn is not None else None
        if places is None:
            return
        if entry.marker is MarkerType.TXN_COMMIT:
            places.discard(topic)
        elif entry.txn not in self.written.decisions and len(places) < PLACES:
            places.add(topic)

    def note_record(self, coordinator: str, record: TransactionMetadataEntry) -> None:
        self.changes += 1
        self.records.setdefault(coordinator, Strip()).add(record)
        written = self.written
        if record.op == "NEW":
            begun = (*written.begun, record.txn)
            gone, begun = begun[:-TXNS], begun[-TXNS:]
            self.unmarked[record.txn] = set()
            for txn in gone:
                written.decisions.pop(txn, None)
                written.done.pop(txn, None)
                self.unmarked.pop(txn, None)
            self.written = replace(written, begun=begun, before=written.before + len(gone))
        elif record.txn in written.begun and record.status in DECIDED:
            written.decisions.setdefault(record.txn, record.status)
        elif record.txn in written.begun and record.status in ENDED:
            written.done.setdefault(record.txn, record.status)
            if record.status is TxnStatus.COMMITTED and self.unmarked[record.txn]:
                self.lights.judge(TOLD_TO_ALL, False)

    def note_sent(self, consumer: str, message: PushMessage) -> None:
        """What a consumer is sent, as `simplify` has left it."""
        self.changes += 1
        txn = message.txn
        if txn in self.written.begun and not self.written.has_committed(txn):
            self.lights.judge(CLEAN_READ, False)
        got = self.readers.pop(consumer) if consumer in self.readers else deque[Got](maxlen=LEAST)
        self.readers[consumer] = got
        text = ",".join(map(str, message.values))
        partition = name_shortly(message.message_id.partition)
        got.append(Got(partition, text, self.written.name(message.txn)))
        for gone in list(islice(self.readers, max(0, len(self.readers) - READERS))):
            del self.readers[gone]

    def forget_readers(self, conn: str) -> None:
        """A connection has ended, and its consumers with it."""
        for name in [name for name in self.readers if name.startswith(f"{conn}/")]:
            del self.readers[name]
            self.changes += 1


# ---- what is told, in a few characters ---------------------------------------------------------


def simplify(body: Any) -> Any:
    """A message or a record whose payloads and topics can be drawn."""
    match body:
        case LedgerEntry() | SendMessage() | PushMessage():
            return replace(body, values=_shorten_values(body.values))
        case AddPartitionToTxn(partitions=names):
            return replace(body, partitions=tuple(map(name_shortly, names)))
        case AddSubscriptionToTxn(subscriptions=where):
            return replace(body, subscriptions=_shorten_places(where))
        case TransactionMetadataEntry(partitions=names, subscriptions=where):
            short = tuple(map(name_shortly, names))
            return replace(body, partitions=short, subscriptions=_shorten_places(where))
    return body


def _shorten_values(values: Sequence[Any]) -> tuple[str, ...]:
    first = tuple(label(str(v)) for v in values[:TOGETHER])
    return first if len(values) <= TOGETHER else (*first, "…")


def _shorten_places(where: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name_shortly(topic), name) for topic, name in where)
