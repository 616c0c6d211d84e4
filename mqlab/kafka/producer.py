"""The transactional producer: the client's own state machine.

A producer numbers its batches partition by partition, keeps up to five of them under way
and sends each again until it is answered: that is safe because the leader recognises what
it has seen. A transaction is a bracket around such batches; `begin` opens it and tells
nobody. *The server's* transaction starts with the first partition that is added.

Two clients are played here. `legacy` (librdkafka, so confluent-kafka; Java before 4.0):
AddPartitionsToTxn before the first batch to a partition, its epoch stays. `v2` (Java 4.x):
the first Produce adds the partition by itself, and every end gives a new epoch, at which
the sequence numbers begin again at 0.

*What can go wrong.* An answer may be lost: everything here may be sent twice. An error is
*retriable* (the same request again, after a pause), *abortable* (only `abort` is allowed
now) or *fatal* (only a new producer helps). Nothing a producer holds is durable.

*Left out:* batching by size, compression, delivery timeouts, KIP-360's bump by the client.
Read on in TransactionManager, Sender (clients, Kafka 4.3).
"""

from __future__ import annotations

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
from ..storage import Batch, next_sequence
from .calls import (
    Abort,
    Begin,
    Commit,
    Flush,
    Init,
    Outcome,
    SendOffsets,
    SendRecord,
    failed,
    succeeded,
)
from .config import KafkaConfig, offsets_log
from .errors import Error
from .messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    OffsetCommitResponse,
    Produce,
    ProduceResponse,
    TxnOffsetCommit,
)
from .states import ProducerState

RETRY = "retry"
MAX_IN_FLIGHT = 5
RETRIABLE = frozenset(
    {
        Error.CONCURRENT_TRANSACTIONS,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_LEADER_OR_FOLLOWER,
    }
)
ABORTABLE = frozenset(
    {
        Error.TRANSACTION_ABORTABLE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Error.UNKNOWN_MEMBER_ID,
        Error.ILLEGAL_GENERATION,
        Error.FENCED_INSTANCE_ID,
    }
)
_S = ProducerState


@dataclass(frozen=True, slots=True)
class ProducerConfig(Config):
    """`txn_id` None: no transactions. `idempotent` False: no sequence numbers either."""

    cluster: KafkaConfig = KafkaConfig()
    txn_id: str | None = None
    client: str = "v2"
    idempotent: bool = True
    timeout_ms: int = 60_000
    retry_ms: int = 100

    @property
    def v2(self) -> bool:
        return self.client == "v2"


@dataclass(frozen=True, slots=True)
class Flight:
    """A batch that is not yet answered. `sent` False: it waits for its partition to be
    added, for a place among five or (`paused`) for the retry timer."""

    partition: str
    number: int
    batch: Batch
    sent: bool = True
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """The one request to a coordinator that is under way; `sent` False: it waits for the
    retry timer."""

    to: str
    body: object
    sent: bool = True


