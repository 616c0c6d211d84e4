"""Fetching: what a client hands out of what it was sent, and where it reads on.

Sources: CompletedFetch, SubscriptionState, FetchCollector (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import Effects, Send, build_failure, build_success
from ...config import offsets_log
from ...errors import Error
from ...log import ABORT, AbortedTxn, Batch
from ...messages import (
    EARLIEST,
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    OffsetFetch,
    OffsetFetchResponse,
)
from ..calls import Committed, Lag, Poll, PositionOf

if TYPE_CHECKING:
    from . import Consumer

Result = tuple["Consumer", Effects]


def filter_readable(
    batches: Iterable[Batch], aborted: Iterable[AbortedTxn] | None, start: int
) -> tuple[list[Batch], int]:
    """The data batches a client hands out, and its position afterwards
    (CompletedFetch#nextFetchedRecord, #isBatchAborted, #containsAbortMarker).

    A leader sends whole batches: of the first, what lies before `start` is skipped.
    `aborted` None: read_uncommitted, nothing is skipped but markers.
    """
    waiting = sorted(aborted or (), key=lambda a: a.first_offset)
    skipping: set[int] = set()
    out: list[Batch] = []
    position = start
    for batch in batches:
        while waiting and waiting[0].first_offset <= batch.last:
            skipping.add(waiting.pop(0).pid)
        position = batch.last + 1
        if batch.control == ABORT:
            skipping.discard(batch.pid)
        elif not batch.control and not (batch.transactional and batch.pid in skipping):
            out.append(_cut_before(batch, start))
    return out, position


def _cut_before(batch: Batch, start: int) -> Batch:
    """The batch without the records before offset `start`."""
    before = start - batch.base
    if before <= 0:
        return batch
    return replace(batch, records=batch.records[before:], count=batch.count - before, base=start)


def poll(consumer: Consumer, call: Poll) -> Result:
    """One partition, or all that are assigned: those whose position is not known yet are
    first looked up among the group's committed offsets."""
    wanted = (call.partition,) if call.partition else consumer.assigned
    if not call.partition:
        unknown = tuple(p for p in wanted if p not in consumer.positions)
        if unknown:
            return consumer.send_requests(*build_offset_fetch(consumer, unknown))
    if not wanted:
        return consumer.return_outcome(build_success(call, "nothing"))
    asks = tuple(Send(p, Fetch(consumer.positions.get(p, 0), call.isolation)) for p in wanted)
    return consumer.send_requests(*asks)


def build_offset_fetch(consumer: Consumer, partitions: tuple[str, ...]) -> tuple[Send]:
    """The question where the group has come to; stable offsets only (KIP-447)."""
    group = consumer.membership.group
    where = offsets_log(group, consumer.config.cluster)
    return (Send(where, OffsetFetch(group, partitions)),)


def handle_fetch(consumer: Consumer, call: Poll, partition: str, answer: FetchResponse) -> Result:
    if answer.error is Error.OFFSET_OUT_OF_RANGE:
        # auto.offset.reset=earliest: what was there is no more, so read what still is.
        return consumer.send_requests(Send(partition, ListOffsets(EARLIEST, call.isolation)))
    new = replace(consumer, error=consumer.error or answer.error)
    if not answer.error:
        offset = consumer.positions.get(partition, 0)
        batches, position = filter_readable(answer.batches, answer.aborted, offset)
        end = answer.lso if call.isolation == READ_COMMITTED else answer.hw
        new = replace(
            consumer,
            positions=consumer.positions.set(partition, position),
            ends=consumer.ends.set(partition, end),
            got=(*consumer.got, *(b.words for b in batches)),
        )
    if new.in_flight or new.paused:
        return new, ()
    got, error = ", ".join(new.got) or "nothing", new.error
    new = replace(new, got=(), error=Error.NONE)
    return new.return_outcome(build_failure(call, error) if error else build_success(call, got))


def reset_position(
    consumer: Consumer, call: Poll, partition: str, answer: ListOffsetsResponse
) -> Result:
    new = replace(consumer, positions=consumer.positions.set(partition, answer.offset))
    return new.send_requests(Send(partition, Fetch(answer.offset, call.isolation)))


def handle_offsets(
    consumer: Consumer, call: Committed | Poll | PositionOf | Lag, answer: OffsetFetchResponse
) -> Result:
    """What the group has committed: the answer itself, or where to read on from."""
    if isinstance(call, Committed):
        return consumer.return_outcome(build_success(call, ", ".join(map(str, answer.positions))))
    positions = consumer.positions
    for position in answer.positions:
        # Nothing committed: from the beginning (auto.offset.reset=earliest).
        positions = positions.set(position.partition, max(position.offset, 0))
    new = replace(consumer, positions=positions)
    if isinstance(call, Poll):
        return poll(new, call)
    return new.return_outcome(build_success(call, str(positions.get(call.partition, 0))))


def return_lag(consumer: Consumer, call: Lag) -> Result:
    """currentLag: the end as of the last fetch (LSO under read_committed) less the
    position. Nothing is asked; before the first fetch nobody knows."""
    end = consumer.ends.get(call.partition)
    if end is None:
        return consumer.return_outcome(build_success(call, "unknown"))
    return consumer.return_outcome(
        build_success(call, str(end - consumer.positions[call.partition]))
    )
