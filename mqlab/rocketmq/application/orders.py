"""The order service: a listener as one should be written, and one that says what it is told.

The first is the whole idea in seven lines. The local transaction writes the order's row; asked
later, the service looks the row up. What it answers stands in the database and nowhere else, so
any process of the group can be asked, and one that was killed in between gives the right answer
when it is back. No row is no proof that there will be none: the local transaction may still be
running, in another process. So the answer is UNKNOW, not ROLLBACK_MESSAGE, and the broker asks
again.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ...kernel import frozen
from ..states import LocalTransactionState
from .listener import Db, Finished

COMMIT, ROLLBACK, UNKNOW = LocalTransactionState
NULL, THROW = "null", "throw"
#: what a scripted listener can be told to do
ANSWERS = (*LocalTransactionState, NULL, THROW)


def execute(order: str, db: Db, memory: MutableMapping[str, Any]) -> LocalTransactionState:
    """executeLocalTransaction"""
    db.put(order, "paid")
    return COMMIT


def check(order_id: str, db: Db, memory: MutableMapping[str, Any]) -> LocalTransactionState:
    """checkLocalTransaction"""
    return UNKNOW if db.get(order_id) is None else COMMIT


@frozen
class Scripted:
    """A listener without a database, for scenarios about the protocol alone: what the local
    transaction comes to, and what each check is answered; the last answer is repeated."""

    execute: str = COMMIT
    checks: tuple[str, ...] = (UNKNOW,)

    def answer(self, times: int) -> Finished:
        """`times`: the number of the check, 0 for the local transaction."""
        what = self.execute if times == 0 else self.checks[min(times, len(self.checks)) - 1]
        if what == THROW:
            return Finished(UNKNOW, "RuntimeException")
        return Finished(None if what == NULL else LocalTransactionState(what))
