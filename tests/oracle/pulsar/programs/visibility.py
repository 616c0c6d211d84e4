"""What a subscription sees of transactions, and how far it may read."""

from __future__ import annotations

from functools import partial

from ..client import Consumer, Got
from ..notebook import Txn
from . import DEDUPLICATES, Admin, Lab, program

ORDERS = "orders-0"


def consume(lab: Lab, topic: str = ORDERS, kind: str = "Exclusive") -> Consumer:
    return lab.subscribe("worker", topic, "billing", kind)


def write(lab: Lab, txn: Txn | None, *texts: str, topic: str = ORDERS) -> None:
    for text in texts:
        lab.send("app", topic, text, txn)


def begin_and_write(lab: Lab, *texts: str, topic: str = ORDERS, timeout_ms: int = 600_000) -> Txn:
    """A transaction that has written these messages."""
    txn = lab.begin("app", timeout_ms)
    write(lab, txn, *texts, topic=topic)
    return txn


def begin_and_ack(
    lab: Lab, consumer: Consumer, *got: Got, who: str = "worker", timeout_ms: int = 600_000
) -> Txn:
    """A transaction that has acknowledged these messages."""
    txn = lab.begin(who, timeout_ms)
    lab.ack(consumer, *got, txn=txn)
    return txn


@program("TransactionProduceTest.produceAndCommitTest")
def commit(lab: Lab, admin: Admin) -> None:
    """Every send is answered before the commit, and nothing is received before it."""
    worker = consume(lab)
    txn = begin_and_write(lab, "a", "b", "c")
    admin.buffer(ORDERS)
    admin.transaction(txn)
    lab.silent(worker)
    lab.commit(txn)
    admin.buffer(ORDERS)
    lab.receive(worker, 3)
    admin.log(ORDERS)
    admin.transaction(txn)
    lab.state(txn)


@program("TransactionProduceTest.produceAndAbortTest")
def abort(lab: Lab, admin: Admin) -> None:
    """Nothing is removed: the messages stay, a marker comes behind them, and the dispatcher
    acknowledges both."""
    worker = consume(lab)
    txn = begin_and_write(lab, "a", "b")
    admin.in_buffer(ORDERS, txn)
    lab.abort(txn)
    lab.silent(worker)
    admin.in_buffer(ORDERS, txn)
    admin.buffer(ORDERS)
    admin.cursor(ORDERS, "billing")
    admin.log(ORDERS)


def _horizon(lab: Lab, admin: Admin, action: str) -> None:
    worker = consume(lab)
    txn = lab.begin("app")
    write(lab, None, "a")
    write(lab, txn, "b")
    write(lab, None, "c")
    admin.buffer(ORDERS)
    lab.receive_only(worker, 1)
    (lab.commit if action == "commit" else lab.abort)(txn)
    admin.buffer(ORDERS)
    lab.receive_only(worker, 2 if action == "commit" else 1)
    admin.log(ORDERS)


#: a plain message behind an open transaction's first one waits for its end
for _name, _test, _action in (
    ("open-transaction-blocks-plain", "commitTxnTest", "commit"),
    ("abort-releases-plain", "abortTxnTest", "abort"),
):
    _run = partial(_horizon, action=_action)
    program(f"TransactionStablePositionTest.{_test}", name=_name)(_run)


@program("TransactionConsumeTest.noSortedTest, sortedTest")
def two_transactions(lab: Lab, admin: Admin) -> None:
    """The one that began later commits first, and stays hidden behind the other."""
    worker = consume(lab)
    first, second = lab.begin("app"), lab.begin("app")
    write(lab, first, "a")
    write(lab, second, "b")
    write(lab, first, "c")
    lab.commit(second)
    admin.buffer(ORDERS)
    lab.silent(worker)
    lab.commit(first)
    lab.receive(worker, 3)
    admin.log(ORDERS)


