"""The consumer: half of read_committed is its work.

The broker cuts a fetch at the LSO and says which transactions in it were aborted; the
*client* skips their batches, steps over markers, and keeps its position. Nothing is ever
pushed to a consumer, and no mode buffers: what must not be read yet is simply not sent.

Positions jump: over markers, over aborted batches. A consumer at the end of a partition may
have a position well above the last record it was given.

*Left out:* groups and rebalancing, several partitions in one fetch.
Read on in CompletedFetch, SubscriptionState (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..kernel import (
    Call,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Quiet,
    Response,
    Return,
    Send,
    SetTimer,
)
from ..storage import ABORT, AbortedTxn, Batch
from .calls import Committed, Outcome, Poll, failed, succeeded
from .config import KafkaConfig, offsets_log
from .messages import Fetch, FetchResponse, OffsetFetch, OffsetFetchResponse

RETRY = "retry"


@dataclass(frozen=True, slots=True)
class ConsumerConfig(Config):
    cluster: KafkaConfig = KafkaConfig()
    retry_ms: int = 100


def readable(
    batches: Iterable[Batch], aborted: Iterable[AbortedTxn] | None, start: int
) -> tuple[list[Batch], int]:
    """The data batches a client hands out, and its position afterwards
    (CompletedFetch#nextFetchedRecord, #isBatchAborted, #containsAbortMarker).

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
            out.append(batch)
    return out, position


@dataclass(frozen=True, slots=True)
class Consumer(Quiet):
    """`positions`: the next offset to read, by partition. `call`: what is being waited for."""

    config: ConsumerConfig
    positions: Map[str, int] = Map()
    call: Poll | Committed | None = None

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        match event:
            case Call(body=Poll() | Committed() as call):
                new = replace(self, call=call)
                return new, (new._request(call),)
            case Call(body=other):
                return self, (Return(failed(other, "a consumer has no such call")),)
            case Response(body=FetchResponse() as said) if isinstance(self.call, Poll):
                return self._polled(self.call, said)
            case Response(body=OffsetFetchResponse() as said) if isinstance(self.call, Committed):
                return self._committed(self.call, said)
            case ConnectionLost() | Fired() if self.call is not None:
                return self, (self._request(self.call),)
        # An answer to a call that is over.
        return self, ()

    def _request(self, call: Poll | Committed) -> Send:
        if isinstance(call, Poll):
            offset = self.positions.get(call.partition, 0)
            return Send(call.partition, Fetch(offset, call.isolation))
        where = offsets_log(call.group, self.config.cluster)
        return Send(where, OffsetFetch(call.group, call.partitions))

    def _polled(self, call: Poll, said: FetchResponse) -> tuple[Consumer, Effects]:
        if said.error:
            return self._done(failed(call, said.error))
        offset = self.positions.get(call.partition, 0)
        batches, position = readable(said.batches, said.aborted, offset)
        new = replace(self, positions=self.positions.set(call.partition, position))
        return new._done(succeeded(call, ", ".join(b.words for b in batches) or "nothing"))

    def _committed(self, call: Committed, said: OffsetFetchResponse) -> tuple[Consumer, Effects]:
        if said.unstable:
            # A transaction holds a newer offset that may or may not count: wait for it.
            return self, (SetTimer(RETRY, self.config.retry_ms),)
        return self._done(succeeded(call, ", ".join(map(str, said.positions))))

    def _done(self, outcome: Outcome) -> tuple[Consumer, Effects]:
        return replace(self, call=None), (Return(outcome),)
