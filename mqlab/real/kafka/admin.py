"""What an administrator can ask: transactions by id, and the offsets of a group."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from kio.schema.errors import ErrorCode

from ...kafka.messages import OffsetFetch, braces
from .client import ADMIN, AGAIN, GC, GROUP, NOT_OFFERED, TC, TRANSACTION, Lab, Moved, word
from .wire import read_transactions


def describe_transaction(lab: Lab, txn_id: str) -> Any:
    """The coordinator's row of a transactional id; None where the broker cannot say."""
    if not lab.offers(65, 0):
        return None

    def ask() -> Any:
        raw = lab.coordinator(txn_id, TRANSACTION)
        row = read_transactions(*raw.ask_for_bytes(65, 0, transactional_ids=(lab.wire(txn_id),)))[0]
        if row.error and ErrorCode(row.error).name.upper() in AGAIN:
            raise Moved(txn_id)
        return row

    return lab.patiently(ask)


def describe(lab: Lab, txn_id: str, state: str = "") -> None:
    """DescribeTransactions; with `state` the first answer that is of this state."""
    if state and lab.offers(65, 0):
        lab.wait_until(lambda: describe_transaction(lab, txn_id).state, state)
    row = describe_transaction(lab, txn_id)
    if row is None:
        answer = NOT_OFFERED
    elif row.error:
        answer = ErrorCode(row.error).name.upper()
    else:
        names = sorted(lab.join(topic, index) for topic, index in row.partitions)
        parts = " " + braces(tuple(names)) if names else ""
        answer = f"{row.state} pid={row.pid} epoch={row.epoch}{parts}"
    lab.note(ADMIN, TC, f"DescribeTransactions {txn_id}", answer)


def fetch_offsets(lab: Lab, group: str, *partitions: str, stable: bool = True) -> None:
    """Ask the group coordinator for a group's committed offsets of `partitions`, and note the
    answer: "{orders-0@3}" (-1: none is committed), or the error of the group or the first partition
    that has one. `stable` (KIP-447): a partition is refused while a transaction has an offset
    pending in it."""
    topics = lab.group_by_topic(partitions)
    rows = tuple(Row(name=t, partition_indexes=tuple(i)) for t, i in topics.items())
    request = Row(group_id=lab.wire(group), topics=rows)
    answer = lab.patiently(
        lambda: lab.coordinator(group, GROUP).ask(9, 8, groups=(request,), require_stable=stable)
    )
    row = answer.groups[0]
    # (the partition's name, its part of the answer)
    parts = [(lab.join(t.name, p.partition_index), p) for t in row.topics for p in t.partitions]
    errors = [word(p.error_code) for _, p in parts if p.error_code.value]
    outcome = errors[0] if errors else braces(tuple(f"{n}@{p.committed_offset}" for n, p in parts))
    if row.error_code.value:  # of the group, which is worse than one of a partition
        outcome = word(row.error_code)
    suffix = "" if stable else " not stable"
    lab.note("reader", GC, f"{OffsetFetch(group)}{suffix}", outcome)
