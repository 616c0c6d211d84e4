"""Batches in flight, and what else a producer's functions take and give: how a partition is
numbered, the one question that is open at a coordinator, the call that blocks, the configuration,
what each error means, the error states."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from ....kernel import (
    FAILED,
    OK,
    UNKNOWN,
    CancelTimer,
    Config,
    Effects,
    Outcome,
    Return,
    SetTimer,
    frozen,
    worded,
)
from ...config import KafkaConfig
from ...errors import Error
from ...log import Batch
from ...messages import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, TxnOffsetCommit
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

if TYPE_CHECKING:
    from . import Producer


# ---- What the application hears: a call that blocks has begun, and returns in the end
#
# A call may return before it is known what became of it (`max.block.ms`, or no tries are
# left). Its request stays open, and what it brings later is kept for the same call,
# made again.
#
# Sources: KafkaProducer#commitTransaction, TransactionalRequestResult (clients, Kafka 4.3).

Result = tuple["Producer", Effects]
#: what an application may call; Flush looks at no state
ProducerCall = (
    Init | ReinitProducerId | ResumeTransaction | Begin | SendRecord | SendOffsets | Flush
    | Commit | Abort
)  # fmt: skip
MAX_BLOCK = "max.block"


def block_call(p: Producer, call: ProducerCall) -> Result:
    """A call has begun that returns later."""
    p = replace(p, call=call)
    if not p.config.max_block_ms or isinstance(call, Flush):
        return p, ()
    return p, (SetTimer(MAX_BLOCK, p.config.max_block_ms),)


def return_call(p: Producer, status: str = OK, detail: str = "", meaning: object = None) -> Result:
    """The blocking call, or one that has stopped waiting, has come to its end."""
    if p.call is None:
        over = p.timed_out and Outcome(p.timed_out.call, status, detail, meaning)
        return replace(p, timed_out=over), ()
    timed = p.config.max_block_ms and not isinstance(p.call, Flush)
    quiet = (CancelTimer(MAX_BLOCK),) if timed else ()
    outcome = Outcome(p.call, status, detail, meaning)
    return replace(p, call=None), (*quiet, Return(outcome))


def give_up_call(p: Producer) -> Result:
    """No answer, and no more waiting for one: it may have been done, or not. The request
    stays open; only the same call again can find out (or a new producer, which fences)."""
    call = p.call
    if call is None:
        return p, ()
    p, effects = return_call(p, UNKNOWN, "TimeoutException")
    if isinstance(call, Init | Commit | Abort):
        p = replace(p, timed_out=Outcome(call, UNKNOWN))
    return p, effects


#: what a producer asks coordinators
CoordinatorQuestion = (
    InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | EndTxn | TxnOffsetCommit
)
DELIVERY = "delivery "
RETRY = "retry"  # the timer of everything that waits before it is sent again


@frozen
class Line:
    """How a partition is being written: under which id and epoch, and the next sequence
    number. All batches of a partition that are in flight form one queue (TxnPartitionEntry).
    """

    pid: int
    epoch: int
    next: int = 0

    @property
    def number(self) -> int:
        """A number for the request of the next batch, different in every epoch, so that a
        late answer to an older one is not taken for its."""
        return number_of(self.epoch, self.next)


def number_of(epoch: int, sequence: int) -> int:
    return max(epoch, 0) << 31 | sequence


@frozen
class Flight:
    """A batch that is not answered yet (ProducerBatch).

    `number` -1: it has no sequence number, for it never left, or must be numbered again; else
    the number of its last request. `sent`: it is with the leader now. `paused`: it waits for
    the retry timer. `tries`: how often it was sent again, counted where that is bounded.
    `stray`: the application sent it outside of a transaction and this was reported to it;
    nevertheless it is here, and leaves with the next transaction that writes to its partition.
    """

    partition: str
    batch: Batch
    number: int = -1
    sent: bool = False
    paused: bool = False
    tries: int = 0
    stray: bool = False

    @property
    def owner(self) -> tuple[int, int]:
        return self.batch.pid, self.batch.epoch

    @property
    def timer(self) -> str:
        """Its delivery timeout; two batches of the same words share one."""
        return f"{DELIVERY}{self.partition} {'|'.join(self.batch.records)}"

    @property
    def is_renumbered(self) -> bool:
        """Whether its sequence number is another than the one it was last sent with."""
        return self.number != number_of(self.batch.epoch, self.batch.first_seq)


@frozen
class TxnRequest:
    """The one request to a coordinator that is in flight (TxnRequestHandler). `sent` False:
    it waits for the retry timer, or (`parked`) for the application to call again. `then`:
    the offsets to commit once the group's partition is in the transaction."""

    to: str
    body: CoordinatorQuestion
    sent: bool = True
    parked: bool = False
    tries: int = 0
    then: SendOffsets | None = None


# ---- How a producer is configured, and what the Java client refuses to be configured as

