"""The transactional producer: the client's own state machine.

    proceed               what can be done next: batches, partitions, offsets, the end
    drain                 batches leave, numbered
    append_record, …      batches are kept; what leaders answer: done, again, or given up
    fail_batch, …         batches given up, and the numbers after them
    handle_answer, …      what coordinators answer, and asking again
    `Producer`            which call, answer or timer goes to which of these

What these take and give is in `flight.py`: a batch in flight, a partition's numbers, an open
question, the configuration, what each error means.

A producer numbers its batches partition by partition, keeps up to five of them in flight
and sends each again until it is answered: that is safe because the leader recognises what
it has seen. A transaction is a bracket around such batches; `begin` opens it and sends nothing.
*The server's* transaction starts with the first partition that is added.

Two clients are played here. `legacy` (librdkafka, so confluent-kafka): AddPartitionsToTxn
before the first batch to a partition, its epoch stays. `v2` (Java 4.x): the first Produce adds
the partition by itself, and every end gives a new epoch, at which the sequence numbers begin
again at 0. Exceptions are named as Java names them, for both. (Java before 4.0 sends the same
requests as librdkafka, but a leader's INVALID_PRODUCER_EPOCH is abortable for it from 2.8 on,
KIP-588, and fatal for librdkafka: it is not played here.) Without transactions the two differ in
what they number again after an error: v2 one partition, legacy all of them (`bump_epoch`).

*States* (`states.PRODUCER_PREVIOUS`): UNINITIALIZED → INITIALIZING → READY → IN_TRANSACTION →
COMMITTING or ABORTING → READY. A call that the state does not allow is an
IllegalStateException and changes nothing. After an abortable error every call but `abort`
fails with it; after a fatal one every call does; `flush` alone fails with neither. Nothing a
producer holds is durable.

*What can go wrong.* An answer may be lost: everything here may be sent twice. `commit` may
time out: then it is neither done nor not done, and the only sound calls are the same `commit`
again or none at all. A record that is sent outside of a transaction is refused, and yet
travels with the next transaction that writes to its partition; a commit that does not write
there waits for it until delivery.timeout.ms (KafkaProducer#doSend appends the record before
it looks at the state). If it is given up outside of a transaction, the client is done for.

*Left out:* batching by size and linger, compression, metadata, finding a coordinator,
two-phase commit.
Read on in KafkaProducer, TransactionManager, Sender, RecordAccumulator (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....kernel import (
    FAILED,
    UNKNOWN,
    Call,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Outcome,
    Response,
    Return,
    Send,
    SetTimer,
    Text,
    Words,
    build_failure,
    build_success,
    frozen,
)
from ...config import offsets_log
from ...errors import Error
from ...log import Batch, next_sequence
from ...messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    Answer,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    Produce,
    ProduceResponse,
    TxnOffsetCommit,
    say_no_call,
)
from ...states import ProducerState, producer_may_enter
from ..calls import (
    Abort,
    Begin,
    Commit,
    Flush,
    Init,
    ReinitProducerId,
    ResumeTransaction,
    SendOffsets,
    SendRecord,
)
from .flight import (
    ILLEGAL_STATE,
    MAX_BLOCK,
    RETRIABLE,
    RETRY,
    CoordinatorQuestion,
    Flight,
    Kind,
    Line,
    ProducerCall,
    ProducerConfig,
    Trouble,
    TxnRequest,
    block_call,
    drop_unsent,
    enter_abortable_error,
    enter_fatal_error,
    give_up_call,
    judge_coordinator_error,
    judge_leader_error,
    name_exception,
    return_call,
)

# ---- Batches leave: numbered when they are first sent, oldest first, in order --------
#
# A batch gets its sequence number when it is first sent. Up to `max_in_flight` are with a
# leader at a time; once one must be sent again, the others of its partition wait until it is
# through, so a retry never overtakes and never is overtaken. (Without sequence numbers nothing
# waits: there a retry changes the order.)
#
# Where an idempotent producer of librdkafka must raise its epoch, it sends nothing more until
# nothing is in flight to any partition, and then numbers everything again from 0. A batch that was
# written, and whose answer was lost, is taken for a new one then and is there twice, be it in
# another partition than the trouble (confluentinc/librdkafka#4953).
#
# Sources: Sender#sendProducerData, RecordAccumulator#shouldStopDrainBatchesForPartition
# (clients, Kafka 4.3); rd_kafka_idemp_drain_epoch_bump, rd_kafka_handle_Produce_error
# (librdkafka 2.16.0, seen with confluent-kafka 2.16.1).

Result = tuple["Producer", Effects]
MAX_EPOCH = 2**15 - 1


def drain(p: Producer) -> Result:
    """Send all batches that may be sent now, oldest first (the accumulator is drained). Where
    librdkafka raises its epoch (`draining`), nothing is sent until no batch is in flight; then all
    of them are numbered again from 0. Where the numbers of a partition have a gap (`unresolved`)
    and a new batch would come after it, a transaction can only be aborted: nothing is sent."""
    if p.draining:
        if any(flight.sent for flight in p.flights):
            return p, ()
        # -1: to be numbered again when it is next sent; `lines`: by partition, its next number
        flights = tuple(replace(flight, number=-1) for flight in p.flights)
        p = replace(p, flights=flights, lines=Map(), unresolved=Map(), draining=False)
        p = raise_epoch(p)
    if p.config.transactional and any(
        f.number < 0 and f.partition in p.unresolved and f.partition in p.added for f in p.flights
    ):
        return _abort_for_gap(p)
    effects: Effects = ()
    for i in range(len(p.flights)):
        if _may_leave(p, p.flights, i):
            p, sent = _send_batch(p, i)
            effects = (*effects, *sent)
    return p, effects


def _abort_for_gap(p: Producer) -> Result:
    """librdkafka does not take back the numbers of a batch that was refused for its size, and
    notices so before it sends the next one to that partition: "skipped sequence numbers"."""
    trouble = Trouble("OutOfOrderSequenceException", bump=True)
    return enter_abortable_error(replace(p, bump=True, unresolved=Map()), trouble)


def raise_epoch(p: Producer) -> Producer:
    """A producer without transactions does it by itself; at the last epoch it needs a new id."""
    if p.epoch < MAX_EPOCH:
        return replace(p, epoch=p.epoch + 1)
    return replace(p.enter(ProducerState.UNINITIALIZED), pid=-1, epoch=-1)


def _may_leave(p: Producer, flights: Sequence[Flight], i: int) -> bool:
    """Whether the batch `flights[i]` may be sent now: it is not in flight or paused, its partition
    may be written, and fewer than max_in_flight batches are with that leader. With idempotence a
    retry also waits for all earlier batches of its partition to be done, and a new batch for them
    to be sent, under the present epoch and without a gap in their numbers."""
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
    """Whether the partition is in the transaction or, without transactions, the producer has an id
    (which it needs for idempotence only)."""
    if p.config.transactional:
        return partition in p.added
    return p.pid >= 0 or not p.config.idempotent


def is_outdated(p: Producer, flight: Flight) -> bool:
    """Whether it was sent before its partition's numbers began again."""
    line: Line | None = p.lines.get(flight.partition)
    numbered = flight.number >= 0 and p.config.idempotent
    return numbered and line is not None and flight.owner != (line.pid, line.epoch)


