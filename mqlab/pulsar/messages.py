"""What clients, coordinators and partitions say to each other, and what they write down.

A request is called as its command on the wire (PulsarApi.proto), without the word Command where
that leaves a clear name: `SendMessage` is SEND, `PushMessage` is MESSAGE. The narration of each
begins with one word, by which a scenario names it.

A *position* is one number here, counted over all ledgers of a partition from 0; the real one is a
ledger's id and an entry's. -1 is before the first entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..kernel import Single, Words, frozen, phrase, phrase_word, worded
from .errors import ServerError
from .states import AccessMode, AckType, MarkerType, SubType, TxnAction, TxnStatus


@dataclass(frozen=True, slots=True, order=True)
class TxnID:
    """`most`: mostSigBits, which *is* the coordinator's number, all 64 bits of it. `least`:
    leastSigBits, counted by that coordinator from 0; never used twice."""

    most: int
    least: int

    def __str__(self) -> str:
        return f"({self.most},{self.least})"


@dataclass(frozen=True, slots=True, order=True)
class MessageId:
    """`batch_index` -1: the entry is no batch."""

    partition: str
    position: int
    batch_index: int = -1

    def __str__(self) -> str:
        index = "" if self.batch_index < 0 else f":{self.batch_index}"
        return f"{self.partition}@{self.position}{index}"


#: of a message whose command names another transaction than the message itself does
UNNAMED = ", which the message does not say"
#: of what a topic keeps in its queue while its transaction buffer recovers
WAITS = Words("{what}: waits for the buffer")


def name_txn(txn: TxnID | None) -> str:
    """ " in (0,1)", or nothing for what belongs to no transaction."""
    return "" if txn is None else f" {phrase('in {}', txn)}"


# ---- what is in a partition's ledger -------------------------------------------------


@frozen
class LedgerEntry(Single):
    """One entry: a message, several in one batch, or a marker. `producer`, `sequence` and `txn` are
    what the message says of itself: the transaction that it belongs to and the producer's number,
    -1 of a marker; a marker's transaction is the one that it ends."""

    base: int
    values: Sequence[Any] = ()
    producer: str = ""
    sequence: int = -1
    txn: TxnID | None = None
    marker: MarkerType | None = None

    def __str__(self) -> str:
        if self.marker is not None:
            commits = self.marker is MarkerType.TXN_COMMIT
            said = phrase("commit marker of {}" if commits else "abort marker of {}", self.txn)
            return f"{said} @{self.base}"
        return f"{', '.join(map(str, self.values))}{name_txn(self.txn)} @{self.base}"


@frozen
class BufferSnapshot(Single):
    """An entry of `__transaction_buffer_snapshot` for one topic (TransactionBufferSnapshot). Open
    transactions are not in it: what comes after `max_read_position` is read again. `aborts`:
    aborted transactions with the positions where they ended."""

    base: int
    max_read_position: int
    aborts: tuple[tuple[TxnID, int], ...] = ()

    def __str__(self) -> str:
        aborted = ", ".join(str(txn) for txn, _ in self.aborts)
        return f"Snapshot maxReadPosition={self.max_read_position} aborts={{{aborted}}}"


# ---- what is in a coordinator's log, and in a subscription's -------------------------


@frozen
class TransactionMetadataEntry(Single):
    """A record of `__transaction_log_N`. `op`: NEW, ADD_PARTITION, ADD_SUBSCRIPTION or UPDATE. No
    payload and no message id: a coordinator knows where markers are owed, not what was written.
    `expected`: the status that an UPDATE requires; `subscriptions`: (partition, subscription);
    `max_local_txn_id`: the highest one given so far, for a load after the log was trimmed."""

    base: int
    op: str
    txn: TxnID
    status: TxnStatus | None = None
    expected: TxnStatus | None = None
    partitions: tuple[str, ...] = ()
    subscriptions: tuple[tuple[str, str], ...] = ()
    timeout_ms: int = 0
    start_ms: int = 0
    max_local_txn_id: int = -1

    def __str__(self) -> str:
        if self.status is not None:
            return f"{self.status} {self.txn}"
        where = [*self.partitions, *(f"{p}/{sub}" for p, sub in self.subscriptions)]
        return f"{self.op} {self.txn} {', '.join(where)}".rstrip()


@frozen
class AckPosition:
    """A position in an acknowledgement. `batch_index` -1: the whole entry; else one message of a
    batch of `batch_size` (cumulative: it and those before it)."""

    position: int
    batch_index: int = -1
    batch_size: int = 0

    def __str__(self) -> str:
        return f"{self.position}" if self.batch_index < 0 else f"{self.position}:{self.batch_index}"


