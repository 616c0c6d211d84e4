"""What else an administrator can ask: producers by partition, the two tools of KIP-664 against a
transaction that hangs, and a group's offsets outside of transactions."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from mqlab.kafka.messages import OffsetCommit, Position, WriteTxnMarkers, braces
from mqlab.real.kafka.client import ADMIN, GC, GROUP, NOT_OFFERED, TC, Lab, word
from mqlab.real.kafka.producer import offset_rows


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