def _choose_line(p: Producer, partition: str) -> Line:
    """The producer id, epoch and sequence number of the partition's next batch. A new epoch begins,
    at 0, once no numbered batch of the partition waits for an answer."""
    line: Line | None = p.lines.get(partition)
    busy = any(f.partition == partition and f.number >= 0 for f in p.flights)
    if line is None or ((line.pid, line.epoch) != (p.pid, p.epoch) and not busy):
        return Line(p.pid, p.epoch)
    return line


def _send_batch(p: Producer, i: int) -> Result:
    """Send a queued batch, `flights[i]`, to its partition's leader. An idempotent producer gives it
    the partition's next sequence number when it is first sent; a retry keeps that number, so that
    the leader recognises it. The request has a number too (`corr`), by which its answer is matched
    to the batch; it is made from the epoch and the sequence number."""
    flight = p.flights[i]
    # producer id, epoch and sequence number of the partition's next batch
    numbering = _choose_line(p, flight.partition)
    batch, number = flight.batch, flight.number
    # below 0: it has no number yet
    if number < 0:
        number = numbering.number
        if p.config.idempotent:
            batch = replace(
                batch,
                pid=numbering.pid,
                epoch=numbering.epoch,
                first_seq=numbering.next,
                transactional=p.config.transactional,
            )
        numbering = replace(numbering, next=next_sequence(numbering.next, batch.count))
        p = replace(p, lines=p.lines.set(flight.partition, numbering))
    # an earlier batch was refused, and this one has taken over its sequence numbers
    elif flight.is_renumbered and p.config.idempotent:
        number = Line(batch.pid, batch.epoch, batch.first_seq).number
    flight = replace(flight, batch=batch, number=number, sent=True)
    flights = (*p.flights[:i], flight, *p.flights[i + 1 :])
    # from version 12 on the leader adds the partition to the transaction (transaction version 2)
    produce = Produce(batch, p.config.txn_id, version=12 if p.config.is_java_client else 11)
    return replace(p, flights=flights), (Send(flight.partition, produce, corr=number),)