@frozen
class PendingAckEntry(Single):
    """A record of `<partition>-<subscription>__transaction_pending_ack`. `op`: ACK, COMMIT or
    ABORT. `ack_type`: individual or cumulative."""

    base: int
    op: str
    txn: TxnID
    ack_type: AckType = AckType.INDIVIDUAL
    positions: tuple[AckPosition, ...] = ()

    def __str__(self) -> str:
        where = "" if not self.positions else f" {', '.join(map(str, self.positions))}"
        return f"{self.op} {self.ack_type} {self.txn}{where}"


# ---- what most answers begin with ------------------------------------------------------


@worded("{words}")
class Answer:
    error: ServerError = ServerError.NoError
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.error is ServerError.NoError

    @property
    def words(self) -> str:
        return "ok" if self.ok else f"{self.error.name} {self.message}".rstrip()


# ---- client → coordinator --------------------------------------------------------------


@worded("TcClientConnect {tc_id}")
class TcClientConnect:
    """TC_CLIENT_CONNECT_REQUEST. The first one loads the coordinator."""

    tc_id: int


@frozen
class TcClientConnectResponse(Answer):
    pass


@worded("NewTxn timeout={timeout_ms}")
class NewTxn:
    """NEW_TXN. The field on the wire is called txn_ttl_seconds and carries milliseconds."""

    tc_id: int
    timeout_ms: int


@frozen
class NewTxnResponse(Answer):
    txn: TxnID | None = None

    def __str__(self) -> str:
        return f"{self.words} {self.txn}" if self.ok else self.words


@frozen
class AddPartitionToTxn:
    """ADD_PARTITION_TO_TXN: a transaction will write here."""

    txn: TxnID
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"AddPartitionToTxn {self.txn} {', '.join(self.partitions)}"


@frozen
class AddPartitionToTxnResponse(Answer):
    pass


@frozen
class AddSubscriptionToTxn:
    """ADD_SUBSCRIPTION_TO_TXN: a transaction will acknowledge here."""

    txn: TxnID
    subscriptions: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        where = ", ".join(f"{partition}/{name}" for partition, name in self.subscriptions)
        return f"AddSubscriptionToTxn {self.txn} {where}"


@frozen
class AddSubscriptionToTxnResponse(Answer):
    pass


@worded("EndTxn {action} {txn}")
class EndTxn:
    """END_TXN: answered when every participant has answered."""

    txn: TxnID
    action: TxnAction


@frozen
class EndTxnResponse(Answer):
    pass


# ---- coordinator → partition -------------------------------------------------------------


@worded("EndTxnOnPartition {action} {txn} lowWatermark={low_watermark}")
class EndTxnOnPartition:
    """END_TXN_ON_PARTITION: append a marker. `low_watermark`: every transaction of this
    coordinator up to it has ended."""

    txn: TxnID
    action: TxnAction
    partition: str
    low_watermark: int
    idle = WAITS


@frozen
class EndTxnOnPartitionResponse(Answer):
    txn: TxnID | None = None


@worded("EndTxnOnSubscription {action} {txn} {subscription} lowWatermark={low_watermark}")
class EndTxnOnSubscription:
    """END_TXN_ON_SUBSCRIPTION: apply or give up what the transaction has acknowledged."""

    txn: TxnID
    action: TxnAction
    partition: str
    subscription: str
    low_watermark: int


@frozen
class EndTxnOnSubscriptionResponse(Answer):
    txn: TxnID | None = None
    subscription: str = ""


# ---- producer → partition ----------------------------------------------------------------


@frozen
class MessageMetadata:
    """What a message says of itself, which is in the ledger with it (MessageMetadata).
    `producer`: its name; `sequence`: the sequence id, by which duplicates are recognised."""

    producer: str
    sequence: int
    txn: TxnID | None = None


@frozen
class OpenProducer:
    """PRODUCER: `producer` is its name. `topic_epoch`: the one that this producer was sent when it
    was opened first, where its client opens it again. `access_mode`: shared, exclusive …"""

    partition: str
    producer: str
    access_mode: AccessMode = AccessMode.SHARED
    topic_epoch: int | None = None

    def __str__(self) -> str:
        epoch = "" if self.topic_epoch is None else f" epoch={self.topic_epoch}"
        return f"OpenProducer {self.access_mode}{epoch}"


