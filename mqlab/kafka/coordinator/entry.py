"""What the coordinator knows of one transactional id, and the record that keeps it.

Sources: TransactionMetadata, TransactionLogValue.json, TransactionLog (Kafka 4.3).
"""

from __future__ import annotations

from typing import Any

from ...kernel import Caller, Single, frozen, phrase, replace, worded
from ..errors import Error
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    Answer,
    EndTxn,
    InitProducerId,
    SendMarkers,
    braces,
)
from ..states import TxnState, may_enter

#: 32767 is never given to a client: it is kept for fencing and ending.
EXHAUSTED = 32_766
#: before a transactional id, the name of its timer
TIMEOUT = "timeout "


@frozen
class Entry:
    """One transactional id (TransactionMetadata).

    `last_epoch`: the epoch before the latest bump, -1 for none; never stored, so a KIP-360
    retry across a coordinator's death is refused. `prev_pid`: the producer id before the
    latest transition, mostly the same one; `next_pid`: what a rotation of exhausted epochs
    will give. `client_version`: 2 once a client that ends with
    EndTxn v5 has been seen in this transaction. `failed_fence`: a fence of version 0 could
    not be written, and `epoch` is raised for it already; never stored. Times in ms, -1 for
    none.
    """

    txn_id: str
    pid: int
    epoch: int
    state: TxnState = TxnState.EMPTY
    partitions: tuple[str, ...] = ()
    timeout_ms: int = 60_000
    start_ms: int = -1
    update_ms: int = -1
    last_epoch: int = -1
    prev_pid: int = -1
    next_pid: int = -1
    client_version: int = 0
    failed_fence: bool = False

    @property
    def exhausted(self) -> bool:
        return self.epoch >= EXHAUSTED

    def enter(self, state: TxnState, transaction_version: int, **more: Any) -> Entry:
        """This id in another state, with `more` of its fields changed: the only way to one. Raises
        ValueError where the table of `states.py` has no such transition
        (TransactionMetadata#prepareTransitionTo, which throws an IllegalStateException)."""
        if not may_enter(state, self.state, transaction_version):
            raise ValueError(f"{self.txn_id}: no transaction goes from {self.state} to {state}")
        return replace(self, state=state, **more)


@frozen
class StateRecord(Single):
    """A record of `__transaction_state`: the whole entry, the latest one a key counts
    (the topic is compacted); a Dead one is the tombstone of an expired id. `last_epoch` is
    not part of it."""

    base: int
    entry: Entry

    def __str__(self) -> str:
        e = self.entry
        if e.state is TxnState.DEAD:
            return phrase("tombstone of {}", e.txn_id)
        if e.state is TxnState.EMPTY:
            return f"Empty pid={e.pid} epoch={e.epoch}"
        return f"{e.state} {braces(e.partitions)}" if e.partitions else str(e.state)


def to_record(entry: Entry, base: int) -> StateRecord:
    """The record that makes an entry durable."""
    return StateRecord(base, replace(entry, last_epoch=-1, failed_fence=False))


@frozen
class Pending:
    """A transition whose record is being written: while there is one, everything else
    about this id is answered CONCURRENT_TRANSACTIONS. `caller` is answered with `answer`
    when the record is safe; None where no caller waits."""

    entry: Entry
    caller: Caller | None = None
    answer: Answer | None = None


# What is asked of a transaction coordinator: all of it as one type, and the questions of an
# administrator (KIP-664) in full.
#
# The requests of producers are in `kafka/messages.py`: leaders and group coordinators send some
# of them too.
#
# Source: ListTransactionsRequest, DescribeTransactionsRequest and their responses (clients,
# Kafka 4.3).


@worded("ListTransactions")
class ListTransactions:
    """To a coordinator. Empty filters let everything through, and so does a negative
    `running_ms`: open for longer than that; `pattern`: a regular expression for the id."""

    states: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    running_ms: int = -1
    pattern: str = ""


@worded("{txn_id} pid={pid} {state}")
class Listed:
    """One line of a list."""

    txn_id: str
    pid: int
    state: str


@frozen
class ListTransactionsResponse:
    transactions: tuple[Listed, ...] = ()
    error: Error = Error.NONE

    def __str__(self) -> str:
        return self.error.words if self.error else braces(tuple(map(str, self.transactions)))


@worded("DescribeTransactions {txn_id}")
class DescribeTransactions:
    """To a coordinator, about one id."""

    txn_id: str


@frozen
class DescribeTransactionsResponse:
    """`start_ms` -1 while nothing is open. Times in milliseconds."""

    error: Error = Error.NONE
    txn_id: str = ""
    state: str = ""
    pid: int = -1
    epoch: int = -1
    timeout_ms: int = -1
    start_ms: int = -1
    partitions: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.error:
            return self.error.words
        return f"{self.state} pid={self.pid} epoch={self.epoch} {braces(self.partitions)}"


#: what a coordinator takes; SendMarkers is its note to itself
CoordinatorRequest = (
    InitProducerId
    | AddPartitionsToTxn
    | AddOffsetsToTxn
    | EndTxn
    | ListTransactions
    | DescribeTransactions
    | SendMarkers
)
