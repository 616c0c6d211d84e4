"""aiokafka in the story of every client library (story.py): its coroutines are run to their end,
one after the other. Its offsets know no leader epoch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.structs import OffsetAndMetadata
from story import ADDRESS, ORDERS, PREFIX, Story

LOOP = asyncio.new_event_loop()


def wait(call: Callable[..., Any], *words: Any, **more: Any) -> Any:
    """What a call answers, and its coroutine in the end."""

    async def run() -> Any:
        came = call(*words, **more)
        return await asyncio.wait_for(came, 20) if asyncio.iscoroutine(came) else came

    return LOOP.run_until_complete(run())


class Waited:
    """A client of aiokafka whose coroutines are waited for."""

    def __init__(self, kind: type, *words: Any, **settings: Any) -> None:
        self._made = wait(kind, *words, bootstrap_servers=ADDRESS, **settings)

    def __getattr__(self, name: str) -> Any:
        return partial(wait, getattr(self._made, name))


class AioKafka:
    partition, group, position = TopicPartition, str, OffsetAndMetadata

    def make_admin(self) -> Any:
        admin = Waited(AIOKafkaAdminClient)
        admin.start()
        return admin

    def make_producer(self, txn_id: str | None = None) -> Any:
        producer = Waited(AIOKafkaProducer, transactional_id=txn_id, enable_idempotence=True)
        if txn_id is None:
            producer.start()
        return producer

    def make_consumer(self, group: str, **more: Any) -> Any:
        consumer = Waited(
            AIOKafkaConsumer, group_id=PREFIX + group, enable_auto_commit=False,
            auto_offset_reset="earliest", **more,
        )  # fmt: skip
        consumer.start()
        return consumer

    def close(self, consumer: Any) -> None:
        consumer.stop()

    def init(self, producer: Any) -> None:
        producer.start()

    def create_topic(self, admin: Any) -> str:
        (row,) = admin.create_topics([NewTopic(ORDERS, 2, 1)]).topic_errors
        return f"error {row[1]}" if row[1] else "ok"

    def describe_topic(self, admin: Any) -> dict[str, Any]:
        (answer,) = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, ORDERS)])
        return {entry[0]: entry[1] for entry in answer.resources[0][4]}

    def send(self, producer: Any, partition: int, value: bytes) -> int:
        return producer.send_and_wait(ORDERS, value, partition=partition).offset

    def poll(self, consumer: Any) -> dict[Any, Any]:
        return consumer.getmany(timeout_ms=200)

    def list_offsets(self, admin: Any, group: str) -> dict[Any, Any]:
        return admin.list_consumer_group_offsets(group)

    def say_position(self, row: Any) -> str:
        return f"{row.offset} '{row.metadata}'"


Story(AioKafka()).tell()
