"""DeleteRecords: the log begins later than it did.

Nothing is copied: the *log start offset* moves, and what lies wholly below it may be thrown
away. It never passes the high watermark, and never goes back. A transaction that is open
below it stays open; the LSO then stands at the beginning of the batch that holds the new
start, because nothing before it can be read by anybody.

**Durable** is the table `STARTS`; the disk lets go of what it no longer needs to keep. A
lesson's disk keeps everything, and no lesson deletes.

Source: Partition#deleteRecordsOnLeader, UnifiedLog#maybeIncrementLogStartOffset,
#fetchLastStableOffsetMetadata (core and storage, Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Put, Reply, replace
from ..errors import Error
from ..log.batch import batch_at
from ..messages import DeleteRecords, DeleteRecordsResponse

if TYPE_CHECKING:
    from . import Leader

STARTS = "log starts"  # table: partition → log start offset
TO_THE_END = -1


def handle(
    leader: Leader, ask: DeleteRecords, caller: Caller, disk: Disk
) -> tuple[Leader, Effects]:
    log, hw = disk.log(leader.name), leader.part.hw
    start = hw if ask.offset == TO_THE_END else ask.offset
    if not 0 <= start <= hw:
        refused = DeleteRecordsResponse(-1, Error.OFFSET_OUT_OF_RANGE)
        return leader, (Reply(caller, refused),)
    if start <= log.start:
        return leader, (Reply(caller, DeleteRecordsResponse(log.start)),)
    part = replace(leader.part, start=batch_at(log, start))
    done = Reply(caller, DeleteRecordsResponse(start))
    return replace(leader, part=part), (Put(STARTS, leader.name, start), done)
