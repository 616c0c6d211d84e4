"""What a client says of its messages, and what the broker goes by."""

from __future__ import annotations

from . import DEDUPLICATES, Admin, Lab, program

ORDERS, PAYMENTS, BILLING = "orders-0", "payments-0", "billing"


@program("ServerCnx#handleSend, AbstractBaseDispatcher#filterEntriesForConsumer")
def named_in_the_command_only(lab: Lab, admin: Admin) -> None:
    """The command names the transaction, the message does not (pulsar-client-go 0.19.0). Its
    horizon hides, its abort does not; a topic that is loaded again knows nothing of it."""
    worker = lab.subscribe("worker", ORDERS, BILLING, "Shared")
    txn = lab.begin("app")
    lab.register(txn, ORDERS)
    lab.send_unnamed("app", ORDERS, "a", txn)
    lab.send("app", ORDERS, "b")
    admin.buffer(ORDERS)
    lab.silent(worker)
    lab.abort(txn)
    lab.receive(worker, 2)
    admin.buffer(ORDERS)
    admin.log(ORDERS)
    second = lab.begin("app")
    lab.register(second, ORDERS)
    lab.send_unnamed("app", ORDERS, "c", second)
    admin.buffer(ORDERS)
    lab.silent(worker)
    admin.unload(ORDERS)
    lab.wait_connected(worker)
    admin.buffer(ORDERS)
    lab.read_all("reader", ORDERS)
    lab.abort(second)
    admin.log(ORDERS)


@program("MessageDeduplication#isDuplicate", settings=DEDUPLICATES)
def deduplication_of_chunks(lab: Lab, admin: Admin) -> None:
    """All chunks of a message have its one sequence id: none of them is a duplicate of another."""
    worker = lab.subscribe("worker", ORDERS, BILLING)
    lab.producer_in_chunks("app", ORDERS, "cashier", 10)
    lab.send("app", ORDERS, "abcdefghijklmnopqrstuvwxyz")
    lab.receive(worker, 1)
    txn = lab.begin("app")
    lab.send("app", ORDERS, "zyxwvutsrqponmlkjihgfedcba", txn)
    lab.commit(txn)
    lab.receive(worker, 1)
    lab.send("app", ORDERS, "abc", seq=1)
    lab.send("app", ORDERS, "short", seq=2)
    lab.receive_only(worker, 1)
    admin.log(ORDERS)


@program("ConsumerBuilderImpl#checkDlqAlreadyExists")
def retry_of_two_topics(lab: Lab, admin: Admin) -> None:
    """Two topics, two subscriptions of one name: what is to be retried comes back where it was."""
    topics = (ORDERS, PAYMENTS)
    workers = {
        topic: lab.subscribe(f"worker-{topic[0]}", topic, BILLING, "Shared", retry="yes", dead=2)
        for topic in topics
    }
    for topic in topics:
        lab.send("app", topic, f"a-of-{topic}")
    for topic in topics:
        got = lab.receive(workers[topic], 1)
        lab.retry(workers[topic], got[0])
    for worker in workers.values():
        lab.receive_again(worker)
        lab.silent(worker)


@program("apache/pulsar#6273", settings=DEDUPLICATES)
def batch_begins_with_a_duplicate(lab: Lab, admin: Admin) -> None:
    """The lowest number of a batch decides for all of it, and the highest counts. A producer of the
    same name that comes later goes on behind it by itself."""
    worker = lab.subscribe("worker", ORDERS, BILLING)
    lab.producer("app", ORDERS, name="cashier", batching="yes")
    lab.send_batch("app", ORDERS, ["o5", "o6", "o7"], seq=5)
    lab.close_producer("app", ORDERS)
    lab.producer("again", ORDERS, name="cashier", batching="yes")
    lab.send_batch("again", ORDERS, ["o7", "o8", "o9"], seq=7)
    lab.receive_only(worker, 3)
    lab.send_batch("again", ORDERS, ["o8", "o9"], seq=8)
    lab.receive_only(worker, 2)
    lab.close_producer("again", ORDERS)
    lab.producer("third", ORDERS, name="cashier", batching="yes")
    lab.send_batch("third", ORDERS, ["p"])
    lab.receive_only(worker, 1)
    admin.log(ORDERS)
