"""When the buffer writes a snapshot.

The first one before the first transactional message, which waits for it. Later after an end, when
maxReadPosition has advanced often enough (`snapshot_count`), and by time (`snapshot_ms`), when it
has advanced at all.

Source: TopicTransactionBuffer#takeSnapshotByChangeTimes, #takeSnapshotByTimeout (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Append, CancelTimer, Disk, Effects, SetTimer, replace
from ..config import SNAPSHOT_LOG
from ..messages import BufferSnapshot
from ..states import BufferState

if TYPE_CHECKING:
    from . import Topic

Result = tuple["Topic", Effects]

#: the timer's name
SNAPSHOT = "snapshot"


def take_first(topic: Topic, disk: Disk) -> Result:
    """NoSnapshot → FirstSnapshotting; until it is safe nothing can be read here."""
    new, effects = _take(topic, disk)
    return replace(new, buffer=replace(new.buffer, state=BufferState.FIRST_SNAPSHOTTING)), effects


def finish(topic: Topic, disk: Disk) -> Result:
    """A snapshot is safe. After the first one the messages that waited for it are appended."""
    if topic.buffer.state is not BufferState.FIRST_SNAPSHOTTING:
        return topic, ()
    new = replace(topic, buffer=replace(topic.buffer, state=BufferState.READY))
    return new.serve_queue(disk)


def take_by_count(old: Topic, new: Topic, disk: Disk) -> Result:
    """After an end, once maxReadPosition has advanced `snapshot_count` times."""
    finished = len(old.appends) - len(new.appends)
    ended = any(unsafe.entry.marker is not None for unsafe in old.appends[:finished])
    if not ended or new.buffer.changes < new.config.snapshot_count:
        return new, ()
    return _take(new, disk)


def take_by_time(topic: Topic, disk: Disk) -> Result:
    return _take(topic, disk) if topic.buffer.changes else (topic, ())


def schedule(old: Topic, new: Topic) -> Effects:
    """The time begins to run with the first advance; a lesson without it has no such timer."""
    if not new.config.snapshot_ms or bool(old.buffer.changes) == bool(new.buffer.changes):
        return ()
    if not new.buffer.changes:
        return (CancelTimer(SNAPSHOT),)
    return (SetTimer(SNAPSHOT, new.config.snapshot_ms),)


def _take(topic: Topic, disk: Disk) -> Result:
    buffer = topic.buffer
    base = disk.log(SNAPSHOT_LOG).end
    snapshot = BufferSnapshot(base, buffer.max_read_position, tuple(buffer.aborts.items()))
    new = replace(topic, buffer=replace(buffer, changes=0))
    return new, (Append(SNAPSHOT_LOG, snapshot),)
