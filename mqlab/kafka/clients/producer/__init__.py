"""The transactional producer: the client's own state machine.

    config.py        what may be configured, and what Java refuses
    flight.py        a batch under way, a partition's numbers, an open question
    calling.py       a call blocks, and what the application hears in the end
    proceeding.py    what can be done next: batches, partitions, offsets, the end
    draining.py      batches leave, numbered
    sending.py       what leaders answer: done, again, or given up
    failing.py       batches given up, and the numbers behind them
    requests.py      what coordinators answer, and asking again
    errors.py        what each error means: again, abort, or over
    error_states.py  only an abort is left, or nothing

A producer numbers its batches partition by partition, keeps up to five of them under way
and sends each again until it is answered: that is safe because the leader recognises what
it has seen. A transaction is a bracket around such batches; `begin` opens it and tells
nobody. *The server's* transaction starts with the first partition that is added.

Two clients are played here. `legacy` (librdkafka, so confluent-kafka): AddPartitionsToTxn
before the first batch to a partition, its epoch stays. `v2` (Java 4.x): the first Produce adds
the partition by itself, and every end gives a new epoch, at which the sequence numbers begin
again at 0. Exceptions are named as Java names them, for both. (Java before 4.0 sends the same
requests as librdkafka, but a leader's INVALID_PRODUCER_EPOCH is abortable for it from 2.8 on,
KIP-588, and fatal for librdkafka: it is not played here.) Without transactions the two differ in
what they number again after an error: v2 one partition, legacy all of them (`draining.py`).

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

from dataclasses import replace

from ....kernel import (
    UNKNOWN,
    Call,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Outcome,
    Response,
    Return,
    Text,
    Words,
    build_failure,
    build_success,
    frozen,
)
from ...messages import EndTxn, ProduceResponse
from ...states import ProducerState, producer_may_enter
from ..calls import Abort, Begin, Commit, Flush, Init, SendOffsets, SendRecord
from . import calling, flight, requests, sending
from .calling import ProducerCall, block_call, give_up_call
from .config import ConfigException, ProducerConfig
from .error_states import drop_unsent
from .errors import ILLEGAL_STATE, Kind, Trouble
from .flight import Flight, Line, TxnRequest
from .proceeding import introduce, proceed

__all__ = ["ConfigException", "Kind", "Producer", "ProducerCall", "ProducerConfig", "Trouble"]

_S = ProducerState
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
    coordinator. `call`: the blocking call that has not returned. `overdue`: a call that
    timed out, and what became of it since. `error`: why the state is an error; without
    transactions, why a record's future failed. `bump`: the epoch must be raised after the
    abort (KIP-360). `unresolved`: after a batch of unknown fate, the next sequence number.
    `draining`: the epoch is raised when no batch is under way (librdkafka)."""

    config: ProducerConfig
    state: ProducerState = _S.UNINITIALIZED
    pid: int = -1
    epoch: int = -1
    lines: Map[str, Line] = Map()
    added: tuple[str, ...] = ()
    flights: tuple[Flight, ...] = ()
    request: TxnRequest | None = None
    call: ProducerCall | None = None
    overdue: Outcome | None = None
    error: Trouble | None = None
    bump: bool = False
    unresolved: Map[str, int] = Map()
    draining: bool = False

    def step(self, event: Event, disk: Disk) -> tuple[Producer, Effects]:
        match event:
            case Call(body=body):
                return self._handle_call(body)
            case Response(peer=peer, corr=corr, body=ProduceResponse() as answer):
                return sending.handle_answer(self, peer, corr, answer)
            case Response(peer=peer, body=body) if self.request and self.request.to == peer:
                return requests.handle_answer(self, self.request, body)
            case ConnectionLost(peer=peer):
                new, effects = requests.handle_lost_connection(self, peer)
                new, more = sending.handle_lost_connection(new, peer)
                return new, (*effects, *more)
            case Fired(timer=flight.RETRY):
                new, effects = requests.resend_request(self)
                new, more = sending.resume_batches(new)
                return new, (*effects, *more)
            case Fired(timer=calling.MAX_BLOCK):
                return give_up_call(self)
            case Fired(timer=timer):
                return sending.expire_batches(self, timer)
        # An answer nobody waits for any more.
        return self, ()

    # -- calls ---------------------------------------------------------------------------

    def _handle_call(self, call: ProducerCall) -> tuple[Producer, Effects]:
        if not self.config.transactional:
            return self._handle_plain_call(call)
        if self.overdue is not None:
            return self._repeat_call(call, self.overdue)
        spared = self.state is _S.ABORTABLE_ERROR and isinstance(call, Abort)
        spared = spared or isinstance(call, Flush)  # KafkaProducer#flush looks at no state
        if self.state in (_S.ABORTABLE_ERROR, _S.FATAL_ERROR) and not spared:
            assert self.error is not None
            return self, (Return(build_failure(call, self.error, self.error.meaning)),)
        match call:
            case Flush():
                return self._block_call(call)
            case SendRecord():
                return self._send(call)
            case SendOffsets() if self.state is _S.IN_TRANSACTION:
                return self._block_call(call)
            case SendOffsets():
                return self, (return_illegal_state(call, f"no transaction in {self.state}"),)
        target = UNDER_WAY.get(type(call))
        if target is None:
            return self, (return_illegal_state(call, "a producer has no such call"),)
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
                new, effects = introduce(new)
                return new, (*timer, *effects)
            case Abort():
                new = drop_unsent(new)
        return new._block_call(call)

    def _repeat_call(self, call: ProducerCall, overdue: Outcome) -> tuple[Producer, Effects]:
        """After a call that timed out only the same call is allowed."""
        if call != overdue.call:
            why = f"{overdue.call} timed out, call it again"
            return self, (return_illegal_state(call, why),)
        new = replace(self, overdue=None)
        if overdue.status != UNKNOWN:
            return new, (Return(overdue),)
        return new._block_call(call)

    def _handle_plain_call(self, call: ProducerCall) -> tuple[Producer, Effects]:
        """Without transactions there is only send and flush; the producer asks for its id
        when it first needs one."""
        match call:
            case SendRecord():
                new, timer = sending.append_record(self, call)
                new, effects = proceed(new)
                return new, (*timer, *effects, Return(build_success(call)))
            case Flush():
                return self._block_call(call)
        return self, (return_illegal_state(call, "a transactional call without transactional.id"),)

    def _block_call(self, call: ProducerCall) -> tuple[Producer, Effects]:
        """Wait until it can be done; a request that was given up is sent again."""
        new, timer = block_call(requests.unpark_request(self), call)
        new, again = requests.resend_request(new) if new.request is not self.request else (new, ())
        new, effects = proceed(new)
        return new, (*timer, *again, *effects)

    def _send(self, call: SendRecord) -> tuple[Producer, Effects]:
        if self.state is not _S.IN_TRANSACTION:
            why = f"no transaction in {self.state}"
            new, timer = sending.append_record(self, call, stray=True)
            return new, (*timer, return_illegal_state(call, why))
        new, timer = sending.append_record(self, call)
        if self.config.v2:
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
        partition, while a batch is under way there."""
        ends = self.request is not None and isinstance(self.request.body, EndTxn)
        for batch in self.flights if self.config.transactional else ():
            known = batch.partition in self.added and not ends
            assert known or batch.number < 0, (batch, self.added, self.request)

    def describe_changes(self, old: Producer | None) -> tuple[Text, ...]:
        """What nobody else would tell: an error it keeps for the next call, and an epoch
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
