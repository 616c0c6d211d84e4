"""The coordinator, and a client's own view of a transaction."""

from __future__ import annotations

from functools import partial

from . import CONTROL, Admin, Lab, program
from .acknowledgement import filled
from .visibility import ORDERS, begin_and_write, consume, write


@program("TransactionTest.testGetTxnID, TransactionCoordinatorClientTest.testNewTxn",
         needs=(CONTROL,))  # fmt: skip
def ids(lab: Lab, admin: Admin) -> None:
    """A coordinator counts from 0; an aborted transaction uses an id up too. Nobody opens it before
    a client asks for transactions."""
    admin.coordinator()
    for end in (lab.commit, lab.abort):
        txn = lab.begin("app")
        admin.coordinator()
        end(txn)
    lab.commit(lab.begin("another"))
    admin.coordinator()


@program("MLTransactionMetadataStoreTest.testRecoverSequenceId")
def ids_after_unload(lab: Lab, admin: Admin) -> None:
    lab.commit(lab.begin("app"))
    admin.unload_coordinator()
    lab.commit(lab.begin("app"))


@program("MLTransactionMetadataStoreTest.testTransactionOperation")
def participants(lab: Lab, admin: Admin) -> None:
    """A set: registered twice is registered once; and listed in their order."""
    worker = consume(lab, kind="Shared")
    for topic in (ORDERS, "stock-0", "payments-0"):
        write(lab, None, "a", topic=topic)
    got = lab.receive(worker, 1)
    txn = lab.begin("worker")
    admin.transaction(txn)
    for topic in ("stock-0", "payments-0", "stock-0"):
        lab.register(txn, topic)
    lab.ack(worker, got[0], txn=txn)
    admin.transaction(txn)
    lab.commit(txn)
    admin.transaction(txn)


@program("MLTransactionMetadataStoreTest.testDeleteLog", needs=(CONTROL,))
def log_is_cleaned(lab: Lab, admin: Admin) -> None:
    """Five records of a transaction with one topic and one subscription, and none of them is kept
    once it has ended."""
    worker, got = filled(lab, "a")
    txn = lab.begin("worker")
    admin.transaction_log()
    lab.send("worker", "income-0", "x", txn)
    lab.ack(worker, got[0], txn=txn)
    admin.transaction_log()
    lab.commit(txn)
    admin.transaction_log()
    lab.abort(lab.begin("worker"))
    admin.transaction_log()


@program("TransactionEndToEndTest.testTxnTimeoutAtTransactionMetadataStore")
def timeout(lab: Lab, admin: Admin) -> None:
    """The coordinator aborts what is open at its deadline."""
    worker = consume(lab)
    txn = begin_and_write(lab, "a", timeout_ms=1_500)
    write(lab, None, "b")
    lab.receive(worker, 1)
    admin.status(txn, "404")
    admin.log(ORDERS)
    lab.silent(worker)


@program("TransactionTest.testTxnTimeOutInClient")
def client_timeout(lab: Lab, admin: Admin) -> None:
    """The client counts too, and asks nobody any more."""
    worker, got = filled(lab, "a")
    txn = lab.begin("worker", 1_000)
    lab.wait_state(txn, "TIME_OUT")
    lab.send("worker", ORDERS, "b", txn)
    lab.ack(worker, got[0], txn=txn)
    lab.commit(txn)
    lab.abort(txn)
    admin.status(txn, "404")


def _closed(lab: Lab, admin: Admin, action: str) -> None:
    worker, got = filled(lab, "a")
    txn = lab.begin("worker")
    (lab.commit if action == "commit" else lab.abort)(txn)
    lab.state(txn)
    lab.send("worker", ORDERS, "b", txn)
    lab.ack(worker, got[0], txn=txn)
    lab.commit(txn)
    lab.abort(txn)
    lab.state(txn)


#: the client refuses all that comes later, without a question to anybody
for _action in ("commit", "abort"):
    _test = "TransactionEndToEndTest.produceAndConsumeCloseStateTxnTest"
    program(_test, name=f"closed-by-{_action}")(partial(_closed, action=_action))