@program("TransactionProduceTest.produceTest")
def two_topics(lab: Lab, admin: Admin) -> None:
    """One transaction over two topics: a marker in each; a third topic has none."""
    orders, payments = consume(lab), consume(lab, "payments-0")
    txn = begin_and_write(lab, "a")
    write(lab, txn, "p", topic="payments-0")
    write(lab, None, "x", topic="stock-0")
    admin.transaction(txn)
    lab.commit(txn)
    lab.receive(orders, 1)
    lab.receive(payments, 1)
    for topic in (ORDERS, "payments-0", "stock-0"):
        admin.log(topic)


def _recovery(lab: Lab, admin: Admin, action: str) -> None:
    """An open transaction, a topic that is closed and opened, and then its end."""
    worker = consume(lab)
    first, second = lab.begin("app"), lab.begin("app")
    write(lab, first, "a")
    write(lab, second, "b")
    write(lab, None, "c")
    lab.commit(first)
    lab.receive(worker, 1)
    admin.unload(ORDERS)
    admin.buffer(ORDERS)
    (lab.commit if action == "commit" else lab.abort)(second)
    again = consume_again(lab, worker)
    lab.receive_only(again, 3 if action == "commit" else 2)
    admin.log(ORDERS)
    admin.buffer(ORDERS)


def consume_again(lab: Lab, consumer: Consumer) -> Consumer:
    """A new consumer of the same subscription: what was not acknowledged comes again."""
    lab.leave(consumer)
    return consume(lab, consumer.topic)


#: what was open is open again: the buffer reads its topic again behind its snapshot
for _action in ("commit", "abort"):
    _run = partial(_recovery, action=_action)
    program("TopicTransactionBufferRecoverTest.recoverTest", name=f"recovery-then-{_action}")(_run)


@program("TransactionTest.testMaxReadPositionForNormalPublish")
def max_read_position(lab: Lab, admin: Admin) -> None:
    write(lab, None, "a")
    admin.buffer(ORDERS)
    txn = begin_and_write(lab, "b")
    admin.buffer(ORDERS)
    write(lab, None, "c")
    admin.buffer(ORDERS)
    lab.commit(txn)
    admin.buffer(ORDERS)
    write(lab, None, "d")
    admin.buffer(ORDERS)


@program("TransactionTest.testPersistentTopicGetLastDispatchablePositionWithTxn")
def readers(lab: Lab, admin: Admin) -> None:
    """A reader's last message is the last one it could be sent: markers and what was aborted do
    not count."""
    write(lab, None, "a")
    aborted, still_open = lab.begin("app"), lab.begin("app")
    write(lab, aborted, "b", "c", "d")
    lab.abort(aborted)
    write(lab, still_open, "e", "f", "g")
    lab.read_all("reader", ORDERS)
    lab.abort(still_open)
    lab.read_all("reader", ORDERS)
    admin.log(ORDERS)


@program("TopicTransactionBufferTest.testWriteSnapshotWhenFirstTxnMessageSend")
def first_snapshot(lab: Lab, admin: Admin) -> None:
    """The buffer needs no snapshot before the first message of a transaction."""
    worker = consume(lab)
    lab.producer("app", ORDERS)
    admin.buffer(ORDERS)
    write(lab, None, "a")
    admin.buffer(ORDERS)
    txn = begin_and_write(lab, "b")
    admin.buffer(ORDERS)
    lab.abort(txn)
    write(lab, None, "c")
    admin.unload(ORDERS)
    admin.buffer(ORDERS)
    lab.leave(worker)
    lab.receive(consume(lab), 2)


@program("TransactionTest: clearTransactionBufferSnapshotTest")
def delete_topic(lab: Lab, admin: Admin) -> None:
    """A topic that is deleted takes its snapshot along: a new one of its name knows of nothing."""
    txn = begin_and_write(lab, "a")
    lab.abort(txn)
    admin.buffer(ORDERS)
    lab.forget()
    admin.delete(ORDERS)
    write(lab, None, "b")
    admin.buffer(ORDERS)
    admin.log(ORDERS)