#: leaders remember this many batches of a producer (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)
SAFE_IN_FLIGHT = 5


class ConfigException(ValueError):
    """A configuration that the Java client (4.x) refuses when it is constructed."""


@frozen
class ProducerConfig(Config):
    """`txn_id` None: no transactions. `idempotent` False: no sequence numbers either.
    `client`: "v2" (Java 4.x) or "legacy" (librdkafka).

    `max_in_flight`: unanswered batches a connection. `retries`: how often one request may be
    sent again; None, Java's default, is as good as for ever. `delivery_timeout_ms`: after
    which a batch that was sent is given up; `max_block_ms`: after which a blocking call
    returns without an answer; 0 for never, which keeps both out of searches (Kafka: 120,000
    and 60,000). `checked` False builds even what Java refuses, to see what would happen.

    Sources: ProducerConfig#postProcessAndValidateIdempotenceConfigs (Kafka 4.3).
    """

    cluster: KafkaConfig = KafkaConfig()
    txn_id: str | None = None
    client: str = "v2"
    idempotent: bool = True
    timeout_ms: int = 60_000
    retry_ms: int = 100
    max_in_flight: int = SAFE_IN_FLIGHT
    retries: int | None = None
    delivery_timeout_ms: int = 0
    max_block_ms: int = 0
    checked: bool = True

    def __post_init__(self) -> None:
        """Refuse, with a ConfigException, the settings that the Java producer refuses when it is
        constructed; `checked` False skips those that only endanger idempotence."""
        if self.max_in_flight < 1:
            raise ConfigException(f"max_in_flight={self.max_in_flight}: at least 1 is needed")
        if self.txn_id is not None and not self.idempotent:
            raise ConfigException("a transactional.id needs idempotence; leave idempotence on")
        if not (self.checked and self.idempotent):
            return
        if self.max_in_flight > SAFE_IN_FLIGHT:
            raise ConfigException(
                f"max_in_flight={self.max_in_flight}: an idempotent producer has at most "
                f"{SAFE_IN_FLIGHT}; with config_check=off it is built nevertheless"
            )
        if self.retries == 0:
            raise ConfigException(
                "retries=0: an idempotent producer must be allowed to send again; "
                "with config_check=off it is built nevertheless"
            )

    @property
    def is_java_client(self) -> bool:
        return self.client == "v2"

    @property
    def transactional(self) -> bool:
        return self.txn_id is not None


# ---- What an error means to a producer: send again, abort, or give up for good -------
#
# An error is *retriable* (the same request again, after a pause), *abortable* (only `abort` is
# allowed now, then life goes on) or *fatal* (only a new producer helps). The same code may mean
# different things: from the coordinator INVALID_PRODUCER_EPOCH is fatal, "you are fenced"; from
# a partition leader it is abortable for a Java client, which learns by its abort whether it is
# fenced (KIP-588), and fatal for librdkafka.
#
# Sources: TransactionManager's …Handler#handleResponse, #maybeTransitionToErrorState, and the
# exceptions of org.apache.kafka.common.errors (clients, Kafka 4.3).


class Kind(StrEnum):
    RETRIABLE = "retriable"
    ABORTABLE = "abortable"
    FATAL = "fatal"


#: what a call means that the client refuses by itself
ILLEGAL_STATE = "IllegalStateException"


@worded("{exception}, {kind}")
class Trouble:
    """An error as the application meets it: the exception's name, and what is left to do.
    `unknown`: whether the thing happened nevertheless cannot be known. `bump`: with a legacy
    client the epoch must be raised before it may go on (KIP-360). `own`: no broker has said it, the
    client's own state does not allow what was to be done."""

    exception: str
    kind: Kind = Kind.ABORTABLE
    unknown: bool = False
    bump: bool = False
    own: bool = False

    @property
    def meaning(self) -> str:
        """What an outcome says of it to programs."""
        return ILLEGAL_STATE if self.own else self.kind


_E = Error

#: errors whose Java exception is a RetriableException
RETRIABLE = frozenset(
    {
        _E.CONCURRENT_TRANSACTIONS,
        _E.COORDINATOR_LOAD_IN_PROGRESS,
        _E.COORDINATOR_NOT_AVAILABLE,
        _E.CORRUPT_MESSAGE,
        _E.NOT_COORDINATOR,
        _E.NOT_ENOUGH_REPLICAS,
        _E.NOT_LEADER_OR_FOLLOWER,
        _E.UNKNOWN_TOPIC_OR_PARTITION,
    }
)

#: exceptions that are not simply called as their error is
NAMES = {
    _E.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    _E.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    _E.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    _E.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    _E.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    _E.UNKNOWN_SERVER_ERROR: "UnknownServerException",
}


def name_exception(error: Error) -> str:
    """The Java class of an error: ILLEGAL_GENERATION is an IllegalGenerationException."""
    words = "".join(word.capitalize() for word in error.name.split("_"))
    return NAMES.get(error, words + "Exception")