# ---- What can be done next: batches that may leave, then one question to a coordinator
#
# A call, an answer, a batch given up: each of them may let the producer go on, and then ends
# with `proceed`, where the order in which things are done is in one place: batches first,
# then partitions that must be added, then the group's offsets, then the end. Questions are asked
# one at a time.
#
# Sources: Sender#runOnce, TransactionManager#nextRequest, #beginCompletingTransaction,
# #completeTransaction (clients, Kafka 4.3).

_S = ProducerState
ENDING = {_S.COMMITTING: True, _S.ABORTING: False}


def proceed(p: Producer) -> Result:
    """Do whatever can be done next: batches, partitions, offsets, the end."""
    p.check_invariants()
    p, effects = drain(p)
    if isinstance(p.call, Flush) and not p.flights:
        p, more = _finish_flush(p)
    elif p.request is None:
        p, more = _next_request(p)
    else:
        return p, effects
    return p, (*effects, *more)


def proceed_after(p: Producer, effects: Effects) -> Result:
    """The same, after what this step has done already."""
    p, more = proceed(p)
    return p, (*effects, *more)


# ---- asking --------------------------------------------------------------------------


def ask_coordinator(
    p: Producer, to: str, body: CoordinatorQuestion, then: SendOffsets | None = None
) -> Result:
    return replace(p, request=TxnRequest(to, body, then=then)), (Send(to, body),)


def send_init_producer_id(p: Producer) -> Result:
    """InitProducerId: for the first time with nothing, for a bump with what one has."""
    body = InitProducerId(p.config.txn_id, p.config.timeout_ms, p.pid, p.epoch)
    return ask_coordinator(p, p.config.cluster.coordinator, body)


def _next_request(p: Producer) -> Result:
    """Send the next request to the coordinator, in the sequence of Kafka's Sender: first partitions
    that are not in the transaction yet, then offsets, and EndTxn last, once all batches are
    acknowledged. A call whose transaction wrote nothing returns without a request. A producer
    without transactions asks for a producer id only, once it has something to send."""
    tc, identity = p.config.cluster.coordinator, (p.config.txn_id or "", p.pid, p.epoch)
    if not p.config.transactional and p.config.idempotent and p.state is _S.UNINITIALIZED:
        return send_init_producer_id(p.enter(_S.INITIALIZING)) if p.flights else (p, ())
    # legacy: partitions of batches that the coordinator does not know of; v2's Produce adds them
    missing = _find_missing(p)
    if missing:
        return ask_coordinator(p, tc, AddPartitionsToTxn(*identity, missing))
    if isinstance(p.call, SendOffsets):
        if p.config.is_java_client:
            return commit_offsets(p, p.call)
        return ask_coordinator(p, tc, AddOffsetsToTxn(*identity, p.call.group), then=p.call)
    if p.state not in ENDING or p.flights:
        return p, ()
    if p.added:  # partitions of this transaction; ENDING: whether it commits
        return ask_coordinator(p, tc, EndTxn(*identity, ENDING[p.state], p.config.is_java_client))
    # nothing was sent, so the coordinator knows of no transaction to end
    return complete_transaction(p)


def _find_missing(p: Producer) -> tuple[str, ...]:
    """legacy: partitions that must join the transaction before anything is written there."""
    if not p.config.transactional or p.config.is_java_client:
        return ()
    wanted = {f.partition for f in p.flights if f.number < 0 and not f.stray}
    return tuple(sorted(wanted - set(p.added)))


def commit_offsets(p: Producer, call: SendOffsets) -> Result:
    where = offsets_log(call.group, p.config.cluster)
    body = TxnOffsetCommit(
        p.config.txn_id or "",
        call.group,
        p.pid,
        p.epoch,
        call.positions,
        call.member,
        call.generation,
        version=5 if p.config.is_java_client else 3,
    )
    return ask_coordinator(replace(p, added=tuple(sorted({*p.added, where}))), where, body)


def complete_transaction(p: Producer) -> Result:
    """The transaction is over for its producer; the markers are the coordinator's work."""
    p = replace(p, added=(), error=None)
    if p.bump:
        return send_init_producer_id(replace(p.enter(_S.INITIALIZING), bump=False))
    return return_call(p.enter(_S.READY))


def _finish_flush(p: Producer) -> Result:
    """Without transactions, what became of the records' futures since the last flush. With
    them the trouble stays for the next call that looks at the state: `flush` does not."""
    if p.config.transactional:
        return return_call(p)
    trouble, p = p.error, replace(p, error=None)
    if trouble is None:
        return return_call(p)
    return return_call(p, UNKNOWN if trouble.unknown else FAILED, trouble.exception)