@program("TransactionProduceTest.testCommitFailure")
def failed_operation(lab: Lab, admin: Admin) -> None:
    """A message that is too large: the commit becomes an abort."""
    txn = begin_and_write(lab, "a")
    lab.send("app", ORDERS, "b", txn, size=6_000_000)
    lab.commit(txn)
    lab.state(txn)
    admin.status(txn, "404")
    admin.log(ORDERS)


@program("AdminApiTransactionTest.testAbortTransaction, TransactionTest.testGetTxnState")
def admin_abort(lab: Lab, admin: Admin) -> None:
    """An operator may abort by the id; the client learns of it when it ends the transaction."""
    txn = begin_and_write(lab, "a")
    admin.abort(txn)
    admin.transaction(txn)
    lab.state(txn)
    lab.commit(txn)
    lab.state(txn)
    admin.log(ORDERS)
    admin.abort(txn)


@program("TransactionBufferClientTest.testEndTopicNotExist")
def missing_topic(lab: Lab, admin: Admin) -> None:
    """A topic that was deleted is no obstacle."""
    txn = begin_and_write(lab, "a")
    write(lab, txn, "p", topic="payments-0")
    admin.delete(ORDERS)
    lab.commit(txn)
    admin.log("payments-0")


@program("TransactionBufferClientTest.testEndSubNotExist")
def missing_subscription(lab: Lab, admin: Admin) -> None:
    worker = consume(lab, kind="Shared")
    write(lab, None, "a")
    txn = lab.begin("app")
    lab.ack(worker, *lab.receive(worker, 1), txn=txn)
    lab.leave(worker)
    admin.delete_subscription(ORDERS, "billing")
    lab.commit(txn)
    lab.receive(consume(lab, kind="Shared"), 1)


@program("AdminApiTransactionTest.testGetSlowTransactions")
def slow_transactions(lab: Lab, admin: Admin) -> None:
    """By the timeout that they were given, not by how long they have been running."""
    for timeout_ms in (10_000, 60_000, 90_000):
        lab.begin("app", timeout_ms)
    for limit in (5_000, 30_000, 90_000):
        admin.slow(limit)


@program("TransactionCoordinatorConfigTest.testMaxActiveTxn",
         settings={"maxActiveTransactionsPerCoordinator": "2"})  # fmt: skip
def most_active(lab: Lab, admin: Admin) -> None:
    """Over the limit there is no answer at all, and the client waits for its own timeout."""
    lab.client("impatient", timeout=2_000)
    first = lab.begin("app")
    lab.begin("app")
    lab.begin_refused("impatient")
    lab.commit(first)
    lab.commit(lab.begin("app"))


@program("TransactionMetadataStoreServiceTest")
def ended_twice(lab: Lab, admin: Admin) -> None:
    """Two commits sent together on an open transaction: one marker, and the second is refused."""
    txn = begin_and_write(lab, "a")
    lab.end_twice("app", txn, "commit")
    admin.log(ORDERS)


@program("apache/pulsar#19629")
def commit_said_no(lab: Lab, admin: Admin) -> None:
    """The answer to a commit was lost, so its client asks again. An application that takes this
    error for an abort pays twice."""
    worker = consume(lab)
    first = begin_and_write(lab, "pay", timeout_ms=60_000)
    lab.commit(first)
    lab.reopen(first)
    lab.commit(first)
    second = begin_and_write(lab, "pay", timeout_ms=60_000)
    lab.commit(second)
    lab.receive(worker, 2)


@program("streamnative/pulsar-flink#417")
def the_job_cannot_be_restored(lab: Lab, admin: Admin) -> None:
    """The same answer for a transaction that was committed and for one that its timeout ended."""
    worker = consume(lab)
    committed = lab.begin("sink")
    lab.send("sink", ORDERS, "first", committed)
    lab.commit(committed)
    expired = lab.begin("sink", 3_000)
    lab.send("sink", ORDERS, "second", expired)
    admin.status(expired, "404")
    for txn in (committed, expired):
        lab.reopen(txn)
        lab.commit(txn)
    lab.receive_only(worker, 1)
