"""Batches: kept until they are answered, sent again, or given up.

OUT_OF_ORDER_SEQUENCE_NUMBER is an error only for the first in line; behind it, it merely says
that an earlier batch is still to come. An idempotent producer of librdkafka makes no difference:
it raises its epoch.

Sources: RecordAccumulator#append, Sender#completeBatch, #canRetry, TransactionManager#canRetry
(clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import Effects, SetTimer
from ...errors import Error
from ...log import Batch
from ...messages import ProduceResponse
from ..calls import SendRecord
from . import failing
from .draining import drain, is_outdated
from .errors import RETRIABLE, judge_leader_error
from .flight import RETRY, Flight
from .proceeding import proceed, proceed_after

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]


def append_record(p: Producer, call: SendRecord, stray: bool = False) -> Result:
    """With the record in the accumulator, where delivery.timeout.ms begins; "a|b|c" are three
    records of one batch."""
    records = tuple(call.value.split("|"))
    flight = Flight(call.partition, Batch(records, len(records)), stray=stray)
    patience = p.config.delivery_timeout_ms
    timer = (SetTimer(flight.timer, patience),) if patience else ()
    return replace(p, flights=(*p.flights, flight)), timer


# ---- coming back -------------------------------------------------------------------------


def handle_answer(p: Producer, partition: str, number: int, answer: ProduceResponse) -> Result:
    matches = [f for f in p.flights if f.sent and (f.partition, f.number) == (partition, number)]
    if not matches:
        return p, ()  # It was given up meanwhile.
    flight = matches[0]
    if answer.error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
        p, effects = failing.remove_flight(p, flight)
        return proceed_after(failing.resolve_sequences(p, flight), effects)
    p, again = _can_retry(p, flight, answer.error)
    flight = next(f for f in p.flights if (f.partition, f.number) == (partition, number))
    if again and _tries_left(p, flight):
        p, effects = proceed(_put_back(p, flight, paused=True))
        return p, (*effects, SetTimer(RETRY, p.config.retry_ms))
    return failing.fail_batch(
        p, flight, judge_leader_error(answer.error, p.config.v2), answer.error
    )


def _can_retry(p: Producer, flight: Flight, error: Error) -> tuple[Producer, bool]:
    """Whether to send it again after this error, and the producer, perhaps in a new epoch."""
    if error is not Error.OUT_OF_ORDER_SEQUENCE_NUMBER or not p.config.idempotent:
        return p, error in RETRIABLE
    if not p.config.transactional and not p.config.v2:
        return failing.bump_epoch(p, flight.partition), True
    partition = flight.partition
    first = next(f for f in p.flights if f.partition == partition)
    known = partition not in p.unresolved
    if known and (flight is not first or flight.is_renumbered or is_outdated(p, flight)):
        return p, True
    if p.config.transactional:
        return p, False
    if known or flight.batch.first_seq == p.unresolved[partition]:
        return failing.bump_epoch(p, partition), True
    return p, True


def _tries_left(p: Producer, flight: Flight) -> bool:
    return p.config.retries is None or flight.tries < p.config.retries


def _put_back(p: Producer, flight: Flight, paused: bool) -> Producer:
    """Into the line again, without its number if that is of an older epoch."""
    tries = flight.tries + (p.config.retries is not None)
    back = replace(flight, sent=False, paused=paused, tries=tries)
    if is_outdated(p, flight):
        back = replace(back, number=-1)
    return replace(p, flights=tuple(back if f is flight else f for f in p.flights))


def handle_lost_connection(p: Producer, peer: str) -> Result:
    """All that `peer` has not answered must be sent again, in order."""
    effects: Effects = ()
    for flight in [f for f in p.flights if f.sent and f.partition == peer]:
        if flight not in p.flights:
            continue  # It went down with one before it.
        if _tries_left(p, flight):
            p = _put_back(p, flight, paused=False)
        else:
            p, more = failing.fail_batch(p, flight, failing.name_lost_batch(p, failing.LOST), None)
            effects = (*effects, *more)
    p, more = drain(p)
    return p, (*effects, *more)


def resume_batches(p: Producer) -> Result:
    """The retry timer has fired."""
    return drain(replace(p, flights=tuple(replace(f, paused=False) for f in p.flights)))


def expire_batches(p: Producer, timer: str) -> Result:
    """delivery.timeout.ms has passed."""
    effects: Effects = ()
    for flight in [f for f in p.flights if f.timer == timer]:
        if flight in p.flights:
            trouble = failing.EXPIRED if flight.number >= 0 else failing.NEVER_SENT
            p, more = failing.fail_batch(p, flight, failing.name_lost_batch(p, trouble), None)
            effects = (*effects, *more)
    return p, effects
