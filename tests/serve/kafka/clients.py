"""Unmodified confluent-kafka clients, with short timeouts and without their own log."""

from __future__ import annotations

import time
from typing import Any

import pytest

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="needs confluent-kafka: run `make setup`"
)

from confluent_kafka import Consumer, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

PATIENCE_S = 600
QUIET = {"log_level": 0}


def create(address: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": address, **QUIET})
    given = {key.replace("_", "."): value for key, value in config.items()}
    made = admin.create_topics([NewTopic(topic, partitions, 1, config=given)])
    made[topic].result(PATIENCE_S)


def producer(address: str, txn_id: str = "", **more: Any) -> Producer:
    """A transactional producer that is initialised, or an idempotent one."""
    config: dict[str, Any] = {"bootstrap.servers": address, "linger.ms": 0, **QUIET, **more}
    if not txn_id:
        return Producer({**config, "enable.idempotence": True})
    made = Producer({**config, "transactional.id": txn_id})
    made.init_transactions(PATIENCE_S)
    return made


def transaction(who: Producer, topic: str, *values: str, commit: bool = True) -> None:
    who.begin_transaction()
    for value in values:
        who.produce(topic, value)
    if commit:
        who.commit_transaction(PATIENCE_S)
    else:
        who.flush(PATIENCE_S)  # else an abort throws away what has not left yet
        who.abort_transaction(PATIENCE_S)


def consumer(address: str, committed: bool = True, group: str = "group") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **QUIET,
        }
    )


def read(
    address: str, topic: str, partitions: int = 1, committed: bool = True, start: int = 0
) -> list[str]:
    """All values from offset `start` up to the end, partition by partition."""
    reader = consumer(address, committed)
    reader.assign([TopicPartition(topic, i, start) for i in range(partitions)])
    got: list[list[str]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while len(ended) < partitions:
        assert time.monotonic() < until, "the end of the topic was never reached"
        message = reader.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            ended.add(message.partition())
        else:
            got[message.partition()].append(message.value().decode())
    reader.close()
    return [value for values in got for value in values]
