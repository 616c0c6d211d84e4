"""The scenario of every recorded client library, run by confluent-kafka (librdkafka).

python confluent_story.py ADDRESS PREFIX prints one line a call: who, the call, what came of it,
with tabs between.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

ADDRESS, PREFIX = sys.argv[1:3]
ORDERS = PREFIX + "orders"
CONFIGS = (
    "cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas",
    "retention.ms", "segment.bytes",
)  # fmt: skip
WAIT_S = 20


def call(who: str, what: str, action: Callable[[], Any]) -> None:
    try:
        came = action()
    except (ck.KafkaException, SystemError) as error:
        # 2.16.1 calls a report while its own fatal error is being raised: SystemError, caused by it
        came = (error.__cause__ or error).args[0].name()
    print(who, what, "ok" if came is None else came, sep="\t", flush=True)


def producer(**more: Any) -> Any:
    given = {key.replace("_", "."): value for key, value in more.items()}
    return ck.Producer({"bootstrap.servers": ADDRESS, "linger.ms": 0, **given})


def send(client: Any, partition: int, value: str) -> str:
    reports: list[str] = []

    def report(error: Any, message: Any) -> None:
        reports.append(f"ok @{message.offset()}" if error is None else error.name())

    client.produce(ORDERS, value.encode(), partition=partition, on_delivery=report)
    client.flush(WAIT_S)
    return "".join(reports)


def consumer(group: str, **more: Any) -> Any:
    given = {key.replace("_", "."): value for key, value in more.items()}
    return ck.Consumer(
        {
            "bootstrap.servers": ADDRESS, "group.id": PREFIX + group, "client.id": PREFIX + group,
            "enable.auto.commit": False, "auto.offset.reset": "earliest",
            "enable.partition.eof": True, **given,
        }
    )  # fmt: skip


def read(isolation: str) -> str:
    reader = consumer("accounting", isolation_level=isolation)
    reader.assign([ck.TopicPartition(ORDERS, 0, 0)])
    messages = []
    while True:
        message = reader.poll(WAIT_S)
        if message is None or message.error():
            break
        messages.append(f"{message.value().decode()} @{message.offset()}")
    reader.close()
    return ", ".join(messages)


def consume() -> str:
    """Read both partitions of the topic as a group with read_committed, until all six messages are
    read and both partitions ended (or nothing comes for WAIT_S), and commit the positions; returns
    what was read, sorted."""
    worker = consumer("accounting", isolation_level="read_committed")
    worker.subscribe([ORDERS])
    messages: set[str] = set()
    ended: set[int] = set()
    while len(messages) < 6 or len(ended) < 2:
        message = worker.poll(WAIT_S)
        if message is None:
            break
        if message.error():  # the end of a partition
            ended.add(message.partition())
        else:
            ended.discard(message.partition())  # it went on after all
            messages.add(f"{message.partition()}: {message.value().decode()} @{message.offset()}")
    worker.commit(asynchronous=False)
    worker.close()
    return ", ".join(sorted(messages))


def fetch_offsets(group: str) -> str:
    """It waits by itself: a transaction's offsets count from its marker on."""
    reader = consumer(group)
    rows = reader.committed([ck.TopicPartition(ORDERS, i) for i in (0, 1)], WAIT_S)
    reader.close()
    out = []
    for row in rows:
        epoch = "-" if row.leader_epoch is None else row.leader_epoch
        if row.offset >= 0:
            out.append(f"{row.partition}: {row.offset} epoch {epoch} '{row.metadata or ''}'")
    return ", ".join(out)


def configs(admin: Any) -> str:
    (answer,) = admin.describe_configs([ConfigResource("topic", ORDERS)]).values()
    rows = answer.result(WAIT_S)
    return ", ".join(f"{name}={rows[name].value if name in rows else None}" for name in CONFIGS)


def zombie(app: Any) -> None:
    twin = producer(transactional_id=PREFIX + "A")
    call("twin", "init", lambda: twin.init_transactions(WAIT_S))
    call("app", "begin", app.begin_transaction)
    call("app", "send e", lambda: send(app, 0, "e"))
    call("app", "commit", lambda: app.commit_transaction(WAIT_S))
    call("twin", "begin", twin.begin_transaction)
    call("twin", "send f", lambda: send(twin, 0, "f"))
    call("twin", "commit", lambda: twin.commit_transaction(WAIT_S))


def main() -> None:
    """Make the calls and print each with what came of it: a topic, an idempotent producer, a commit
    and an abort, both isolation levels, offsets in a transaction, a fenced producer, a group that
    reads and commits. The recordings of other client libraries have the same calls."""
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    topic = NewTopic(ORDERS, 2, 1)
    call("admin", "create orders", lambda: admin.create_topics([topic])[ORDERS].result(WAIT_S))
    call(
        "admin", "create orders again",
        lambda: admin.create_topics([topic])[ORDERS].result(WAIT_S),
    )  # fmt: skip
    call("admin", "configs of orders", lambda: configs(admin))
    plain = producer(enable_idempotence=True)
    call("plain", "send a", lambda: send(plain, 0, "a"))
    call("plain", "send z", lambda: send(plain, 1, "z"))
    app = producer(transactional_id=PREFIX + "A")
    call("app", "init", lambda: app.init_transactions(WAIT_S))
    for values, end in (("bc", app.commit_transaction), ("x", app.abort_transaction)):
        call("app", "begin", app.begin_transaction)
        for value in values:
            call("app", f"send {value}", lambda value=value: send(app, 0, value))
        call("app", "commit" if len(values) > 1 else "abort", lambda end=end: end(WAIT_S))
    for isolation in ("read_committed", "read_uncommitted"):
        call("reader", isolation, lambda isolation=isolation: read(isolation))
    # partition 0, offset 3, the metadata that a group may keep beside it, leader epoch 0
    offsets = [ck.TopicPartition(ORDERS, 0, 3, "half way", 0)]
    group = consumer("billing").consumer_group_metadata()
    call("app", "begin", app.begin_transaction)
    call("app", "send d", lambda: send(app, 0, "d"))
    call("app", "send offsets 3", lambda: app.send_offsets_to_transaction(offsets, group, WAIT_S))
    call("app", "commit", lambda: app.commit_transaction(WAIT_S))
    call("admin", "offsets of billing", lambda: fetch_offsets("billing"))
    zombie(app)
    call("worker", "consumes", consume)
    call("admin", "offsets of accounting", lambda: fetch_offsets("accounting"))


if __name__ == "__main__":
    main()
