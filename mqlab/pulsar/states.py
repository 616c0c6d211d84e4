"""The states of a transaction, of a buffer, of a pending ack and of a client, as tables.

One table, three uses: roles check against it, views draw it, lessons teach it. Four parts keep a
state of their own, and only the first is what one calls the state of a transaction.
Sources: TxnStatus, TransactionUtil#canTransitionTo, TransactionMetadataStoreState,
TopicTransactionBufferState, PendingAckHandleState, Transaction.State (4.2).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class TxnStatus(StrEnum):
    """A transaction at its coordinator. There is neither an ERROR nor a TIME_OUT: those exist in
    the client only. After COMMITTED and ABORTED the coordinator forgets the transaction."""

    OPEN = "OPEN"
    COMMITTING = "COMMITTING"
    COMMITTED = "COMMITTED"
    ABORTING = "ABORTING"
    ABORTED = "ABORTED"


_S = TxnStatus

#: state → the states it may be entered from (TransactionUtil#canTransitionTo)
PREVIOUS: dict[TxnStatus, frozenset[TxnStatus]] = {
    _S.OPEN: frozenset({_S.OPEN}),
    _S.COMMITTING: frozenset({_S.OPEN, _S.COMMITTING}),
    _S.COMMITTED: frozenset({_S.COMMITTING, _S.COMMITTED}),
    _S.ABORTING: frozenset({_S.OPEN, _S.ABORTING}),
    _S.ABORTED: frozenset({_S.ABORTING, _S.ABORTED}),
}
ENDED = frozenset({_S.COMMITTED, _S.ABORTED})


def may_enter(new: TxnStatus, old: TxnStatus) -> bool:
    """Whether the table has this transition."""
    return old in PREVIOUS[new]


class TxnAction(StrEnum):
    """What END_TXN asks for."""

    COMMIT = "commit"
    ABORT = "abort"


#: action → (the state that says it is decided, the state that says it is done)
STATES_OF: dict[TxnAction, tuple[TxnStatus, TxnStatus]] = {
    TxnAction.COMMIT: (_S.COMMITTING, _S.COMMITTED),
    TxnAction.ABORT: (_S.ABORTING, _S.ABORTED),
}


class StoreState(StrEnum):
    """A coordinator's store (TransactionMetadataStoreState). It is opened by the first client
    that connects to it, and not by the start of its broker."""

    NONE = "None"
    INITIALIZING = "Initializing"
    READY = "Ready"


class BufferState(StrEnum):
    """A partition's transaction buffer (TopicTransactionBufferState.State)."""

    INITIALIZING = "Initializing"
    NO_SNAPSHOT = "NoSnapshot"
    FIRST_SNAPSHOTTING = "FirstSnapshotting"
    READY = "Ready"


#: the states in which a buffer knows how far one may read
RECOVERED = frozenset({BufferState.NO_SNAPSHOT, BufferState.READY})


class PendingAckState(StrEnum):
    """A subscription's pending acks (PendingAckHandleState.State). None until the first
    transaction acknowledges here."""

    NONE = "None"
    INITIALIZING = "Initializing"
    READY = "Ready"


class ClientTxnState(StrEnum):
    """A transaction as its client sees it (Transaction.State)."""

    OPEN = "OPEN"
    COMMITTING = "COMMITTING"
    ABORTING = "ABORTING"
    COMMITTED = "COMMITTED"
    ABORTED = "ABORTED"
    ERROR = "ERROR"
    TIME_OUT = "TIME_OUT"


_C = ClientTxnState

#: state → the states it may be entered from (TransactionImpl). A commit whose operations have
#: failed aborts instead: so COMMITTING → ABORTING.
CLIENT_PREVIOUS: dict[ClientTxnState, frozenset[ClientTxnState]] = {
    _C.OPEN: frozenset(),
    _C.COMMITTING: frozenset({_C.OPEN, _C.COMMITTING}),
    _C.ABORTING: frozenset({_C.OPEN, _C.COMMITTING, _C.ABORTING}),
    _C.COMMITTED: frozenset({_C.COMMITTING}),
    _C.ABORTED: frozenset({_C.ABORTING}),
    _C.ERROR: frozenset({_C.COMMITTING, _C.ABORTING}),
    _C.TIME_OUT: frozenset({_C.OPEN}),
}


class MarkerType(IntEnum):
    """`marker_type` of an entry's metadata. 20, TXN_COMMITTING, is defined and never written."""

    TXN_COMMIT = 21
    TXN_ABORT = 22


MARKER_OF: dict[TxnAction, MarkerType] = {
    TxnAction.COMMIT: MarkerType.TXN_COMMIT,
    TxnAction.ABORT: MarkerType.TXN_ABORT,
}


class AccessMode(StrEnum):
    """Whether a producer shares its topic (ProducerAccessMode)."""

    SHARED = "Shared"
    EXCLUSIVE = "Exclusive"
    WAIT_FOR_EXCLUSIVE = "WaitForExclusive"
    EXCLUSIVE_WITH_FENCING = "ExclusiveWithFencing"


class SubType(StrEnum):
    """How the consumers of one subscription share its messages."""

    EXCLUSIVE = "Exclusive"
    SHARED = "Shared"
    FAILOVER = "Failover"
    KEY_SHARED = "Key_Shared"


#: the types whose consumers acknowledge one by one only, and get single entries again
INDIVIDUAL = frozenset({SubType.SHARED, SubType.KEY_SHARED})


class AckType(StrEnum):
    INDIVIDUAL = "Individual"
    CUMULATIVE = "Cumulative"
