"""Transactions, as an administrator sees them: coordinators, buffers, pending acks; their abort.

Of a live transaction the coordinator knows the participants, and each participant what it has of
the transaction; so the question goes on from one to the next.

Source: TransactionsBase (4.2).
"""

from __future__ import annotations

from typing import Any

from ....kernel import Disk
from ....pulsar.config import name_coordinator
from ....pulsar.messages import AckPosition, EndTxn, TxnID
from ....pulsar.states import StoreState, TxnAction
from ..wire.answers import AdminAnswer
from . import inspecting
from .asking import NUMBER, PART, TOPIC, Call, Fill, Result, visit
from .hosting import AskNext, Hosted, Inspect
from .inspecting import BROKEN, NO_COORDINATOR, NO_STORE, NOT_FOUND, OK, refuse

THROWN = "org.apache.pulsar.client.admin.PulsarAdminException$NotFoundException: "
Facts = dict[str, Any]


def _txn(most: str, least: str) -> TxnID:
    return TxnID(int(most), int(least))


# ---- coordinators ----------------------------------------------------------------------------


def _coordinators(call: Call) -> Result:
    host, port = call.ask.here
    url, count = f"pulsar://{host}:{port}", call.front.config.coordinators
    return call.say(OK, [{"id": n, "brokerServiceUrl": url} for n in range(count)])


def _coordinator_in_query(call: Call) -> int | None:
    """The coordinator that is named in the query; None where none is."""
    text = call.query("coordinatorId")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _coordinator_stats(call: Call) -> Result:
    """Handle GET coordinatorStats: describe the coordinator that the query names, or, where it
    names none, all of them. Each is asked in turn (`fill` notes its part); the answer is made when
    all have answered (`finish`), and is an error if one is not ready."""
    tc_id = _coordinator_in_query(call)
    if tc_id is not None:
        return _one_coordinator(call, tc_id)
    coordinators: Facts = {}

    def fill(hosted: Hosted, disk: Disk) -> None:
        coordinators[str(hosted.role.tc_id)] = inspecting.describe_coordinator(hosted)

    def finish() -> AdminAnswer:
        # a coordinator whose store is not ready has no description
        not_ready = next((each for each, facts in coordinators.items() if facts is None), None)
        if not_ready is not None:
            return refuse(BROKEN, THROWN + NO_STORE.format(tc_id=not_ready))
        return AdminAnswer(OK, coordinators)

    first, *rest = call.coordinators()
    asks = [(name, fill) for name in rest]

    # the first coordinator runs it: the order to ask the next one, or the answer if it is the only
    def read(hosted: Hosted, disk: Disk) -> Any:
        fill(hosted, disk)
        return visit(asks, finish)

    return call.inspect(first, read)


def _one_coordinator(call: Call, tc_id: int) -> Result:
    why = NO_STORE.format(tc_id=tc_id)
    if not call.has_coordinator(tc_id):
        return call.refuse(NOT_FOUND, why)

    def read(hosted: Hosted, disk: Disk) -> AdminAnswer:
        facts = inspecting.describe_coordinator(hosted)
        return refuse(NOT_FOUND, why) if facts is None else AdminAnswer(OK, facts)

    return call.inspect(name_coordinator(tc_id), read)


def _transaction_log(call: Call, most: str) -> Result:
    if not call.has_coordinator(int(most)):
        return call.refuse(NOT_FOUND, NO_STORE.format(tc_id=int(most)))
    return call.inspect(
        name_coordinator(int(most)), lambda h, disk: inspecting.answer_transaction_log(h.role, disk)
    )


# ---- one transaction, and those that are slow ------------------------------------------------


def ask_participants(metadata: Facts, txn: TxnID) -> list[tuple[str, Fill]]:
    """Whom to ask what each has of a transaction; the answers are put into `metadata`."""
    asks: list[tuple[str, Fill]] = []
    for topic, facts in metadata["producedPartitions"].items():
        asks.append((topic, _fill_produced(facts, txn)))
    for topic, subscriptions in metadata["ackedPartitions"].items():
        asks.append((topic, _fill_acked(subscriptions, txn)))
    return asks


def _fill_produced(facts: Facts, txn: TxnID) -> Fill:
    def fill(hosted: Hosted, disk: Disk) -> None:
        facts.update(inspecting.describe_in_buffer(hosted.role, disk, txn, hosted.ledger))

    return fill


def _fill_acked(subscriptions: Facts, txn: TxnID) -> Fill:
    def fill(hosted: Hosted, disk: Disk) -> None:
        for name, facts in subscriptions.items():
            facts.update(inspecting.describe_in_pending(hosted.role, name, txn, hosted.ledger))

    return fill


def _metadata(call: Call, most: str, least: str) -> Result:
    txn = _txn(most, least)
    if not call.has_coordinator(txn.most):
        return call.refuse(NOT_FOUND, NO_COORDINATOR.format(tc_id=txn.most))

    def read(hosted: Hosted, disk: Disk) -> Any:
        meta = hosted.role.txns.get(txn)
        if meta is None:
            return inspecting.refuse_txn(hosted.role, txn)
        metadata = inspecting.describe_txn(meta)
        return visit(ask_participants(metadata, txn), lambda: AdminAnswer(OK, metadata))

    return call.inspect(name_coordinator(txn.most), read)


