"""Acknowledging up to a message inside a transaction: one slot a subscription, which two
transactions cannot share. Of Exclusive and Failover only.
"""

from __future__ import annotations

from functools import partial

from tests.oracle.pulsar.notebook import Txn
from tests.oracle.pulsar.programs import Admin, Lab, program
from tests.oracle.pulsar.programs.acknowledgement import BILLING, filled
from tests.oracle.pulsar.programs.visibility import (
    ORDERS,
    begin_and_ack,
    begin_and_write,
    consume,
    consume_again,
    write,
)


@program("TransactionEndToEndTest.txnAckTestNoBatchAndCumulativeSub")
def cumulative_must_advance(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abcd", "Failover")
    txn, other = lab.begin("worker"), lab.begin("worker")
    lab.ack_all(worker, got[1], txn)
    admin.in_pending(ORDERS, BILLING, txn)
    lab.ack_all(worker, got[1], txn)
    lab.ack_all(worker, got[0], txn)
    lab.ack_all(worker, got[3], other)
    admin.pending(ORDERS, BILLING)
    lab.commit(txn)
    lab.commit(other)
    admin.cursor(ORDERS, BILLING)


@program("TransactionEndToEndTest.txnCumulativeAckTest")
def cumulative_and_commit(lab: Lab, admin: Admin) -> None:
    """The same transaction may go further."""
    worker, got = filled(lab, "abc", "Exclusive")
    txn = lab.begin("worker")
    lab.ack_all(worker, got[0], txn)
    lab.ack_all(worker, got[1], txn)
    admin.in_pending(ORDERS, BILLING, txn)
    admin.cursor(ORDERS, BILLING)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)
    again = consume_again(lab, worker)
    lab.receive_only(again, 1)


@program("TransactionEndToEndTest.testCumulativeAckRedeliverMessages")
def cumulative_and_abort(lab: Lab, admin: Admin) -> None:
    """Nothing comes again by itself: the client has to ask."""
    worker, got = filled(lab, "abc", "Exclusive")
    txn = lab.begin("worker")
    lab.ack_all(worker, got[2], txn)
    lab.abort(txn)
    lab.silent(worker)
    lab.redeliver(worker)
    lab.receive(worker, 3)


@program("ConsumerBase#doAcknowledgeWithTxn")
def cumulative_on_shared(lab: Lab, admin: Admin) -> None:
    """Refused by the client."""
    worker, got = filled(lab, "a", "Shared")
    txn = lab.begin("worker")
    lab.ack_all(worker, got[0], txn)
    lab.commit(txn)


@program("PersistentDispatcherSingleActiveConsumer")
def cumulative_then_reconnect(lab: Lab, admin: Admin) -> None:
    """What is pending cumulatively is delivered again to a new consumer; what is pending one by
    one is not."""
    worker, got = filled(lab, "ab", "Exclusive")
    txn = lab.begin("app")
    lab.ack_all(worker, got[1], txn)
    again = consume_again(lab, worker)
    lab.receive(again, 2)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)


@program("PendingAckPersistentTest.cumulativePendingAckReplayTest")
def cumulative_replay(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abc", "Exclusive")
    first, second, third, fourth = (lab.begin("worker") for _ in range(4))
    lab.ack_all(worker, got[2], first)
    admin.unload(ORDERS)
    lab.wait_connected(worker)
    lab.ack_all(worker, got[2], second)
    lab.abort(first)
    lab.ack_all(worker, got[2], third)
    lab.commit(third)
    admin.cursor(ORDERS, BILLING)
    admin.unload(ORDERS)
    lab.wait_connected(worker)
    lab.ack_all(worker, got[2], fourth)
    lab.abort(second)
    lab.abort(fourth)


@program("PersistentSubscription#acknowledgeMessage")
def plain_cumulative_over_pending(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abc", "Exclusive")
    txn = lab.begin("app")
    lab.ack_all(worker, got[1], txn)
    lab.ack_all(worker, got[2])
    admin.cursor(ORDERS, BILLING)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)


@program("PendingAckHandleImpl#internalCommitTxn")
def cumulative_slot_swallows_commit(lab: Lab, admin: Admin) -> None:
    """While one transaction holds the cumulative slot, the commit of another with individual
    acknowledgements succeeds and acknowledges nothing."""
    worker, got = filled(lab, "abc", "Exclusive")
    holder, other = lab.begin("app"), lab.begin("app")
    lab.ack_all(worker, got[0], holder)
    lab.ack(worker, got[2], txn=other)
    lab.commit(other)
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)
    admin.position(ORDERS, BILLING, got[2].wire)
    lab.commit(holder)
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)


