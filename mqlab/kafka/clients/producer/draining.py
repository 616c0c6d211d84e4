"""Batches leave: numbered when they are first sent, oldest first, in order.

A batch gets its sequence number when it is first sent. Up to `max_in_flight` are with a
leader at a time; once one must be sent again, the others of its partition wait until it is
through, so a retry never overtakes and never is overtaken. (Without sequence numbers nothing
waits: there a retry changes the order.)

Where an idempotent producer of librdkafka must raise its epoch, it sends nothing more until
nothing is under way to any partition, and then numbers everything again from 0. A batch that was
written, and whose answer was lost, is taken for a new one then and is there twice, be it in
another partition than the trouble (confluentinc/librdkafka#4953).

Sources: Sender#sendProducerData, RecordAccumulator#shouldStopDrainBatchesForPartition
(clients, Kafka 4.3); rd_kafka_idemp_drain_epoch_bump, rd_kafka_handle_Produce_error
(librdkafka 2.16.0, seen with confluent-kafka 2.16.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import Effects, Map, Send
from ...log import next_sequence
from ...messages import Produce
from ...states import ProducerState
from .flight import Flight, Line

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
MAX_EPOCH = 2**15 - 1


def drain(p: Producer) -> Result:
    """Send what may leave now, oldest first."""
    if p.draining:
        if any(flight.sent for flight in p.flights):
            return p, ()
        flights = tuple(replace(flight, number=-1) for flight in p.flights)
        p = replace(p, flights=flights, lines=Map(), unresolved=Map(), draining=False)
        p = raise_epoch(p)
    effects: Effects = ()
    for i in range(len(p.flights)):
        if _may_leave(p, p.flights, i):
            p, sent = _send_batch(p, i)
            effects = (*effects, *sent)
    return p, effects


def raise_epoch(p: Producer) -> Producer:
    """A producer without transactions does it by itself; at the last epoch it needs a new id."""
    if p.epoch < MAX_EPOCH:
        return replace(p, epoch=p.epoch + 1)
    return replace(p.enter(ProducerState.UNINITIALIZED), pid=-1, epoch=-1)


def _may_leave(p: Producer, flights: Sequence[Flight], i: int) -> bool:
    flight = flights[i]
    if flight.sent or flight.paused or not _writable(p, flight.partition):
        return False
    line = [f for f in flights if f.partition == flight.partition]
    if sum(f.sent for f in line) >= p.config.max_in_flight:
        return False
    if not p.config.idempotent:
        return True
    before = line[: next(n for n, f in enumerate(line) if f is flight)]
    if flight.number >= 0:
        return not before
    if any(not f.sent or is_outdated(p, f) for f in before):
        return False
    return flight.partition not in p.unresolved


def _writable(p: Producer, partition: str) -> bool:
    if p.config.transactional:
        return partition in p.added
    return p.pid >= 0 or not p.config.idempotent


def is_outdated(p: Producer, flight: Flight) -> bool:
    """Whether it was sent before its partition's numbers began again."""
    line: Line | None = p.lines.get(flight.partition)
    numbered = flight.number >= 0 and p.config.idempotent
    return numbered and line is not None and flight.owner != (line.pid, line.epoch)


def _choose_line(p: Producer, partition: str) -> Line:
    """Where the partition's numbers stand. A new epoch is taken up only when nothing of the
    old one is under way there."""
    line: Line | None = p.lines.get(partition)
    busy = any(f.partition == partition and f.number >= 0 for f in p.flights)
    if line is None or ((line.pid, line.epoch) != (p.pid, p.epoch) and not busy):
        return Line(p.pid, p.epoch)
    return line


def _send_batch(p: Producer, i: int) -> Result:
    flight = p.flights[i]
    line = _choose_line(p, flight.partition)
    batch, number = flight.batch, flight.number
    if number < 0:
        number = line.number
        if p.config.idempotent:
            batch = replace(
                batch,
                pid=line.pid,
                epoch=line.epoch,
                first_seq=line.next,
                transactional=p.config.transactional,
            )
        line = replace(line, next=next_sequence(line.next, batch.count))
        p = replace(p, lines=p.lines.set(flight.partition, line))
    elif flight.is_renumbered and p.config.idempotent:
        number = Line(batch.pid, batch.epoch, batch.first_seq).number
    flight = replace(flight, batch=batch, number=number, sent=True)
    flights = (*p.flights[:i], flight, *p.flights[i + 1 :])
    ask = Produce(batch, p.config.txn_id, 12 if p.config.v2 else 11)
    return replace(p, flights=flights), (Send(flight.partition, ask, number),)
