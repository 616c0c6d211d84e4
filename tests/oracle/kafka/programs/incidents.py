"""Public reports, asked of a cluster; the stories are in datasets/scenarios/incidents."""

from __future__ import annotations

import time

from mqlab.real.kafka.client import READ_COMMITTED, Lab, word
from mqlab.real.kafka.producer import Producer
from mqlab.real.kafka.wire import MINUTE

from . import program
from .confluent import Client

SETTLE_S = 1.0


def delete_topic(lab: Lab, name: str) -> None:
    answer = lab.raw().ask(20, 4, topic_names=(lab.wire(name),), timeout=MINUTE)
    lab.note("admin", "broker", f"DeleteTopics {name}", word(answer.responses[0].error_code))
    time.sleep(SETTLE_S)


@program("deleted-in-mid-transaction", "KAFKA-5202: TransactionMarkerChannelManager")
def deleted_in_mid_transaction(lab: Lab) -> None:
    """Deleted and created again: the marker is the first entry of the new one. Deleted for good:
    the transaction is over there, with everything else."""
    app = Producer(lab, "order-service", "app")
    app.init()
    for again in (True, False):
        for name in ("orders", "payments"):
            lab.topic(name)
        app.send("orders-0", "order")
        app.send("payments-0", "payment")
        delete_topic(lab, "orders")
        if again:
            lab.topic("orders")
        app.commit()
        lab.log("payments-0", end=2)
        if again:
            lab.log("orders-0", end=1)
            delete_topic(lab, "orders")
        delete_topic(lab, "payments")
        app.seqs.clear()
        app.added.clear()


@program("too-large-then-the-next", "confluent-kafka-python#1125", profiles=("tv2-legacy",))
def too_large_then_the_next(lab: Lab) -> None:
    """librdkafka does not take back the number of a record that was refused for its size."""
    lab.topic("orders", max_message_bytes="100")
    app = Client(lab, "order-service", "app")
    app.init()
    for value in ("large " * 20, "small", "small"):
        app.begin()
        app.send("orders-0", value)
        if len(value) > 100 or not app.commit():
            app.abort()
    lab.read("orders-0", READ_COMMITTED)
