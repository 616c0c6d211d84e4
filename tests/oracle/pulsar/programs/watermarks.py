"""Late words of transactions that have ended, and the low watermark that is to stop them. A client
that has not heard of the end sends them."""

from __future__ import annotations

from ..notebook import Txn
from . import Admin, Lab, program
from .acknowledgement import BILLING, filled
from .visibility import ORDERS, consume, write


def ended(lab: Lab, text: str, topic: str = ORDERS, action: str = "commit") -> Txn:
    """A transaction with one message that has ended, and of whose end its client knows nothing."""
    txn = lab.begin("app")
    write(lab, txn, text, topic=topic)
    (lab.commit if action == "commit" else lab.abort)(txn)
    lab.reopen(txn)
    return txn


@program("late-write-refused", "TransactionLowWaterMarkTest.testTBLowWaterMarkEndToEnd")
def late_write_refused(lab: Lab, admin: Admin) -> None:
    late = ended(lab, "a")
    ended(lab, "b")
    lab.send("app", ORDERS, "late", late)
    admin.buffer(ORDERS)
    admin.log(ORDERS)


@program("late-write-hides-committed", "TopicTransactionBuffer#handleLowWaterMark")
def late_write_hides_committed(lab: Lab, admin: Admin) -> None:
    """Before the mark has come the late message is taken, and blocks the topic. The next end
    aborts it, by the id of its transaction, and so hides what that had committed."""
    worker = consume(lab)
    late = ended(lab, "a")
    lab.receive(worker, 1)
    lab.send("app", ORDERS, "late", late)
    write(lab, None, "b")
    admin.buffer(ORDERS)
    lab.silent(worker)
    ended(lab, "c")
    admin.buffer(ORDERS)
    lab.receive(worker, 2)
    lab.silent(worker)
    again = lab.subscribe("other", ORDERS, "audit", "Exclusive")
    lab.receive(again, 2)
    lab.silent(again)
    admin.log(ORDERS)


@program("late-writes-cascade", "TransactionLowWaterMarkTest.testTransactionBufferLowWaterMark")
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


@program("watermark-held-back", "MLTransactionMetadataStore#getLowWaterMark")
def watermark_held_back(lab: Lab, admin: Admin) -> None:
    """The mark is the coordinator's: a transaction that is alive anywhere holds it back."""
    alive = lab.begin("app")
    write(lab, alive, "p", topic="payments-0")
    late = ended(lab, "a")
    lab.send("app", ORDERS, "late", late)
    ended(lab, "b")
    admin.buffer(ORDERS)
    lab.commit(alive)
    ended(lab, "c")
    admin.buffer(ORDERS)
    admin.log(ORDERS)


@program("watermark-is-forgotten", "TopicTransactionBuffer: lowWaterMarks")
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


@program("late-write-of-an-aborted", "TopicTransactionBuffer#handleTransactionMessage")
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
    late = lab.begin("app")
    lab.ack(worker, got[0], txn=late)
    lab.commit(late)
    lab.reopen(late)
    lab.ack(worker, got[1], txn=late)
    admin.pending(ORDERS, BILLING)
    txn = lab.begin("app")
    lab.ack(worker, got[2], txn=txn)
    lab.commit(txn)
    admin.pending(ORDERS, BILLING)
    if kind == "Exclusive":
        lab.silent(worker)
        lab.redeliver(worker)
    lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)


@program("late-ack-shared", "PendingAckPersistentTest.testPendingAckLowWaterMark")
def late_ack_shared(lab: Lab, admin: Admin) -> None:
    """A late acknowledgement is pending until the mark passes it; then the message comes again."""
    _late_ack(lab, admin, "Shared")


@program("late-ack-exclusive", "PendingAckHandleImpl#handleLowWaterMark")
def late_ack_exclusive(lab: Lab, admin: Admin) -> None:
    """The mark's abort knows no consumer: the message comes again when the client asks."""
    _late_ack(lab, admin, "Exclusive")
