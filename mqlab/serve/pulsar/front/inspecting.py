"""What an administrator is told of a topic or a coordinator, read off the role as it stands.

Source: PersistentTopic#getInternalStats, TransactionsBase, PersistentTopicsBase#
generateResponseWithEntry (4.2): the fields that say something of transactions.
"""

from __future__ import annotations

from typing import Any

from ....kernel import Disk
from ....pulsar.config import TRANSACTION_CURSOR, name_transaction_log
from ....pulsar.coordinator import Coordinator
from ....pulsar.ledger import Cursor
from ....pulsar.messages import (
    AckPosition,
    Described,
    GetBufferStats,
    GetPendingAckStats,
    GetPositionStats,
    GetTransactionInBuffer,
    TxnID,
)
from ....pulsar.states import StoreState
from ....pulsar.topic import Topic, describing
from ..wire.asks import AdminAnswer
from ..wire.commands import CHECKED, Payload

OK, NO_CONTENT, NOT_FOUND, BROKEN = 200, 204, 404, 500
MISSING = AdminAnswer(NOT_FOUND)


def _place(ledger: int, position: int) -> str:
    return f"{ledger}:{position}"


def _facts(topic: Topic, asked: Any, disk: Disk) -> dict[str, Any]:
    said = describing.answer(topic, asked, disk)
    assert isinstance(said, Described)
    return dict(said.facts)


# ---- a topic ---------------------------------------------------------------------------------


def tell_internal(topic: Topic, ledger: int) -> AdminAnswer:
    if not topic.exists:
        return MISSING
    cursors = {name: _tell_cursor(sub.cursor, ledger) for name, sub in topic.subs.items()}
    return AdminAnswer(
        OK,
        {
            "lastConfirmedEntry": _place(ledger, topic.lac),
            "ledgers": [{"ledgerId": ledger, "entries": 0}],
            "cursors": cursors,
        },
    )


def _tell_cursor(cursor: Cursor, ledger: int) -> dict[str, str]:
    ranges = ",".join(
        f"({_place(ledger, first - 1)}..{_place(ledger, last)}]"
        for first, last in cursor.individual
    )
    return {
        "markDeletePosition": _place(ledger, cursor.mark_delete),
        "individuallyDeletedMessages": f"[{ranges}]",
    }


def tell_stats(topic: Topic) -> AdminAnswer:
    if not topic.exists:
        return MISSING
    subs = {
        name: {
            "type": str(sub.sub_type),
            "consumers": [{"consumerName": c.client.rpartition("@")[0]} for c in sub.consumers],
        }
        for name, sub in topic.subs.items()
    }
    return AdminAnswer(OK, {"subscriptions": subs})


def tell_entry(topic: Topic, disk: Disk, at: int) -> AdminAnswer:
    """An entry as it lies there; headers say what it is."""
    entry = next(iter(disk.log(topic.name).read(at, at + 1)), None)
    if entry is None or at > topic.lac:
        return MISSING
    headers: list[tuple[str, str]] = []
    if entry.txn is not None:
        headers.append(("txnid-most-bits", str(entry.txn.most)))
        headers.append(("txnid-least-bits", str(entry.txn.least)))
        headers.append(("txn-aborted", str(entry.txn in topic.buffer.aborts).lower()))
    headers.append(("txn-uncommitted", str(at > topic.buffer.readable).lower()))
    if entry.marker is not None:
        headers.append(("marker-type", str(int(entry.marker))))
        return AdminAnswer(OK, b"", tuple(headers))
    payload: Payload = entry.values[0]
    if payload.is_batch:
        headers.append(("num-batch-message", str(payload.count)))
    start = CHECKED.size + CHECKED.unpack_from(payload.data)[2]
    return AdminAnswer(OK, payload.data[start:], tuple(headers))


def tell_backlog(topic: Topic, disk: Disk, subscription: str) -> AdminAnswer:
    """What lies behind the cursor: entries, and how many of them are markers."""
    sub = topic.subs.get(subscription)
    if sub is None:
        return MISSING
    log = disk.log(topic.name)
    left = [e for e in log.read(sub.cursor.mark_delete + 1) if not sub.cursor.is_deleted(e.base)]
    markers = sum(entry.marker is not None for entry in left)
    messages = sum(len(entry.values) for entry in left)
    return AdminAnswer(OK, {"entries": len(left), "messages": messages, "markerMessages": markers})


