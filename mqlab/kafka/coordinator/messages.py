"""What is asked of a transaction coordinator: all of it as one type, and the questions of an
administrator (KIP-664) in full.

The requests of producers are in `kafka/messages.py`: leaders and group coordinators send some
of them too.

Source: ListTransactionsRequest, DescribeTransactionsRequest and their responses (clients,
Kafka 4.3).
"""

from __future__ import annotations

from ...kernel import frozen, worded
from ..errors import Error
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    SendMarkers,
    braces,
)


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
