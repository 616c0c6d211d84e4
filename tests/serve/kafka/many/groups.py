"""Requests that name groups, their members or positions, transactions or producers."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace as Row

from tests.serve.kafka.many.driven import FIRST, WIDE, Many, Next
from tests.serve.kafka.many.topics import produce
from tests.serve.kafka.raw import build_positions


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
    many.ask(
        28, 4, transactional_id=txn_id, group_id=group, producer_id=pid, producer_epoch=0,
        generation_id=-1, member_id="", group_instance_id=None,
        topics=build_positions(FIRST),
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


def list_groups(many: Many, n: int) -> Next:
    many.commit_many(n)
    return lambda: many.ask(16, 4, states_filter=("Empty",) * n)


def add_partitions(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    pid = many.init("id0").producer_id
    return lambda: many.add(pid, indexes)


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


def commit_in_transaction(many: Many, n: int) -> Next:
    indexes = many.create_wide(n)
    pid = many.init("id0").producer_id
    many.ask(25, 3, transactional_id="id0", producer_id=pid, producer_epoch=0, group_id="g")
    topics = build_positions(WIDE, indexes=indexes)

    def commit() -> None:
        many.ask(
            28, 4, transactional_id="id0", group_id="g", producer_id=pid, producer_epoch=0,
            generation_id=-1, member_id="", group_instance_id=None, topics=topics,
        )  # fmt: skip
        many.ask(
            26, 4, transactional_id="id0", producer_id=pid, producer_epoch=0, committed=True
        )  # fmt: skip

    return commit