# ---- transactions at a topic -----------------------------------------------------------------


def tell_buffer(topic: Topic, disk: Disk, ledger: int) -> AdminAnswer:
    facts = _facts(topic, GetBufferStats(topic.name), disk)
    for name in ("ongoingTxnSize", "totalAbortedTransactions"):
        facts[name] = int(facts[name])
    return AdminAnswer(OK, {**facts, "maxReadPosition": _place(ledger, topic.buffer.readable)})


def tell_in_buffer(topic: Topic, disk: Disk, txn: TxnID, ledger: int) -> AdminAnswer:
    facts = _facts(topic, GetTransactionInBuffer(topic.name, txn), disk)
    start = topic.buffer.find_start(txn)
    told: dict[str, Any] = {"aborted": facts["aborted"] == "true"}
    if start is not None:
        told["startPosition"] = _place(ledger, start)
    return AdminAnswer(OK, told)


def tell_pending(topic: Topic, disk: Disk, subscription: str) -> AdminAnswer:
    if subscription not in topic.subs:
        return MISSING
    facts = _facts(topic, GetPendingAckStats(topic.name, subscription), disk)
    return AdminAnswer(OK, {**facts, "ongoingTxnSize": int(facts["ongoingTxnSize"])})


def tell_in_pending(topic: Topic, subscription: str, txn: TxnID, ledger: int) -> AdminAnswer:
    if subscription not in topic.subs:
        return MISSING
    slot = topic.subs[subscription].pending.slot
    told = {}
    if slot is not None and slot[0] == txn:
        told["cumulativeAckPosition"] = f"{ledger}:{slot[1]}"
    return AdminAnswer(OK, told)


def tell_position(
    topic: Topic, disk: Disk, subscription: str, position: AckPosition
) -> AdminAnswer:
    if subscription not in topic.subs:
        return MISSING
    return AdminAnswer(
        OK, _facts(topic, GetPositionStats(topic.name, subscription, position), disk)
    )


# ---- a coordinator ---------------------------------------------------------------------------


def tell_transaction(tc: Coordinator, txn: TxnID) -> AdminAnswer:
    meta = tc.txns.get(txn)
    if meta is None:
        return MISSING
    acked: dict[str, dict[str, Any]] = {}
    for topic, subscription in meta.subscriptions:
        acked.setdefault(topic, {})[subscription] = {}
    return AdminAnswer(
        OK,
        {
            "txnId": str(txn),
            "status": str(meta.status),
            "openTimestamp": meta.start_ms,
            "timeoutAt": meta.timeout_ms,
            "producedPartitions": {name: {} for name in meta.partitions},
            "ackedPartitions": acked,
        },
    )


def tell_coordinator(tc: Coordinator) -> AdminAnswer:
    """One that no client has loaded is not there."""
    if tc.state is not StoreState.READY:
        return MISSING
    return AdminAnswer(
        OK,
        {
            "state": str(tc.state),
            "leastSigBits": tc.sequence,
            "lowWaterMark": tc.low_watermark,
            "ongoingTxnSize": len(tc.txns),
        },
    )


def tell_slow(tc: Coordinator, timeout_ms: int) -> AdminAnswer:
    """Those whose timeout is longer, however long they have been open."""
    slow = (meta for meta in tc.txns.values() if meta.timeout_ms > timeout_ms)
    return AdminAnswer(OK, {str(meta.txn): {} for meta in slow})


def tell_transaction_log(tc: Coordinator, disk: Disk) -> AdminAnswer:
    consumed = tc.cursor.mark_delete + 1 + tc.cursor.count_individual()
    stats = {
        "entriesAddedCounter": disk.log(name_transaction_log(tc.tc_id)).end,
        "cursors": {TRANSACTION_CURSOR: {"messagesConsumedCounter": consumed}},
    }
    return AdminAnswer(OK, {"transactionLogStats": {"managedLedgerInternalStats": stats}})