@frozen
class ProducerOpened(Answer):
    """PRODUCER_SUCCESS or ERROR of an OpenProducer, sent over the broker's own direction of the
    connection, so that it hears when the client is gone. `ready` False: it waits for the topic,
    and is sent another one when its turn has come. `last_sequence`: the highest number that the
    topic has of a producer of this name; -1 without deduplication."""

    answers = True

    partition: str = ""
    topic_epoch: int | None = None
    ready: bool = True
    last_sequence: int = -1

    def __str__(self) -> str:
        if not self.ok:
            return f"ProducerOpened {self.error.name}"
        known = self.ready and self.topic_epoch is not None
        epoch = f" epoch {self.topic_epoch}" if known else ""
        return f"ProducerOpened {self.words if self.ready else phrase('waits')}{epoch}"


@worded("CloseProducer {partition}")
class CloseProducer:
    """CLOSE_PRODUCER"""

    partition: str


@frozen
class SendMessage:
    """SEND. `txn`: the broker does not ask the coordinator whether there is such a transaction.
    `sequence`: the highest number of its messages; `lowest`: that of a batch's first one, where it
    is another. `metadata`: what the message says of itself, where that differs from this command.
    `is_part` True: a chunk that is not the last one of its message. `opened` True: its producer was
    opened by an OpenProducer, which the topic has to know; else it is one more that shares."""

    partition: str
    producer: str
    sequence: int
    values: Sequence[Any]
    txn: TxnID | None = None
    lowest: int | None = None
    metadata: MessageMetadata | None = None
    is_part: bool = False
    opened: bool = False
    idle = WAITS

    def __str__(self) -> str:
        remark = (
            "" if self.metadata is None or self.metadata.txn == self.txn else phrase_word(UNNAMED)
        )
        return f"Send {', '.join(map(str, self.values))}{name_txn(self.txn)}{remark}"


@frozen
class SendReceipt(Answer):
    """SEND_RECEIPT or SEND_ERROR. `position` -1: taken for a duplicate and not stored."""

    position: int = -1

    def __str__(self) -> str:
        return f"{self.words} @{self.position}" if self.ok else self.words


# ---- consumer ↔ partition ----------------------------------------------------------------


@worded("Subscribe {subscription} {sub_type}")
class Subscribe:
    """SUBSCRIBE. `initial_position` counts for a new subscription only: "Latest" or "Earliest".
    `durable` False: a reader's, which may begin after the position that it has read last.
    `beside`: the same client has a consumer of it by this connection already."""

    partition: str
    subscription: str
    sub_type: SubType = SubType.EXCLUSIVE
    initial_position: str = "Latest"
    durable: bool = True
    after: int | None = None
    beside: bool = False


@worded("Subscribed {subscription} {words}")
class Subscribed(Answer):
    """SUCCESS or ERROR of a Subscribe, sent over the broker's own direction of the connection,
    so that it hears when the client is gone."""

    answers = True

    partition: str = ""
    subscription: str = ""


@worded("Flow {permits}")
class Flow:
    """FLOW: so many messages more may be sent."""

    partition: str
    subscription: str
    permits: int
    quiet = True


@frozen
class PushMessage:
    """MESSAGE, from the broker. `acked`: the indexes of a batch that need no processing any more. A
    marker or an aborted message is never in one. `message_id`: where it is; `redelivery_count`: how
    often it was delivered before."""

    message_id: MessageId
    subscription: str
    values: Sequence[Any]
    redelivery_count: int = 0
    txn: TxnID | None = None
    acked: tuple[int, ...] = ()
    quiet = True

    def __str__(self) -> str:
        values = ", ".join(map(str, self.values))
        said = f"Message {values} @{self.message_id.position}"
        again = self.redelivery_count
        return phrase("{} redelivered {}", said, again) if again else said


@frozen
class Ack:
    """ACK. With a transaction it is answered (AckResponse), without one it is not: a consumer that
    asks for receipts (isAckReceiptEnabled) is left out. `ack_type`: individual or cumulative."""

    partition: str
    subscription: str
    positions: tuple[AckPosition, ...]
    ack_type: AckType = AckType.INDIVIDUAL
    txn: TxnID | None = None

    def __str__(self) -> str:
        where = ", ".join(map(str, self.positions))
        kind = "" if self.ack_type is AckType.INDIVIDUAL else f" {phrase('cumulative')}"
        return f"Ack{kind} {self.subscription} {where}{name_txn(self.txn)}"


@frozen
class AckResponse(Answer):
    pass


