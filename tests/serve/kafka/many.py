"""Requests that name many things: what each costs for one thing, by how many are named.

Each case makes what it is about, then hands the driver one request, and with it whatever follows.

    python -m tests.serve.kafka.many 100,1000,10000     a dictionary of figures, for `mqlab bench`
    python -m tests.serve.kafka.many 100,1000 Produce   of one case
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any
from uuid import UUID

from mqlab.kernel import Caller, Request
from mqlab.serve.driver import Driver
from mqlab.serve.kafka.front import BROKER
from mqlab.serve.kafka.home import make_home
from mqlab.serve.kafka.wire.codec import decode, encode
from tests.serve.kafka.raw import MINUTE, TRANSACTIONAL, batch, write_request

NO_ID = UUID(int=0)
TOPIC, NODE = 2, 4  # kinds of resources
FIRST, WIDE = "first", "wide"  # a topic with one partition, one with as many as are named


class Many:
    """A driver that is handed frames, and the answers of clients, without sockets."""

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}
        self.driver = Driver(make_home(), self._hear)
        self.driver.start()
        self._count = 0

    def _hear(self, conn: int, number: int, body: Any) -> None:
        self.answers[number] = body

    def send(self, api: int, version: int, conn: int = 1, **fields: Any) -> int:
        """Its number. The request is decoded, handled with all that follows on this node, and its
        answer, if there is one by now, is encoded, as a server does."""
        _, ask = decode(write_request(api, version, **fields)[4:], ("127.0.0.1", 9092))
        self._count += 1
        event = Request(Caller(f"conn-{conn}", conn, self._count), ask, self.driver.now)
        self.driver.deliver(BROKER, event)
        while (due := self.driver.next_timer()) is not None and due < self.driver.now + 1_000:
            self.driver.now = due  # short pauses end at once
            self.driver.fire()
        if self._count in self.answers:
            encode(api, version, 1, self.answers[self._count])
        return self._count

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        return self.answers[self.send(api, version, **fields)]

    def create(self, *names: str, partitions: int = 1) -> None:
        topics = tuple(
            Row(name=n, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
            for n in names
        )
        self.ask(19, 5, topics=topics, timeout=MINUTE, validate_only=False)

    def create_many(self, n: int) -> tuple[str, ...]:
        names = tuple(f"t{i}" for i in range(n))
        self.create(*names)
        return names

    def create_wide(self, n: int) -> range:
        self.create(WIDE, partitions=max(n, 1))
        return range(n)

    def init(self, txn_id: str) -> Any:
        return self.ask(
            22, 4, transactional_id=txn_id, transaction_timeout=timedelta(minutes=1),
            producer_id=-1, producer_epoch=-1,
        )  # fmt: skip

    def init_many(self, n: int) -> list[tuple[str, int]]:
        """Transactional ids with their producer ids."""
        return [(f"id{i}", self.init(f"id{i}").producer_id) for i in range(n)]

    def commit(self, group: str, indexes: range, topic: str = WIDE) -> None:
        parts = tuple(
            Row(partition_index=i, committed_offset=1, committed_leader_epoch=-1,
                committed_metadata="")
            for i in indexes
        )  # fmt: skip
        self.ask(
            8, 8, group_id=group, generation_id_or_member_epoch=-1, member_id="",
            group_instance_id=None, topics=(Row(name=topic, partitions=parts),),
        )  # fmt: skip

    def commit_many(self, n: int) -> tuple[str, ...]:
        self.create(FIRST)
        groups = tuple(f"g{i}" for i in range(n))
        for group in groups:
            self.commit(group, range(1), FIRST)
        return groups

    def add(self, pid: int, indexes: range) -> None:
        self.ask(
            24, 3, v3_and_below_transactional_id="id0", v3_and_below_producer_id=pid,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=(Row(name=WIDE, partitions=tuple(indexes)),),
        )  # fmt: skip

    def join(self, group: str, n: int) -> list[str]:
        """Members of a group by version 3, which are told their ids at once."""
        protocols = (Row(name="range", metadata=b""),)
        sent = [
            self.send(
                11, 3, conn=2 + i, group_id=group, session_timeout=timedelta(seconds=45),
                rebalance_timeout=timedelta(milliseconds=2_000), member_id="",
                protocol_type="consumer", protocols=protocols,
            )
            for i in range(n)
        ]  # fmt: skip
        self.driver.now += 5_000
        self.driver.fire()
        return [self.answers[number].member_id for number in sent if number in self.answers]


Next = Callable[[], object]
Prepare = Callable[[Many, int], Next]


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


def append_to_list(many: Many, n: int) -> Next:
    many.create(FIRST)
    value = ",".join(f"{i}:1" for i in range(n)) or "*"
    name = "leader.replication.throttled.replicas"
    rows = (alter(TOPIC, FIRST, (Row(name=name, config_operation=2, value=value),)),)

    def twice() -> None:
        many.ask(44, 1, resources=rows, validate_only=False)
        many.ask(44, 1, resources=rows, validate_only=False)

    return twice


def alter_broker(many: Many, n: int) -> Next:
    """Names that nobody knows, which are kept; then topics whose configs are asked for."""
    rows = (
        alter(NODE, "1", tuple(Row(name=f"x{i}", config_operation=0, value="1") for i in range(n))),
    )
    ask = describe_configs(many, n)

    def both() -> None:
        many.ask(44, 1, resources=rows, validate_only=False)
        ask()
        many.ask(
            32, 4, include_synonyms=True, include_documentation=False,
            resources=(Row(resource_type=NODE, resource_name="1", configuration_keys=None),),
        )  # fmt: skip

    return both


def fetch(many: Many, n: int) -> Next:
    """Nothing is there: every leader is asked to say when there is, and one of them does."""
    parts = tuple(
        Row(partition=i, current_leader_epoch=-1, fetch_offset=0, log_start_offset=-1,
            partition_max_bytes=1 << 20)
        for i in many.create_wide(n)
    )  # fmt: skip

    def poll() -> None:
        many.send(
            1, 11, conn=2, replica_id=-1, max_wait=timedelta(milliseconds=5_000), min_bytes=1,
            max_bytes=1 << 20, isolation_level=1, session_id=0, session_epoch=-1,
            forgotten_topics_data=(), rack_id="", topics=(Row(topic=WIDE, partitions=parts),),
        )  # fmt: skip
        produce(many, range(1), 11, None, -1)

    return poll


def fetch_of_many(many: Many, n: int) -> Next:
    """Many clients wait for one partition."""
    many.create(WIDE)
    part = Row(partition=0, current_leader_epoch=-1, fetch_offset=0, log_start_offset=-1,
               partition_max_bytes=1 << 20)  # fmt: skip

    def poll() -> None:
        for i in range(n):
            many.send(
                1, 11, conn=2 + i, replica_id=-1, max_wait=timedelta(milliseconds=5_000),
                min_bytes=1, max_bytes=1 << 20, isolation_level=1, session_id=0, session_epoch=-1,
                forgotten_topics_data=(), rack_id="", topics=(Row(topic=WIDE, partitions=(part,)),),
            )  # fmt: skip
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


def commit_offsets(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    return lambda: many.commit("g", indexes)


def fetch_offsets(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    many.commit("g", indexes)
    topics = (Row(name=WIDE, partition_indexes=tuple(indexes)),)
    return lambda: many.ask(9, 8, groups=(Row(group_id="g", topics=topics),), require_stable=True)


def fetch_of_groups(many: Many, n: int) -> Next:
    groups = tuple(Row(group_id=group, topics=None) for group in many.commit_many(n))
    return lambda: many.ask(9, 8, groups=groups, require_stable=True)


def delete_offsets(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    many.commit("g", indexes)
    parts = tuple(Row(partition_index=i) for i in indexes)
    return lambda: many.ask(47, 0, group_id="g", topics=(Row(name=WIDE, partitions=parts),))


def open_offsets(many: Many, pid: int, group: str, txn_id: str) -> None:
    """A transaction with an offset that counts only if it commits."""
    many.ask(
        25, 3, transactional_id=txn_id, producer_id=pid, producer_epoch=0, group_id=group
    )  # fmt: skip
    part = Row(partition_index=0, committed_offset=1, committed_leader_epoch=-1,
               committed_metadata="")  # fmt: skip
    many.ask(
        28, 4, transactional_id=txn_id, group_id=group, producer_id=pid, producer_epoch=0,
        generation_id=-1, member_id="", group_instance_id=None,
        topics=(Row(name=FIRST, partitions=(part,)),),
    )  # fmt: skip


def pending_groups(many: Many, n: int) -> tuple[str, ...]:
    groups = many.commit_many(n)
    for (txn_id, pid), group in zip(many.init_many(n), groups, strict=True):
        open_offsets(many, pid, group, txn_id)
    return groups


def fetch_pending(many: Many, n: int) -> Next:
    groups = tuple(Row(group_id=group, topics=None) for group in pending_groups(many, n))
    return lambda: many.ask(9, 8, groups=groups, require_stable=True)


def delete_pending(many: Many, n: int) -> Next:
    groups = pending_groups(many, n)
    return lambda: many.ask(42, 2, groups_names=groups)


def delete_groups(many: Many, n: int) -> Next:
    groups = many.commit_many(n)
    return lambda: many.ask(42, 2, groups_names=groups)


def describe_groups(many: Many, n: int) -> Next:
    groups = many.commit_many(n)
    return lambda: many.ask(15, 5, groups=groups, include_authorized_operations=False)


def describe_consumer_groups(many: Many, n: int) -> Next:
    groups = many.commit_many(n)
    return lambda: many.ask(69, 0, group_ids=groups, include_authorized_operations=False)


def list_groups(many: Many, n: int) -> Next:
    many.commit_many(n)
    return lambda: many.ask(16, 4, states_filter=("Empty",) * n)


def add_partitions(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    pid = many.init("id0").producer_id
    return lambda: many.add(pid, indexes)


def add_to_many(verify_only: bool) -> Prepare:
    def prepare(many: Many, n: int) -> Next:
        many.create(FIRST)
        txns = tuple(
            Row(transactional_id=txn_id, producer_id=pid, producer_epoch=0, verify_only=verify_only,
                topics=(Row(name=FIRST, partitions=(0,)),))
            for txn_id, pid in many.init_many(n)
        )  # fmt: skip
        return lambda: many.ask(24, 4, transactions=txns)

    return prepare


def end_transaction(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    pid = many.init("id0").producer_id
    many.add(pid, indexes)
    produce(many, indexes, 11, "id0", pid)
    return lambda: many.ask(
        26, 4, transactional_id="id0", producer_id=pid, producer_epoch=0, committed=True
    )


def describe_transactions(many: Many, n: int) -> Next:
    ids = tuple(txn_id for txn_id, _ in many.init_many(n))
    return lambda: many.ask(65, 0, transactional_ids=ids)


def list_transactions(many: Many, n: int) -> Next:
    many.init_many(n)
    pids = tuple(range(10**6, 10**6 + n))
    return lambda: many.ask(
        66, 1, state_filters=("Ongoing",) * n, producer_id_filters=pids, duration_filter=-1
    )


def describe_producers(many: Many, n: int) -> Next:
    topics = (Row(name=WIDE, partition_indexes=tuple(many.create_wide(n))),)
    return lambda: many.ask(61, 0, topics=topics)


def markers(many: Many, n: int) -> Next:
    """A marker for each of so many producers, at one partition."""
    many.create(FIRST)
    topics = (Row(name=FIRST, partition_indexes=(0,)),)
    rows = tuple(
        Row(producer_id=i, producer_epoch=0, transaction_result=False, topics=topics,
            coordinator_epoch=0)
        for i in range(n)
    )  # fmt: skip
    return lambda: many.ask(27, 1, markers=rows)


def find_coordinators(many: Many, n: int) -> Next:
    keys = tuple(f"g{i}" for i in range(n))
    return lambda: many.ask(10, 4, key_type=0, coordinator_keys=keys)


def leave(many: Many, n: int) -> Next:
    members = tuple(Row(member_id=m, group_instance_id=None) for m in many.join("g", n))
    return lambda: many.ask(13, 4, group_id="g", members=members)


def join(many: Many, n: int) -> Next:
    return lambda: many.join("g", n)


def sync(many: Many, n: int) -> Next:
    """The leader of a group of one assigns to many that are no members."""
    (member,) = many.join("g", 1)
    rows = tuple(Row(member_id=f"m{i}", assignment=b"") for i in range(n))
    return lambda: many.ask(
        14, 5, group_id="g", generation_id=1, member_id=member, group_instance_id=None,
        protocol_type="consumer", protocol_name="range",
        assignments=(*rows, Row(member_id=member, assignment=b"")),
    )  # fmt: skip


def join_with_protocols(many: Many, n: int) -> Next:
    protocols = tuple(Row(name=f"p{i}", metadata=b"") for i in range(n + 1))
    return lambda: [
        many.send(
            11, 3, conn=2 + i, group_id="g", session_timeout=timedelta(seconds=45),
            rebalance_timeout=timedelta(milliseconds=500), member_id="",
            protocol_type="consumer", protocols=protocols,
        )
        for i in range(2)
    ]  # fmt: skip


def beat(owned: bool) -> Prepare:
    """A member of the newer protocol that subscribes to many topics."""

    def prepare(many: Many, n: int) -> Next:
        names = many.create_many(n)
        rows: tuple[Row, ...] = ()
        if owned:
            topics = many.driver.roles[BROKER].topics
            rows = tuple(Row(topic_id=topics.get(name).uuid, partitions=(0,)) for name in names)

        def heartbeat(epoch: int) -> object:
            return many.ask(
                68, 1, group_id="g", member_id="m", member_epoch=epoch, instance_id=None,
                rack_id=None, rebalance_timeout=timedelta(minutes=1), subscribed_topic_regex=None,
                subscribed_topic_names=names, server_assignor=None,
                topic_partitions=rows if epoch else (),
            )  # fmt: skip

        if owned:
            heartbeat(0)
            return lambda: heartbeat(1)
        return lambda: heartbeat(0)

    return prepare


def log_dirs(many: Many, n: int) -> Next:
    topics = (Row(topic=WIDE, partitions=tuple(many.create_wide(n))),)
    return lambda: many.ask(35, 4, topics=topics)


def elect(many: Many, n: int) -> Next:
    topics = (Row(topic=WIDE, partitions=tuple(many.create_wide(n))),)
    return lambda: many.ask(43, 2, election_type=0, topic_partitions=topics, timeout=MINUTE)


def commit_in_transaction(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    pid = many.init("id0").producer_id
    many.ask(25, 3, transactional_id="id0", producer_id=pid, producer_epoch=0, group_id="g")
    parts = tuple(
        Row(partition_index=i, committed_offset=1, committed_leader_epoch=-1, committed_metadata="")
        for i in indexes
    )

    def commit() -> None:
        many.ask(
            28, 4, transactional_id="id0", group_id="g", producer_id=pid, producer_epoch=0,
            generation_id=-1, member_id="", group_instance_id=None,
            topics=(Row(name=WIDE, partitions=parts),),
        )  # fmt: skip
        many.ask(
            26, 4, transactional_id="id0", producer_id=pid, producer_epoch=0, committed=True
        )  # fmt: skip

    return commit


CASES: dict[str, Prepare] = {
    "Metadata, new topics": metadata(create=False),
    "Metadata, topics": metadata(create=True),
    "CreateTopics": create_topics,
    "CreatePartitions": create_partitions,
    "DeleteTopics": delete_topics,
    "DescribeConfigs": describe_configs,
    "IncrementalAlterConfigs, topics": alter_topics,
    "IncrementalAlterConfigs, parts of a list": append_to_list,
    "IncrementalAlterConfigs, names nobody knows": alter_broker,
    "Produce": prepare_produce(11, None, adds=False),
    "Produce in a transaction, partitions added": prepare_produce(11, "id0", adds=True),
    "Produce in a transaction, partitions implied": prepare_produce(12, "id0", adds=False),
    "Fetch, a long poll": fetch,
    "Fetch, clients at one partition": fetch_of_many,
    "ListOffsets": list_offsets,
    "DeleteRecords": delete_records,
    "OffsetForLeaderEpoch": epochs,
    "OffsetCommit": commit_offsets,
    "OffsetFetch, partitions": fetch_offsets,
    "OffsetFetch, groups": fetch_of_groups,
    "OffsetFetch, groups with open transactions": fetch_pending,
    "OffsetDelete": delete_offsets,
    "TxnOffsetCommit and EndTxn": commit_in_transaction,
    "DeleteGroups": delete_groups,
    "DeleteGroups with open transactions": delete_pending,
    "DescribeGroups": describe_groups,
    "ConsumerGroupDescribe": describe_consumer_groups,
    "ListGroups": list_groups,
    "AddPartitionsToTxn, partitions": add_partitions,
    "AddPartitionsToTxn, transactions": add_to_many(verify_only=False),
    "AddPartitionsToTxn, transactions verified": add_to_many(verify_only=True),
    "EndTxn, partitions": end_transaction,
    "DescribeTransactions": describe_transactions,
    "ListTransactions": list_transactions,
    "DescribeProducers": describe_producers,
    "WriteTxnMarkers": markers,
    "FindCoordinator": find_coordinators,
    "LeaveGroup": leave,
    "JoinGroup, protocols": join_with_protocols,
    "SyncGroup": sync,
    "ConsumerGroupHeartbeat, topics": beat(owned=False),
    "ConsumerGroupHeartbeat, partitions owned": beat(owned=True),
    "DescribeLogDirs": log_dirs,
    "ElectLeaders": elect,
}


def prepare(name: str, n: int) -> Next:
    """The request of this case, about n things that are there."""
    return CASES[name](Many(), n)


def measure(name: str, n: int) -> float:
    """Seconds of CPU that one thing takes in a request that names `n`."""
    request = prepare(name, n)
    started = time.process_time()
    request()
    return (time.process_time() - started) / n


def measure_all(sizes: list[int], names: list[str]) -> dict[str, str]:
    """Of each case, microseconds of CPU for one thing, by how many are named."""
    said = ", ".join(f"{n:,}" for n in sizes)
    figures = {}
    for name in names or CASES:
        prepare(name, 2)()  # what is loaded once
        costs = [f"{measure(name, n) * 1e6:,.0f}" for n in sizes]
        figures[f"{name}: µs each of {said}"] = " / ".join(costs)
    return figures


if __name__ == "__main__":
    print(measure_all([int(n) for n in sys.argv[1].split(",")], sys.argv[2:]))
