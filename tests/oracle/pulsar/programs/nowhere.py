"""Acknowledgements of what is not there: of messages that nobody has sent yet, of another ledger,
of a batch that comes later; and what an operator is told of a subscription and its consumers."""

from __future__ import annotations

from ..client import Got
from ..notebook import Txn
from . import Admin, Lab, program
from .acknowledgement import BILLING, filled
from .visibility import ORDERS, begin_and_ack, consume, consume_again

ASYNC_DELETE = "ManagedCursorImpl#asyncDelete"
MARK_DELETE = "ManagedCursorImpl#asyncMarkDelete"


@program(ASYNC_DELETE)
def ack_beyond_the_end(lab: Lab, admin: Admin) -> None:
    """Plain: nothing comes of it, and mark_delete does not move over what was before it in the list
    until the next one."""
    worker, got = filled(lab, "ab", "Exclusive")
    lab.ack(worker, got[0], got[1], lab.invent(got[1], 1))
    admin.cursor(ORDERS, BILLING)
    lab.send("app", ORDERS, "c")
    (third,) = lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)
    lab.ack(worker, third)
    admin.cursor(ORDERS, BILLING)


@program(MARK_DELETE)
def ack_all_beyond_the_end(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "a", "Exclusive")
    lab.ack_all(worker, lab.invent(got[0], 2))
    admin.cursor(ORDERS, BILLING)
    for text in "bcd":
        lab.send("app", ORDERS, text)
    lab.receive(worker, 3)
    again = consume_again(lab, worker)
    lab.receive(again, 4)
    admin.cursor(ORDERS, BILLING)


@program("PendingAckHandleImpl#individualAckCommitCommon")
def commit_beyond_the_end(lab: Lab, admin: Admin) -> None:
    """In a transaction: what is sent there later is pending for nobody, and nobody is sent it. A
    plain acknowledgement frees the place."""
    worker, got = filled(lab, "a")
    later = lab.invent(got[0], 1)
    first, second = lab.begin("worker"), lab.begin("worker")
    lab.ack(worker, got[0], later, txn=first)
    admin.pending(ORDERS, BILLING)
    lab.commit(first)
    admin.cursor(ORDERS, BILLING)
    admin.position(ORDERS, BILLING, got[0].wire)
    admin.position(ORDERS, BILLING, later.wire)
    lab.send("app", ORDERS, "b")
    lab.silent(worker)
    lab.ack(worker, later, txn=second)
    lab.redeliver(worker)
    lab.silent(worker)
    lab.ack(worker, later)
    admin.cursor(ORDERS, BILLING)
    lab.abort(second)


@program("MLPendingAckReplyCallBack#handleMetadataEntry")
def commit_beyond_the_end_unloaded(lab: Lab, admin: Admin) -> None:
    """The log is replayed, and there is such a message now: the commit acknowledges it."""
    worker, got = filled(lab, "a")
    txn = begin_and_ack(lab, worker, lab.invent(got[0], 1))
    lab.commit(txn)
    lab.send("app", ORDERS, "b")
    lab.send("app", ORDERS, "c")
    lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)
    admin.unload(ORDERS)
    lab.wait_connected(worker)
    lab.receive(worker, 2)
    admin.cursor(ORDERS, BILLING)


@program("PendingAckHandleImpl#individualAckAbortCommon")
def abort_beyond_the_end(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "a")
    txn = begin_and_ack(lab, worker, lab.invent(got[0], 1))
    lab.send("app", ORDERS, "b")
    lab.silent(worker)
    lab.abort(txn)
    (second,) = lab.receive(worker, 1)
    txn = begin_and_ack(lab, worker, lab.invent(second, 1))
    lab.abort(txn)
    lab.send("app", ORDERS, "c")
    lab.receive_only(worker, 1)
    admin.cursor(ORDERS, BILLING)


@program(MARK_DELETE)
def commit_all_beyond_the_end(lab: Lab, admin: Admin) -> None:
    """The commit frees the slot and moves nothing; a load moves mark_delete after all."""
    worker, got = filled(lab, "a", "Exclusive")
    txn = lab.begin("worker")
    lab.ack_all(worker, lab.invent(got[0], 2), txn)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)
    for text in "bcd":
        lab.send("app", ORDERS, text)
    lab.receive(worker, 3)
    admin.cursor(ORDERS, BILLING)
    admin.unload(ORDERS)
    lab.wait_connected(worker)
    lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)


@program(MARK_DELETE)
def batch_beyond_the_end(lab: Lab, admin: Admin) -> None:
    """Cumulatively, up to a message of a batch that is not there: the entry before it is, so the
    mark moves, and of the batch that comes this message is left out."""
    worker, got = filled(lab, "a", "Exclusive")
    lab.ack_all(worker, lab.invent(got[0], 1, "0/3"))
    admin.cursor(ORDERS, BILLING)
    lab.send_batch("app-b", ORDERS, ["b", "c", "d"])
    last = lab.receive(worker, 2)[-1]
    txn = lab.begin("worker")
    lab.ack_all(worker, lab.invent(last, 1, "1/3"), txn)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)
    lab.send_batch("app-b", ORDERS, ["e", "f", "g"])
    lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)


