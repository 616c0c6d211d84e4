"""Acknowledging up to a message inside a transaction: one slot a subscription, which two
transactions cannot share. Of Exclusive and Failover only."""

from __future__ import annotations

from . import Admin, Lab, program
from .acknowledgement import BILLING, filled
from .visibility import ORDERS, consume_again


@program("cumulative-must-advance", "TransactionEndToEndTest.txnAckTestNoBatchAndCumulativeSub")
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


@program("cumulative-and-commit", "TransactionEndToEndTest.txnCumulativeAckTest")
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
    lab.receive(again, 1)
    lab.silent(again)


@program("cumulative-and-abort", "TransactionEndToEndTest.testCumulativeAckRedeliverMessages")
def cumulative_and_abort(lab: Lab, admin: Admin) -> None:
    """Nothing comes again by itself: the client has to ask."""
    worker, got = filled(lab, "abc", "Exclusive")
    txn = lab.begin("worker")
    lab.ack_all(worker, got[2], txn)
    lab.abort(txn)
    lab.silent(worker)
    lab.redeliver(worker)
    lab.receive(worker, 3)


@program("cumulative-on-shared", "ConsumerBase#doAcknowledgeWithTxn")
def cumulative_on_shared(lab: Lab, admin: Admin) -> None:
    """Refused by the client."""
    worker, got = filled(lab, "a", "Shared")
    txn = lab.begin("worker")
    lab.ack_all(worker, got[0], txn)
    lab.commit(txn)


@program("cumulative-then-reconnect", "PersistentDispatcherSingleActiveConsumer")
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


@program("cumulative-replay", "PendingAckPersistentTest.cumulativePendingAckReplayTest")
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


@program("plain-cumulative-over-pending", "PersistentSubscription#acknowledgeMessage")
def plain_cumulative_over_pending(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abc", "Exclusive")
    txn = lab.begin("app")
    lab.ack_all(worker, got[1], txn)
    lab.ack_all(worker, got[2])
    admin.cursor(ORDERS, BILLING)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)


@program("cumulative-slot-swallows-commit", "PendingAckHandleImpl#internalCommitTxn")
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


@program("cumulative-slot-swallows-abort", "PendingAckHandleImpl#internalAbortTxn")
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
