"""Administration: what a coordinator may be asked, as the REST interface answers it.

Two names mislead: `timeout_ms` of a transaction is called timeoutAt and is a duration, and
slowTransactions gives those whose *configured* timeout is longer than the time that was asked for,
however long they have run.

Source: TransactionsBase#getTransactionMetadata, #getSlowTransactionsByCoordinatorId,
#getCoordinatorStats (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ServerError
from ..messages import Described, GetCoordinatorStats, GetSlowTransactions, GetTransactionMetadata

if TYPE_CHECKING:
    from . import Coordinator
    from .meta import TxnMeta


def answer(tc: Coordinator, body: Any) -> Described:
    match body:
        case GetTransactionMetadata(txn=txn):
            meta = tc.txns.get(txn)
            if meta is None:
                return Described(ServerError.TransactionNotFound)
            return Described(facts=_describe(meta))
        case GetSlowTransactions(timeout_ms=timeout_ms):
            slow = [str(m.txn) for m in tc.txns.values() if m.timeout_ms > timeout_ms]
            return Described(facts=(("transactions", "{" + ", ".join(slow) + "}"),))
        case GetCoordinatorStats():
            facts = {
                "state": tc.state,
                "leastSigBits": tc.sequence,
                "lowWaterMark": tc.low_watermark,
                "ongoingTxnSize": len(tc.txns),
            }
            return Described(facts=tuple((name, str(value)) for name, value in facts.items()))
    raise TypeError(f"a coordinator is never sent {type(body).__name__}")


def _describe(meta: TxnMeta) -> tuple[tuple[str, str], ...]:
    produced = ", ".join(meta.partitions)
    acked = ", ".join(f"{partition}/{name}" for partition, name in meta.subscriptions)
    return (
        ("status", str(meta.status)),
        ("timeoutAt", str(meta.timeout_ms)),
        ("producedPartitions", f"{{{produced}}}"),
        ("ackedPartitions", f"{{{acked}}}"),
    )
