"""What an administrator can ask: transactions by id, producers by partition, and the two
tools of KIP-664 against a transaction that hangs."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from kio.schema.errors import ErrorCode

from ...kafka.messages import OffsetCommit, OffsetFetch, Position, WriteTxnMarkers, braces
from .client import ADMIN, AGAIN, GC, GROUP, NOT_OFFERED, TC, TRANSACTION, Lab, Moved, word
from .producer import offset_rows
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
        names = sorted(lab.own(topic, index) for topic, index in row.partitions)
        parts = " " + braces(tuple(names)) if names else ""
        answer = f"{row.state} pid={row.pid} epoch={row.epoch}{parts}"
    lab.note(ADMIN, TC, f"DescribeTransactions {txn_id}", answer)


def list_transactions(lab: Lab, states: tuple[str, ...] = (), pid: int = -1) -> None:
    """ListTransactions: only this program's own are noted."""
    listing = NOT_OFFERED
    if lab.offers(66, 1):
        answer = lab.patiently(
            lambda: lab.raw().ask(
                66,
                1,
                state_filters=states,
                producer_id_filters=(pid,) if pid >= 0 else (),
                duration_filter=-1,
            )
        )
        mine = sorted(
            f"{row.transactional_id.removeprefix(lab.prefix)} {row.transaction_state}"
            for row in answer.transaction_states
            if row.transactional_id.startswith(lab.prefix)
        )
        unknown = f" unknown {braces(answer.unknown_state_filters)}"
        listing = braces(tuple(mine)) + (unknown if answer.unknown_state_filters else "")
    of = f" in {braces(states)}" if states else ""
    lab.note(ADMIN, TC, f"ListTransactions{of}" + (f" of pid={pid}" if pid >= 0 else ""), listing)


def producers(lab: Lab, partition: str) -> list[Any]:
    """DescribeProducers of one partition, in the order of their ids."""
    if not lab.offers(61, 0):
        lab.note(ADMIN, partition, "DescribeProducers", NOT_OFFERED)
        return []
    topic, index = lab.split(partition)
    answer = lab.patiently(
        lambda: lab.leader(partition).ask(
            61, 0, topics=(Row(name=topic, partition_indexes=(index,)),)
        )
    )
    part = answer.topics[0].partitions[0]
    rows = sorted(part.active_producers, key=lambda row: row.producer_id)
    if part.error_code.value or not rows:
        state = word(part.error_code) if part.error_code.value else "nobody"
        lab.note(ADMIN, partition, "DescribeProducers", state)
    for row in rows:
        state = f"pid={row.producer_id} epoch={row.producer_epoch} lastSeq={row.last_sequence}"
        state += f" coordinatorEpoch={row.coordinator_epoch}"
        state += f" txnStart={row.current_txn_start_offset}"
        lab.note(ADMIN, partition, "DescribeProducers", state)
    return list(rows)


def marker(
    lab: Lab,
    partition: str,
    pid: int,
    epoch: int,
    commit: bool,
    coordinator_epoch: int = 0,
    version: int = 1,
) -> str:
    """WriteTxnMarkers straight to a leader; version 1 is what an admin's abort sends."""
    request = WriteTxnMarkers("", pid, epoch, commit, coordinator_epoch, 2 if version >= 2 else 0)
    question = f"{request} pid={pid}" + (f" v{version}" if version != 1 else "")
    lab.need(27, version, question)
    topic, index = lab.split(partition)
    row = Row(
        producer_id=pid,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=(Row(name=topic, partition_indexes=(index,)),),
        coordinator_epoch=coordinator_epoch,
        transaction_version=2,
    )
    answer = lab.patiently(lambda: lab.leader(partition).ask(27, version, markers=(row,)))
    error = word(answer.markers[0].topics[0].partitions[0].error_code)
    lab.note(ADMIN, partition, question, error)
    return error


def broker_config(lab: Lab, name: str, value: str) -> None:
    """A dynamic setting of broker 1 (IncrementalAlterConfigs)."""
    question = f"IncrementalAlterConfigs {name}={value}"
    lab.need(44, 1, question)
    config = Row(name=name, config_operation=0, value=value)
    resource = Row(resource_type=4, resource_name="1", configs=(config,))
    answer = lab.raw().ask(44, 1, resources=(resource,), validate_only=False)
    lab.note(ADMIN, "broker", question, word(answer.responses[0].error_code))


# ---- offsets of a group, outside of transactions -----------------------------------------


def fetch_offsets(lab: Lab, group: str, *partitions: str, stable: bool = True) -> None:
    """OffsetFetch; `stable` (KIP-447) refuses while a transaction holds a pending one."""
    topics = lab.group_by_topic(partitions)
    rows = tuple(Row(name=t, partition_indexes=tuple(i)) for t, i in topics.items())
    request = Row(group_id=lab.wire(group), topics=rows)
    answer = lab.patiently(
        lambda: lab.coordinator(group, GROUP).ask(9, 8, groups=(request,), require_stable=stable)
    )
    row = answer.groups[0]
    parts = [(lab.own(t.name, p.partition_index), p) for t in row.topics for p in t.partitions]
    wrong = [word(p.error_code) for _, p in parts if p.error_code.value]
    outcome = wrong[0] if wrong else braces(tuple(f"{n}@{p.committed_offset}" for n, p in parts))
    if row.error_code.value:
        outcome = word(row.error_code)
    how = "" if stable else " not stable"
    lab.note("reader", GC, f"{OffsetFetch(group)}{how}", outcome)


def commit_plain(lab: Lab, group: str, member: Any = None, **positions: int) -> str:
    """OffsetCommit, outside any transaction."""
    rows = tuple(Position(name.replace("_", "-"), at) for name, at in positions.items())
    member_id, generation = member or ("", -1)
    fields = {
        "group_id": lab.wire(group),
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "group_instance_id": None,
        "topics": offset_rows(lab, rows),
    }
    answer = lab.again(
        lambda: lab.coordinator(group, GROUP).ask(8, 8, **fields),
        lambda a: word(a.topics[0].partitions[0].error_code),
        once=False,
    )
    error = word(answer.topics[0].partitions[0].error_code)
    question = f"{OffsetCommit(group, rows)}" + (f" generation={generation}" if member else "")
    lab.note("reader", GC, question, error)
    return error
