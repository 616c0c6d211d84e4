"""What an administrator sees of a topic or a coordinator, read off the role as it is.

Source: TransactionsBase, PersistentTopicsBase#generateResponseWithEntry (4.2). Statuses are the
real ones, also where an uncaught exception makes them 500.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from ....kernel import Disk
from ....pulsar.config import TRANSACTION_CURSOR, name_transaction_log
from ....pulsar.coordinator import Coordinator, TxnMeta
from ....pulsar.ledger import Marks
from ....pulsar.messages import (
    AckPosition,
    Described,
    GetBufferStats,
    GetPendingAckStats,
    GetPositionStats,
    GetTransactionInBuffer,
    LedgerEntry,
    TxnID,
)
from ....pulsar.states import StoreState
from ....pulsar.topic import Topic, access
from ..wire.answers import AdminAnswer
from ..wire.commands import CHECKED, Payload, parse_metadata
from .hosting import Hosted
from .topics import describe_cursor, describe_ledger, place

OK, NO_CONTENT, NOT_FOUND, BROKEN, UNAVAILABLE = 200, 204, 404, 500, 503
NO_STORE = "Transaction coordinator not found! coordinator id : {tc_id}"
NO_COORDINATOR = "Transaction coordinator with id {tc_id} not found!"
NO_TXN = "The transaction with this txdID `{txn}`not found "
UNCAUGHT = "\n --- An unexpected error occurred in the server ---\n\nMessage: {why}\n"
MARKER_NAME = "pulsar.txn.marker"


def refuse(status: int, why: str) -> AdminAnswer:
    """An answer that says why there is no other; in the real one 500 comes with a stack trace."""
    return AdminAnswer(status, {"reason": UNCAUGHT.format(why=why) if status == BROKEN else why})


def _describe(topic: Topic, request: Any, disk: Disk) -> dict[str, Any]:
    described = access.answer(topic, request, disk)
    assert isinstance(described, Described)
    return dict(described.facts)


# ---- entries -----------------------------------------------------------------------------------


def find_entry(topic: Topic, disk: Disk, at: int) -> LedgerEntry | None:
    if not 0 <= at <= topic.lac:
        return None
    return next(iter(disk.log(topic.name).read(at, at + 1)), None)


def answer_entry(topic: Topic, disk: Disk, ledger: int, entry_id: int) -> AdminAnswer:
    """Answer an administrator with one entry of a topic, which clients find as (`ledger`,
    `entry_id`): its payload as it is stored, and headers that say what it is (a message, a batch, a
    marker; of which transaction); an error where there is no such entry."""
    entry = find_entry(topic, disk, entry_id)
    if entry is None:
        last = place(ledger, topic.lac)
        return refuse(BROKEN, f"LastConfirmedEntry is {last} when reading entry {entry_id}")
    headers = [("Message-ID", place(ledger, entry_id)), *_list_headers(topic, entry, entry_id)]
    headers.append(("Is-Encrypted", "false"))
    if entry.marker is not None:
        headers.append(("PROPERTY", "{}"))
        headers += [("producer-name", MARKER_NAME), ("sequence-id", "-1")]
        headers.append(("marker-type", str(int(entry.marker))))
        return AdminAnswer(OK, b"", tuple(headers))
    payload: Payload = entry.values[0]  # the only one: a message or batch as it came
    if payload.is_batch:
        headers.append(("num-batch-message", str(payload.count)))
    metadata, _ = parse_metadata(payload.data)
    published = datetime.fromtimestamp(metadata.publish_time / 1000, UTC)
    properties = {pair.key: pair.value for pair in metadata.properties}
    headers += [
        ("PROPERTY", json.dumps(properties, separators=(",", ":"))),
        ("producer-name", metadata.producer_name),
        ("sequence-id", str(metadata.sequence_id)),
        ("publish-time", published.isoformat(timespec="milliseconds").replace("+00:00", "Z")),
    ]
    # the payload follows the checked header and the metadata, whose size the header ends with
    payload_start = CHECKED.size + CHECKED.unpack_from(payload.data)[2]
    return AdminAnswer(OK, payload.data[payload_start:], tuple(headers))


def _list_headers(topic: Topic, entry: LedgerEntry, at: int) -> list[tuple[str, str]]:
    headers = []
    if entry.txn is not None:
        headers.append(("txnid-most-bits", str(entry.txn.most)))
        headers.append(("txnid-least-bits", str(entry.txn.least)))
        headers.append(("txn-aborted", str(entry.txn in topic.buffer.aborts).lower()))
    headers.append(("txn-uncommitted", str(at > topic.buffer.readable).lower()))
    return headers


# ---- transactions at a topic -------------------------------------------------------------------


def _low_water_marks(marks: Marks) -> dict[str, int]:
    return {str(tc_id): mark for tc_id, mark in marks.by_coordinator.items()}


def answer_buffer(hosted: Hosted, disk: Disk, with_marks: bool) -> AdminAnswer:
    """Answer GET …/transactionBufferStats: the state of a topic's transaction buffer, and the low
    water marks of its coordinators if the query wants them (`with_marks`). A topic has one snapshot
    (`Single`), and its buffer recovers while the topic is loaded, so both times of recovery are the
    time of loading."""
    topic, notes = hosted.role, hosted.notes
    facts = _describe(topic, GetBufferStats(topic.name), disk)
    for name in ("ongoingTxnSize", "totalAbortedTransactions"):
        facts[name] = int(facts[name])
    facts |= {
        "maxReadPosition": place(hosted.ledger, topic.buffer.readable),
        "snapshotType": "Single",
        "lastSnapshotTimestamps": notes.snapshot_ms,
        "recoverStartTime": notes.loaded_ms,
        "recoverEndTime": notes.loaded_ms,
    }
    if with_marks:
        facts["lowWaterMarks"] = _low_water_marks(topic.buffer.marks)
    return AdminAnswer(OK, facts)


def describe_in_buffer(topic: Topic, disk: Disk, txn: TxnID, ledger: int) -> dict[str, Any]:
    facts = _describe(topic, GetTransactionInBuffer(topic.name, txn), disk)
    start = topic.buffer.find_start(txn)
    stats: dict[str, Any] = {"aborted": facts["aborted"] == "true"}
    if start is not None:
        stats["startPosition"] = place(ledger, start)
    return stats


def _refuse_missing(topic: Topic, name: str) -> AdminAnswer | None:
    """A real broker runs into a null here."""
    if name in topic.subs:
        return None
    return refuse(BROKEN, f"there is no subscription {name} of {topic.name}")


def answer_pending(hosted: Hosted, disk: Disk, name: str, with_marks: bool) -> AdminAnswer:
    topic, since = hosted.role, hosted.notes.pending_ms.get(name, 0)
    if refused := _refuse_missing(topic, name):
        return refused
    facts = _describe(topic, GetPendingAckStats(topic.name, name), disk)
    facts |= {
        "ongoingTxnSize": int(facts["ongoingTxnSize"]),
        "recoverStartTime": since,
        "recoverEndTime": since,
    }
    if with_marks:
        facts["lowWaterMarks"] = _low_water_marks(topic.subs[name].pending.marks)
    return AdminAnswer(OK, facts)


def describe_in_pending(topic: Topic, name: str, txn: TxnID, ledger: int) -> dict[str, Any]:
    cumulative = topic.subs[name].pending.cumulative if name in topic.subs else None
    if cumulative is None or cumulative[0] != txn:
        return {}
    return {"cumulativeAckPosition": f"{ledger}:{cumulative[1]}"}


def answer_in_pending(topic: Topic, name: str, txn: TxnID, ledger: int) -> AdminAnswer:
    refused = _refuse_missing(topic, name)
    return refused or AdminAnswer(OK, describe_in_pending(topic, name, txn, ledger))


def answer_position(topic: Topic, disk: Disk, name: str, position: AckPosition) -> AdminAnswer:
    if refused := _refuse_missing(topic, name):
        return refused
    return AdminAnswer(OK, _describe(topic, GetPositionStats(topic.name, name, position), disk))


# ---- a coordinator -----------------------------------------------------------------------------


def refuse_txn(tc: Coordinator, txn: TxnID, status: int = NOT_FOUND) -> AdminAnswer:
    """Why there is nothing to be said of this transaction, or done with it."""
    if tc.state is not StoreState.READY:
        return refuse(status, NO_COORDINATOR.format(tc_id=tc.tc_id))
    return refuse(status, NO_TXN.format(txn=txn))


def describe_txn(meta: TxnMeta) -> dict[str, Any]:
    """What its coordinator knows; of each participant nothing yet."""
    acked: dict[str, dict[str, Any]] = {}
    for topic, subscription in meta.subscriptions:
        acked.setdefault(topic, {})[subscription] = {}
    return {
        "txnId": str(meta.txn),
        "status": str(meta.status),
        "openTimestamp": meta.start_ms,
        "timeoutAt": meta.timeout_ms,
        "producedPartitions": {name: {} for name in meta.partitions},
        "ackedPartitions": acked,
    }


def describe_coordinator(hosted: Hosted) -> dict[str, Any] | None:
    """None for one that no client has loaded."""
    tc: Coordinator = hosted.role
    if tc.state is not StoreState.READY:
        return None
    start, end = hosted.notes.store_ms
    return {
        "state": str(tc.state),
        "leastSigBits": tc.sequence,
        "lowWaterMark": tc.low_watermark,
        "ongoingTxnSize": len(tc.txns),
        "recoverStartTime": start,
        "recoverEndTime": end,
    }


def answer_transaction_log(tc: Coordinator, disk: Disk) -> AdminAnswer:
    if tc.state is not StoreState.READY:
        return refuse(NOT_FOUND, NO_STORE.format(tc_id=tc.tc_id))
    name = name_transaction_log(tc.tc_id)
    end = disk.log(name).end
    cursors = {TRANSACTION_CURSOR: describe_cursor(tc.cursor, tc.tc_id, end)}
    stats = {
        "managedLedgerName": f"pulsar/system/persistent/{name}",
        "managedLedgerInternalStats": {
            **describe_ledger(tc.tc_id, end, cursors),
            "properties": {"max_local_txn_id": str(tc.sequence)},
        },
    }
    return AdminAnswer(OK, {"transactionLogStats": stats})
