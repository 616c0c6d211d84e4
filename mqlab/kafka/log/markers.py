"""Transaction markers (control batches): how a transaction ends on a partition.

It is a batch like any other, with a header that says COMMIT or ABORT and takes exactly one
offset. An abort that ends something is noted in the index beside the log, so that readers can
be told what to skip; a commit needs no note.

Source: MemoryRecords#withEndTransactionMarker, TransactionIndex#append (Kafka 4.3).
"""

from __future__ import annotations

from ...kernel import Append, Disk, Effects
from ..messages import WriteTxnMarkers
from .batch import ABORT, COMMIT, Batch, index_of
from .partition import Partition
from .recovery import roll_segment

MARKER_BYTES = 78  # a control batch on a real disk


def append_marker(
    part: Partition, name: str, ask: WriteTxnMarkers, disk: Disk, at_ms: int
) -> tuple[Partition, Effects, Batch]:
    """Write a control batch and, for an abort that ends something, its index entry:
    (partition, effects, marker). The marker is safe once `Appended` says `marker.last + 1`."""
    marker = Batch(
        base=disk.log(name).end,
        pid=ask.pid,
        epoch=ask.epoch,
        transactional=True,
        control=COMMIT if ask.commit else ABORT,
        coordinator_epoch=ask.coordinator_epoch,
        at_ms=at_ms,
        size=MARKER_BYTES,
    )
    roll = roll_segment(part, name, disk)
    part, aborted = part.with_marker(marker, indexed=disk.log(index_of(name)).end)
    entry = () if aborted is None else (Append(index_of(name), aborted, notify=False),)
    return part, (*roll, Append(name, marker), *entry), marker