FENCED = Trouble("ProducerFencedException", Kind.FATAL)

#: what every request to the transaction coordinator may be answered
COORDINATOR = {
    _E.PRODUCER_FENCED: FENCED,
    _E.INVALID_PRODUCER_EPOCH: FENCED,
    _E.INVALID_TXN_STATE: Trouble("InvalidTxnStateException", Kind.FATAL),
    _E.INVALID_PRODUCER_ID_MAPPING: Trouble("InvalidPidMappingException", Kind.FATAL),
    _E.UNKNOWN_PRODUCER_ID: Trouble("UnknownProducerIdException", bump=True),
    _E.TRANSACTION_ABORTABLE: Trouble("TransactionAbortableException"),
}

#: request → (what its errors mean, what any other error means)
ANSWERS: dict[type, tuple[dict[Error, Trouble], Kind]] = {
    InitProducerId: (
        {e: COORDINATOR[e] for e in (_E.PRODUCER_FENCED, _E.INVALID_PRODUCER_EPOCH)}
        | {_E.TRANSACTION_ABORTABLE: COORDINATOR[_E.TRANSACTION_ABORTABLE]},
        Kind.FATAL,
    ),
    AddPartitionsToTxn: (COORDINATOR, Kind.ABORTABLE),
    AddOffsetsToTxn: (COORDINATOR, Kind.FATAL),
    EndTxn: (COORDINATOR, Kind.FATAL),
    TxnOffsetCommit: (
        {
            _E.PRODUCER_FENCED: FENCED,
            _E.INVALID_PRODUCER_EPOCH: FENCED,
            _E.TRANSACTION_ABORTABLE: COORDINATOR[_E.TRANSACTION_ABORTABLE],
            _E.FENCED_INSTANCE_ID: Trouble("FencedInstanceIdException"),
            _E.UNKNOWN_MEMBER_ID: Trouble("CommitFailedException (UNKNOWN_MEMBER_ID)"),
            _E.ILLEGAL_GENERATION: Trouble("CommitFailedException (ILLEGAL_GENERATION)"),
        },
        Kind.FATAL,
    ),
}


def judge_coordinator_error(request: CoordinatorQuestion, error: Error) -> Trouble:
    """What a coordinator's error means to the one who sent `request`."""
    known, otherwise = ANSWERS[type(request)]
    if error in RETRIABLE:
        return Trouble(name_exception(error), Kind.RETRIABLE)
    trouble = known.get(error) or Trouble(f"KafkaException ({error.name})", otherwise)
    if trouble.kind is Kind.ABORTABLE and isinstance(request, EndTxn) and not request.commit:
        # Even the abort is refused: there is nothing left to try.
        return Trouble(f"KafkaException ({error.name})", Kind.FATAL)
    return trouble


def judge_leader_error(error: Error, is_java_client: bool) -> Trouble:
    """What a leader's error means to a transactional producer once it is not retried."""
    if error is Error.PRODUCER_FENCED or (
        error is Error.INVALID_PRODUCER_EPOCH and not is_java_client
    ):
        return FENCED
    if error in (Error.INVALID_PRODUCER_ID_MAPPING, Error.UNSUPPORTED_VERSION):
        return Trouble(name_exception(error), Kind.FATAL)
    if error in RETRIABLE or error is Error.INVALID_TXN_STATE:
        # Not "retry": the client has done that, and the application must not do it again.
        return Trouble("TransactionAbortableException", bump=True)
    return Trouble(name_exception(error), bump=True)


# ---- Entering an error state: only an abort is left, or nothing at all ---------------
#
# Source: TransactionManager#transitionToAbortableError, #transitionToFatalError (clients,
# Kafka 4.3).

_S = ProducerState


def enter_abortable_error(p: Producer, trouble: Trouble) -> Result:
    """Only an abort is left. What was not sent yet never will be."""
    if p.state is _S.ABORTING:
        return p, ()
    if not producer_may_enter(_S.ABORTABLE_ERROR, p.state):
        # A stray record was given up between transactions: the client poisons itself.
        why = f"{ILLEGAL_STATE}: {p.state} → {_S.ABORTABLE_ERROR}"
        return enter_fatal_error(p, Trouble(why, Kind.FATAL, own=True))
    p = replace(p.enter(_S.ABORTABLE_ERROR), error=trouble)
    p = drop_unsent(p)
    if p.request is not None and not p.request.sent:
        p = replace(p, request=None)
    return return_call(p, FAILED, str(trouble), trouble.meaning)


def drop_unsent(p: Producer) -> Producer:
    """Batches that never left are forgotten."""
    return replace(p, flights=tuple(f for f in p.flights if f.number >= 0))


def enter_fatal_error(p: Producer, trouble: Trouble) -> Result:
    """Every call fails from now on; only a new producer helps."""
    p = replace(p.enter(_S.FATAL_ERROR), error=trouble, flights=(), request=None)
    return return_call(p, FAILED, str(trouble), trouble.meaning)
