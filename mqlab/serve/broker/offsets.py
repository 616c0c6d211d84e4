"""Offsets: where a log begins, ends or holds a time, and how far a group has come.

Source: KafkaApis#handleListOffsetRequest, #handleOffsetCommitRequest,
#handleTxnOffsetCommitRequest, #handleOffsetFetchRequest (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kafka.config import offsets_log
from ...kafka.errors import Error
from ...kafka.messages import (
    EARLIEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ListOffsets,
    ListOffsetsResponse,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchResponse,
    Position,
    TxnOffsetCommit,
)
from ...kernel import Caller, Effects
from ..wire.answers import (
    Committed,
    CommittedPartition,
    CommittedTopic,
    Listed,
    ListedPartition,
    ListedTopic,
    OffsetGroup,
    OffsetPartition,
    Offsets,
    OffsetTopic,
)
from ..wire.api import Api, Ask

if TYPE_CHECKING:
    from . import Broker, Gathering

METADATA_LIMIT = 4096  # offset.metadata.max.bytes
EARLIEST_LOCAL, LATEST_TIERED = -4, -5
NOWHERE = ListOffsetsResponse(-1)
UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION

# ---- ListOffsets -----------------------------------------------------------------------


def begin_list(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    committed = getattr(ask.body, "isolation_level", 0)
    isolation = READ_COMMITTED if committed else READ_UNCOMMITTED
    parts: list[tuple[str, Any]] = []
    plan = []
    for topic in ask.body.topics:
        row: list[tuple[int, int | ListOffsetsResponse]] = []
        for part in topic.partitions:
            role = broker.partition(topic.name, part.partition_index)
            # There is no tiered storage, so all of a log is local.
            at_ms = EARLIEST if part.timestamp == EARLIEST_LOCAL else part.timestamp
            if role is None:
                row.append((part.partition_index, ListOffsetsResponse(-1, error=UNKNOWN)))
            elif at_ms == LATEST_TIERED:
                row.append((part.partition_index, NOWHERE))
            else:
                row.append((part.partition_index, len(parts)))
                parts.append((role, ListOffsets(at_ms, isolation)))
        plan.append((topic.name, tuple(row)))
    return broker.gather(caller, ask, parts, tuple(plan))


def finish_list(broker: Broker, done: Gathering) -> Listed:
    def said(index: int, known: int | ListOffsetsResponse) -> ListedPartition:
        told: ListOffsetsResponse = done.got[known] if isinstance(known, int) else known
        epoch = 0 if told.offset >= 0 else -1
        return ListedPartition(index, told.error, told.at_ms, told.offset, epoch)

    return Listed(
        tuple(ListedTopic(name, tuple(said(i, k) for i, k in row)) for name, row in done.plan)
    )


# ---- OffsetCommit, TxnOffsetCommit -----------------------------------------------------


def begin_commit(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """All positions go to the group's coordinator at once; what names no partition, or
    says too much about itself, is refused on its own."""
    body = ask.body
    positions: list[Position] = []
    plan = []
    for topic in body.topics:
        row = []
        for part in topic.partitions:
            role = broker.partition(topic.name, part.partition_index)
            note = part.committed_metadata or ""
            error = Error.NONE if role is not None else UNKNOWN
            if role is not None and len(note.encode()) > METADATA_LIMIT:
                error = Error.OFFSET_METADATA_TOO_LARGE
            if role is not None and not error:
                positions.append(Position(role, part.committed_offset, note))
            row.append((part.partition_index, error))
        plan.append((topic.name, tuple(row)))
    where = offsets_log(body.group_id, broker.config.kafka)
    parts = [(where, _commit(ask, tuple(positions)))] if positions else []
    return broker.gather(caller, ask, parts, tuple(plan))


def _commit(ask: Ask, positions: tuple[Position, ...]) -> OffsetCommit | TxnOffsetCommit:
    body = ask.body
    if ask.api is Api.OFFSET_COMMIT:
        generation = body.generation_id_or_member_epoch
        return OffsetCommit(body.group_id, positions, body.member_id, generation)
    return TxnOffsetCommit(
        txn_id=body.transactional_id,
        group=body.group_id,
        pid=body.producer_id,
        epoch=body.producer_epoch,
        positions=positions,
        member=getattr(body, "member_id", ""),
        generation=getattr(body, "generation_id", -1),
        version=ask.version,
    )


def finish_commit(broker: Broker, done: Gathering) -> Committed:
    told = done.got[0].error if done.got else Error.NONE
    return Committed(
        tuple(
            CommittedTopic(name, tuple(CommittedPartition(i, error or told) for i, error in row))
            for name, row in done.plan
        )
    )


# ---- OffsetFetch -------------------------------------------------------------------------


def begin_fetch(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Up to version 7 a request is about one group, from 8 on about several."""
    body = ask.body
    groups = getattr(body, "groups", None) or ((body,) if ask.version < 8 else ())
    stable = bool(getattr(body, "require_stable", False))
    parts: list[tuple[str, Any]] = []
    for group in groups:
        wanted = None
        if group.topics is not None:
            wanted = tuple(f"{t.name}-{i}" for t in group.topics for i in t.partition_indexes)
        where = offsets_log(group.group_id, broker.config.kafka)
        parts.append((where, OffsetFetch(group.group_id, wanted, stable)))
    return broker.gather(caller, ask, parts, tuple(groups))


def finish_fetch(broker: Broker, done: Gathering) -> Offsets:
    groups = tuple(
        OffsetGroup(group.group_id, _topics(group.topics, done.got[i]))
        for i, group in enumerate(done.plan)
    )
    return Offsets(groups, groups[0].topics if groups else ())


def _topics(asked: Any, told: OffsetFetchResponse) -> tuple[OffsetTopic, ...]:
    """The positions by topic: of what was asked for, or of all the group has."""
    unstable = frozenset(told.unstable)
    found = {position.partition: position for position in told.positions}

    def said(topic: str, index: int) -> OffsetPartition:
        name = f"{topic}-{index}"
        if name in unstable:
            return OffsetPartition(index, error_code=Error.UNSTABLE_OFFSET_COMMIT)
        return OffsetPartition(index, found[name].offset, metadata=found[name].metadata)

    if asked is not None:
        rows = [(topic.name, list(topic.partition_indexes)) for topic in asked]
    else:
        every: dict[str, list[int]] = {}
        for partition in found:
            topic, _, index = partition.rpartition("-")
            every.setdefault(topic, []).append(int(index))
        rows = list(every.items())
    return tuple(OffsetTopic(t, tuple(said(t, i) for i in indexes)) for t, indexes in rows)
