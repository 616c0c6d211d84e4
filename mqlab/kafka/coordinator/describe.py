"""Administration: what the coordinator reports of its transactions, a list of ids or one in full.

Sources: TransactionStateManager#listTransactionStates,
TransactionCoordinator#handleDescribeTransactions (Kafka 4.3).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import Error
from .entry import (
    DescribeTransactions,
    DescribeTransactionsResponse,
    Entry,
    Listed,
    ListTransactions,
    ListTransactionsResponse,
)

if TYPE_CHECKING:
    from . import Coordinator


def list_transactions(
    tc: Coordinator, ask: ListTransactions, at_ms: int
) -> ListTransactionsResponse:
    """Answer ListTransactions: the transactional ids that match all filters of the request (states,
    producer ids, age, a pattern for the id). An empty filter, or an age below 0, matches all."""
    try:
        matches_pattern = compile_pattern(ask.pattern).fullmatch if ask.pattern else None
    except ValueError:
        return ListTransactionsResponse(error=Error.INVALID_REGULAR_EXPRESSION)
    states, pids = frozenset(ask.states), frozenset(ask.pids)
    return ListTransactionsResponse(
        tuple(
            Listed(entry.txn_id, entry.pid, str(entry.state))
            for entry in tc.entries.values()
            if (not states or entry.state in states)
            and (not pids or entry.pid in pids)
            and (ask.running_ms < 0 or at_ms - entry.start_ms > ask.running_ms)
            and (matches_pattern is None or matches_pattern(entry.txn_id))
        )
    )


def compile_pattern(text: str) -> re.Pattern[str]:
    """A client's regular expression. Kafka's engine (RE2/J) takes time linear in the input;
    Python's does not, so repetition of a group, and what RE2 does not know, is refused.

    Raises ValueError for these, for what is no expression, and for more than 200 characters.
    """
    if len(text) > 200 or re.search(r"\)\s*[*+?{]|\(\?|\\[1-9]|[*+?}][*+?{]", text):
        raise ValueError(text)
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(text) from error


def describe_transaction(
    tc: Coordinator, ask: DescribeTransactions
) -> DescribeTransactionsResponse:
    """Answer DescribeTransactions: an id's state, its producer, and the partitions that still need
    a marker."""
    if not ask.txn_id:
        return DescribeTransactionsResponse(Error.INVALID_REQUEST)
    entry: Entry | None = tc.entries.get(ask.txn_id)
    if entry is None:
        return DescribeTransactionsResponse(Error.TRANSACTIONAL_ID_NOT_FOUND, ask.txn_id)
    # while markers are pending: those partitions only; the durable record still has all of them
    return DescribeTransactionsResponse(
        txn_id=entry.txn_id,
        state=str(entry.state),
        pid=entry.pid,
        epoch=entry.epoch,
        timeout_ms=entry.timeout_ms,
        start_ms=entry.start_ms,
        partitions=tc.owed.get(entry.txn_id, entry.partitions),
    )
