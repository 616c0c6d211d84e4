"""Batches: numbered when they leave, kept until they are answered, sent again in order.

A batch gets its sequence number when it is first sent. Up to `max_in_flight` are with a
leader at a time; once one must be sent again, the others of its partition wait until it is
through, so a retry never overtakes and never is overtaken. (Without sequence numbers nothing
waits: there a retry changes the order.)

OUT_OF_ORDER_SEQUENCE_NUMBER is an error only for the first in line; behind it, it merely says
that an earlier batch is still to come.

A batch that is given up leaves a hole: nobody knows whether it was written. A transaction
can only be aborted then. A producer without transactions raises its own epoch and numbers
what is left anew from 0, so that the leader takes it; if the lost batch had been written
after all and is sent again by the application, it is there twice.

Sources: Sender#sendProducerData, #completeBatch, #canRetry, RecordAccumulator
#shouldStopDrainBatchesForPartition, TransactionManager#canRetry, #handleFailedBatch,
#maybeResolveSequences, #bumpIdempotentProducerEpoch (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernel import CancelTimer, Effects, Send, SetTimer
from ...storage import Batch, next_sequence
from ..calls import SendRecord
from ..errors import Error
from ..messages import Produce, ProduceResponse
from ..states import ProducerState
from . import requests
from .errors import RETRIABLE, Kind, Trouble, exception, produce_refusal
from .flight import Flight, Line

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
RETRY = "retry"
DELIVERY = "delivery "
MAX_EPOCH = 2**15 - 1
LOST = Trouble("NetworkException", unknown=True)
EXPIRED = Trouble("TimeoutException", unknown=True)


def taken(p: Producer, call: SendRecord, stray: bool = False) -> Producer:
    """With the record in the accumulator; "a|b|c" are three records of one batch."""
    records = tuple(call.value.split("|"))
    flight = Flight(call.partition, Batch(records, len(records)), stray=stray)
    return replace(p, flights=(*p.flights, flight))


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
    return numbered and line is not None and _owner(flight) != (line.pid, line.epoch)


def _owner(flight: Flight) -> tuple[int, int]:
    return flight.batch.pid, flight.batch.epoch


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
    watched = number != flight.number and p.config.delivery_timeout_ms
    flight = replace(flight, batch=batch, number=number, sent=True)
    flights = (*p.flights[:i], flight, *p.flights[i + 1 :])
    ask = Produce(batch, p.config.txn_id, 12 if p.config.v2 else 11)
    patience = (SetTimer(_timer(flight), p.config.delivery_timeout_ms),) if watched else ()
    return replace(p, flights=flights), (Send(flight.partition, ask, number), *patience)


def _timer(flight: Flight) -> str:
    return f"{DELIVERY}{flight.partition} {flight.number}"


# ---- coming back -------------------------------------------------------------------------


def answered(p: Producer, partition: str, number: int, said: ProduceResponse) -> Result:
    found = [f for f in p.flights if f.sent and (f.partition, f.number) == (partition, number)]
    if not found:
        return p, ()  # It was given up meanwhile.
    flight = found[0]
    if said.error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
        p, effects = _off(p, flight)
        return _after(_settled(p, flight), effects)
    p, again = _worth_another(p, flight, said.error)
    flight = next(f for f in p.flights if (f.partition, f.number) == (partition, number))
    if again and _tries_left(p, flight):
        p, effects = requests.proceed(_put_back(p, flight, paused=True))
        return p, (*effects, SetTimer(RETRY, p.config.retry_ms))
    return _failed(p, flight, produce_refusal(said.error, p.config.v2), said.error)


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
        return bumped(p, partition), True
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
            p, more = _failed(p, flight, _lost(p, LOST), None)
            effects = (*effects, *more)
    p, more = drain(p)
    return p, (*effects, *more)


def resumed(p: Producer) -> Result:
    """The retry timer has fired."""
    return drain(replace(p, flights=tuple(replace(f, paused=False) for f in p.flights)))


def expired(p: Producer, timer: str) -> Result:
    """delivery.timeout.ms is over for one batch."""
    late = [f for f in p.flights if f.number >= 0 and _timer(f) == timer]
    return _failed(p, late[0], _lost(p, EXPIRED), None) if late else (p, ())


def _lost(p: Producer, trouble: Trouble) -> Trouble:
    """How a transactional producer calls a batch of which nobody knows: it can abort."""
    if not p.config.transactional:
        return trouble
    return Trouble("TransactionAbortableException", bump=True)


def _off(p: Producer, flight: Flight) -> Result:
    """Without a batch that is over, one way or the other."""
    quiet = (CancelTimer(_timer(flight)),) if p.config.delivery_timeout_ms else ()
    return replace(p, flights=tuple(f for f in p.flights if f is not flight)), quiet


def _after(p: Producer, effects: Effects) -> Result:
    p, more = requests.proceed(p)
    return p, (*effects, *more)


# ---- failing -----------------------------------------------------------------------------


def _failed(p: Producer, flight: Flight, trouble: Trouble, refused: Error | None) -> Result:
    """A batch is given up: `refused` by its leader, or (None) of unknown fate."""
    p, effects = _off(p, flight)
    if not p.config.transactional:
        return _future_failed(p, flight, trouble, refused, effects)
    if trouble.kind is Kind.FATAL:
        p, more = requests.fatal(p, trouble)
        return p, (*effects, *more)
    completing = p.state in (ProducerState.COMMITTING, ProducerState.ABORTING)
    if trouble.bump and not p.config.v2 and not completing:
        p = replace(p, bump=True)
    if refused is not None:
        p = _closed_up(p, flight)
    p, more = requests.abortable(p, trouble)
    return _after(p, (*effects, *more))


def _closed_up(p: Producer, gone: Flight) -> Producer:
    """The leader has refused a batch: those behind it move up by its numbers
    (TxnPartitionMap#adjustSequencesDueToFailedBatch)."""
    line: Line | None = p.lines.get(gone.partition)
    if line is None or _owner(gone) != (line.pid, line.epoch):
        return p
    back = -gone.batch.count
    flights = []
    for f in p.flights:
        behind = f.partition == gone.partition and f.number >= 0
        if behind and _owner(f) == _owner(gone) and f.batch.first_seq > gone.batch.first_seq:
            f = replace(f, batch=replace(f.batch, first_seq=next_sequence(f.batch.first_seq, back)))
        flights.append(f)
    line = replace(line, next=next_sequence(line.next, back))
    return replace(p, flights=tuple(flights), lines=p.lines.set(gone.partition, line))


def _future_failed(
    p: Producer, flight: Flight, trouble: Trouble, refused: Error | None, effects: Effects
) -> Result:
    """Without transactions one record's future fails, and the next `flush` tells of it."""
    if refused is not None:
        trouble = Trouble(exception(refused))
    p = replace(p, error=p.error or trouble)
    if p.config.idempotent and refused is not None:
        p = bumped(p, flight.partition)
    elif p.config.idempotent:
        after = max(p.unresolved.get(flight.partition, 0), next_sequence(flight.batch.last_seq))
        p = _settled(replace(p, unresolved=p.unresolved.set(flight.partition, after)), flight)
    return _after(p, effects)


def _settled(p: Producer, done: Flight) -> Producer:
    """A hole in a partition's numbers is none if a later batch was taken; if nothing is under
    way there any more and none was, the numbers begin anew."""
    partition = done.partition
    hole: int | None = p.unresolved.get(partition)
    if hole is None:
        return p
    if done.batch.first_seq >= hole:
        return replace(p, unresolved=p.unresolved.remove(partition))
    if any(f.partition == partition and f.number >= 0 for f in p.flights):
        return p
    return bumped(p, partition)


def bumped(p: Producer, partition: str) -> Producer:
    """A producer without transactions raises its own epoch; at the last one it needs a new
    id. What waits for `partition` is numbered anew."""
    flights = tuple(
        replace(f, number=-1) if f.partition == partition and not f.sent else f for f in p.flights
    )
    p = replace(p, flights=flights, unresolved=p.unresolved.remove(partition))
    if p.epoch < MAX_EPOCH:
        p = replace(p, epoch=p.epoch + 1)
        return replace(p, lines=p.lines.set(partition, Line(p.pid, p.epoch)))
    p = p.entered(ProducerState.UNINITIALIZED)
    return replace(p, pid=-1, epoch=-1, lines=p.lines.set(partition, Line(-1, -1)))
