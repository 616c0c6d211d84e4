"""A buffer is recovered: the last snapshot, and the topic from there on.

The entry from which to read is the one after the snapshot's maxReadPosition: whatever was open when
it was taken began above it. At the end, if nothing is open, everything may be read.

Source: TopicTransactionBufferRecover, TopicTransactionBuffer#handleTxnEntry (4.2).
"""

from __future__ import annotations

from ...kernel import Disk, Map, replace
from ..config import SNAPSHOT_LOG, PulsarConfig
from ..messages import BufferSnapshot
from ..states import BufferState
from .open import Buffer


def recover_buffer(config: PulsarConfig, partition: str, disk: Disk) -> Buffer:
    """What the buffer knows after a load. Watermarks are not among it."""
    log = disk.log(partition)
    lac = log.end - 1
    snapshot = find_snapshot(disk)
    if snapshot is None:
        return Buffer(BufferState.NO_SNAPSHOT, max_read_position=lac)
    buffer = Buffer(aborts=Map(snapshot.aborts), max_read_position=snapshot.max_read_position)
    behind = log.read(snapshot.max_read_position + 1)
    if "replay_topic" in config.on:
        for entry in behind:
            buffer = buffer.take(entry)
    readable = buffer.max_read_position if buffer.ongoing else lac
    return replace(buffer, state=BufferState.READY, max_read_position=readable)


def find_snapshot(disk: Disk) -> BufferSnapshot | None:
    """The last one: the topic of snapshots is compacted."""
    log = disk.log(SNAPSHOT_LOG)
    last: BufferSnapshot | None = next(iter(log.read(log.end - 1)), None)
    return last
