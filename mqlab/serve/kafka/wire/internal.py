"""The records of `__consumer_offsets` and `__transaction_state` as Kafka's own bytes.

The roles write what they mean; a client that reads these topics (the console consumer with
OffsetsMessageFormatter or TransactionLogMessageFormatter, DumpLogSegments' decoders) wants
keys and values in the broker's schemas. Each begins with two bytes: in a key the kind of
record, in a value the version of its schema. From version 4 (offsets) and 1 (transactions)
on a value is *flexible*: lengths are varints plus one, and optional fields follow as tags.

    key    0, 1    OffsetCommitKey     group, topic, partition
           2       GroupMetadataKey    group
           0       TransactionLogKey   transactional id   (in the other topic)

A record without a value is a tombstone.

Sources: OffsetCommitKey/Value.json, GroupMetadataKey/Value.json, TransactionLogKey/Value.json,
GroupCoordinatorRecordHelpers, TransactionLog#valueToBytes (Kafka 4.3); compared byte by byte
with what a 4.3.1 broker wrote.
"""

from __future__ import annotations

import struct

from ....kafka.coordinator.entry import Entry, StateRecord
from ....kafka.group import GroupTombstone, OffsetTombstones
from ....kafka.group.commits import Offsets
from ....kafka.group.members import GroupMetadata
from ....kafka.log import Batch
from ....kafka.states import TxnState
from ....kernel import replace
from .encoding import NO_TAGS, Pair, TopicId, array, block, by_topic, compact, ints, string, tags
from .validation import TRANSACTIONAL, Records, assemble_batch

OFFSET_KEY, GROUP_KEY, TXN_KEY = 1, 2, 0
OFFSET_VALUE, GROUP_VALUE = 4, 3

#: TransactionState#id
STATUS = {
    TxnState.EMPTY: 0,
    TxnState.ONGOING: 1,
    TxnState.PREPARE_COMMIT: 2,
    TxnState.PREPARE_ABORT: 3,
    TxnState.COMPLETE_COMMIT: 4,
    TxnState.COMPLETE_ABORT: 5,
    TxnState.DEAD: 6,
}


# ---- __transaction_state -------------------------------------------------------------


def transaction(record: StateRecord, flexible: bool) -> Pair:
    """Encode a record of `__transaction_state` as Kafka's key and value
    (TransactionLog#valueToBytes). The value of an id that is deleted is None, a tombstone.
    `flexible`: transaction.version is 1 or more; else the value is of version 0."""
    entry = record.entry
    key = struct.pack(">h", TXN_KEY) + string(entry.txn_id)
    if entry.state is TxnState.DEAD:
        return key, None
    fixed = struct.pack(">qhib", entry.pid, entry.epoch, entry.timeout_ms, STATUS[entry.state])
    stamps = struct.pack(">qq", entry.update_ms, entry.start_ms)
    # t is a topic's name, i its partitions' numbers
    topics = by_topic(entry.partitions)
    if not flexible:
        rows = b"".join(
            string(t) + struct.pack(f">i{len(i)}i", len(i), *i) for t, i in topics.items()
        )
        # -1: null, as an id has no partitions while it is Empty
        count = -1 if entry.state is TxnState.EMPTY else len(topics)
        return key, struct.pack(">h", 0) + fixed + struct.pack(">i", count) + rows + stamps
    partitions = b"\0"  # null
    if entry.state is not TxnState.EMPTY:
        partitions = array(compact(t) + ints(i) + NO_TAGS for t, i in topics.items())
    return key, struct.pack(">h", 1) + fixed + partitions + stamps + _producer_id_tags(entry)


def _producer_id_tags(entry: Entry) -> bytes:
    """The tagged fields: the ids before and after a rotation, and the client's version."""
    fields: list[tuple[int, bytes]] = []
    for number, pid in ((0, entry.prev_pid), (1, entry.next_pid)):
        if pid >= 0:
            fields.append((number, struct.pack(">q", pid)))
    if entry.client_version:
        fields.append((2, struct.pack(">h", entry.client_version)))
    return tags(*fields)


# ---- __consumer_offsets --------------------------------------------------------------


def group_records(record: object, at_ms: int, topic_id: TopicId) -> list[Pair]:
    """Encode one entry of a group coordinator's batch as records of `__consumer_offsets`: (key,
    value) pairs, one for each partition of an offset commit; a tombstone's value is None. `at_ms`
    is when it was written; `topic_id(name)` gives a topic's id. Raises TypeError for any other
    entry."""
    match record:
        case Offsets(group=group, positions=positions):
            return [
                (
                    offset_key(group, p.partition),
                    struct.pack(">hqi", OFFSET_VALUE, p.offset, p.leader_epoch)
                    + compact(p.metadata)
                    + struct.pack(">q", at_ms)
                    + _topic_tag(p.partition, topic_id),
                )
                for p in positions
            ]
        case OffsetTombstones(group=group, partitions=partitions):
            return [(offset_key(group, p), None) for p in partitions]
        case GroupMetadata():
            return [(struct.pack(">h", GROUP_KEY) + string(record.group), _value(record, at_ms))]
        case GroupTombstone(group=group):
            return [(struct.pack(">h", GROUP_KEY) + string(group), None)]
    raise TypeError(f"__consumer_offsets holds no {type(record).__name__}")


def offset_key(group: str, partition: str) -> bytes:
    topic, _, index = partition.rpartition("-")
    return struct.pack(">h", OFFSET_KEY) + string(group) + string(topic) + _int(int(index))


def _topic_tag(partition: str, topic_id: TopicId) -> bytes:
    uuid = topic_id(partition.rpartition("-")[0])
    return tags((0, uuid.bytes)) if uuid is not None else NO_TAGS


def _int(number: int) -> bytes:
    return struct.pack(">i", number)


def _value(record: GroupMetadata, at_ms: int) -> bytes:
    head = struct.pack(">h", GROUP_VALUE) + string(record.protocol_type)
    head += _int(record.generation) + string(record.protocol or None)
    head += string(record.leader if record.members else None) + struct.pack(">q", at_ms)
    members = b"".join(
        string(m.id)
        + string(m.instance)
        + string(m.client)
        + string(m.host)
        + struct.pack(">ii", m.rebalance_ms, m.session_ms)
        + block(m.protocols[0][1] if m.protocols else b"")
        + block(m.assignment)
        for m in record.members
    )
    return head + _int(len(record.members)) + members


# ---- batches -------------------------------------------------------------------------


def as_sent(batch: Batch, topic_id: TopicId) -> Batch:
    """A batch of a group coordinator with its records as bytes. A transaction's offsets
    carry no topic id: TxnOffsetCommit names its topics by name."""
    if batch.control or isinstance(batch.records, Records):
        return batch
    known = topic_id if not batch.transactional else _unknown
    pairs = [p for record in batch.records for p in group_records(record, batch.at_ms, known)]
    return _filled(batch, pairs, TRANSACTIONAL if batch.transactional else 0, seq=0)


def state_batch(record: StateRecord, flexible: bool) -> Batch:
    """One record of `__transaction_state` in a batch of its own."""
    batch = Batch(count=1, base=record.base, at_ms=max(record.entry.update_ms, 0))
    return _filled(batch, [transaction(record, flexible)], 0, seq=-1)


def _filled(batch: Batch, pairs: list[Pair], bits: int, seq: int) -> Batch:
    data = assemble_batch(pairs, batch.base, batch.at_ms, batch.pid, batch.epoch, seq, bits)
    return replace(batch, records=Records(data), size=len(data))


def _unknown(topic: str) -> None:
    """No topic's id is known."""