@program("TransactionEndToEndTest.txnMetadataHandlerRecoverTest")
def another_client_commits(lab: Lab, admin: Admin) -> None:
    """Nothing ties a transaction to its client: anyone who knows the id may end it."""
    worker = consume(lab)
    txn = begin_and_write(lab, "a", "b")
    lab.end_by_id("stranger", txn, "commit")
    lab.receive(worker, 2)
    lab.state(txn)
    lab.commit(txn)
    lab.state(txn)


@program("AdminApiTransactionTest.testPeekMessageForShowAllMessages")
def entries_with_flags(lab: Lab, admin: Admin) -> None:
    """An operator sees every entry. "aborted" goes by the transaction alone, so that its marker
    has it too."""
    for text, end in (("a", lab.commit), ("b", lab.abort)):
        txn = begin_and_write(lab, text)
        end(txn)
    still_open = begin_and_write(lab, "c")
    write(lab, None, "d")
    admin.log(ORDERS)
    lab.abort(still_open)
    admin.log(ORDERS)


@program("TransactionTest.testReadCommittedWithCompaction")
def compaction(lab: Lab, admin: Admin) -> None:
    """Compaction reads as far as a subscription may, and drops what was aborted."""
    lab.send("app", ORDERS, "v1", key="k1")
    for texts, end in ((("v2", "v3"), lab.commit), (("v4", "v5"), lab.abort)):
        txn = lab.begin("app")
        lab.send("app", ORDERS, texts[0], txn, key="k1")
        lab.send("app", ORDERS, texts[1], txn, key="k2")
        end(txn)
    still_open = lab.begin("app")
    lab.send("app", ORDERS, "v6", still_open, key="k1")
    admin.compact(ORDERS)
    worker = lab.subscribe("worker", ORDERS, "billing", "Exclusive", compacted="yes")
    lab.receive_only(worker, 2)
    lab.commit(still_open)
    lab.receive(worker, 1)


@program("TransactionEndToEndTest.testDelayedTransactionMessages")
def delayed(lab: Lab, admin: Admin) -> None:
    """The delay is counted from the send, not from the commit; only a shared subscription
    keeps it."""
    shared = lab.subscribe("worker", ORDERS, "shared", "Shared")
    failover = lab.subscribe("other", ORDERS, "failover", "Failover")
    txn = lab.begin("app")
    lab.send("app", ORDERS, "a", txn, after=4_000)
    lab.commit(txn)
    lab.receive(failover, 1)
    lab.silent(shared, 500)
    lab.receive(shared, 1)


@program("TopicTransactionBuffer#commitTxn, #abortTxn")
def registered_and_never_sent(lab: Lab, admin: Admin) -> None:
    """A commit leaves its marker where it was registered, written to or not; an abort in a buffer
    without a snapshot leaves nothing."""
    write(lab, None, "a")
    for end in (lab.abort, lab.commit, lab.abort):
        txn = lab.begin("app")
        lab.register(txn, ORDERS)
        end(txn)
        admin.buffer(ORDERS)
        admin.log(ORDERS)


@program("MessageDeduplication, PersistentTopic#publishTxnMessage", settings=DEDUPLICATES)
def deduplication(lab: Lab, admin: Admin) -> None:
    """A sequence id that an aborted transaction has used is used up: sent again, the message is
    answered as stored and is nowhere."""
    worker = consume(lab)
    lab.producer("app", ORDERS, name="cashier")
    txn = lab.begin("app")
    lab.send("app", ORDERS, "a", txn, seq=5)
    lab.abort(txn)
    lab.send("app", ORDERS, "a", seq=5)
    lab.send("app", ORDERS, "b", seq=6)
    lab.receive_only(worker, 1)
    admin.log(ORDERS)


@program("BatchMessageContainerImpl#hasSameTxn")
def batch_of_a_transaction(lab: Lab, admin: Admin) -> None:
    """A batch is one entry and belongs to one transaction."""
    worker = consume(lab)
    for end in (lab.commit, lab.abort):
        txn = lab.begin("app")
        lab.send_batch("app", ORDERS, ["a", "b", "c"], txn)
        end(txn)
    lab.receive_only(worker, 3)
    admin.log(ORDERS)
    admin.buffer(ORDERS)