@dataclass(frozen=True, slots=True)
class Producer(Quiet):
    """`call`: the blocking call that has not returned; `added`: partitions of this
    transaction that the coordinator knows, or (v2) that were written to."""

    config: ProducerConfig
    state: ProducerState = _S.UNINITIALIZED
    pid: int = -1
    epoch: int = -1
    sequences: Map[str, int] = Map()
    added: tuple[str, ...] = ()
    flights: tuple[Flight, ...] = ()
    asked: Asked | None = None
    call: object = None
    error: Error = Error.NONE

    def step(self, event: Event, disk: Disk) -> tuple[Producer, Effects]:
        match event:
            case Call(body=body):
                return self._called(body)
            case Response(peer=peer, corr=corr, body=ProduceResponse() as said):
                return self._produced(peer, corr, said)
            case Response(body=body) if self.asked is not None:
                return self._told(body)
            case ConnectionLost(peer=peer):
                return self._again(peer)
            case Fired(timer=timer) if timer == RETRY:
                return self._again(None)
        # An answer nobody waits for any more.
        return self, ()

    # -- calls ---------------------------------------------------------------------------

    def _called(self, call: object) -> tuple[Producer, Effects]:
        if self.state is _S.FATAL_ERROR:
            return self, (Return(failed(call, self.error)),)
        if self.state is _S.ABORTABLE_ERROR and not isinstance(call, Abort):
            return self, (Return(failed(call, self.error)),)
        match call:
            case Init() if self.state is _S.UNINITIALIZED:
                ask = InitProducerId(self.config.txn_id, self.config.timeout_ms)
                new = replace(self, state=_S.INITIALIZING, call=call)
                return new._ask(self.config.cluster.coordinator, ask)
            case Begin() if self.state is _S.READY and self.config.txn_id is not None:
                return replace(self, state=_S.IN_TRANSACTION), (Return(succeeded(call)),)
            case SendRecord() if self._may_send():
                return self._send(call)
            case SendOffsets() if self.state is _S.IN_TRANSACTION:
                return self._send_offsets(call)
            case Flush():
                return replace(self, call=call)._proceed()
            case Commit() if self.state is _S.IN_TRANSACTION:
                return replace(self, state=_S.COMMITTING, call=call)._proceed()
            case Abort() if self.state in (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR):
                # What has not left yet will never leave.
                flights = tuple(f for f in self.flights if f.sent)
                new = replace(self, state=_S.ABORTING, call=call, flights=flights)
                return new._proceed()
        return self, (Return(failed(call, f"IllegalState {self.state}")),)

    def _may_send(self) -> bool:
        if self.config.txn_id is not None:
            return self.state is _S.IN_TRANSACTION
        return not self.config.idempotent or self.state is _S.READY

    def _send(self, call: SendRecord) -> tuple[Producer, Effects]:
        """A batch of one record; the call returns at once."""
        number = self.sequences.get(call.partition, 0)
        batch = Batch((call.value,))
        if self.config.idempotent:
            transactional = self.config.txn_id is not None
            batch = Batch((call.value,), 1, -1, self.pid, self.epoch, number, transactional)
        flight = Flight(call.partition, number, batch, sent=False)
        sequences = self.sequences.set(call.partition, next_sequence(number))
        new, effects = replace(self, sequences=sequences, flights=(*self.flights, flight))._fly()
        return new, (*effects, Return(succeeded(call)))

    def _fly(self) -> tuple[Producer, Effects]:
        """Send what may leave: its partition is added, and five are not under way yet."""
        legacy = self.config.txn_id is not None and not self.config.v2
        flights, effects = list(self.flights), []
        under_way = sum(f.sent for f in flights)
        missing: list[str] = []
        for i, flight in enumerate(flights):
            if flight.sent or flight.paused or under_way >= MAX_IN_FLIGHT:
                continue
            if legacy and flight.partition not in self.added:
                missing.append(flight.partition)
                continue
            flights[i] = replace(flight, sent=True)
            under_way += 1
            effects.append(self._produce(flight))
        new = replace(self, flights=tuple(flights))
        if not legacy:
            written = {f.partition for f in flights if f.sent}
            new = replace(new, added=tuple(sorted({*self.added, *written})))
        if missing and self.asked is None and self.config.txn_id is not None:
            ask = AddPartitionsToTxn(
                self.config.txn_id, self.pid, self.epoch, tuple(sorted(set(missing)))
            )
            new, more = new._ask(self.config.cluster.coordinator, ask)
            return new, (*effects, *more)
        return new, tuple(effects)

    def _produce(self, flight: Flight) -> Send:
        version = 12 if self.config.v2 else 11
        return Send(
            flight.partition, Produce(flight.batch, self.config.txn_id, version), flight.number
        )

    def _send_offsets(self, call: SendOffsets) -> tuple[Producer, Effects]:
        """legacy: first the partition of `__consumer_offsets` joins the transaction."""
        assert self.config.txn_id is not None
        where = offsets_log(call.group, self.config.cluster)
        new = replace(self, call=call)
        if not self.config.v2 and where not in self.added:
            ask = AddOffsetsToTxn(self.config.txn_id, self.pid, self.epoch, call.group)
            return new._ask(self.config.cluster.coordinator, ask)
        return new._commit_offsets(call)

    def _commit_offsets(self, call: SendOffsets) -> tuple[Producer, Effects]:
        assert self.config.txn_id is not None
        where = offsets_log(call.group, self.config.cluster)
        ask = TxnOffsetCommit(
            self.config.txn_id,
            call.group,
            self.pid,
            self.epoch,
            call.positions,
            call.member,
            call.generation,
            version=5 if self.config.v2 else 3,
        )
        new = replace(self, added=tuple(sorted({*self.added, where})))
        return new._ask(where, ask)

    def _proceed(self) -> tuple[Producer, Effects]:
        """A call that waits for the batches under way: can it go on?"""
        if self.flights or self.asked is not None:
            return self._fly()
        match self.call:
            case Flush():
                return self._return(succeeded(self.call))
            case Commit() | Abort() if not self.added:
                # Nothing was sent, so the server knows of no transaction: no request.
                return replace(self, state=_S.READY, error=Error.NONE)._return(succeeded(self.call))
            case Commit() | Abort():
                assert self.config.txn_id is not None
                commit = isinstance(self.call, Commit)
                ask = EndTxn(self.config.txn_id, self.pid, self.epoch, commit, self.config.v2)
                return self._ask(self.config.cluster.coordinator, ask)
        return self, ()

    # -- requests and answers ------------------------------------------------------------

    def _ask(self, to: str, body: object) -> tuple[Producer, Effects]:
        return replace(self, asked=Asked(to, body)), (Send(to, body),)

    def _return(self, outcome: Outcome) -> tuple[Producer, Effects]:
        return replace(self, call=None), (Return(outcome),)

    def _retry_later(self) -> SetTimer:
        return SetTimer(RETRY, self.config.retry_ms)

    def _told(self, said: object) -> tuple[Producer, Effects]:
        """The answer to the request under way at a coordinator."""
        assert self.asked is not None
        error: Error = getattr(said, "error", Error.NONE)
        if error in RETRIABLE:
            waiting = replace(self, asked=replace(self.asked, sent=False))
            return waiting, (self._retry_later(),)
        question = self.asked.body
        new = replace(self, asked=None)
        if error:
            return new._refused(error)
        match said:
            case InitProducerIdResponse(pid=pid, epoch=epoch):
                new = replace(new, state=_S.READY, pid=pid, epoch=epoch, sequences=Map())
                return new._return(succeeded(self.call))
            case AddPartitionsToTxnResponse():
                return new._added(question)
            case OffsetCommitResponse():
                return new._return(succeeded(self.call))
            case EndTxnResponse(pid=pid, epoch=epoch):
                new = replace(new, state=_S.READY, added=(), error=Error.NONE)
                if self.config.v2 and epoch >= 0:
                    new = replace(new, pid=pid, epoch=epoch, sequences=Map())
                return new._return(succeeded(self.call))
        return new, ()

    def _added(self, question: object) -> tuple[Producer, Effects]:
        match question:
            case AddPartitionsToTxn(partitions=partitions):
                new = replace(self, added=tuple(sorted({*self.added, *partitions})))
                return new._fly()
            case AddOffsetsToTxn() if isinstance(self.call, SendOffsets):
                return self._commit_offsets(self.call)
        return self, ()

    def _refused(self, error: Error) -> tuple[Producer, Effects]:
        """An error that asking again cannot mend."""
        state = _S.ABORTABLE_ERROR if error in ABORTABLE else _S.FATAL_ERROR
        if self.state is _S.INITIALIZING and error not in ABORTABLE:
            state = _S.FATAL_ERROR
        new = replace(self, state=state, error=error, flights=())
        if self.call is None:
            return new, ()
        return new._return(failed(self.call, error))

    def _produced(
        self, partition: str, number: int, said: ProduceResponse
    ) -> tuple[Producer, Effects]:
        mine = [f for f in self.flights if (f.partition, f.number) == (partition, number)]
        if not mine:
            return self, ()
        flight = mine[0]
        others = tuple(f for f in self.flights if f is not flight)
        first = next(f for f in self.flights if f.partition == partition)
        # Out of order may only mean that an earlier one is still being sent again.
        early = said.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER and flight is not first
        if said.error in RETRIABLE or early:
            paused = replace(flight, sent=False, paused=True)
            waiting = tuple(paused if f is flight else f for f in self.flights)
            return replace(self, flights=waiting), (self._retry_later(),)
        new = replace(self, flights=others)
        if not said.error:
            return new._proceed() if self.call is not None else new._fly()
        if self.state is _S.ABORTING:
            return new._proceed()
        if self.config.txn_id is None:
            return replace(new, error=said.error)._proceed()
        abortable = said.error in ABORTABLE or (
            said.error is Error.INVALID_PRODUCER_EPOCH and self.config.v2
        )
        state = _S.ABORTABLE_ERROR if abortable else _S.FATAL_ERROR
        new = replace(new, state=state, error=said.error)
        if self.call is None:
            return new, ()
        return new._return(failed(self.call, said.error))

    def _again(self, peer: str | None) -> tuple[Producer, Effects]:
        """Send again: all that `peer` has not answered (its connection broke), or all that
        waited for the retry timer (None)."""
        effects: list[Send | SetTimer] = []
        new = self
        ask = self.asked
        if ask is not None and (ask.to == peer if peer else not ask.sent):
            new = replace(new, asked=replace(ask, sent=True))
            effects.append(Send(ask.to, ask.body))
        flights = []
        for flight in self.flights:
            if flight.sent and flight.partition == peer if peer else flight.paused:
                effects.append(self._produce(flight))
                flight = replace(flight, sent=True, paused=False)
            flights.append(flight)
        return replace(new, flights=tuple(flights)), tuple(effects)
