"""What the roles of one Pulsar broker agree on. Defaults are those of a standalone 4.2."""

from __future__ import annotations

from ..kernel import Config, Text, frozen, tr

#: MLTransactionLogImpl: the coordinator's log and the cursor that deletes from it
TRANSACTION_LOG = "__transaction_log_"
TRANSACTION_CURSOR = "transaction.subscription"
#: SystemTopicNames: where a buffer keeps its snapshots, and a subscription its pending acks
SNAPSHOT_LOG = "__transaction_buffer_snapshot"
PENDING_ACK_SUFFIX = "__transaction_pending_ack"
#: the producer's name in a marker's metadata (Markers#newTxnMarker)
MARKER_PRODUCER = "pulsar.txn.marker"
#: the table of a partition's disk in which each subscription has its cursor
CURSORS = "cursors"
#: the table of a partition's disk that says what of a log (pending acks, snapshots) is gone
LEDGERS = "deleted ledgers"
#: the table that says of a partition that it was deleted, that its namespace was created, or what
#: its topic epoch is
TOPIC = "topic"
COORDINATOR = "tc-"


def name_coordinator(tc_id: int) -> str:
    """The node of a coordinator."""
    return f"{COORDINATOR}{tc_id}"


def name_transaction_log(tc_id: int) -> str:
    return f"{TRANSACTION_LOG}{tc_id}"


def name_pending_ack_log(partition: str, subscription: str) -> str:
    """MLPendingAckStore#getTransactionPendingAckStoreSuffix"""
    return f"{partition}-{subscription}{PENDING_ACK_SUFFIX}"


def find_subscription(partition: str, log: str) -> str:
    """The subscription whose log of pending acks this is."""
    return log.removeprefix(f"{partition}-").removesuffix(PENDING_ACK_SUFFIX)


SAFEGUARDS: dict[str, Text] = {
    "max_read_position": tr(
        "consumers get nothing above maxReadPosition, the entry before the first one of the "
        "oldest open transaction"
    ),
    "filter_aborted": tr(
        "messages of aborted transactions are acknowledged by the dispatcher and not sent"
    ),
    "decision_before_markers": tr(
        "COMMITTING or ABORTING is in the transaction log before any participant is notified"
    ),
    "retry_until_answered": tr(
        "the end of a transaction is sent again until every participant has answered"
    ),
    "replay_log": tr("a loaded coordinator replays its log, and finishes the ends in progress"),
    "replay_topic": tr(
        "a buffer that recovers replays its topic from its snapshot's maxReadPosition on"
    ),
    "transaction_timeout": tr(
        "the coordinator aborts a transaction that is still open at its deadline"
    ),
    "low_watermark": tr(
        "a message or an open entry of a transaction that has ended long ago is refused or "
        "aborted by the low watermark"
    ),
    "pending_ack_conflict": tr(
        "a message that one transaction has acknowledged cannot be acknowledged by another"
    ),
    "pending_ack_log": tr(
        "a transaction's acknowledgement is answered once it is in the pending-ack log"
    ),
    "pending_ack_filter": tr(
        "a message that an open transaction has acknowledged is not delivered again"
    ),
    "redeliver_aborted": tr("what an aborted transaction had acknowledged is delivered again"),
}


@frozen
class PulsarConfig(Config):
    """`partitions`: the topic partitions there are, as "orders-0". `missing`: partitions of a
    namespace that does not exist, which a client may register and no broker can serve.
    `coordinators`: how many there are: 1 in a standalone broker, 16 in a cluster, none while
    transactionCoordinatorEnabled has its default, false.
    `max_active`: maxActiveTransactionsPerCoordinator (0: no limit). `snapshot_count`:
    transactionBufferSnapshotMaxTransactionCount. `snapshot_ms`:
    transactionBufferSnapshotMinTimeInMillis; 0: no snapshot by time, which spares a lesson a
    timer that it does not need. `dedup` 1: brokerDeduplicationEnabled. `retry_ms`: how long the
    coordinator waits before it ends a transaction again. `batch_index_ack`:
    acknowledgmentAtBatchIndexLevelEnabled (on by default since 4.1). `tick_ms`: of the wheel that
    watches deadlines; a shorter timeout aborts at once. `auto_skip` 1: autoSkipNonRecoverableData,
    what a ledger that is gone has held is left out."""

    partitions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    coordinators: int = 1
    max_active: int = 0
    snapshot_count: int = 1_000
    snapshot_ms: int = 0
    dedup: int = 0
    retry_ms: int = 1_000
    tick_ms: int = 100
    batch_index_ack: int = 1
    auto_skip: int = 0