# ---- What coordinators answer, and when the same is asked again ----------------------
#
# Every request may be sent twice, because its answer may be lost; the coordinator recognises
# what it has done already. While an older transaction of the same id is still being ended it
# says CONCURRENT_TRANSACTIONS, and the client asks again after a pause.
#
# After an abortable error that leaves numbers in doubt a *legacy* client ends its abort with
# InitProducerId(producer id, epoch): the epoch rises by one and all numbers begin again (KIP-360).
# A v2 client need not: there every end raises the epoch.
#
# Sources: TransactionManager's …Handler#handleResponse,
# AddPartitionsToTxnHandler#maybeOverrideRetryBackoffMs (clients, Kafka 4.3).

ADD_RETRY_MS = 20  # TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS


def handle_answer(p: Producer, request: TxnRequest, answer: Answer) -> Result:
    """Take the coordinator's answer to `request`. After a retriable error it is sent again later;
    after any other, the transaction can only be aborted, or the producer not be used any more.
    Without an error the transaction goes on: its partitions are known to the coordinator, its
    offsets can be committed, or the call returns."""
    error = answer.error
    if error in RETRIABLE:
        return _ask_later(p, request, error)
    p = replace(p, request=None)
    if error:
        trouble = judge_coordinator_error(request.body, error)
        if trouble.bump and not p.config.is_java_client:
            p = replace(p, bump=True)  # the epoch is raised once the transaction is aborted
        enter_error = enter_fatal_error if trouble.kind is Kind.FATAL else enter_abortable_error
        return proceed_after(*enter_error(p, trouble))
    match request.body:
        case AddPartitionsToTxn(partitions=partitions):
            return proceed(replace(p, added=tuple(sorted({*p.added, *partitions}))))
        # then: the offsets, which can be committed now
        case AddOffsetsToTxn() if request.then is not None:
            return commit_offsets(p, request.then)
    match answer:
        case InitProducerIdResponse(pid=pid, epoch=epoch):
            return _take_producer_id(p, pid, epoch)
        case EndTxnResponse(pid=pid, epoch=epoch):
            if p.config.is_java_client and epoch >= 0 and (pid, epoch) != (p.pid, p.epoch):
                # Numbers begin again with the new epoch, and only with a new one.
                p = replace(p, pid=pid, epoch=epoch, lines=Map())
            return complete_transaction(p)
    return proceed_after(*return_call(p))


def _take_producer_id(p: Producer, pid: int, epoch: int) -> Result:
    if isinstance(
        p.call, ReinitProducerId
    ):  # it takes the transaction for the one that it has begun
        return proceed_after(*return_call(replace(p, pid=pid, epoch=epoch, lines=Map())))
    p = replace(p.enter(_S.READY), pid=pid, epoch=epoch, error=None)
    if p.config.transactional:
        return return_call(replace(p, lines=Map()))
    fresh = Map((name, Line(pid, epoch) if w.pid < 0 else w) for name, w in p.lines.items())
    return proceed(replace(p, lines=fresh))


# ---- asking again --------------------------------------------------------------------


def _ask_later(p: Producer, request: TxnRequest, error: Error) -> Result:
    """Ask the same again after a pause, which is short for a transaction's first partition:
    the one before it is about to be over."""
    if p.state is _S.ABORTABLE_ERROR:
        return replace(p, request=None), ()  # Only an abort is wanted now.
    first = isinstance(request.body, AddPartitionsToTxn) and not p.added
    short = first and error is Error.CONCURRENT_TRANSACTIONS
    p, again = _put_back(p, request)
    if not again:
        return give_up_call(p)
    pause = min(ADD_RETRY_MS, p.config.retry_ms) if short else p.config.retry_ms
    return p, (SetTimer(RETRY, pause),)


def _put_back(p: Producer, request: TxnRequest) -> tuple[Producer, bool]:
    """The request unsent; whether it may be sent once more."""
    bounded = p.config.retries is not None
    left = p.config.retries is None or request.tries < p.config.retries
    back = replace(request, sent=False, parked=not left, tries=request.tries + (bounded and left))
    return replace(p, request=back), left


def handle_lost_coordinator(p: Producer, peer: str) -> Result:
    """What this coordinator was asked is asked again, or given up; after an error it is not needed
    any more."""
    if p.request is None or not p.request.sent or p.request.to != peer:
        return p, ()
    if p.state is _S.ABORTABLE_ERROR:
        return replace(p, request=None), ()
    p, again = _put_back(p, p.request)
    return resend_request(p) if again else give_up_call(p)


def resend_request(p: Producer) -> Result:
    """Send what waited for the retry timer."""
    if p.request is None or p.request.sent or p.request.parked:
        return p, ()
    return replace(p, request=replace(p.request, sent=True)), (Send(p.request.to, p.request.body),)


def unpark_request(p: Producer) -> Producer:
    """The application has called again: the request has all its tries again."""
    if p.request is None or not p.request.parked:
        return p
    return replace(p, request=replace(p.request, parked=False, tries=0))


