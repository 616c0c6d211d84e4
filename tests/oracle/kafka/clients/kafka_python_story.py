"""kafka-python in the story of every client library (story.py)."""

from __future__ import annotations

from typing import Any

from kafka import ConsumerGroupMetadata, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, KafkaAdminClient, NewTopic
from kafka.structs import OffsetAndMetadata
from story import ADDRESS, ORDERS, PREFIX, Story

WAIT_S = 20


class KafkaPython:
    partition, group = TopicPartition, ConsumerGroupMetadata

    def make_admin(self) -> Any:
        return KafkaAdminClient(bootstrap_servers=ADDRESS)

    def make_producer(self, txn_id: str | None = None) -> Any:
        return KafkaProducer(bootstrap_servers=ADDRESS, transactional_id=txn_id)

    def make_consumer(self, group: str, **more: Any) -> Any:
        return KafkaConsumer(
            bootstrap_servers=ADDRESS, group_id=PREFIX + group, enable_auto_commit=False,
            auto_offset_reset="earliest", **more,
        )  # fmt: skip

    def close(self, consumer: Any) -> None:
        consumer.close()

    def init(self, producer: Any) -> None:
        producer.init_transactions()

    def create_topic(self, admin: Any) -> None:
        admin.create_topics([NewTopic(ORDERS, 2, 1)])

    def describe_topic(self, admin: Any) -> dict[str, Any]:
        answer = admin.describe_configs([ConfigResource("TOPIC", ORDERS)], config_filter="all")
        return {name: entry["value"] for name, entry in answer["topic"][ORDERS].items()}

    def send(self, producer: Any, partition: int, value: bytes) -> int:
        return producer.send(ORDERS, value=value, partition=partition).get(WAIT_S).offset

    def poll(self, consumer: Any) -> dict[Any, Any]:
        return consumer.poll(timeout_ms=200)

    def position(self, offset: int, words: str) -> Any:
        return OffsetAndMetadata(offset, words, 0)

    def list_offsets(self, admin: Any, group: str) -> dict[Any, Any]:
        return admin.list_group_offsets(group)[group]

    def say_position(self, row: Any) -> str:
        return f"{row.offset} epoch {row.leader_epoch} '{row.metadata}'"


Story(KafkaPython()).tell()
