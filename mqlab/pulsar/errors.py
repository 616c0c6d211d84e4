"""The protocol's errors, and the exceptions that a Java client makes of them.

Sources: ServerError (PulsarApi.proto), BrokerServiceException#getClientErrorCode,
TransactionMetaStoreHandler#getExceptionByServerError, ClientCnx#getPulsarClientException (4.2).
"""

from __future__ import annotations

from enum import IntEnum


class ServerError(IntEnum):
    """The errors that a broker answers with, by their numbers on the wire. 0 there is UnknownError,
    which no role here answers with; here it is none."""

    NoError = 0
    MetadataError = 1
    PersistenceError = 2
    ConsumerBusy = 5
    ServiceNotReady = 6
    TopicNotFound = 11
    SubscriptionNotFound = 12
    ConsumerNotFound = 13
    ProducerBusy = 16
    InvalidTopicName = 17
    IncompatibleSchema = 18
    TransactionCoordinatorNotFound = 20
    InvalidTxnStatus = 21
    NotAllowedError = 22
    TransactionConflict = 23
    TransactionNotFound = 24
    ProducerFenced = 25


#: what a client throws; the coordinator's absence it does not: it connects and asks again
EXCEPTION_OF: dict[ServerError, str] = {
    ServerError.TransactionCoordinatorNotFound: "CoordinatorNotFoundException",
    ServerError.InvalidTxnStatus: "InvalidTxnStatusException",
    ServerError.NotAllowedError: "NotAllowedException",
    ServerError.TransactionConflict: "TransactionConflictException",
    ServerError.TransactionNotFound: "TransactionNotFoundException",
    ServerError.PersistenceError: "BrokerPersistenceException",
    ServerError.ConsumerBusy: "ConsumerBusyException",
    ServerError.ProducerBusy: "ProducerBusyException",
    ServerError.ProducerFenced: "ProducerFencedException",
    ServerError.TopicNotFound: "TopicDoesNotExistException",
}
#: exceptions that never were an answer: the client makes them itself
OPERATION_FAILED = "TransactionHasOperationFailedException"
INVALID_CONFIGURATION = "InvalidConfigurationException"
TIMEOUT = "TimeoutException"
#: what enableTransaction(true) comes to where transactionCoordinatorEnabled is false
NO_COORDINATOR = "TransactionCoordinatorClientException"


def name_exception(error: ServerError) -> str:
    """The exception's class, without its package."""
    return EXCEPTION_OF.get(error, f"{error.name}Exception")