# ---- Batches that are given up, and what becomes of the numbers after them -----------
#
# A leader that refuses a batch leaves no doubt: those after it move up. A batch of unknown fate
# leaves a hole. A transaction can only be aborted then. A producer without transactions
# raises its own epoch and numbers what is left again from 0, so that the leader takes it; if the
# lost batch had been written after all and the application sends it again, it is there twice.
#
# Sources: Sender#failBatch, TransactionManager#handleFailedBatch, #markSequenceUnresolved,
# #maybeResolveSequences, #bumpIdempotentProducerEpoch, TxnPartitionMap (clients, Kafka 4.3).

LOST = Trouble("NetworkException", unknown=True)
EXPIRED = Trouble("TimeoutException", unknown=True)
NEVER_SENT = Trouble("TimeoutException")


def remove_flight(p: Producer, flight: Flight) -> Result:
    """Without a batch that is over, one way or the other."""
    left = tuple(f for f in p.flights if f is not flight)
    shared = any(f.timer == flight.timer for f in left) if p.config.delivery_timeout_ms else True
    return replace(p, flights=left), () if shared else (CancelTimer(flight.timer),)


def name_lost_batch(p: Producer, trouble: Trouble) -> Trouble:
    """The error state of a transactional producer after a batch of unknown fate: it can abort."""
    if not p.config.transactional:
        return trouble
    return Trouble("TransactionAbortableException", bump=True)


def fail_batch(p: Producer, flight: Flight, trouble: Trouble, refused: Error | None) -> Result:
    """Give a batch up and, with it, the transaction (after a fatal error, all further use of the
    producer); without transactions only the batch's future fails. `refused`: its leader's error;
    None: no answer came, so it may have been written. After a refusal the later batches of the
    partition take over its sequence numbers; where that is not possible, librdkafka raises its
    epoch after the abort (`bump`)."""
    p, effects = remove_flight(p, flight)
    if not p.config.transactional:
        return _fail_future(p, flight, trouble, refused, effects)
    if trouble.kind is Kind.FATAL:
        p, error_effects = enter_fatal_error(p, trouble)
        return p, (*effects, *error_effects)
    ending = p.state in (ProducerState.COMMITTING, ProducerState.ABORTING)
    may_be_written = refused is None and flight.number >= 0
    if refused is Error.MESSAGE_TOO_LARGE and not p.config.is_java_client:
        # librdkafka lets no other batch take over these numbers, so the next one leaves a gap
        hole = next_sequence(flight.batch.last_seq)
        p = replace(p, unresolved=p.unresolved.set(flight.partition, hole))
    # while the transaction ends, only a batch that may have been written asks for a new epoch
    elif trouble.bump and not p.config.is_java_client and (may_be_written or not ending):
        p = replace(p, bump=True)
    if refused is not None and flight.partition not in p.unresolved:
        p = _adjust_sequences(p, flight)
    p, error_effects = enter_abortable_error(p, trouble)
    return proceed_after(p, (*effects, *error_effects))


def _adjust_sequences(p: Producer, gone: Flight) -> Producer:
    """Move the sequence numbers of a refused batch to those after it, which would leave a gap else
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
    """Without transactions one record's future fails, and the next `flush` reports it."""
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
    """A hole in a partition's numbers is none if a later batch was taken; if nothing is in flight
    there any more and none was, the numbers begin again. Java asks for the last batch only."""
    partition = done.partition
    hole: int | None = p.unresolved.get(partition)
    if hole is None or p.config.transactional:
        return p
    if done.batch.first_seq >= hole:
        return replace(p, unresolved=p.unresolved.remove(partition))
    if any(f.partition == partition and f.number >= 0 for f in p.flights):
        return p
    if p.config.is_java_client and hole != p.lines[partition].next:
        return replace(p, unresolved=p.unresolved.remove(partition))
    return bump_epoch(p, partition)


def bump_epoch(p: Producer, partition: str) -> Producer:
    """A producer without transactions raises its own epoch. Java numbers again what waits for
    `partition`; librdkafka everything, as soon as nothing is in flight (`drain`)."""
    if not p.config.is_java_client:
        return replace(p, draining=True)
    flights = tuple(
        replace(f, number=-1) if f.partition == partition and not f.sent else f for f in p.flights
    )
    p = replace(p, flights=flights, unresolved=p.unresolved.remove(partition))
    p = raise_epoch(p)
    return replace(p, lines=p.lines.set(partition, Line(p.pid, p.epoch)))