@program("PendingAckHandleImpl#internalAbortTxn")
def cumulative_slot_swallows_abort(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abc", "Exclusive")
    holder, other = lab.begin("app"), lab.begin("app")
    lab.ack_all(worker, got[0], holder)
    lab.ack(worker, got[2], txn=other)
    lab.abort(other)
    lab.silent(worker)
    admin.pending(ORDERS, BILLING)
    admin.position(ORDERS, BILLING, got[2].wire)
    admin.in_pending(ORDERS, BILLING, holder)
    lab.commit(holder)
    admin.cursor(ORDERS, BILLING)


# ---- An end that cannot end: a participant in a namespace that does not exist is no success, and
# the
#
# coordinator tries again, all of it, about once a second.
#
# Nobody may ask for the transaction's metadata meanwhile: that question loads the namespace's
# bundle, and then the end succeeds (`frozen-until-somebody-looks`).

ELSEWHERE = "elsewhere/stock-0"
OTHER = {"commit": "abort", "abort": "commit"}


def freeze(lab: Lab, admin: Admin, action: str, timeout_ms: int = 600_000) -> Txn:
    """A transaction that stays COMMITTING or ABORTING until somebody creates the namespace."""
    txn = lab.begin("app", timeout_ms)
    write(lab, txn, "a")
    lab.register(txn, ELSEWHERE)
    lab.begin_end(txn, action)
    admin.markers(ORDERS, action, 2)
    return txn


def refuse_the_other(lab: Lab, txn: Txn, action: str) -> None:
    """It is decided: to ask for the other end is refused."""
    lab.end_by_id("stranger", txn, OTHER[action])


def thaw(lab: Lab, admin: Admin, txn: Txn, action: str) -> None:
    admin.create_namespace("elsewhere")
    lab.join(txn, action)
    admin.transaction(txn)


@program("TransactionMetadataStoreService#endTransaction")
def commit_frozen(lab: Lab, admin: Admin) -> None:
    """Decided, and not done: it outlives its own timeout, can no longer be aborted, and every
    retry writes one more marker where nothing was wrong. Markers are many, and change nothing."""
    worker = consume(lab)
    txn = freeze(lab, admin, "commit", timeout_ms=3_000)
    lab.receive(worker, 1)
    admin.markers(ORDERS, "commit", 6)
    refuse_the_other(lab, txn, "commit")
    admin.coordinator()
    admin.buffer_state(ORDERS)
    thaw(lab, admin, txn, "commit")
    lab.silent(worker)


@program("TransactionMetadataStoreService#endTransaction")
def abort_frozen(lab: Lab, admin: Admin) -> None:
    worker = consume(lab)
    txn = freeze(lab, admin, "abort")
    refuse_the_other(lab, txn, "abort")
    lab.send_unplaced("app", ORDERS, "b")
    lab.receive_unplaced(worker, 1)
    thaw(lab, admin, txn, "abort")
    lab.silent(worker)


@program("TransactionsBase#getTransactionMetadata")
def frozen_until_somebody_looks(lab: Lab, admin: Admin) -> None:
    """To ask what becomes of it is answered with an error, and ends it: the question loads what
    the coordinator could not find."""
    txn = freeze(lab, admin, "commit")
    admin.coordinator()
    admin.transaction(txn)
    lab.join(txn, "commit")
    admin.transaction(txn)


@program("PendingAckHandleImpl#commitTxn")
def frozen_and_acknowledged(lab: Lab, admin: Admin) -> None:
    """A healthy subscription has applied the commit with the first try."""
    worker, got = filled(lab, "ab")
    txn = begin_and_ack(lab, worker, got[0], who="app")
    lab.register(txn, ELSEWHERE)
    lab.begin_end(txn, "commit")
    admin.coordinator()
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)
    thaw(lab, admin, txn, "commit")
    admin.cursor(ORDERS, BILLING)


@program("TransactionMetadataStoreService#endTransaction")
def frozen_blocks_nobody_else(lab: Lab, admin: Admin) -> None:
    """Where the marker has come the topic is free; another transaction commits behind it."""
    worker = consume(lab)
    txn = freeze(lab, admin, "commit")
    lab.receive(worker, 1)
    other = lab.begin("another")
    lab.send_unplaced("another", ORDERS, "b", other)
    lab.commit(other)
    lab.receive_unplaced(worker, 1)
    thaw(lab, admin, txn, "commit")


# ---- Late words of transactions that have ended, and the low watermark that is to stop them. A
# client
#
# that has not heard of the end sends them.


