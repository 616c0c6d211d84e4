"""The states of a transaction and of a transactional producer, as tables.

One table, three uses: roles check against it, views draw it, lessons teach it.
Sources: TransactionState#validPreviousStates (Kafka 4.3), TransactionManager.State.
"""

from __future__ import annotations

from enum import StrEnum


class TxnState(StrEnum):
    """A transaction at its coordinator. PrepareEpochFence is only ever a *pending* state
    and never written; Dead belongs to the expiry of ids."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


_S = TxnState

#: state → the states it may be entered from, with transaction.version 0.
PREVIOUS: dict[TxnState, frozenset[TxnState]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset({_S.ONGOING, _S.PREPARE_EPOCH_FENCE}),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}

#: with transaction.version 2 an abort may end a transaction the server never saw.
PREVIOUS_V2 = {
    **PREVIOUS,
    _S.PREPARE_ABORT: PREVIOUS[_S.PREPARE_ABORT]
    | {_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT},
}

PREPARED = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
COMPLETED = frozenset({_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})
#: the log knows these by number (TransactionState ids).
NUMBERS: dict[TxnState, int] = {state: i for i, state in enumerate(TxnState)}


def may_enter(new: TxnState, old: TxnState, transaction_version: int) -> bool:
    """Whether the table has this transition."""
    return old in (PREVIOUS_V2 if transaction_version >= 2 else PREVIOUS)[new]


class ProducerState(StrEnum):
    """The client's own state machine."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING = "COMMITTING_TRANSACTION"
    ABORTING = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


_P = ProducerState

#: state → the states it may be entered from (TransactionManager.State#isTransitionValid,
#: Kafka 4.3, without the prepared state of two-phase commit, which no broker offers yet).
#: INITIALIZING after an end is KIP-360's bump; UNINITIALIZED is entered by a producer without
#: transactions whose epochs are used up, and which therefore asks for a new id.
PRODUCER_PREVIOUS: dict[ProducerState, frozenset[ProducerState]] = {
    _P.UNINITIALIZED: frozenset({_P.READY, _P.ABORTABLE_ERROR}),
    _P.INITIALIZING: frozenset({_P.UNINITIALIZED, _P.COMMITTING, _P.ABORTING}),
    _P.READY: frozenset({_P.INITIALIZING, _P.COMMITTING, _P.ABORTING}),
    _P.IN_TRANSACTION: frozenset({_P.READY}),
    _P.COMMITTING: frozenset({_P.IN_TRANSACTION}),
    _P.ABORTING: frozenset({_P.IN_TRANSACTION, _P.ABORTABLE_ERROR}),
    _P.ABORTABLE_ERROR: frozenset(
        {_P.INITIALIZING, _P.IN_TRANSACTION, _P.COMMITTING, _P.ABORTABLE_ERROR}
    ),
    _P.FATAL_ERROR: frozenset(ProducerState),
}


def producer_may_enter(new: ProducerState, old: ProducerState) -> bool:
    """Whether the producer's table has this transition."""
    return old in PRODUCER_PREVIOUS[new]