@program("PendingAckHandleImpl#internalIndividualAcknowledgeMessage")
def batch_index_beyond_the_end(lab: Lab, admin: Admin) -> None:
    """One by one, of a batch that is not there."""
    worker, got = filled(lab, "a", "Exclusive")
    txn = lab.begin("worker")
    lab.ack(worker, lab.invent(got[0], 1, "0/3"))
    lab.ack(worker, lab.invent(got[0], 1, "1/3"), txn=txn)
    lab.send_batch("app-b", ORDERS, ["b", "c", "d"])
    lab.receive(worker, 2)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.receive(worker, 3)


@program(ASYNC_DELETE)
def ack_of_another_ledger(lab: Lab, admin: Admin) -> None:
    """An older one counts as acknowledged, a later one as not there yet."""
    lab.send("app", "income-0", "x")
    worker, (got,) = filled(lab, "a", "Exclusive")
    lab.send("app", "payments-0", "y")
    older, later = lab.invent(got, 0, ledgers=-1), lab.invent(got, 0, ledgers=1)
    txns = [lab.begin("worker") for _ in range(5)]
    for id in (older, later):
        lab.ack(worker, id)
        lab.ack_all(worker, id)
        admin.cursor(ORDERS, BILLING)
    lab.ack(worker, later, txn=txns[0])
    lab.commit(txns[0])
    lab.ack(worker, later, txn=txns[1])
    lab.ack(worker, older, txn=txns[2])
    lab.ack_all(worker, later, txn=txns[3])
    lab.commit(txns[3])
    lab.ack_all(worker, older, txn=txns[4])
    for txn in (txns[1], txns[2], txns[4]):
        lab.abort(txn)
    admin.cursor(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.receive(worker, 1)


@program("Consumer#updateRemainingUnacked")
def unacked_of_a_batch(lab: Lab, admin: Admin) -> None:
    """What a consumer holds is counted by messages. What an abort brings back counts once more."""

    def acked(*messages: Got, txn: Txn | None = None) -> None:
        lab.ack(worker, *messages, txn=txn)
        admin.unacked(ORDERS, BILLING)

    worker = consume(lab, kind="Shared")
    lab.send_batch("app", ORDERS, ["a", "b", "c"])
    got = lab.receive(worker, 3)
    first, second, third = (lab.begin("worker") for _ in range(3))
    admin.unacked(ORDERS, BILLING)
    acked(got[0])
    acked(got[1], txn=first)
    lab.abort(first)
    lab.receive(worker, 2)
    admin.unacked(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.receive(worker, 2)
    admin.unacked(ORDERS, BILLING)
    acked(*got[1:])
    lab.send_batch("app", ORDERS, ["d", "e", "f"])
    lab.send("app-b", ORDERS, "g")
    got = lab.receive(worker, 4)
    admin.unacked(ORDERS, BILLING)
    acked(*got[:3], txn=second)
    acked(got[3], txn=second)
    lab.commit(second)
    admin.unacked(ORDERS, BILLING)
    lab.send_batch("app", ORDERS, ["h", "i", "j"])
    got = lab.receive(worker, 3)
    acked(got[0], txn=third)
    acked(got[1])
    lab.commit(third)
    admin.unacked(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.receive(worker, 1)
    admin.unacked(ORDERS, BILLING)
    acked(got[2])
    admin.cursor(ORDERS, BILLING)


@program("PersistentSubscription#delete")
def subscription_in_use(lab: Lab, admin: Admin) -> None:
    """It is not deleted while a consumer is connected, and nothing of its log is."""
    worker, got = filled(lab, "a")
    txn = begin_and_ack(lab, worker, got[0])
    admin.delete_subscription(ORDERS, BILLING)
    admin.unload(ORDERS)
    lab.wait_connected(worker)
    admin.pending(ORDERS, BILLING)
    lab.silent(worker)
    lab.leave(worker)
    admin.delete_subscription(ORDERS, BILLING)
    admin.cursor(ORDERS, BILLING)
    lab.commit(txn)


@program("AbstractBatchMessageContainer#hasSameTxn")
def plain_in_a_batch_of_a_transaction(lab: Lab, admin: Admin) -> None:
    """apache/pulsar#26547: a plain message is put into one batch with those of a transaction, and
    shares its fate. Its producer was told that it is safe."""
    worker = consume(lab)
    for texts, end in ((["a", "b", "c"], lab.commit), (["d", "e", "f"], lab.abort)):
        txn = lab.begin("app")
        lab.send_batch("app", ORDERS, texts, txn, plain=1)
        lab.silent(worker)
        end(txn)
        if end == lab.commit:
            lab.receive(worker, 3)
    lab.silent(worker)
    lab.redeliver(worker)
    lab.receive(worker, 3)
    admin.log(ORDERS)
