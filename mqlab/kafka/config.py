"""What the roles of one Kafka cluster agree on. Defaults are Kafka 4.3's, single broker."""

from __future__ import annotations

from ..kernel import Config, Disk, Text, frozen, tr

SAFEGUARDS: dict[str, Text] = {
    "epoch_fencing": tr("an older epoch of a producer is refused by coordinator and leaders"),
    "sequence_check": tr("a leader accepts only the next sequence number, and finds duplicates"),
    "lso": tr("read_committed reads only up to the last stable offset"),
    "aborted_index": tr("a fetch response contains the list of aborted transactions"),
    "prepare_before_markers": tr("the decision is in the log before any marker is sent"),
    "transaction_timeout": tr("a transaction that stays open too long is aborted"),
    "verification": tr("a leader verifies with the coordinator before it opens a transaction"),
    "epoch_bump": tr("every end of a transaction gives the producer a new epoch"),
    "offsets_in_transaction": tr("offsets of a transaction count only once it has committed"),
    "generation_fencing": tr("a member of an older group generation cannot commit offsets"),
}


@frozen
class KafkaConfig(Config):
    """`transaction_version` 0 or 2 is the cluster's feature level. `txn_partitions` and
    `offsets_partitions`: partitions of the two internal topics. Times in milliseconds.
    `segment_records`: a lesson's segment rolls after so many records, and then a `.snapshot` is
    written; 0: one segment. `id_expiration_ms`, `pid_expiration_ms`: after how long an idle
    transactional id (at its coordinator) and an idle producer id (on a partition) are forgotten; 0:
    never, which keeps a lesson free of timers that no lesson waits for. Kafka: 7 days, looked at
    every hour; 1 day, looked at every 10 minutes. `max_message_bytes`, `max_ahead_ms`:
    max.message.bytes and message.timestamp.after.max.ms of a lesson's topics; -1: checked
    elsewhere. `release`: "4.2" or "4.3", where the two differ. `skip_leaderless_marker`:
    4.3.1 and 4.4.0 do: a partition that has no leader just now is taken for deleted, and gets no
    marker. `max_timeout_ms`: transaction.max.timeout.ms; `sweep_ms`: how often timed-out
    transactions are looked for; `id_sweep_ms`, `pid_sweep_ms`: how often idle ids are;
    `add_retry_ms`, `add_retry_max_ms`: a client's back-off when AddPartitionsToTxn meets a
    transaction that is still ending; `pid_block`: producer ids that a coordinator gets at a
    time."""

    transaction_version: int = 2
    release: str = "4.3"
    skip_leaderless_marker: int = 0
    max_message_bytes: int = -1
    max_ahead_ms: int = -1
    coordinator: str = "coordinator"
    txn_partitions: int = 50
    offsets_partitions: int = 1
    max_timeout_ms: int = 900_000
    sweep_ms: int = 10_000
    add_retry_ms: int = 20
    add_retry_max_ms: int = 100
    pid_block: int = 1_000
    segment_records: int = 0
    id_expiration_ms: int = 0
    id_sweep_ms: int = 3_600_000
    pid_expiration_ms: int = 0
    pid_sweep_ms: int = 600_000


def java_hash(text: str) -> int:
    """Java's String.hashCode: int32 over UTF-16 code units."""
    h = 0
    units = text.encode("utf-16-be")
    for i in range(0, len(units), 2):
        h = (31 * h + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return h - (1 << 32) if h >= 1 << 31 else h


def partition_for(key: str, partitions: int) -> int:
    """abs(hashCode) mod partitions, where abs(MIN_VALUE) is 0
    (TransactionStateManager#partitionFor, Utils#abs)."""
    h = java_hash(key)
    return (0 if h == -(1 << 31) else abs(h)) % partitions


def txn_log(txn_id: str, config: KafkaConfig) -> str:
    """The partition of `__transaction_state` that keeps this transactional id."""
    return f"__transaction_state-{partition_for(txn_id, config.txn_partitions)}"


def txn_logs(disk: Disk) -> tuple[str, ...]:
    """The partitions of `__transaction_state` on a disk; a user's topic may be called
    `__transaction_state-0`."""
    topic = "__transaction_state"
    return tuple(log for log in disk.logs(topic) if log.rpartition("-")[0] == topic)


def offsets_log(group: str, config: KafkaConfig) -> str:
    """The partition of `__consumer_offsets` that keeps this group; also the name of the
    group coordinator's role."""
    return f"__consumer_offsets-{partition_for(group, config.offsets_partitions)}"