# ---- Batches: kept until they are answered, sent again, or given up ------------------
#
# OUT_OF_ORDER_SEQUENCE_NUMBER is an error only for the first in line; after it, it merely says
# that an earlier batch is still to come. Nor is it one for Java where a later batch was taken: it
# sends the first again, in vain, until its time is over (KAFKA-15591). An idempotent producer of
# librdkafka makes no difference: it raises its epoch.
#
# Sources: RecordAccumulator#append, Sender#completeBatch, #canRetry, TransactionManager#canRetry
# (clients, Kafka 4.3).


def append_record(p: Producer, call: SendRecord, stray: bool = False) -> Result:
    """With the record in the accumulator, where delivery.timeout.ms begins; "a|b|c" are three
    records of one batch."""
    records = tuple(call.value.split("|"))
    batch = Batch(records, len(records), size=call.bytes, at_ms=p.at_ms)
    flight = Flight(call.partition, batch, stray=stray)
    patience = p.config.delivery_timeout_ms
    timer = (SetTimer(flight.timer, patience),) if patience else ()
    return replace(p, flights=(*p.flights, flight)), timer


# ---- coming back ---------------------------------------------------------------------


def handle_produce_answer(
    p: Producer, partition: str, number: int, answer: ProduceResponse
) -> Result:
    """Take a ProduceResponse for the batch with this number: it is done (a duplicate counts as
    success), sent again after a pause, or failed. An answer to a batch that was given up meanwhile
    changes nothing."""
    matches = [f for f in p.flights if f.sent and (f.partition, f.number) == (partition, number)]
    if not matches:
        return p, ()
    flight = matches[0]
    if answer.error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
        p, effects = remove_flight(p, flight)
        return proceed_after(resolve_sequences(p, flight), effects)
    p, again = _can_retry(p, flight, answer.error)
    # the same batch again: a new epoch may have changed it
    flight = next(f for f in p.flights if (f.partition, f.number) == (partition, number))
    if again and _tries_left(p, flight):
        p, effects = proceed(_put_batch_back(p, flight, paused=True))
        return p, (*effects, SetTimer(RETRY, p.config.retry_ms))
    return fail_batch(
        p, flight, judge_leader_error(answer.error, p.config.is_java_client), answer.error
    )


def _can_retry(p: Producer, flight: Flight, error: Error) -> tuple[Producer, bool]:
    """Whether to send the batch again after this error (TransactionManager#canRetry); with the
    producer, whose epoch this may raise: librdkafka without transactions always raises it and sends
    again."""
    if error is not Error.OUT_OF_ORDER_SEQUENCE_NUMBER or not p.config.idempotent:
        return p, error in RETRIABLE
    if not p.config.transactional and not p.config.is_java_client:
        return bump_epoch(p, flight.partition), True
    partition = flight.partition
    # OUT_OF_ORDER_SEQUENCE_NUMBER: some batch before it is missing at the leader
    has_no_gap = partition not in p.unresolved
    # an earlier batch may still arrive, or the numbers have changed: the next attempt can succeed
    renumbered = flight.is_renumbered or is_outdated(p, flight)
    if has_no_gap and (renumbered or not _is_next(p, flight)):
        return p, True
    if p.config.transactional:
        return p, False
    if has_no_gap or flight.batch.first_seq == p.unresolved[partition]:
        return bump_epoch(p, partition), True
    return p, True


def _is_next(p: Producer, flight: Flight) -> bool:
    """Whether its number follows the last one that was acknowledged (#isNextSequence): it is the
    first in line, and of Java's no later one was taken, so all since are in flight."""
    line = [f for f in p.flights if f.partition == flight.partition]
    if flight is not line[0] or not p.config.is_java_client:
        return flight is line[0]
    numbered = sum(f.batch.count for f in line if f.number >= 0)
    return p.lines[flight.partition].next == next_sequence(flight.batch.first_seq, numbered)


def _tries_left(p: Producer, flight: Flight) -> bool:
    return p.config.retries is None or flight.tries < p.config.retries


def _put_batch_back(p: Producer, flight: Flight, paused: bool) -> Producer:
    """Into the line again, without its number if that is of an older epoch."""
    tries = flight.tries + (p.config.retries is not None)
    back = replace(flight, sent=False, paused=paused, tries=tries)
    if is_outdated(p, flight):
        back = replace(back, number=-1)
    return replace(p, flights=tuple(back if f is flight else f for f in p.flights))


def handle_lost_leader(p: Producer, peer: str) -> Result:
    """All that `peer` has not answered must be sent again, in order."""
    effects: Effects = ()
    for flight in [f for f in p.flights if f.sent and f.partition == peer]:
        if flight not in p.flights:
            continue  # It went down with one before it.
        if _tries_left(p, flight):
            p = _put_batch_back(p, flight, paused=False)
        else:
            p, more = fail_batch(p, flight, name_lost_batch(p, LOST), None)
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
            trouble = EXPIRED if flight.number >= 0 else NEVER_SENT
            p, more = fail_batch(p, flight, name_lost_batch(p, trouble), None)
            effects = (*effects, *more)
    return p, effects


