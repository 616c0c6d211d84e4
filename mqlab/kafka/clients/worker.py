"""Consume, transform, produce: one process that holds a consumer and a producer.

Its application reads with the one, writes with the other, and gives the consumed positions
to the producer's transaction instead of committing them itself:

    subscribe …, init, poll, begin, send …, send-offsets GROUP orders-0@1, commit

`sendOffsetsToTransaction(offsets, consumer.groupMetadata())`: what the consumer knows of
itself, member and generation, goes with the positions. A worker that was silent for too long
knows an old generation and is refused; without it, only the transactional id could distinguish it
from its successor, and a successor with an id of its own would not be distinguished at all
(KIP-447).

*What can go wrong.* A crash loses positions and transaction together, which is the point. An
abort does not: the consumer's position stays after the records whose transaction was
aborted, and only `seek` goes back.
"""

from __future__ import annotations

from dataclasses import replace

from ...kernel import Call, ConnectionLost, Disk, Effects, Event, Fired, Response, Text, frozen
from ..messages import (
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    OffsetCommitResponse,
    ProduceResponse,
    TxnOffsetCommit,
)
from .calls import SendOffsets
from .consumer import Consumer
from .producer import Producer
from .producer.flight import ProducerCall

TO_PRODUCER = InitProducerIdResponse | AddPartitionsToTxnResponse | EndTxnResponse | ProduceResponse


@frozen
class Worker:
    """Two clients, one application: a call goes to the one it is for."""

    consumer: Consumer
    producer: Producer

    def step(self, event: Event, disk: Disk) -> tuple[Worker, Effects]:
        match event:
            case Call(body=SendOffsets() as call):
                return self._step_producer(replace(event, body=self._sign(call)), disk)
            case Call(body=body) if isinstance(body, ProducerCall):
                return self._step_producer(event, disk)
            case Response(body=body) if isinstance(body, TO_PRODUCER):
                return self._step_producer(event, disk)
            case Response(body=OffsetCommitResponse()) if self._carries_offsets():
                return self._step_producer(event, disk)
            case ConnectionLost() | Fired():
                new, effects = self._step_producer(event, disk)
                new, more = new._step_consumer(event, disk)
                return new, (*effects, *more)
        return self._step_consumer(event, disk)

    def describe_changes(self, old: Worker | None) -> tuple[Text, ...]:
        return self.producer.describe_changes(None if old is None else old.producer)

    def _carries_offsets(self) -> bool:
        """Whether the producer has positions in flight, be its call over or not."""
        request = self.producer.request
        return request is not None and isinstance(request.body, TxnOffsetCommit)

    def _sign(self, call: SendOffsets) -> SendOffsets:
        """With the group's metadata as the consumer knows it, if it is a member."""
        mine = self.consumer.membership
        if call.group != mine.group or call.generation >= 0:
            return call
        return replace(call, member=mine.member, generation=mine.generation)

    def _step_producer(self, event: Event, disk: Disk) -> tuple[Worker, Effects]:
        producer, effects = self.producer.step(event, disk)
        return replace(self, producer=producer), effects

    def _step_consumer(self, event: Event, disk: Disk) -> tuple[Worker, Effects]:
        consumer, effects = self.consumer.step(event, disk)
        return replace(self, consumer=consumer), effects