def ended(lab: Lab, text: str, topic: str = ORDERS, action: str = "commit") -> Txn:
    """A transaction with one message that has ended, and of whose end its client knows nothing."""
    txn = begin_and_write(lab, text, topic=topic)
    (lab.commit if action == "commit" else lab.abort)(txn)
    lab.reopen(txn)
    return txn


@program("TransactionLowWaterMarkTest.testTBLowWaterMarkEndToEnd")
def late_write_refused(lab: Lab, admin: Admin) -> None:
    late = ended(lab, "a")
    ended(lab, "b")
    lab.send("app", ORDERS, "late", late)
    admin.buffer(ORDERS)
    admin.log(ORDERS)


@program("TopicTransactionBuffer#handleLowWaterMark")
def late_write_hides_committed(lab: Lab, admin: Admin) -> None:
    """Before the low watermark has come the late message is taken, and blocks the topic. The next
    end aborts it, by the id of its transaction, and so hides what that had committed."""
    worker = consume(lab)
    late = ended(lab, "a")
    lab.receive(worker, 1)
    lab.send("app", ORDERS, "late", late)
    write(lab, None, "b")
    admin.buffer(ORDERS)
    lab.silent(worker)
    ended(lab, "c")
    admin.buffer(ORDERS)
    lab.receive_only(worker, 2)
    again = lab.subscribe("other", ORDERS, "audit", "Exclusive")
    lab.receive_only(again, 2)
    admin.log(ORDERS)


@program("TransactionLowWaterMarkTest.testTransactionBufferLowWaterMark")
def late_writes_cascade(lab: Lab, admin: Admin) -> None:
    """One end aborts every late one before it: the check goes on at the new head."""
    first = ended(lab, "a")
    second = ended(lab, "p", "payments-0")
    lab.send("app", ORDERS, "late", first)
    lab.send("app", ORDERS, "later", second)
    admin.buffer(ORDERS)
    ended(lab, "b")
    admin.buffer(ORDERS)
    admin.log(ORDERS)


@program("MLTransactionMetadataStore#getLowWaterMark")
def watermark_held_back(lab: Lab, admin: Admin) -> None:
    """The low watermark is the coordinator's: a transaction that is open anywhere holds it back."""
    alive = begin_and_write(lab, "p", topic="payments-0")
    late = ended(lab, "a")
    lab.send("app", ORDERS, "late", late)
    ended(lab, "b")
    admin.buffer(ORDERS)
    lab.commit(alive)
    ended(lab, "c")
    admin.buffer(ORDERS)
    admin.log(ORDERS)


@program("TopicTransactionBuffer: lowWaterMarks")
def watermark_is_forgotten(lab: Lab, admin: Admin) -> None:
    """Marks are in memory only: what was refused before the topic was closed is taken after."""
    late = ended(lab, "a")
    ended(lab, "b")
    lab.send("app", ORDERS, "late", late)
    admin.unload(ORDERS)
    admin.buffer(ORDERS)
    lab.send("app", ORDERS, "late", late)
    write(lab, None, "c")
    admin.buffer(ORDERS)
    lab.read_all("reader", ORDERS)
    ended(lab, "d")
    admin.buffer(ORDERS)
    lab.read_all("reader", ORDERS)
    admin.log(ORDERS)


@program("TopicTransactionBuffer#handleTransactionMessage")
def late_write_of_an_aborted(lab: Lab, admin: Admin) -> None:
    """It is appended and filtered; one may read up to it only with the next entry."""
    worker = consume(lab)
    late = ended(lab, "a", action="abort")
    lab.send("app", ORDERS, "late", late)
    admin.buffer(ORDERS)
    write(lab, None, "b")
    admin.buffer(ORDERS)
    lab.receive(worker, 1)
    admin.log(ORDERS)


def _late_ack(lab: Lab, admin: Admin, kind: str) -> None:
    worker, got = filled(lab, "abc", kind)
    late = begin_and_ack(lab, worker, got[0], who="app")
    lab.commit(late)
    lab.reopen(late)
    lab.ack(worker, got[1], txn=late)
    admin.pending(ORDERS, BILLING)
    txn = begin_and_ack(lab, worker, got[2], who="app")
    lab.commit(txn)
    admin.pending(ORDERS, BILLING)
    if kind == "Exclusive":
        lab.silent(worker)
        lab.redeliver(worker)
    lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)


#: A late acknowledgement is pending until the low watermark passes it; then the message comes
#: again. That abort names no consumer: without Shared it comes when the client asks.
for _kind, _reference in (
    ("Shared", "PendingAckPersistentTest.testPendingAckLowWaterMark"),
    ("Exclusive", "PendingAckHandleImpl#handleLowWaterMark"),
):
    program(_reference, name=f"late-ack-{_kind.lower()}")(partial(_late_ack, kind=_kind))