@frozen
class Redeliver:
    """REDELIVER_UNACKNOWLEDGED_MESSAGES. `positions` empty: all that this consumer holds."""

    partition: str
    subscription: str
    positions: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = f" {', '.join(map(str, self.positions))}" if self.positions else ""
        return f"Redeliver {self.subscription}{where}"


@frozen
class Seek:
    """SEEK: the subscription goes on with the entry after `after`; None: with what comes next. Of
    a batch in front of it `done` is left out: (position, indexes)."""

    partition: str
    subscription: str
    after: int | None = None
    done: tuple[int, tuple[int, ...]] | None = None

    def __str__(self) -> str:
        if self.after is None:
            return phrase("Seek {} to what comes next", self.subscription)
        return phrase("Seek {} to {}", self.subscription, self.after + 1)


@worded("CloseConsumer {subscription}")
class CloseConsumer:
    """CLOSE_CONSUMER, from a client that leaves, or from the broker to one that is to come back;
    the subscription stays."""

    partition: str
    subscription: str


@worded("Unsubscribe {subscription}")
class Unsubscribe:
    """The subscription goes, and its cursor with it, unless others are connected to it. `consumer`:
    which one asks (UNSUBSCRIBE); "" is an administrator, who may `force` (DELETE of the REST)."""

    partition: str
    subscription: str
    consumer: str = ""
    force: bool = False


@worded("DeleteLedger {subscription} {records}")
class DeleteLedger:
    """`bookkeeper shell deleteledger`: the metadata of one ledger of a pending-ack log goes, and so
    does what it holds. `records`: it is the closed one with so many, from the first one on; 0: the
    only one, which is written to. `subscription` "": the ledger of the buffer's snapshots (in a
    real broker those of all topics of a namespace are in one)."""

    partition: str
    subscription: str = ""
    records: int = 0


@frozen
class Deleted(Single):
    """What is gone of a log: a closed ledger with the records before `end`; None: all of it, and
    what was written to that ledger since."""

    end: int | None

    def __str__(self) -> str:
        if self.end is None:
            return phrase("the last one")
        return phrase("records before {}", self.end)


@worded("GetLastMessageId {partition}")
class GetLastMessageId:
    """GET_LAST_MESSAGE_ID: the last entry that a reader could be sent now."""

    partition: str
    idle = WAITS


@frozen
class LastMessageId(Answer):
    position: int = -1

    def __str__(self) -> str:
        return f"{self.words} @{self.position}" if self.ok else self.words


# ---- inside a broker ---------------------------------------------------------------------


@worded("recover the buffer")
class RecoverBuffer:
    """A partition to itself: its buffer reads its snapshot and the topic. No command of Pulsar's;
    there it is a task of another thread."""


# ---- an administrator (REST) ---------------------------------------------------------------


@worded("GetTransactionMetadata {txn}")
class GetTransactionMetadata:
    """GET transactionMetadata: 404 for one that has ended."""

    txn: TxnID


@worded("GetCoordinatorStats {tc_id}")
class GetCoordinatorStats:
    tc_id: int


@worded("GetSlowTransactions {timeout_ms}")
class GetSlowTransactions:
    """GET slowTransactions/{timeout}"""

    tc_id: int
    timeout_ms: int


@frozen
class Described(Answer):
    """`facts`: what was found, name by name."""

    facts: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        facts = " ".join(f"{name}={value}" for name, value in self.facts)
        return f"{self.words} {facts}".rstrip() if self.ok else self.words


@worded("GetBufferStats {partition}")
class GetBufferStats:
    """GET transactionBufferStats"""

    partition: str


@worded("GetTransactionInBuffer {txn}")
class GetTransactionInBuffer:
    """GET transactionInBufferStats"""

    partition: str
    txn: TxnID


@worded("GetPendingAckStats {subscription}")
class GetPendingAckStats:
    """GET pendingAckStats"""

    partition: str
    subscription: str


@worded("GetPositionStats {subscription} {position}")
class GetPositionStats:
    """GET positionStatsInPendingAck"""

    partition: str
    subscription: str
    position: AckPosition


@worded("DeleteTopic {partition}")
class DeleteTopic:
    """DELETE the topic by force: its entries, its snapshot, its subscriptions, whose consumers are
    closed. The next message or subscription makes it again."""

    partition: str


@worded("CreateNamespace {partition}")
class CreateNamespace:
    """PUT the namespace of a partition that had none."""

    partition: str


#: requests to a partition that one of its subscriptions answers
ConsumerRequest = Subscribe | Flow | Ack | Redeliver | Seek | CloseConsumer
SubscriptionRequest = ConsumerRequest | Unsubscribe | DeleteLedger | EndTxnOnSubscription
