"""After a start: from the disk back to what a partition's leader knows.

The newest snapshot is read and the tail of the log replayed. A stop between a marker and its
index entry leaves the index short of what the log says: the missing entries are written now.

Source: ProducerStateManager#truncateAndReload, UnifiedLog#rebuildProducerState (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace

from ...kernel import Append, Disk, Effects, Map, Put, frozen, worded
from ..config import KafkaConfig
from . import MAX_SEQUENCE
from .batch import batch_at, index_of
from .partition import Partition, ProducerEntry, Written

# ---- snapshots ------------------------------------------------------------------------


@worded("pid={pid} epoch={epoch} lastSequence={last_seq}")
class SnapshotEntry:
    """One producer in a `.snapshot`: ProducerId, ProducerEpoch, LastSequence, LastOffset,
    OffsetDelta, Timestamp (ms), CoordinatorEpoch, CurrentTxnFirstOffset; -1 for none."""

    pid: int
    epoch: int
    last_seq: int
    last_offset: int
    offset_delta: int
    at_ms: int
    coordinator_epoch: int
    txn_first: int


@frozen
class ProducerSnapshot:
    """`.snapshot` files: what a leader need not read the whole log for.

    A snapshot names every producer with the last batch it wrote here and the transaction it has
    open. Its name is the offset it describes: everything *below* it. One is written when a segment
    rolls and when a log has been recovered; after a start the newest one is read and only the tail
    of the log replayed. It keeps one batch a producer, so a duplicate that a leader would have
    known by one of the four before is out of order after a restart.

    *Left out:* the checksum, and the removal of snapshots that are no longer the newest.

    Sources: ProducerStateManager#writeSnapshot, #loadFromSnapshot, ProducerSnapshot.json (storage,
    Kafka 4.3).

    The content of one file.
    """

    entries: tuple[SnapshotEntry, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.entries))


def table_of(partition: str) -> str:
    """The table that stands for a partition's snapshot files: offset → ProducerSnapshot."""
    return f"{partition}.snapshot"


def write_snapshot(part: Partition, name: str, at: int) -> Put:
    """The effect that writes the snapshot of everything below offset `at`."""
    entries = tuple(_entry(pid, e) for pid, e in part.producers.items())
    return Put(table_of(name), at, ProducerSnapshot(entries))


def roll_segment(part: Partition, name: str, disk: Disk) -> Effects:
    """The snapshot that is due before the next append, if the segment is full."""
    size = part.config.segment_records
    end = disk.log(name).end
    newest = max(disk.table(table_of(name)), default=0)
    return (write_snapshot(part, name, end),) if size and end - newest >= size else ()


def load_snapshot(config: KafkaConfig, name: str, disk: Disk) -> tuple[Partition, int]:
    """What the newest usable snapshot says, and the offset from which to replay."""
    table = disk.table(table_of(name))
    usable = [at for at in table if at <= disk.log(name).end]
    part = Partition(config)
    if not usable:
        return part, disk.log(name).start
    at = max(usable)
    producers = Map((entry.pid, _producer(entry)) for entry in table[at].entries)
    firsts = sorted((e.txn_first, pid) for pid, e in producers.items() if e.txn_first >= 0)
    return replace(part, producers=producers, open=tuple(firsts)), at


def _entry(pid: int, e: ProducerEntry) -> SnapshotEntry:
    last = e.window[-1] if e.window else None
    delta = (last.last_seq - last.first_seq) % (MAX_SEQUENCE + 1) if last else 0
    return SnapshotEntry(
        pid=pid,
        epoch=e.epoch,
        last_seq=e.last_seq,
        last_offset=last.first_offset + delta if last else -1,
        offset_delta=delta,
        at_ms=e.last_ms,
        coordinator_epoch=e.coordinator_epoch,
        txn_first=e.txn_first,
    )


def _producer(entry: SnapshotEntry) -> ProducerEntry:
    window: tuple[Written, ...] = ()
    if entry.last_seq >= 0:
        first_seq = (entry.last_seq - entry.offset_delta) % (MAX_SEQUENCE + 1)
        first = entry.last_offset - entry.offset_delta
        window = (Written(first_seq, entry.last_seq, first, entry.at_ms),)
    return ProducerEntry(entry.epoch, window, entry.txn_first, entry.coordinator_epoch, entry.at_ms)


# ---- recovery -------------------------------------------------------------------------


def recover_partition(
    config: KafkaConfig,
    name: str,
    disk: Disk,
    hw: int | None = None,
    since: int | None = None,
) -> tuple[Partition, Effects]:
    """`hw`: what is known to be replicated; None: the only replica has it all. `since`: what
    this replica has copied from this offset on, it still has in memory; None: nothing."""
    log, index = disk.log(name), disk.log(index_of(name))
    start, at = load_snapshot(config, name, disk)
    before = sum(entry.last_offset < at for entry in index.read(0)) if at else 0
    safe = log.end if hw is None else hw
    part, aborted = Partition.replay(config, log.read(at), safe, start, before, since)
    part = replace(part, start=batch_at(log, log.start)) if log.start else part
    effects: Effects = tuple(
        Append(index_of(name), a, notify=False) for a in aborted if a.base >= index.end
    )
    if config.segment_records and log.end > at:
        effects = (*effects, write_snapshot(part, name, log.end))
    return part, effects
