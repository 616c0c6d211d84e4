"""Requests that name topics or partitions."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace as Row
from uuid import UUID

from tests.serve.kafka.many.driven import WIDE, Many, Next, Prepare
from tests.serve.kafka.raw import MINUTE, TRANSACTIONAL, batch, build_fetch

NO_ID = UUID(int=0)
TOPIC, NODE = 2, 4  # kinds of resources


def produce(many: Many, indexes: range, version: int, txn_id: str | None, pid: int) -> object:
    bits = TRANSACTIONAL if txn_id else 0
    data = batch([b"v"], pid=pid, epoch=0 if pid >= 0 else -1, seq=0 if pid >= 0 else -1, bits=bits)
    parts = tuple(Row(index=i, records=data) for i in indexes)
    return many.ask(
        0, version, transactional_id=txn_id, acks=-1, timeout=MINUTE,
        topic_data=(Row(name=WIDE, partition_data=parts),),
    )  # fmt: skip


def prepare_produce(version: int, txn_id: str | None, adds: bool) -> Prepare:
    def prepare(many: Many, n: int) -> Next:
        indexes = many.create_wide(n)
        pid = many.init(txn_id).producer_id if txn_id else -1
        if adds:
            many.add(pid, indexes)
        return lambda: produce(many, indexes, version, txn_id, pid)

    return prepare


def metadata(create: bool) -> Prepare:
    def prepare(many: Many, n: int) -> Next:
        names = many.create_many(n) if create else tuple(f"t{i}" for i in range(n))
        topics = tuple(Row(topic_id=NO_ID, name=name) for name in names)
        return lambda: many.ask(
            3, 12, topics=topics, allow_auto_topic_creation=True,
            include_topic_authorized_operations=False,
        )  # fmt: skip

    return prepare


def create_topics(many: Many, n: int) -> Next:
    return lambda: many.create_many(n)


def create_partitions(many: Many, n: int) -> Next:
    topics = tuple(Row(name=name, count=2, assignments=None) for name in many.create_many(n // 2))
    return lambda: many.ask(37, 3, topics=topics, timeout=MINUTE, validate_only=False)


def delete_topics(many: Many, n: int) -> Next:
    names = many.create_many(n)

    def delete() -> None:
        many.ask(20, 5, topic_names=names, timeout=MINUTE)
        asyncio.run(many.driver.live.lines(0))

    return delete


def describe_configs(many: Many, n: int) -> Next:
    rows = tuple(
        Row(resource_type=TOPIC, resource_name=name, configuration_keys=("retention.ms",))
        for name in many.create_many(n)
    )
    return lambda: many.ask(
        32, 4, resources=rows, include_synonyms=True, include_documentation=False
    )


def alter(kind: int, name: str, configs: tuple[Row, ...]) -> Row:
    return Row(resource_type=kind, resource_name=name, configs=configs)


def alter_topics(many: Many, n: int) -> Next:
    config = Row(name="max.message.bytes", config_operation=0, value="1000")
    rows = tuple(alter(TOPIC, name, (config,)) for name in many.create_many(n))
    return lambda: many.ask(44, 1, resources=rows, validate_only=False)


def fetch(many: Many, n: int) -> Next:
    """Nothing is there: every leader is asked to say when there is, and one of them does."""
    fields = build_fetch(WIDE, indexes=many.create_wide(n), max_wait_ms=5_000)

    def poll() -> None:
        many.send(1, 11, conn=2, **fields)
        produce(many, range(1), 11, None, -1)

    return poll


def fetch_of_many(many: Many, n: int) -> Next:
    """Many clients wait for one partition."""
    many.create(WIDE)
    fields = build_fetch(WIDE, max_wait_ms=5_000)

    def poll() -> None:
        for i in range(n):
            many.send(1, 11, conn=2 + i, **fields)
        for i in range(n // 2):
            many.driver.disconnect(f"conn-{2 + i}")
        produce(many, range(1), 11, None, -1)

    return poll


def list_offsets(many: Many, n: int) -> Next:
    parts = tuple(
        Row(partition_index=i, current_leader_epoch=-1, timestamp=-1) for i in many.create_wide(n)
    )
    topics = (Row(name=WIDE, partitions=parts),)
    return lambda: many.ask(2, 7, replica_id=-1, isolation_level=1, topics=topics)


def delete_records(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    produce(many, indexes, 11, None, -1)
    topics = (Row(name=WIDE, partitions=tuple(Row(partition_index=i, offset=1) for i in indexes)),)
    return lambda: many.ask(21, 2, topics=topics, timeout=MINUTE)


def epochs(many: Many, n: int) -> Next:
    parts = tuple(
        Row(partition=i, current_leader_epoch=-1, leader_epoch=0) for i in many.create_wide(n)
    )
    return lambda: many.ask(23, 4, replica_id=-1, topics=(Row(topic=WIDE, partitions=parts),))
