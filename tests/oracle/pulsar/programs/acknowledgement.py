"""Acknowledgements inside transactions, one by one."""

from __future__ import annotations

from functools import partial

from ..client import Consumer, Got
from . import Admin, Lab, program
from .visibility import ORDERS, begin_and_ack, consume, consume_again, write

BILLING = "billing"


def filled(lab: Lab, texts: str, kind: str = "Shared") -> tuple[Consumer, list[Got]]:
    """A consumer that has received a message for each letter and acknowledged none."""
    worker = consume(lab, kind=kind)
    write(lab, None, *texts)
    return worker, lab.receive(worker, len(texts))


@program("TransactionProduceTest.ackCommitTest")
def ack_and_commit(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abc")
    txn = begin_and_ack(lab, worker, *got)
    admin.transaction(txn)
    admin.pending(ORDERS, BILLING)
    admin.cursor(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.silent(worker)
    lab.commit(txn)
    admin.pending(ORDERS, BILLING)
    admin.cursor(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.silent(worker)


def _abort(lab: Lab, admin: Admin, kind: str) -> None:
    worker, got = filled(lab, "abcd", kind)
    txn = begin_and_ack(lab, worker, *got[1:3])
    lab.abort(txn)
    lab.receive_only(worker, 2 if kind == "Shared" else 4)
    admin.pending(ORDERS, BILLING)
    admin.cursor(ORDERS, BILLING)


#: Shared sends exactly what the transaction had acknowledged again, counted as redelivered; else
#: the cursor goes back to mark-delete, and everything that is not acknowledged comes again.
for _kind, _reference in (
    ("Shared", "TransactionProduceTest.ackAbortTest"),
    ("Exclusive", "PersistentDispatcherSingleActiveConsumer"),
    ("Failover", "PersistentDispatcherSingleActiveConsumer"),
):
    program(_reference, name=f"ack-and-abort-{_kind.lower()}")(partial(_abort, kind=_kind))


@program("TransactionEndToEndTest.txnIndividualAckTest")
def ack_abort_ack_commit(lab: Lab, admin: Admin) -> None:
    """And the end once more: the coordinator no longer knows the transaction."""
    worker, got = filled(lab, "ab")
    first = begin_and_ack(lab, worker, *got)
    lab.abort(first)
    again = lab.receive(worker, 2)
    second = begin_and_ack(lab, worker, *again)
    lab.commit(second)
    lab.redeliver(worker)
    lab.silent(worker)
    lab.end_by_id("worker", second, "commit")
    lab.end_by_id("worker", second, "abort")


@program("TransactionEndToEndTest.txnIndividualAckTest")
def two_transactions_one_message(lab: Lab, admin: Admin) -> None:
    """The second loses, and with it all that it had done: its commit aborts."""
    worker, got = filled(lab, "ab")
    first, second = lab.begin("worker"), lab.begin("worker")
    write(lab, second, "c", topic="payments-0")
    lab.ack(worker, got[0], txn=first)
    lab.ack(worker, got[0], txn=second)
    lab.commit(second)
    lab.state(second)
    lab.commit(first)
    admin.cursor(ORDERS, BILLING)
    admin.log("payments-0")


@program("Consumer#individualAckWithTransaction")
def refused_ack_lets_go(lab: Lab, admin: Admin) -> None:
    """One message of the request is pending, so all of it is refused; but the consumer holds none
    of it any more, and the other message comes to nobody until every consumer has gone."""
    worker, got = filled(lab, "ab")
    first, second = lab.begin("worker"), lab.begin("worker")
    lab.ack(worker, got[0], txn=first)
    lab.ack(worker, *got, txn=second)
    lab.abort(second)
    lab.abort(first)
    lab.receive(worker, 1)
    lab.redeliver(worker)
    lab.receive_only(worker, 1)
    lab.receive(consume_again(lab, worker), 2)


@program("InMemoryRedeliveryTracker#removeBatch")
def partial_ack_resets_the_count(lab: Lab, admin: Admin) -> None:
    """To acknowledge one message of a batch restarts the count of the others."""
    worker = consume(lab, kind="Shared")
    lab.send_batch("app", ORDERS, ["a", "b", "c"])
    lab.receive(worker, 3)
    lab.redeliver(worker)
    got = lab.receive(worker, 3)
    lab.ack(worker, got[0])
    lab.redeliver(worker)
    lab.receive(worker, 2)


@program("PendingAckHandleImpl#individualAcknowledgeMessage")
def one_transaction_acks_twice(lab: Lab, admin: Admin) -> None:
    """A conflict with itself, and its client can no longer commit it."""
    worker, got = filled(lab, "a")
    txn = begin_and_ack(lab, worker, got[0])
    lab.ack(worker, got[0], txn=txn)
    lab.commit(txn)
    lab.state(txn)
    lab.receive(worker, 1)


@program("PendingAckHandleImpl#individualAcknowledgeMessage")
def ack_of_what_is_acked(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abc")
    lab.ack(worker, got[1])
    admin.cursor(ORDERS, BILLING)
    txn = begin_and_ack(lab, worker, got[1])
    lab.ack(worker, got[0], got[1], txn=txn)
    admin.pending(ORDERS, BILLING)
    lab.abort(txn)


@program("TransactionEndToEndTest.testFilterMsgsInPendingAckStateWhenConsumerDisconnect")
def pending_survives_reconnect(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "abcd")
    first, second = lab.begin("app"), lab.begin("app")
    lab.ack(worker, *got[:2], txn=first)
    lab.ack(worker, *got[2:], txn=second)
    lab.commit(second)
    again = consume_again(lab, worker)
    lab.silent(again)
    lab.abort(first)
    lab.receive_only(again, 2)


@program("TransactionEndToEndTest.testMsgsInPendingAckStateWouldNotGetTheConsumerStuck")
def pending_stalls_nobody(lab: Lab, admin: Admin) -> None:
    """A consumer with room for two gets the two behind those that are pending."""
    worker, got = filled(lab, "abcd")
    write(lab, None, "e", "f")
    lab.receive(worker, 2)
    first, second = lab.begin("app"), lab.begin("app")
    lab.ack(worker, *got[:2], txn=first)
    lab.ack(worker, *got[2:], txn=second)
    lab.commit(second)
    lab.leave(worker)
    again = lab.subscribe("other", ORDERS, BILLING, "Shared", queue=2)
    lab.receive(again, 2)
    lab.abort(first)
    lab.receive(again, 2)


@program("PendingAckPersistentTest.individualPendingAckReplayTest")
def pending_survives_unload(lab: Lab, admin: Admin) -> None:
    """The pending acks lie in a log of their own, which a subscription reads when it is opened."""
    worker, got = filled(lab, "abc")
    first, second = lab.begin("worker"), lab.begin("worker")
    lab.ack(worker, got[0], txn=first)
    lab.ack(worker, got[1], txn=second)
    admin.unload(ORDERS)
    again = consume_again(lab, worker)
    lab.receive_only(again, 1)
    admin.pending(ORDERS, BILLING)
    lab.commit(first)
    lab.abort(second)
    lab.receive(again, 1)
    admin.cursor(ORDERS, BILLING)


@program("PendingAckPersistentTest.testCheckPositionInPendingAckState")
def position_states(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "ab")
    admin.position(ORDERS, BILLING, got[0].wire)
    txn = begin_and_ack(lab, worker, got[0])
    for message in got:
        admin.position(ORDERS, BILLING, message.wire)
    lab.commit(txn)
    admin.position(ORDERS, BILLING, got[0].wire)


@program("AdminApiTransactionTest.testGetPendingAckStats")
def handle_states(lab: Lab, admin: Admin) -> None:
    """Pending acks are opened by the first transaction that acknowledges."""
    worker, got = filled(lab, "a")
    admin.pending(ORDERS, BILLING)
    txn = begin_and_ack(lab, worker, got[0])
    admin.pending(ORDERS, BILLING)
    lab.abort(txn)
    admin.pending(ORDERS, BILLING)


@program("TransactionEndToEndTest.transactionTimeoutTest")
def timeout_redelivers(lab: Lab, admin: Admin) -> None:
    worker, got = filled(lab, "a")
    txn = begin_and_ack(lab, worker, got[0], timeout_ms=3_000)
    lab.silent(worker)
    lab.receive(worker, 1)
    admin.status(txn, "404")
    lab.state(txn)


@program("apache/pulsar#10306")
def in_pending_ack_status(lab: Lab, admin: Admin) -> None:
    """A consumer goes in the middle of its transaction. Its successor is refused the message until
    the transaction's timeout, and gets it then."""
    worker = lab.subscribe("worker", ORDERS, "work")
    write(lab, None, "order")
    got = lab.receive(worker, 1)
    lab.ack(worker, *got, txn=lab.begin("worker", 20_000))  # a busy machine is slow until here
    lab.leave(worker)
    successor = lab.subscribe("again", ORDERS, "work")
    refused = begin_and_ack(lab, successor, *got, who="again")
    lab.abort(refused)
    lab.silent(successor)
    again = lab.receive(successor, 1)
    done = begin_and_ack(lab, successor, *again, who="again", timeout_ms=60_000)
    lab.commit(done)
    admin.cursor(ORDERS, "work")


@program("apache/pulsar#11850")
def no_batch_without_a_queue(lab: Lab, admin: Admin) -> None:
    """A consumer with receiverQueueSize 0 is sent one message for each receive; what a transaction
    gives back it asks for again. A batch closes it."""
    work = lab.subscribe("shop", ORDERS, "work", queue=0)
    write(lab, None, "a", "b")
    admin.consumers(ORDERS, "work")
    lab.take(work)
    lab.take(work)
    lab.redeliver(work)
    lab.take(work)
    lab.take(work)
    admin.consumers(ORDERS, "work")
    lab.send_batch("batcher", ORDERS, ["c", "d"])
    lab.take(work)
    admin.consumers(ORDERS, "work")


@program("PersistentSubscription#addConsumerInternal")
def exclusive_is_taken(lab: Lab, admin: Admin) -> None:
    """By another client, or by the same one: on one connection too. The first consumer stays."""
    work = lab.subscribe("shop", ORDERS, "work", "Exclusive")
    lab.subscribe("shop", ORDERS, "work", "Exclusive")
    lab.subscribe("shop", ORDERS, "work", "Shared")
    lab.subscribe("other", ORDERS, "work", "Exclusive")
    write(lab, None, "a")
    lab.receive_only(work, 1)


@program("TransactionEndToEndTest.testSendTxnAckMessageToDLQ")
def dead_letters(lab: Lab, admin: Admin) -> None:
    """An abort counts as a delivery: a consumer that allows one redelivery finds the message among
    the dead ones after the second abort."""
    lab.subscribe("undertaker", f"{ORDERS}.dead", "graves")
    worker = lab.subscribe("worker", ORDERS, BILLING, "Shared", dead=1)
    write(lab, None, "a")
    for _ in range(2):
        got = lab.receive(worker, 1)
        txn = begin_and_ack(lab, worker, got[0])
        lab.abort(txn)
    lab.silent(worker)
    lab.read_all("reader", f"{ORDERS}.dead")


@program("apache/pulsar#5891")
def acknowledged_and_dead(lab: Lab, admin: Admin) -> None:
    """A consumer that acknowledges batches as a whole, which is the default: two messages of three
    are acknowledged, and all three come again, and go to the dead ones."""
    for index, graves in (("no", 3), ("yes", 1)):
        topic = f"{index}-0"
        undertaker = lab.subscribe("undertaker", f"{topic}.dead", "graves")
        worker = lab.subscribe("worker", topic, BILLING, "Shared", dead=1, index=index)
        lab.send_batch("app", topic, ["a", "b", "c"])
        for count in (3, graves):
            got = lab.receive(worker, count)
            lab.ack(worker, *got[:-1])
            lab.nack(worker, got[-1])
        lab.receive_only(undertaker, graves)
        lab.silent(worker)
        admin.cursor(topic, BILLING)
    third = lab.subscribe("worker", ORDERS, BILLING, index="no")
    lab.send_batch("app", ORDERS, ["a", "b"])
    got = lab.receive(third, 2)
    lab.ack(third, got[1])
    admin.unacked(ORDERS, BILLING)
    lab.ack(third, got[0])
    admin.unacked(ORDERS, BILLING)
    lab.send_batch("app", ORDERS, ["c", "d", "e"])
    got = lab.receive(third, 3)
    txn = begin_and_ack(lab, third, got[0])
    lab.commit(txn)
    lab.redeliver(third)
    got = lab.receive(third, 2)
    lab.ack(third, got[0])
    lab.ack(third, got[1])
    admin.cursor(ORDERS, BILLING)
    lab.leave(third)
    last = lab.subscribe("last", ORDERS, "last", "Exclusive", index="no")
    got = lab.receive(last, 5)
    lab.ack_all(last, got[3])
    admin.cursor(ORDERS, "last")
    lab.ack_all(last, got[4])
    admin.cursor(ORDERS, "last")


@program("ConsumerBuilderImpl#deadLetterPolicy")
def no_redelivery_is_allowed(lab: Lab, admin: Admin) -> None:
    """A dead letter policy allows one at least."""
    lab.subscribe("worker", ORDERS, BILLING, "Shared", dead=0)


@program("apache/pulsar-site#1117")
def the_count_begins_again(lab: Lab, admin: Admin) -> None:
    """How often a message came again is known to the dispatcher alone: after a load, nobody."""
    lab.subscribe("undertaker", f"{ORDERS}.dead", "graves")
    worker = lab.subscribe("worker", ORDERS, BILLING, "Shared", dead=2)
    write(lab, None, "poison")
    for _ in range(2):
        for _ in range(2):
            got = lab.receive(worker, 1)
            lab.nack(worker, got[0])
        lab.receive(worker, 1)
        admin.unload(ORDERS)
    got = lab.receive(worker, 1)
    lab.nack(worker, got[0])
    lab.receive(worker, 1)
    lab.silent(worker)
    lab.read_all("reader", f"{ORDERS}.dead")


@program("TransactionEndToEndTest.oneTransactionOneTopicWithMultiSubTest")
def two_subscriptions(lab: Lab, admin: Admin) -> None:
    """One transaction acknowledges one message for two subscriptions."""
    billing = consume(lab, kind="Shared")
    stock = lab.subscribe("other", ORDERS, "stock", "Shared")
    write(lab, None, "a")
    txn = lab.begin("worker")
    lab.ack(billing, *lab.receive(billing, 1), txn=txn)
    lab.ack(stock, *lab.receive(stock, 1), txn=txn)
    admin.transaction(txn)
    lab.commit(txn)
    admin.cursor(ORDERS, BILLING)
    admin.cursor(ORDERS, "stock")


@program("TransactionProduceTest.ackCommitTest, produceTest")
def consume_and_produce(lab: Lab, admin: Admin) -> None:
    """What a transaction is for: acknowledge an order and write its income, or neither."""
    worker, got = filled(lab, "ab")
    for order, end in zip(got, (lab.abort, lab.commit), strict=True):
        txn = begin_and_ack(lab, worker, order)
        lab.send("worker", "income-0", f"income-of-{order.text}", txn)
        end(txn)
    lab.receive(worker, 1)
    admin.cursor(ORDERS, BILLING)
    admin.log("income-0")
    lab.read_all("reader", "income-0")


@program("Consumer#individualAckNormal")
def plain_ack_beats_pending(lab: Lab, admin: Admin) -> None:
    """A plain acknowledgement is applied at once, whatever a transaction holds; its abort does
    not bring the message back."""
    worker, got = filled(lab, "ab")
    txn = begin_and_ack(lab, worker, got[0], who="app")
    lab.ack(worker, got[0])
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)
    lab.abort(txn)
    lab.silent(worker)
    admin.cursor(ORDERS, BILLING)


@program("Consumer#individualAckNormal")
def plain_ack_beats_pending_exclusive(lab: Lab, admin: Admin) -> None:
    """The transaction stays counted, and its abort still rewinds."""
    worker, got = filled(lab, "abc", "Exclusive")
    txn = begin_and_ack(lab, worker, got[0], who="app")
    lab.ack(worker, got[0])
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)
    lab.abort(txn)
    lab.receive_only(worker, 2)


@program("TransactionEndToEndTest.testTransactionConflictExceptionWhenAckBatchMessage")
def batch_indexes(lab: Lab, admin: Admin) -> None:
    """Messages of one batch may belong to different transactions; one message to one only."""
    worker = consume(lab, kind="Shared")
    lab.send_batch("app", ORDERS, ["a", "b", "c"])
    got = lab.receive(worker, 3)
    first, second, third = lab.begin("worker"), lab.begin("worker"), lab.begin("worker")
    lab.ack(worker, got[0], txn=first)
    lab.ack(worker, got[1], txn=second)
    lab.ack(worker, got[1], txn=third)
    for message in got:
        admin.position(ORDERS, BILLING, message.wire)
    lab.commit(first)
    lab.abort(second)
    lab.receive(worker, 2)
    lab.abort(third)
    lab.silent(worker)
    for message in got:
        admin.position(ORDERS, BILLING, message.wire)
    admin.cursor(ORDERS, BILLING)


@program("PersistentStickyKeyDispatcherMultipleConsumers")
def key_shared(lab: Lab, admin: Admin) -> None:
    """As Shared: one by one, and exactly what was aborted comes again."""
    worker = consume(lab, kind="Key_Shared")
    for text in "abc":
        lab.send("app", ORDERS, text, key=text)
    got = lab.receive(worker, 3)
    txn = begin_and_ack(lab, worker, got[1])
    lab.abort(txn)
    lab.receive_only(worker, 1)
    admin.cursor(ORDERS, BILLING)


@program("MLPendingAckReplyCallBack#handleMetadataEntry")
def ack_pair_one_plainly_too(lab: Lab, admin: Admin) -> None:
    """A transaction acknowledges two messages in one request, and the second of them is then
    acknowledged plainly, too. When the topic is loaded again the whole request is refused, because
    of the second message: the first one comes again, though its transaction commits."""
    worker, got = filled(lab, "abc")
    txn = begin_and_ack(lab, worker, *got[:2])
    lab.ack(worker, got[1])
    admin.pending(ORDERS, BILLING)
    admin.cursor(ORDERS, BILLING)
    admin.unload(ORDERS)
    worker = consume_again(lab, worker)
    lab.receive_only(worker, 1)
    admin.pending(ORDERS, BILLING)
    lab.commit(txn)
    admin.pending(ORDERS, BILLING)
    admin.cursor(ORDERS, BILLING)
    lab.redeliver(worker)
    lab.receive_only(worker, 1)
