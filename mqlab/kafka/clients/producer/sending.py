"""Batches: numbered when they leave, kept until they are answered, sent again in order.

A batch gets its sequence number when it is first sent. Up to `max_in_flight` are with a
leader at a time; once one must be sent again, the others of its partition wait until it is
through, so a retry never overtakes and never is overtaken. (Without sequence numbers nothing
waits: there a retry changes the order.)

OUT_OF_ORDER_SEQUENCE_NUMBER is an error only for the first in line; behind it, it merely says
that an earlier batch is still to come.

Sources: Sender#sendProducerData, #completeBatch, #canRetry, TransactionManager#canRetry,
RecordAccumulator#shouldStopDrainBatchesForPartition (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import Effects, Send, SetTimer
from ...errors import Error
from ...log import Batch, next_sequence
from ...messages import Produce, ProduceResponse
from ..calls import SendRecord
from . import failing, requests
from .errors import RETRIABLE, produce_refusal
from .flight import Flight, Line

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
RETRY = "retry"


def taken(p: Producer, call: SendRecord, stray: bool = False) -> Result:
    """With the record in the accumulator, where delivery.timeout.ms begins; "a|b|c" are three
    records of one batch."""
    records = tuple(call.value.split("|"))
    flight = Flight(call.partition, Batch(records, len(records)), stray=stray)
    patience = p.config.delivery_timeout_ms
    timer = (SetTimer(flight.timer, patience),) if patience else ()
    return replace(p, flights=(*p.flights, flight)), timer


# ---- leaving -----------------------------------------------------------------------------


def drain(p: Producer) -> Result:
    """Send what may leave now, oldest first."""
    effects: Effects = ()
    for i in range(len(p.flights)):
        if _may_leave(p, p.flights, i):
            p, sent = _depart(p, i)
            effects = (*effects, *sent)
    return p, effects


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
    if any(not f.sent or _outdated(p, f) for f in before):
        return False
    return flight.partition not in p.unresolved


def _writable(p: Producer, partition: str) -> bool:
    if p.config.transactional:
        return partition in p.added
    return p.pid >= 0 or not p.config.idempotent


def _outdated(p: Producer, flight: Flight) -> bool:
    """Whether it was sent before its partition's numbers began anew."""
    line: Line | None = p.lines.get(flight.partition)
    numbered = flight.number >= 0 and p.config.idempotent
    return numbered and line is not None and flight.owner != (line.pid, line.epoch)


def _line(p: Producer, partition: str) -> Line:
    """Where the partition's numbers stand. A new epoch is taken up only when nothing of the
    old one is under way there."""
    line: Line | None = p.lines.get(partition)
    busy = any(f.partition == partition and f.number >= 0 for f in p.flights)
    if line is None or ((line.pid, line.epoch) != (p.pid, p.epoch) and not busy):
        return Line(p.pid, p.epoch)
    return line


def _depart(p: Producer, i: int) -> Result:
    flight = p.flights[i]
    line = _line(p, flight.partition)
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
    elif flight.renumbered and p.config.idempotent:
        number = Line(batch.pid, batch.epoch, batch.first_seq).number
    flight = replace(flight, batch=batch, number=number, sent=True)
    flights = (*p.flights[:i], flight, *p.flights[i + 1 :])
    ask = Produce(batch, p.config.txn_id, 12 if p.config.v2 else 11)
    return replace(p, flights=flights), (Send(flight.partition, ask, number),)


# ---- coming back -------------------------------------------------------------------------


def answered(p: Producer, partition: str, number: int, said: ProduceResponse) -> Result:
    found = [f for f in p.flights if f.sent and (f.partition, f.number) == (partition, number)]
    if not found:
        return p, ()  # It was given up meanwhile.
    flight = found[0]
    if said.error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
        p, effects = failing.off(p, flight)
        return failing.after(failing.settled(p, flight), effects)
    p, again = _worth_another(p, flight, said.error)
    flight = next(f for f in p.flights if (f.partition, f.number) == (partition, number))
    if again and _tries_left(p, flight):
        p, effects = requests.proceed(_put_back(p, flight, paused=True))
        return p, (*effects, SetTimer(RETRY, p.config.retry_ms))
    return failing.failed(p, flight, produce_refusal(said.error, p.config.v2), said.error)


def _worth_another(p: Producer, flight: Flight, error: Error) -> tuple[Producer, bool]:
    """Whether to send it again after this error, and the producer, perhaps in a new epoch."""
    if error is not Error.OUT_OF_ORDER_SEQUENCE_NUMBER or not p.config.idempotent:
        return p, error in RETRIABLE
    partition = flight.partition
    first = next(f for f in p.flights if f.partition == partition)
    known = partition not in p.unresolved
    if known and (flight is not first or flight.renumbered or _outdated(p, flight)):
        return p, True
    if p.config.transactional:
        return p, False
    if known or flight.batch.first_seq == p.unresolved[partition]:
        return failing.bumped(p, partition), True
    return p, True


def _tries_left(p: Producer, flight: Flight) -> bool:
    return p.config.retries is None or flight.tries < p.config.retries


def _put_back(p: Producer, flight: Flight, paused: bool) -> Producer:
    """Into the line again, without its number if that is of an older epoch."""
    tries = flight.tries + (p.config.retries is not None)
    back = replace(flight, sent=False, paused=paused, tries=tries)
    if _outdated(p, flight):
        back = replace(back, number=-1)
    return replace(p, flights=tuple(back if f is flight else f for f in p.flights))


def connection_lost(p: Producer, peer: str) -> Result:
    """All that `peer` has not answered must be sent again, in order."""
    effects: Effects = ()
    for flight in [f for f in p.flights if f.sent and f.partition == peer]:
        if flight not in p.flights:
            continue  # It went down with one before it.
        if _tries_left(p, flight):
            p = _put_back(p, flight, paused=False)
        else:
            p, more = failing.failed(p, flight, failing.lost(p, failing.LOST), None)
            effects = (*effects, *more)
    p, more = drain(p)
    return p, (*effects, *more)


def resumed(p: Producer) -> Result:
    """The retry timer has fired."""
    return drain(replace(p, flights=tuple(replace(f, paused=False) for f in p.flights)))


def expired(p: Producer, timer: str) -> Result:
    """delivery.timeout.ms is over."""
    effects: Effects = ()
    for flight in [f for f in p.flights if f.timer == timer]:
        if flight in p.flights:
            trouble = failing.EXPIRED if flight.number >= 0 else failing.NEVER_SENT
            p, more = failing.failed(p, flight, failing.lost(p, trouble), None)
            effects = (*effects, *more)
    return p, effects
