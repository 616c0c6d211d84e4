"""What the roles of one Pulsar broker agree on. Defaults are those of a standalone 4.2."""

from __future__ import annotations

from ..kernel import Config, Text, Words, frozen

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
#: the table that says of a partition that it was deleted, or that its namespace was created
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
    name: Words(en, zh)()
    for name, (en, zh) in {
        "max_read_position": (
            "consumers are sent nothing above maxReadPosition, the entry before the first one "
            "of the oldest open transaction",
            "只投递 maxReadPosition 及之前的条目，它是最早的未结束事务第一条消息之前的位置",
        ),
        "filter_aborted": (
            "messages of aborted transactions are acknowledged by the dispatcher and not sent",
            "已中止事务的消息由分发器直接确认，不投递",
        ),
        "decision_before_markers": (
            "COMMITTING or ABORTING is in the transaction log before any participant hears of it",
            "先把 COMMITTING 或 ABORTING 写入事务日志，再通知各参与方",
        ),
        "retry_until_answered": (
            "the end of a transaction is sent again until every participant has answered",
            "结束事务的请求会反复发送，直到每个参与方都应答",
        ),
        "replay_log": (
            "a coordinator that is loaded replays its log, and ends what was being ended",
            "协调者加载时回放日志，继续结束尚未完成的事务",
        ),
        "replay_topic": (
            "a buffer that recovers replays its topic from its snapshot's maxReadPosition on",
            "缓冲区恢复时从快照的 maxReadPosition 之后回放主题",
        ),
        "transaction_timeout": (
            "the coordinator aborts a transaction that is still open at its deadline",
            "事务到期仍未结束时，由协调者中止",
        ),
        "low_watermark": (
            "a message or an open entry of a transaction that has ended long ago is refused or "
            "aborted by the low watermark",
            "早已结束的事务若再写入消息或遗留未结束的条目，会按低水位拒绝或中止",
        ),
        "pending_ack_conflict": (
            "a message that one transaction has acknowledged cannot be acknowledged by another",
            "一条消息被某个事务确认后，其他事务不能再确认它",
        ),
        "pending_ack_log": (
            "a transaction's acknowledgement is answered once it is in the pending-ack log",
            "事务内的确认写入 pending-ack 日志之后才应答",
        ),
        "pending_ack_filter": (
            "a message that an open transaction has acknowledged is not delivered again",
            "被未结束事务确认的消息不再投递",
        ),
        "redeliver_aborted": (
            "what an aborted transaction had acknowledged is delivered again",
            "事务中止后，它确认过的消息会重新投递",
        ),
    }.items()
}


@frozen
class PulsarConfig(Config):
    """`partitions`: the topic partitions there are, as "orders-0". `missing`: partitions of a
    namespace that does not exist, which a client may register and nobody can serve.
    `coordinators`: how many there are: 1 in a standalone broker, 16 in a cluster, none while
    transactionCoordinatorEnabled has its default, false.
    `max_active`: maxActiveTransactionsPerCoordinator (0: no limit). `snapshot_count`:
    transactionBufferSnapshotMaxTransactionCount. `snapshot_ms`:
    transactionBufferSnapshotMinTimeInMillis; 0: no snapshot by time, which spares a lesson a
    timer that nobody waits for. `dedup` 1: brokerDeduplicationEnabled. `retry_ms`: how long the
    coordinator waits before it ends a transaction again. `batch_index_ack`:
    acknowledgmentAtBatchIndexLevelEnabled (on by default since 4.1). `tick_ms`: of the wheel that
    watches deadlines; a shorter timeout aborts at once."""

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
