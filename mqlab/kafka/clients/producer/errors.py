"""What an error means to a producer: send again, abort, or give up for good.

An error is *retriable* (the same request again, after a pause), *abortable* (only `abort` is
allowed now, then life goes on) or *fatal* (only a new producer helps). The same code may mean
different things: from the coordinator INVALID_PRODUCER_EPOCH is fatal, "you are fenced"; from
a partition leader it is abortable for a Java client, whose abort will be told for certain
(KIP-588), and fatal for librdkafka.

Sources: TransactionManager's …Handler#handleResponse, #maybeTransitionToErrorState, and the
exceptions of org.apache.kafka.common.errors (clients, Kafka 4.3).
"""

from __future__ import annotations

from enum import StrEnum

from ....kernel import worded
from ...errors import Error
from ...messages import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, TxnOffsetCommit
from .flight import CoordinatorQuestion


class Kind(StrEnum):
    RETRIABLE = "retriable"
    ABORTABLE = "abortable"
    FATAL = "fatal"


#: what a call means that the client refuses by itself
ILLEGAL_STATE = "IllegalStateException"


@worded("{exception}, {kind}")
class Trouble:
    """An error as the application meets it: the exception's name, and what is left to do.
    `unknown`: whether the thing happened nevertheless cannot be told. `bump`: with a legacy
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

#: what every request to the transaction coordinator may be told
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


def judge_leader_error(error: Error, v2: bool) -> Trouble:
    """What a leader's error means to a transactional producer once it is not retried."""
    if error is Error.PRODUCER_FENCED or (error is Error.INVALID_PRODUCER_EPOCH and not v2):
        return FENCED
    if error in (Error.INVALID_PRODUCER_ID_MAPPING, Error.UNSUPPORTED_VERSION):
        return Trouble(name_exception(error), Kind.FATAL)
    if error in RETRIABLE or error is Error.INVALID_TXN_STATE:
        # Not "retry": the client has done that, and the application must not do it again.
        return Trouble("TransactionAbortableException", bump=True)
    return Trouble(name_exception(error), bump=True)
