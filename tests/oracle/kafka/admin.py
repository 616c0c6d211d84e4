"""What else an administrator can ask: producers by partition, the two tools of KIP-664 against a
transaction that hangs, a group's offsets outside of transactions, where a coordinator is."""

from __future__ import annotations

import struct
import time
from types import SimpleNamespace as Row
from typing import Any

from kio.schema.errors import ErrorCode

from mqlab.kafka.messages import OffsetCommit, Position, WriteTxnMarkers, braces
from mqlab.real.kafka.client import (
    ADMIN,
    GC,
    GROUP,
    NOT_OFFERED,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    TC,
    TRANSACTION,
    Lab,
    word,
)
from mqlab.real.kafka.wire import Raw
from tests.oracle.kafka.producer import offset_rows

#: of a request that this module writes itself
CORRELATION = 7


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


def _ask_producers(lab: Lab, partition: str) -> Any:
    """What DescribeProducers answers of one partition."""
    topic, index = lab.split(partition)
    rows = (Row(name=topic, partition_indexes=(index,)),)
    answer = lab.patiently(lambda: lab.leader(partition).ask(61, 0, topics=rows))
    return answer.topics[0].partitions[0]


def producers(lab: Lab, partition: str) -> list[Any]:
    """DescribeProducers of one partition, in the order of their ids."""
    if not lab.offers(61, 0):
        lab.note(ADMIN, partition, "DescribeProducers", NOT_OFFERED)
        return []
    part = _ask_producers(lab, partition)
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


def log_each(lab: Lab, **ends: int) -> None:
    """`Lab.log` of partitions, one after the other: `orders_0=2`."""
    for name, end in ends.items():
        lab.log(name.replace("_", "-"), end)


def read_both(lab: Lab, partition: str) -> None:
    """What a consumer of each isolation level gets."""
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read(partition, isolation)


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


def locate_coordinator(lab: Lab, txn_id: str) -> int:
    """The number of the broker that coordinates a transactional id."""
    return int(lab.patiently(lambda: lab.ask_coordinator(txn_id, TRANSACTION)).node_id)


def stable_offset(lab: Lab, group: str, partition: str) -> int | None:
    """The committed offset, -1 for none; None while a transaction holds a pending one."""
    topic, index = lab.split(partition)
    rows = (Row(name=topic, partition_indexes=(index,)),)
    request = Row(group_id=lab.wire(group), topics=rows)
    answer = lab.patiently(
        lambda: lab.coordinator(group, GROUP).ask(9, 8, groups=(request,), require_stable=True)
    )
    part = answer.groups[0].topics[0].partitions[0]
    return None if part.error_code.value else int(part.committed_offset)


def producers_of(lab: Lab, partition: str) -> int:
    """How many producers the partition's leader knows."""
    return len(_ask_producers(lab, partition).active_producers)


def find_coordinator(lab: Lab, key: str, kind: int, version: int) -> None:
    """FindCoordinator in the versions that name one key (up to 3) or several."""
    fields: dict[str, Any] = {"key_type": kind}
    if version >= 4:
        row = lab.raw().ask(10, version, coordinator_keys=(lab.wire(key),), **fields)
        row = row.coordinators[0]
    else:
        row = lab.raw().ask(10, version, key=lab.wire(key), **fields)
    answer = f"ok node={row.node_id}" if not row.error_code.value else word(row.error_code)
    lab.note("app", "broker", f"FindCoordinator {key} kind={kind} v{version}", answer)


def list_offsets(
    lab: Lab, partition: str, at_ms: int, isolation: str = READ_COMMITTED, called: str = ""
) -> int:
    """The offset that ListOffsets answers. `at_ms`: a timestamp, -1 the end, -2 the beginning,
    -3 the newest record; `called`: what a recording calls a time that is another one
    tomorrow."""
    topic, index = lab.split(partition)
    part = Row(partition_index=index, current_leader_epoch=-1, timestamp=at_ms)
    fields = {"replica_id": -1, "isolation_level": int(isolation == READ_COMMITTED)}
    answer = lab.patiently(
        lambda: lab.leader(partition).ask(
            2, 7, topics=(Row(name=topic, partitions=(part,)),), **fields
        )
    )
    row = answer.topics[0].partitions[0]
    outcome = word(row.error_code) if row.error_code.value else f"@{row.offset}"
    lab.note("reader", partition, f"ListOffsets {called or at_ms} {isolation}", outcome)
    return int(row.offset)


def ago(ms: int) -> int:
    """The time so long ago."""
    return round(time.time() * 1000) - ms


def error_of(row: Any) -> str:
    """The error's name in a described transaction."""
    return ErrorCode(row.error).name.upper() if row is not None and row.error else ""


def read_config(lab: Lab, name: str) -> str:
    """A setting of broker 1 as it is now; "" where it does not say."""
    if not lab.offers(32, 4):
        return ""
    resource = Row(resource_type=4, resource_name="1", configuration_keys=(name,))
    answer = lab.raw().ask(
        32, 4, resources=(resource,), include_synonyms=False, include_documentation=False
    )
    return next((str(c.value) for c in answer.results[0].configs), "")


def bytes_of(lab: Lab, partition: str, offset: int = 0) -> bytes:
    """The batches from an offset of a log on, as they lie there; at least one whole."""
    return bytes(lab._fetched(partition, offset, False).records or b"")


def ask_in_unknown_version(raw: Raw) -> Any:
    """The answer to an ApiVersions request of a version that nobody knows; it comes in
    version 0 (KIP-511)."""
    body = struct.pack(">hhihb", 18, 99, CORRELATION, 0, 0)
    raw.send(struct.pack(">i", len(body)) + body)
    return raw.read_answer(18, 0, CORRELATION)
