"""The story of every client library (see libraries.py), for aiokafka.

python aiokafka_story.py ADDRESS PREFIX prints one line a call: who, the call, what came of it,
with tabs between. Its offsets know no leader epoch.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.structs import OffsetAndMetadata

ADDRESS, PREFIX = sys.argv[1:3]
ORDERS = PREFIX + "orders"
CONFIGS = (
    "cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas",
    "retention.ms", "segment.bytes",
)  # fmt: skip


async def call(who: str, what: str, action: Awaitable[Any]) -> None:
    try:
        came = await asyncio.wait_for(action, 20)
    except Exception as error:
        came = type(error).__name__
    print(who, what, came if isinstance(came, str) else "ok", sep="\t", flush=True)


async def create(admin: Any) -> str:
    (row,) = (await admin.create_topics([NewTopic(ORDERS, 2, 1)])).topic_errors
    return f"error {row[1]}" if row[1] else "ok"


async def configs(admin: Any) -> str:
    (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, ORDERS)])
    values = {entry[0]: entry[1] for entry in answer.resources[0][4]}
    return ", ".join(f"{name}={values.get(name)}" for name in CONFIGS)


async def send(client: Any, partition: int, value: str) -> str:
    metadata = await client.send_and_wait(ORDERS, value.encode(), partition=partition)
    return f"ok @{metadata.offset}"


async def producer(**more: Any) -> Any:
    client = AIOKafkaProducer(bootstrap_servers=ADDRESS, **more)
    await client.start()
    return client


def consumer(*topics: str, **more: Any) -> Any:
    return AIOKafkaConsumer(
        *topics, bootstrap_servers=ADDRESS, enable_auto_commit=False, auto_offset_reset="earliest",
        **more,
    )  # fmt: skip


async def read(isolation: str) -> str:
    reader = consumer(isolation_level=isolation)
    await reader.start()
    at = TopicPartition(ORDERS, 0)
    reader.assign([at])
    await reader.seek_to_beginning(at)
    end = (await reader.end_offsets([at]))[at]
    messages = []
    while await reader.position(at) < end:
        for records in (await reader.getmany(timeout_ms=200)).values():
            messages += [f"{record.value.decode()} @{record.offset}" for record in records]
    await reader.stop()
    return ", ".join(messages)


async def has_more(worker: Any) -> bool:
    """Whether there is more, a marker perhaps."""
    ends = await worker.end_offsets(list(worker.assignment()))
    return any([await worker.position(at) < end for at, end in ends.items()])


async def consume() -> str:
    worker = consumer(ORDERS, group_id=PREFIX + "accounting", isolation_level="read_committed")
    await worker.start()
    messages: set[str] = set()
    while len(messages) < 6 or await has_more(worker):
        for records in (await worker.getmany(timeout_ms=200)).values():
            messages |= {f"{r.partition}: {r.value.decode()} @{r.offset}" for r in records}
    await worker.commit()
    await worker.stop()
    return ", ".join(sorted(messages))


async def fetch_offsets(admin: Any, group: str) -> str:
    """Asked until there is something: a transaction's offsets count from its marker on."""
    rows: dict[Any, Any] = {}
    for i in range(100):
        await asyncio.sleep(0.1 * bool(i))
        if rows := await admin.list_consumer_group_offsets(PREFIX + group):
            break
    return ", ".join(
        f"{at.partition}: {row.offset} '{row.metadata}'" for at, row in sorted(rows.items())
    )


async def zombie(app: Any) -> None:
    twin = AIOKafkaProducer(bootstrap_servers=ADDRESS, transactional_id=PREFIX + "A")
    await call("twin", "init", twin.start())
    await call("app", "begin", app.begin_transaction())
    await call("app", "send e", send(app, 0, "e"))
    await call("app", "commit", app.commit_transaction())
    await call("twin", "begin", twin.begin_transaction())
    await call("twin", "send f", send(twin, 0, "f"))
    await call("twin", "commit", twin.commit_transaction())
    await twin.stop()


async def main() -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=ADDRESS)
    await admin.start()
    await call("admin", "create orders", create(admin))
    await call("admin", "create orders again", create(admin))
    await call("admin", "configs of orders", configs(admin))
    plain = await producer(enable_idempotence=True)
    await call("plain", "send a", send(plain, 0, "a"))
    await call("plain", "send z", send(plain, 1, "z"))
    await plain.stop()
    app = AIOKafkaProducer(bootstrap_servers=ADDRESS, transactional_id=PREFIX + "A")
    await call("app", "init", app.start())
    for values, end in (("bc", "commit"), ("x", "abort")):
        await call("app", "begin", app.begin_transaction())
        for value in values:
            await call("app", f"send {value}", send(app, 0, value))
        await call("app", end, getattr(app, f"{end}_transaction")())
    for isolation in ("read_committed", "read_uncommitted"):
        await call("reader", isolation, read(isolation))
    at = {TopicPartition(ORDERS, 0): OffsetAndMetadata(3, "half way")}
    await call("app", "begin", app.begin_transaction())
    await call("app", "send d", send(app, 0, "d"))
    offsets = app.send_offsets_to_transaction(at, PREFIX + "billing")
    await call("app", "send offsets 3", offsets)
    await call("app", "commit", app.commit_transaction())
    await call("admin", "offsets of billing", fetch_offsets(admin, "billing"))
    await zombie(app)
    await call("worker", "consumes", consume())
    await call("admin", "offsets of accounting", fetch_offsets(admin, "accounting"))
    await admin.close()


asyncio.run(main())
