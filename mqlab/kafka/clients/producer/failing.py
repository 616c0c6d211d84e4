"""Batches that are given up, and what becomes of the numbers behind them.

A leader that refuses a batch leaves no doubt: those behind it move up. A batch of which nobody
knows leaves a hole. A transaction can only be aborted then. A producer without transactions
raises its own epoch and numbers what is left again from 0, so that the leader takes it; if the
lost batch had been written after all and the application sends it again, it is there twice.

Sources: Sender#failBatch, TransactionManager#handleFailedBatch, #markSequenceUnresolved,
#maybeResolveSequences, #bumpIdempotentProducerEpoch, TxnPartitionMap (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import CancelTimer, Effects
from ...errors import Error
from ...log import next_sequence
from ...states import ProducerState
from .draining import raise_epoch
from .error_states import enter_abortable_error, enter_fatal_error
from .errors import Kind, Trouble, name_exception
from .flight import Flight, Line
from .proceeding import proceed_after

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
LOST = Trouble("NetworkException", unknown=True)
EXPIRED = Trouble("TimeoutException", unknown=True)
NEVER_SENT = Trouble("TimeoutException")


def remove_flight(p: Producer, flight: Flight) -> Result:
    """Without a batch that is over, one way or the other."""
    left = tuple(f for f in p.flights if f is not flight)
    shared = any(f.timer == flight.timer for f in left) if p.config.delivery_timeout_ms else True
    return replace(p, flights=left), () if shared else (CancelTimer(flight.timer),)


def name_lost_batch(p: Producer, trouble: Trouble) -> Trouble:
    """How a transactional producer calls a batch of which nobody knows: it can abort."""
    if not p.config.transactional:
        return trouble
    return Trouble("TransactionAbortableException", bump=True)


def fail_batch(p: Producer, flight: Flight, trouble: Trouble, refused: Error | None) -> Result:
    """A batch is given up: `refused` by its leader, or (None) of unknown fate."""
    p, effects = remove_flight(p, flight)
    if not p.config.transactional:
        return _fail_future(p, flight, trouble, refused, effects)
    if trouble.kind is Kind.FATAL:
        p, more = enter_fatal_error(p, trouble)
        return p, (*effects, *more)
    ending = p.state in (ProducerState.COMMITTING, ProducerState.ABORTING)
    doubt = refused is None and flight.number >= 0
    if trouble.bump and not p.config.v2 and (doubt or not ending):
        p = replace(p, bump=True)
    if refused is not None:
        p = _adjust_sequences(p, flight)
    p, more = enter_abortable_error(p, trouble)
    return proceed_after(p, (*effects, *more))


def _adjust_sequences(p: Producer, gone: Flight) -> Producer:
    """The leader has refused a batch: those behind it move up by its numbers
    (TxnPartitionMap#adjustSequencesDueToFailedBatch)."""
    line: Line | None = p.lines.get(gone.partition)
    if line is None or gone.owner != (line.pid, line.epoch):
        return p
    back = -gone.batch.count
    flights = []
    for f in p.flights:
        behind = f.partition == gone.partition and f.number >= 0
        if behind and f.owner == gone.owner and f.batch.first_seq > gone.batch.first_seq:
            f = replace(f, batch=replace(f.batch, first_seq=next_sequence(f.batch.first_seq, back)))
        flights.append(f)
    line = replace(line, next=next_sequence(line.next, back))
    return replace(p, flights=tuple(flights), lines=p.lines.set(gone.partition, line))


def _fail_future(
    p: Producer, flight: Flight, trouble: Trouble, refused: Error | None, effects: Effects
) -> Result:
    """Without transactions one record's future fails, and the next `flush` tells of it."""
    if refused is not None:
        trouble = Trouble(name_exception(refused))
    p = replace(p, error=p.error or trouble)
    if p.config.idempotent and refused is not None:
        p = bump_epoch(p, flight.partition)
    elif p.config.idempotent and flight.number >= 0:
        hole = max(p.unresolved.get(flight.partition, 0), next_sequence(flight.batch.last_seq))
        p = resolve_sequences(
            replace(p, unresolved=p.unresolved.set(flight.partition, hole)), flight
        )
    return proceed_after(p, effects)


def resolve_sequences(p: Producer, done: Flight) -> Producer:
    """A hole in a partition's numbers is none if a later batch was taken; if nothing is under
    way there any more and none was, the numbers begin again."""
    partition = done.partition
    hole: int | None = p.unresolved.get(partition)
    if hole is None:
        return p
    if done.batch.first_seq >= hole:
        return replace(p, unresolved=p.unresolved.remove(partition))
    if any(f.partition == partition and f.number >= 0 for f in p.flights):
        return p
    return bump_epoch(p, partition)


def bump_epoch(p: Producer, partition: str) -> Producer:
    """A producer without transactions raises its own epoch. Java numbers again what waits for
    `partition`; librdkafka everything, as soon as nothing is under way (`draining.py`)."""
    if not p.config.v2:
        return replace(p, draining=True)
    flights = tuple(
        replace(f, number=-1) if f.partition == partition and not f.sent else f for f in p.flights
    )
    p = replace(p, flights=flights, unresolved=p.unresolved.remove(partition))
    p = raise_epoch(p)
    return replace(p, lines=p.lines.set(partition, Line(p.pid, p.epoch)))
