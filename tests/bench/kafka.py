"""How fast one confluent-kafka client is with a server: transactions and records a second.

Measuring, not testing: the figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import importlib
import time
import uuid
from collections.abc import Callable
from typing import Any

from .servers import count_per_second

RECORDS = 100
PARTITIONS = 3
VALUE = b"v" * 100


def _client() -> Any:
    """confluent-kafka, imported by name: this layer needs it for measuring only."""
    return importlib.import_module("confluent_kafka")


def create_topic(address: str, topic: str, partitions: int = PARTITIONS) -> None:
    admin = importlib.import_module("confluent_kafka.admin")
    client = admin.AdminClient({"bootstrap.servers": address})
    for made in client.create_topics([admin.NewTopic(topic, partitions, 1)]).values():
        made.result(30)


def invent_name(name: str) -> str:
    """A topic that was never used: a real broker may have been measured before."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def transactions_per_second(address: str, seconds: float = 5.0) -> float:
    """Measure how many transactions one producer commits per second, one after the other, for
    `seconds`. Each holds 100 records over 3 partitions."""
    topic = invent_name("bench-txn")
    create_topic(address, topic)
    producer = _client().Producer(
        {"bootstrap.servers": address, "transactional.id": topic, "linger.ms": 5}
    )
    producer.init_transactions(30)

    def transact() -> None:
        producer.begin_transaction()
        for i in range(RECORDS):
            producer.produce(topic, VALUE, partition=i % PARTITIONS)
        producer.commit_transaction(30)

    return count_per_second(transact, seconds)


def records_per_second(address: str, records: int = 500_000) -> float:
    """Measure how many records per second one idempotent producer sends, until all are
    acknowledged. Values have 100 bytes and go to 3 partitions. Raises TimeoutError where that is
    not so 60 s after the last one."""
    topic = invent_name("bench-records")
    create_topic(address, topic)
    producer = _client().Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "linger.ms": 5,
            "queue.buffering.max.messages": 200_000,
        }
    )
    start = time.perf_counter()
    for i in range(records):
        while True:
            try:
                producer.produce(topic, VALUE, partition=i % PARTITIONS)
                break
            except BufferError:  # the client's queue is full: let it send, then try again
                producer.poll(0.01)
    if producer.flush(60):
        raise TimeoutError("not all records were acknowledged within 60 s of the last one")
    return records / (time.perf_counter() - start)


FIGURES: dict[str, Callable[[str], float]] = {
    "transactions/s of 100 records": transactions_per_second,
    "records/s": records_per_second,
}