ENTERED = Words("{state}: {why}")
BUMPED = Words("raises its own epoch to {epoch}, numbers begin at 0")
UNDER_WAY = {
    Begin: _S.IN_TRANSACTION,
    Init: _S.INITIALIZING,
    Commit: _S.COMMITTING,
    Abort: _S.ABORTING,
}


@frozen
class Producer:
    """`lines`: how each partition is being numbered. `added`: partitions of this transaction
    that the coordinator knows, or (v2) that are written to. `flights`: batches not answered
    yet, in the order in which they were sent. `request`: the one that is open at a
    coordinator. `call`: the blocking call that has not returned. `timed_out`: a call that
    timed out, and what became of it since. `error`: why the state is an error; without
    transactions, why a record's future failed. `bump`: the epoch must be raised after the
    abort (KIP-360). `unresolved`: after a batch of unknown fate, the next sequence number.
    `draining`: the epoch is raised when no batch is in flight (librdkafka). `at_ms`: its clock, as
    of the last call: what a record is stamped with."""

    config: ProducerConfig
    state: ProducerState = _S.UNINITIALIZED
    pid: int = -1
    epoch: int = -1
    lines: Map[str, Line] = Map()
    added: tuple[str, ...] = ()
    flights: tuple[Flight, ...] = ()
    request: TxnRequest | None = None
    call: ProducerCall | None = None
    timed_out: Outcome | None = None
    error: Trouble | None = None
    bump: bool = False
    unresolved: Map[str, int] = Map()
    draining: bool = False
    at_ms: int = 0

    def step(self, event: Event, disk: Disk) -> tuple[Producer, Effects]:
        """Handle one event: a call of the application, an answer of a leader or of the coordinator,
        a broken connection, or a timer (a retry is due; max.block.ms or a batch's delivery timeout
        has passed). An answer that nothing waits for is ignored."""
        match event:
            case Call(body=body, at_ms=at_ms):
                return replace(self, at_ms=at_ms)._handle_call(body)
            case Response(peer=peer, corr=corr, body=ProduceResponse() as answer):
                return handle_produce_answer(self, peer, corr, answer)
            case Response(peer=peer, body=body) if self.request and self.request.to == peer:
                return handle_answer(self, self.request, body)
            case ConnectionLost(peer=peer):  # of the two the one that `peer` is not changes nothing
                new, effects = handle_lost_coordinator(self, peer)
                new, more = handle_lost_leader(new, peer)
                return new, (*effects, *more)
            # one timer for the open request and for all batches that wait
            case Fired(timer=timer) if timer == RETRY:
                new, effects = resend_request(self)
                new, more = resume_batches(new)
                return new, (*effects, *more)
            case Fired(timer=timer) if timer == MAX_BLOCK:
                return give_up_call(self)
            case Fired(timer=timer):  # each batch has a timer of its own (`Flight.timer`)
                return expire_batches(self, timer)
        return self, ()

    # -- calls ---------------------------------------------------------------------------

    def _handle_call(self, call: ProducerCall) -> tuple[Producer, Effects]:
        """Begin a call of the application if the state of the transaction allows it
        (TransactionManager#transitionTo); else the call fails at once. After an abortable error
        only `abort` and `flush` are allowed, after a fatal one only `flush`, and after a call that
        timed out only the same call again."""
        if not self.config.transactional:
            return self._handle_plain_call(call)
        if self.timed_out is not None:  # a call that timed out, with what became of it since
            return self._repeat_call(call, self.timed_out)
        allowed = self.state is _S.ABORTABLE_ERROR and isinstance(call, Abort)
        # KafkaProducer#flush looks at no state
        allowed = allowed or isinstance(call, Flush)
        if self.state in (_S.ABORTABLE_ERROR, _S.FATAL_ERROR) and not allowed:
            assert self.error is not None
            return self, (Return(build_failure(call, self.error, self.error.meaning)),)
        match call:
            case Flush():
                return self._block_call(call)
            case SendRecord():
                return self._send(call)
            case SendOffsets() if self.state is _S.IN_TRANSACTION:
                return self._block_call(call)
            # a client of its own, such as librdkafka: no API of Java asks for an epoch here
            case ReinitProducerId() if self.state is _S.IN_TRANSACTION and self.request is not None:
                return self, (return_illegal_state(call, "a request is in flight, flush first"),)
            case ReinitProducerId() if self.state is _S.IN_TRANSACTION:
                # no _block_call: max.block.ms is an option of Java's calls
                return send_init_producer_id(replace(self, call=call))
            case ResumeTransaction(pid=pid, epoch=epoch) if self.state is _S.UNINITIALIZED:
                # FlinkKafkaInternalProducer#resumeTransaction: these transitions, by reflection
                new = self.enter(_S.INITIALIZING).enter(_S.READY).enter(_S.IN_TRANSACTION)
                # its partitions are not known here; if `added` were empty, no EndTxn would be sent
                resumed = replace(new, pid=pid, epoch=epoch, added=("resumed",))
                return resumed, (Return(build_success(call)),)
            case SendOffsets() | ReinitProducerId():
                return self, (return_illegal_state(call, f"no transaction in {self.state}"),)
            case ResumeTransaction():
                return self, (return_illegal_state(call, f"{self.state}: only in place of init"),)
        # init, begin, commit, abort: the state that the call leads to
        target = UNDER_WAY.get(type(call))
        if target is None:
            return self, (return_illegal_state(call, say_no_call("a producer")),)
        if not producer_may_enter(target, self.state):
            return self, (return_illegal_state(call, f"{self.state} → {target}"),)
        return self._begin_call(call, target)

    def _begin_call(self, call: ProducerCall, target: ProducerState) -> tuple[Producer, Effects]:
        new = self.enter(target)
        match call:
            case Begin():
                return new, (Return(build_success(call)),)
            case Init():
                new, timer = block_call(new, call)
                new, effects = send_init_producer_id(new)
                return new, (*timer, *effects)
            case Abort():
                new = drop_unsent(new)
        return new._block_call(call)

    def _repeat_call(self, call: ProducerCall, timed_out: Outcome) -> tuple[Producer, Effects]:
        """After a call that timed out only the same call is allowed."""
        if call != timed_out.call:
            why = f"{timed_out.call} timed out, call it again"
            return self, (return_illegal_state(call, why),)
        new = replace(self, timed_out=None)
        if timed_out.status != UNKNOWN:
            return new, (Return(timed_out),)
        return new._block_call(call)

    def _handle_plain_call(self, call: ProducerCall) -> tuple[Producer, Effects]:
        """Without transactions there is only send and flush; the producer asks for its id
        when it first needs one."""
        match call:
            case SendRecord():
                new, timer = append_record(self, call)
                new, effects = proceed(new)
                return new, (*timer, *effects, Return(build_success(call)))
            case Flush():
                return self._block_call(call)
        return self, (return_illegal_state(call, "a transactional call without transactional.id"),)

    def _block_call(self, call: ProducerCall) -> tuple[Producer, Effects]:
        """Wait until it can be done; a request that was given up is sent again."""
        new, timer = block_call(unpark_request(self), call)
        new, again = resend_request(new) if new.request is not self.request else (new, ())
        new, effects = proceed(new)
        return new, (*timer, *again, *effects)

    def _send(self, call: SendRecord) -> tuple[Producer, Effects]:
        if self.state is not _S.IN_TRANSACTION:
            why = f"no transaction in {self.state}"
            new, timer = append_record(self, call, stray=True)
            return new, (*timer, return_illegal_state(call, why))
        new, timer = append_record(self, call)
        if self.config.is_java_client:
            new = replace(new, added=tuple(sorted({*new.added, call.partition})))
        new, effects = proceed(new)
        return new, (*timer, *effects, Return(build_success(call)))

    # -- its state -----------------------------------------------------------------------

    def enter(self, state: ProducerState) -> Producer:
        """In another state; ValueError where the table has no such transition."""
        if not producer_may_enter(state, self.state):
            raise ValueError(f"a producer in {self.state} cannot become {state}")
        return replace(self, state=state)

    def check_invariants(self) -> None:
        """AssertionError where a transaction would be ended, or its coordinator does not know of a
        partition, while a batch is in flight there."""
        ends = self.request is not None and isinstance(self.request.body, EndTxn)
        for batch in self.flights if self.config.transactional else ():
            known = batch.partition in self.added and not ends
            assert known or batch.number < 0, (batch, self.added, self.request)

    def describe_changes(self, old: Producer | None) -> tuple[Text, ...]:
        """What no answer would report: an error it keeps for the next call, and an epoch
        that it raised by itself."""
        if old is None or old is self:
            return ()
        wrong = (_S.ABORTABLE_ERROR, _S.FATAL_ERROR)
        if self.state in wrong and self.state is not old.state and old.call is None:
            return (ENTERED(state=self.state, why=self.error and self.error.exception),)
        own = not self.config.transactional and self.pid == old.pid >= 0
        if own and self.epoch > old.epoch:
            return (BUMPED(epoch=self.epoch),)
        return ()


def return_illegal_state(call: ProducerCall, why: str) -> Return:
    """What Java answers to a call that its state does not allow."""
    return Return(build_failure(call, f"{ILLEGAL_STATE}: {why}", ILLEGAL_STATE))
