"""After a start: from the disk back to what a partition's leader knows.

The newest snapshot is read and the tail of the log replayed. A stop between a marker and its
index entry leaves the index short of what the log says: the missing entries are written now.

Source: ProducerStateManager#truncateAndReload, UnifiedLog#rebuildProducerState (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace

from ...kernel import Append, Disk, Effects
from ..config import KafkaConfig
from . import snapshots
from .batch import batch_at
from .index import index_of
from .partition import Partition


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
    start, at = snapshots.load_snapshot(config, name, disk)
    before = sum(entry.last_offset < at for entry in index.read(0)) if at else 0
    safe = log.end if hw is None else hw
    part, aborted = Partition.replay(config, log.read(at), safe, start, before, since)
    part = replace(part, start=batch_at(log, log.start)) if log.start else part
    effects: Effects = tuple(
        Append(index_of(name), a, notify=False) for a in aborted if a.base >= index.end
    )
    if config.segment_records and log.end > at:
        effects = (*effects, snapshots.write_snapshot(part, name, log.end))
    return part, effects
