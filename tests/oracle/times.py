"""How long what a dead process leaves open lasts on released brokers, by their own default clocks.

    .venv/bin/python -m tests.oracle.times

takes three minutes, most of them waiting, and prints seconds. `measured` in
`mqlab/lessons/decision.toml` quotes them. Clients keep their defaults: transaction.timeout.ms=60000
(Kafka), a transaction timeout of 60 s (Pulsar's examples), one half message (RocketMQ).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from mqlab.real.kafka.broker import RealKafka
from mqlab.real.pulsar.broker import RealPulsar
from mqlab.real.rocketmq.broker import CLOCKS, RealRocketMQ

from .pulsar.client import Lab as PulsarLab
from .pulsar.driver import JavaDriver
from .pulsar.notebook import PROFILES as PULSAR
from .pulsar.notebook import TRANSACTIONS
from .pulsar.notebook import Target as PulsarTarget
from .rocketmq.client import PROFILES, Lab, Target
from .rocketmq.client import Producer as HalfProducer

PATIENCE_S = 120
LATEST: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]


def wait_s(ask: Callable[[], bool], started: float | None = None) -> float:
    """The seconds until it is so, from `started` or from now. TimeoutError where it never is."""
    started = time.monotonic() if started is None else started
    while not ask():
        if time.monotonic() - started > PATIENCE_S:
            raise TimeoutError(f"not within {PATIENCE_S} s")
        time.sleep(0.1)
    return time.monotonic() - started


def _leave_open(address: str) -> None:
    producer = Producer({"bootstrap.servers": address, "transactional.id": "order-service"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("orders", b"a")
    producer.flush()
    os._exit(0)  # without an abort, as kill -9 leaves it


def hold_stable_offset() -> float:
    """A producer is gone with its transaction open: until read_committed reaches the end again."""
    interval = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000"}
    with RealKafka(settings={**interval, "auto.create.topics.enable": "true"}) as kafka:
        process = get_context("spawn").Process(target=_leave_open, args=(kafka.address,))
        process.start()
        process.join()
        admin = AdminClient({"bootstrap.servers": kafka.address})
        place, level = TopicPartition("orders", 0), IsolationLevel.READ_COMMITTED

        def is_passed() -> bool:
            ends = admin.list_offsets({place: LATEST}, isolation_level=level)
            return int(ends[place].result().offset) > 0

        return wait_s(is_passed)


def ask_first() -> float:
    """The end of a half is lost: until its producer group is asked."""
    with RealRocketMQ(settings=CLOCKS) as broker:
        lab = Lab(Target("real", broker.address, broker, broker.version), PROFILES["5.5"])
        lab.topic("orders")
        app = HalfProducer(lab)
        app.start()
        app.send("orders-0", "o1")
        seconds = wait_s(lambda: bool(app.connection.take_checks(1, 1.0)))
        lab.close()
        return seconds


def hold_read_position() -> float:
    """A client is gone with its transaction open: from its begin until it is aborted."""
    with RealPulsar() as pulsar, JavaDriver(pulsar.address, pulsar.admin, pulsar.version) as driver:
        lab = PulsarLab(PulsarTarget("real", driver, pulsar), PULSAR["4.2"])
        lab.producer("app", "orders-0")
        started, txn = time.monotonic(), lab.begin("app", 60_000)
        lab.send("app", "orders-0", "a", txn)
        lab.forget()
        path = f"{TRANSACTIONS}/transactionMetadata/{txn.most}/{txn.least}"
        return wait_s(lambda: bool(lab.http("GET", path)["status"] == 404), started)


def main() -> None:
    every = {
        "Kafka 4.3.1": hold_stable_offset,
        "RocketMQ 5.5.0": ask_first,
        "Pulsar 4.2.4": hold_read_position,
    }
    for broker, measure in every.items():
        print(f"{broker:<15} {measure():6.1f} s  {(measure.__doc__ or '').strip()}", flush=True)


if __name__ == "__main__":
    main()