def _slow_transactions(call: Call, timeout_ms: str) -> Result:
    """Handle GET slowTransactions: list the open transactions whose timeout is longer than
    `timeout_ms` (however long they have been open), of one coordinator or of all; an error if one
    is not ready. Each coordinator is asked in turn, then the participants of the transactions
    found."""
    tc_id = _coordinator_in_query(call)
    if tc_id is not None and not call.has_coordinator(tc_id):
        return call.refuse(NOT_FOUND, NO_STORE.format(tc_id=tc_id))
    names = call.coordinators() if tc_id is None else [name_coordinator(tc_id)]
    slow: dict[str, Facts] = {}

    def read_from(index: int, asks: list[tuple[str, Fill]]) -> Any:
        """Return a function that reads coordinator number `index` and returns the order to ask the
        next one, in the end the answer. `asks` gathers the questions to the transactions'
        participants, which are asked after all coordinators."""

        def read(hosted: Hosted, disk: Disk) -> Any:
            tc = hosted.role
            if tc.state is not StoreState.READY:
                why = NO_STORE.format(tc_id=tc.tc_id)
                return refuse(NOT_FOUND, why) if tc_id is not None else refuse(BROKEN, THROWN + why)
            for meta in tc.txns.values():
                if meta.timeout_ms > int(timeout_ms):
                    facts = slow[str(meta.txn)] = inspecting.describe_txn(meta)
                    asks.extend(ask_participants(facts, meta.txn))
            # noted: `read` is given the role's host, as here, not the role alone
            if index + 1 < len(names):
                return AskNext(names[index + 1], Inspect(read_from(index + 1, asks), noted=True))
            return visit(asks, lambda: AdminAnswer(OK, slow))

        return read

    return call.inspect(names[0], read_from(0, []))


def _abort(call: Call, most: str, least: str) -> Result:
    txn = _txn(most, least)
    if not call.has_coordinator(txn.most):
        return call.refuse(BROKEN, NO_COORDINATOR.format(tc_id=txn.most))
    name = name_coordinator(txn.most)

    def read(hosted: Hosted, disk: Disk) -> Any:
        if txn in hosted.role.txns:
            return AskNext(name, EndTxn(txn, TxnAction.ABORT))
        return inspecting.refuse_txn(hosted.role, txn, BROKEN)

    return call.inspect(name, read)


# ---- a topic and a subscription --------------------------------------------------------------


def _wants_marks(call: Call) -> bool:
    return call.query("lowWaterMarks") == "true"


def _at(call: Call, topic: str, read: Any) -> Result:
    if not call.has(topic):
        return call.refuse(NOT_FOUND, f"Topic not found {topic}")
    return call.inspect(topic, read)


def _buffer(call: Call, topic: str) -> Result:
    marks = _wants_marks(call)
    return _at(call, topic, lambda h, disk: inspecting.answer_buffer(h, disk, with_marks=marks))


def _in_buffer(call: Call, topic: str, most: str, least: str) -> Result:
    def read(hosted: Hosted, disk: Disk) -> AdminAnswer:
        txn = _txn(most, least)
        facts = inspecting.describe_in_buffer(hosted.role, disk, txn, hosted.ledger)
        return AdminAnswer(OK, facts)

    return _at(call, topic, read)


def _pending(call: Call, topic: str, name: str) -> Result:
    marks = _wants_marks(call)
    return _at(call, topic, lambda h, disk: inspecting.answer_pending(h, disk, name, marks))


def _in_pending(call: Call, topic: str, name: str, most: str, least: str) -> Result:
    txn = _txn(most, least)
    return _at(call, topic, lambda h, _: inspecting.answer_in_pending(h.role, name, txn, h.ledger))


def _position(call: Call, topic: str, name: str, ledger: str, entry: str) -> Result:
    index = call.query("batchIndex")
    at = int(index) if index.isascii() and index.isdecimal() and len(index) < 10 else -1
    position = AckPosition(int(entry), at)
    return _at(
        call, topic, lambda h, disk: inspecting.answer_position(h.role, disk, name, position)
    )


ROUTES = (
    ("GET", "/coordinators", _coordinators),
    ("GET", f"/transactionMetadata/{NUMBER}/{NUMBER}", _metadata),
    ("GET", "/coordinatorStats", _coordinator_stats),
    ("GET", f"/coordinatorInternalStats/{NUMBER}", _transaction_log),
    ("GET", f"/slowTransactions/{NUMBER}", _slow_transactions),
    ("POST", f"/abortTransaction/{NUMBER}/{NUMBER}", _abort),
    ("GET", f"/transactionBufferStats{TOPIC}", _buffer),
    ("GET", f"/transactionInBufferStats{TOPIC}/{NUMBER}/{NUMBER}", _in_buffer),
    ("GET", f"/pendingAckStats{TOPIC}/{PART}", _pending),
    ("GET", f"/transactionInPendingAckStats{TOPIC}/{PART}/{NUMBER}/{NUMBER}", _in_pending),
    ("GET", f"/positionStatsInPendingAck{TOPIC}/{PART}/{NUMBER}/{NUMBER}", _position),
)
