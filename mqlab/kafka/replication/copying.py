"""Copying a log: what a follower lacks, and what it must cut off.

Each replica keeps, beside its log, where every leader epoch began (`leader-epoch-
checkpoint`). Two logs agree up to the first epoch they disagree about; beyond that the
follower's records were appended by a leader that nobody followed any more.

Source: LeaderEpochFileCache#endOffsetFor, UnifiedLog#truncateTo (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...kernel import Append, Disk, Effect, Effects, Map, Put, Truncate
from ..log.batch import index_of
from ..log.recovery import table_of
from ..messages import OffsetCommit, Produce, TxnOffsetCommit, WriteTxnMarkers
from .messages import Copied, FetchReplica, FetchReplicaResponse

if TYPE_CHECKING:
    from .replica import Replica

# Checkpoint files of the replica's own; the dot keeps them out of what a run tells.
EPOCHS = ".leader epochs"
CHECKPOINT = ".high watermark"
Epochs = tuple[tuple[int, int], ...]


class Ahead:
    """A disk as it will be when the step's appends are done: what a parked follower is
    sent in the same step."""

    def __init__(self, disk: Disk, fresh: Mapping[str, list[Any]]) -> None:
        self.disk, self.fresh = disk, fresh

    def entries(self, log: str, start: int) -> tuple[Any, ...]:
        old = self.disk.log(log)
        kept = tuple(old.read(start)) if start < old.end else ()
        return (*kept, *(e for e in self.fresh.get(log, ()) if e.base >= start))

    def epochs(self, log: str) -> Epochs:
        return read_epochs(self.disk, log)


def read_epochs(disk: Disk, log: str) -> Epochs:
    known: Epochs = disk.table(EPOCHS).get(log, ())
    return known


def find_last_epoch(disk: Disk, log: str) -> int:
    """The leader epoch of the last record, -1 for an empty log."""
    end = disk.log(log).end
    held = [epoch for epoch, start in read_epochs(disk, log) if start < end]
    return held[-1] if held else -1


def note_epoch(disk: Disk, logs: tuple[str, ...], epoch: int) -> Effects:
    """A leader notes where its epoch begins in each of its logs."""
    return tuple(
        Put(EPOCHS, log, (*read_epochs(disk, log), (epoch, disk.log(log).end))) for log in logs
    )


def find_divergence(disk: Disk, log: str, end: int, last: int) -> int:
    """Where a follower's log, which ends at `end` in leader epoch `last`, parts from this
    one; -1 where it is a prefix of it."""
    if last < 0:
        return -1
    mine = read_epochs(disk, log)
    later = [start for epoch, start in mine if epoch > last]
    limit = min([*later, disk.log(log).end])
    return limit if end > limit else -1


def answer_follower(
    leader: Replica, ask: FetchReplica, disk: Ahead | Disk
) -> FetchReplicaResponse | None:
    """What there is for a follower; None: nothing new, it waits."""
    ahead = disk if isinstance(disk, Ahead) else Ahead(disk, {})
    out = []
    for log, end, last, hw in ask.logs:
        cut = find_divergence(ahead.disk, log, end, last)
        known = leader.hw.get(log, 0)
        entries = () if cut >= 0 else ahead.entries(log, end)
        if cut >= 0 or entries or known > hw:
            out.append(Copied(log, entries, known, ahead.epochs(log), cut))
    return FetchReplicaResponse(tuple(out)) if out else None


def append_copied(
    hw: Map[str, int], fetched: FetchReplicaResponse, disk: Disk
) -> tuple[Map[str, int], Effects, dict[str, tuple[int, int]]]:
    """(high watermarks, effects, where each log ends then and in which epoch)."""
    effects: list[Effect] = []
    ends: dict[str, tuple[int, int]] = {}
    for copied in fetched.logs:
        log, end = copied.log, disk.log(copied.log).end
        mine = read_epochs(disk, log)
        if copied.cut >= 0:
            end = copied.cut
            effects.append(Truncate(log, end))
            effects += _cut_index(disk, log, end)
        for entry in copied.entries:
            effects.append(Append(log, entry, notify=False))
            end = entry.last + 1
        held = tuple(e for e in copied.epochs if e[1] < end)
        if held != mine:
            effects.append(Put(EPOCHS, log, held))
        safe = min(copied.hw, end)
        if safe != hw.get(log, 0):
            hw = hw.set(log, safe)
            effects.append(Put(CHECKPOINT, log, safe))
        ends[log] = (end, held[-1][0] if held else -1)
    return hw, tuple(effects), ends


def _cut_index(disk: Disk, log: str, end: int) -> Effects:
    """A log that is cut back loses the index entries of the markers it lost, and the
    snapshots of what came after (ProducerStateManager#truncateAndReload)."""
    index = disk.log(index_of(log))
    kept = sum(entry.last_offset < end for entry in index.read(0)) if index.end else 0
    entries = (Truncate(index_of(log), kept),) if kept < index.end else ()
    table = table_of(log)
    return (*entries, *(Put(table, at, None) for at in disk.table(table) if at > end))


def is_append(body: object) -> bool:
    """Whether a request makes a partition's leader append at once (acks=all)."""
    return isinstance(body, Produce | WriteTxnMarkers | TxnOffsetCommit | OffsetCommit)
