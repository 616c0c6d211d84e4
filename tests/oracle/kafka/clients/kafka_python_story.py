"""The story of every client library (see libraries.py), for kafka-python.

python kafka_python_story.py ADDRESS PREFIX prints one line a call: who, the call, what came of it,
with tabs between.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from kafka import ConsumerGroupMetadata, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, KafkaAdminClient, NewTopic
from kafka.structs import OffsetAndMetadata

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
    except Exception as error:
        came = type(error).__name__
    print(who, what, "ok" if came is None else came, sep="\t", flush=True)


def drop_result(action: Callable[..., Any]) -> Callable[[], None]:
    return lambda: action() and None


def send(client: Any, partition: int, value: str) -> str:
    metadata = client.send(ORDERS, value=value.encode(), partition=partition).get(WAIT_S)
    return f"ok @{metadata.offset}"


def consumer(group: str, **more: Any) -> Any:
    return KafkaConsumer(
        bootstrap_servers=ADDRESS, group_id=PREFIX + group, enable_auto_commit=False,
        auto_offset_reset="earliest", **more,
    )  # fmt: skip


def read(isolation: str) -> str:
    reader = consumer("nobody", isolation_level=isolation)
    at = TopicPartition(ORDERS, 0)
    reader.assign([at])
    reader.seek_to_beginning(at)
    end = reader.end_offsets([at])[at]
    messages = []
    while reader.position(at) < end:
        for records in reader.poll(timeout_ms=200).values():
            messages += [f"{record.value.decode()} @{record.offset}" for record in records]
    reader.close()
    return ", ".join(messages)


def has_more(worker: Any) -> bool:
    """Whether there is more, a marker perhaps."""
    ends = worker.end_offsets(list(worker.assignment()))
    return any(worker.position(at) < end for at, end in ends.items())


def consume() -> str:
    worker = consumer("accounting", isolation_level="read_committed")
    worker.subscribe([ORDERS])
    messages: set[str] = set()
    while len(messages) < 6 or has_more(worker):
        for records in worker.poll(timeout_ms=200).values():
            messages |= {f"{r.partition}: {r.value.decode()} @{r.offset}" for r in records}
    worker.commit()
    worker.close()
    return ", ".join(sorted(messages))


def fetch_offsets(admin: Any, group: str) -> str:
    """Asked until there is something: a transaction's offsets count from its marker on."""
    rows: dict[Any, Any] = {}
    for i in range(100):
        time.sleep(0.1 * bool(i))
        if rows := admin.list_group_offsets(PREFIX + group)[PREFIX + group]:
            break
    return ", ".join(
        f"{at.partition}: {row.offset} epoch {row.leader_epoch} '{row.metadata}'"
        for at, row in sorted(rows.items())
    )


def configs(admin: Any) -> str:
    answer = admin.describe_configs([ConfigResource("TOPIC", ORDERS)], config_filter="all")
    entries = answer["topic"][ORDERS]
    return ", ".join(f"{name}={entries[name]['value']}" for name in CONFIGS)


def zombie(app: Any) -> None:
    twin = KafkaProducer(bootstrap_servers=ADDRESS, transactional_id=PREFIX + "A")
    call("twin", "init", drop_result(twin.init_transactions))
    call("app", "begin", drop_result(app.begin_transaction))
    call("app", "send e", lambda: send(app, 0, "e"))
    call("app", "commit", drop_result(app.commit_transaction))
    call("twin", "begin", drop_result(twin.begin_transaction))
    call("twin", "send f", lambda: send(twin, 0, "f"))
    call("twin", "commit", drop_result(twin.commit_transaction))
    twin.close()


def main() -> None:
    admin = KafkaAdminClient(bootstrap_servers=ADDRESS)
    topic = NewTopic(ORDERS, 2, 1)
    call("admin", "create orders", drop_result(lambda: admin.create_topics([topic])))
    call("admin", "create orders again", drop_result(lambda: admin.create_topics([topic])))
    call("admin", "configs of orders", lambda: configs(admin))
    plain = KafkaProducer(bootstrap_servers=ADDRESS)
    call("plain", "send a", lambda: send(plain, 0, "a"))
    call("plain", "send z", lambda: send(plain, 1, "z"))
    app = KafkaProducer(bootstrap_servers=ADDRESS, transactional_id=PREFIX + "A")
    call("app", "init", drop_result(app.init_transactions))
    for values, end in (("bc", app.commit_transaction), ("x", app.abort_transaction)):
        call("app", "begin", drop_result(app.begin_transaction))
        for value in values:
            call("app", f"send {value}", lambda value=value: send(app, 0, value))
        call("app", "commit" if len(values) > 1 else "abort", drop_result(end))
    for isolation in ("read_committed", "read_uncommitted"):
        call("reader", isolation, lambda isolation=isolation: read(isolation))
    at = {TopicPartition(ORDERS, 0): OffsetAndMetadata(3, "half way", 0)}
    group = ConsumerGroupMetadata(PREFIX + "billing")
    call("app", "begin", drop_result(app.begin_transaction))
    call("app", "send d", lambda: send(app, 0, "d"))
    call("app", "send offsets 3", drop_result(lambda: app.send_offsets_to_transaction(at, group)))
    call("app", "commit", drop_result(app.commit_transaction))
    call("admin", "offsets of billing", lambda: fetch_offsets(admin, "billing"))
    zombie(app)
    call("worker", "consumes", consume)
    call("admin", "offsets of accounting", lambda: fetch_offsets(admin, "accounting"))
    app.close(timeout=1)


main()
