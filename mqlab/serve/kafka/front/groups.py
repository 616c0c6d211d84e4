"""Consumer groups: requests of members, handed on to their coordinator; committed offsets; where
a log begins and ends (ListOffsets).

What members tell each other through the coordinator are bytes here; the broker does not look into
them.

Source: KafkaApis#handleJoinGroupRequest, #handleSyncGroupRequest, #handleHeartbeatRequest,
#handleLeaveGroupRequest, #handleDescribeGroupsRequest, #handleListGroupsRequest (4.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ....kafka.config import offsets_log
from ....kafka.errors import Error
from ....kafka.group.commits import Offsets as RecordsOf
from ....kafka.group.members import (
    DescribeGroup,
    DescribeGroupResponse,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    ListGroups,
    SyncGroup,
    SyncGroupResponse,
)
from ....kafka.log import Batch
from ....kafka.messages import (
    EARLIEST,
    LATEST,
    NEWEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ListOffsets,
    ListOffsetsResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Position,
    TxnOffsetCommit,
)
from ....kernel import Caller, Effects, Reply
from ..wire.answers import (
    DescribedGroup,
    DescribedMember,
    ErrorOnly,
    Joined,
    JoinedMember,
    Left,
    LeftMember,
    ListedGroup,
    ListedGroups,
    ListedPartition,
    OffsetGroup,
    OffsetPartition,
    Offsets,
    OfTopic,
    PartitionError,
    Synced,
    Table,
)
from ..wire.api import Api, Ask
from ..wire.encoding import by_topic
from ..wire.internal import as_sent
from ..wire.shape import LONGEST_TEXT
from .configs import value
from .epochs import epoch_error
from .gathering import Later, Rows
from .internal import CONFIGS, OFFSETS
from .transactions import too_new

if TYPE_CHECKING:
    from . import Broker


Result = tuple["Broker", Effects]
CLASSIC = "classic"  # the one kind of group there is (GroupType)
SUFFIX = len("-") + len(str(UUID(int=0)))


def _to_ms(time: timedelta) -> int:
    return round(time.total_seconds() * 1000)


def join(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle JoinGroup: pass the request to the group's coordinator, as the engine's JoinGroup. A
    client whose member id would become longer than a text may be is refused here."""
    body = ask.body
    session_ms = _to_ms(body.session_timeout)
    no_protocol = None if ask.version >= 7 else ""  # only from version 7 on it may be null
    instance = getattr(body, "group_instance_id", None)
    if not body.member_id and len((instance or ask.client).encode()) + SUFFIX > LONGEST_TEXT:
        # The id that a real broker makes of it, with a UUID, is longer than a text may be.
        refused = Joined(Error.UNKNOWN_SERVER_ERROR, protocol_name=no_protocol)
        return broker, (Reply(caller, refused),)
    request = JoinGroup(
        group=body.group_id,
        member=body.member_id,
        client=ask.client,
        protocols=tuple((p.name, p.metadata) for p in body.protocols),
        instance=instance,
        session_ms=session_ms,
        rebalance_ms=_to_ms(body.rebalance_timeout) if ask.version >= 1 else session_ms,
        protocol_type=body.protocol_type,
        version=ask.version,
        host=ask.host,
    )

    def make(answer: JoinGroupResponse) -> Joined:
        members = (JoinedMember(m.member, m.instance, m.metadata) for m in answer.members)
        return Joined(
            answer.error,
            answer.generation,
            answer.protocol_type or None,
            answer.protocol or no_protocol,
            answer.leader,
            answer.skip_assignment,
            answer.member,
            tuple(members),
        )

    return _ask_coordinator(broker, caller, ask, request, make)


def _ask_coordinator(
    broker: Broker, caller: Caller, ask: Ask, request: Any, make: Callable[[Any], Any]
) -> Result:
    """Pass a request on to the coordinator of its group."""
    log = offsets_log(request.group, broker.config.kafka)
    return broker.gather(caller, ask, Later(log, request, make))


def sync(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    if ask.version >= 5 and (body.protocol_type is None or body.protocol_name is None):
        # From here on a member must say by which strategy (KIP-559).
        return broker, (Reply(caller, Synced(Error.INCONSISTENT_GROUP_PROTOCOL)),)
    request = SyncGroup(
        group=body.group_id,
        member=body.member_id,
        generation=body.generation_id,
        assignments=tuple((a.member_id, a.assignment) for a in body.assignments),
        instance=getattr(body, "group_instance_id", None),
        protocol_type=getattr(body, "protocol_type", None),
        protocol=getattr(body, "protocol_name", None),
    )

    def make(answer: SyncGroupResponse) -> Synced:
        if answer.error:
            return Synced(answer.error)
        return Synced(Error.NONE, answer.protocol_type, answer.protocol, answer.assignment)

    return _ask_coordinator(broker, caller, ask, request, make)


def heartbeat(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    instance = getattr(body, "group_instance_id", None)
    request = Heartbeat(body.group_id, body.member_id, body.generation_id, instance)
    return _ask_coordinator(broker, caller, ask, request, lambda said: ErrorOnly(said.error))


def leave(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    if ask.version <= 2:
        members: tuple[tuple[str, str | None], ...] = ((body.member_id, None),)
    else:
        members = tuple((m.member_id, m.group_instance_id) for m in body.members)
    request = LeaveGroup(body.group_id, members)

    def make(answer: LeaveGroupResponse) -> Left:
        if ask.version <= 2:
            return Left(answer.error or (answer.errors[0] if answer.errors else Error.NONE))
        rows = zip(members, answer.errors, strict=False)
        return Left(answer.error, tuple(LeftMember(m, i, error) for (m, i), error in rows))

    return _ask_coordinator(broker, caller, ask, request, make)


def describe_groups(broker: Broker, caller: Caller, ask: Ask) -> Result:
    kafka = broker.config.kafka
    rows = (
        Later(offsets_log(g, kafka), DescribeGroup(g), partial(_described, g, ask.version))
        for g in ask.body.groups
    )
    return broker.gather(caller, ask, Rows(Table, tuple(rows)))


def _described(name: str, version: int, answer: DescribeGroupResponse) -> DescribedGroup:
    if answer.error and version >= 6:
        return DescribedGroup(name, answer.error, answer.message, answer.state)
    members = tuple(
        DescribedMember(m.member, m.instance, m.client, m.host, m.metadata, m.assignment)
        for m in answer.members
    )
    return DescribedGroup(
        name, Error.NONE, None, answer.state, answer.protocol_type, answer.protocol, members
    )


def list_groups(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Every coordinator is asked; this broker is all of them."""
    states = {s.lower() for s in getattr(ask.body, "states_filter", ())}
    types = {t.lower() for t in getattr(ask.body, "types_filter", ())}

    def make(groups: tuple[tuple[Any, ...], ...]) -> ListedGroups:
        rows = (
            ListedGroup(g.name, g.protocol_type, g.state)
            for g in chain.from_iterable(groups)
            if (not states or g.state.lower() in states) and (not types or CLASSIC in types)
        )
        return ListedGroups(tuple(rows))

    parts = (
        Later(f"{OFFSETS}-{i}", ListGroups(), attrgetter("groups"))
        for i in range(broker.config.kafka.offsets_partitions)
    )
    return broker.gather(caller, ask, Rows(make, tuple(parts)))


# ---- Offsets: where a log begins, ends or holds a time, and how far a group has come -
#
# Source: KafkaApis#handleListOffsetRequest, #handleOffsetCommitRequest,
# #handleTxnOffsetCommitRequest, #handleOffsetFetchRequest (Kafka 4.3).

METADATA_LIMIT = 4096  # offset.metadata.max.bytes, which counts characters all the same
LEVELS = (0, 1)  # of isolation; a real broker stumbles over any other one
EARLIEST_LOCAL = -4
TIERED = (-5, -6)  # the latest that is tiered, the earliest that waits for it
#: the first version that knows a time which is none (ListOffsetsRequest)
SINCE = {LATEST: 1, EARLIEST: 1, NEWEST: 7, EARLIEST_LOCAL: 8, TIERED[0]: 9, TIERED[1]: 11}
NEVER = 99
NOWHERE = ListOffsetsResponse(-1)
UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION

# ---- ListOffsets ---------------------------------------------------------------------


def list_offsets(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Handle ListOffsets: ask the leader of each partition for the offset at a timestamp (or at the
    log's begin or end). Partitions that are refused, and questions about tiered storage, are
    answered here."""
    level = getattr(ask.body, "isolation_level", 0)
    isolation = READ_COMMITTED if level else READ_UNCOMMITTED
    topics = []
    mentions = Counter((t.name, p.partition_index) for t in ask.body.topics for p in t.partitions)
    for topic in ask.body.topics:
        rows: list[ListedPartition | Later] = []
        # named twice: refused, once
        for partition in {p.partition_index: p for p in topic.partitions}.values():
            leader = broker.partition(topic.name, partition.partition_index)
            # There is no tiered storage, so all of a log is local.
            at_ms = EARLIEST if partition.timestamp == EARLIEST_LOCAL else partition.timestamp
            error = _refusal(ask, partition, mentions[topic.name, partition.partition_index])
            if leader is None or error:
                refused = ListOffsetsResponse(offset=-1, error=error or UNKNOWN)
                rows.append(_listed(partition.partition_index, refused))
            elif at_ms in TIERED:
                rows.append(_listed(partition.partition_index, NOWHERE))
            else:
                made = partial(_listed, partition.partition_index)
                rows.append(Later(leader, ListOffsets(at_ms, isolation), made))
        topics.append(Rows(partial(OfTopic, topic.name), tuple(rows)))
    return broker.gather(caller, ask, Rows(Table, tuple(topics)))


def _listed(index: int, answer: ListOffsetsResponse) -> ListedPartition:
    epoch = 0 if answer.offset >= 0 else -1
    return ListedPartition(index, answer.error, answer.at_ms, answer.offset, epoch)


def _refusal(ask: Ask, part: Any, times: int) -> Error:
    """What is wrong with a question about one partition, whatever is there; `times`: how often
    the request asks about it."""
    if getattr(ask.body, "isolation_level", 0) not in LEVELS:
        return Error.UNKNOWN_SERVER_ERROR
    if times > 1:
        return Error.INVALID_REQUEST
    if part.timestamp < 0 and ask.version < SINCE.get(part.timestamp, NEVER):
        return Error.UNSUPPORTED_VERSION
    return epoch_error(getattr(part, "current_leader_epoch", -1))


# ---- OffsetCommit, TxnOffsetCommit ---------------------------------------------------


def commit_offsets(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Handle OffsetCommit and TxnOffsetCommit: send all positions to the group's coordinator at
    once. A partition that does not exist, or whose metadata is too long, is refused on its own; the
    others too if they are too large for one batch. From OffsetCommit v10 on topics are named by
    their ids."""
    body = ask.body
    positions: list[Position] = []
    plan = []
    # whether the request's version needs transaction.version 2, which this server has off
    is_too_new = too_new(broker, ask)
    for topic in body.topics:
        name, topic_id = getattr(topic, "name", None), getattr(topic, "topic_id", None)
        known = broker.topic(name, topic_id)
        # the error of its partitions if there is no such topic
        missing = UNKNOWN if name is not None else Error.UNKNOWN_TOPIC_ID
        errors = []
        for partition in topic.partitions:
            leader = broker.partition(known.name, partition.partition_index) if known else None
            metadata = partition.committed_metadata or ""
            error = Error.NONE if leader is not None else missing
            if leader is not None and count_chars(metadata) > METADATA_LIMIT:
                error = Error.OFFSET_METADATA_TOO_LARGE
            if is_too_new:
                error = Error.UNSUPPORTED_VERSION
            if leader is not None and not error:
                epoch = getattr(partition, "committed_leader_epoch", -1)
                positions.append(Position(leader, partition.committed_offset, metadata, epoch))
            errors.append((partition.partition_index, error))
        plan.append((name or "", topic_id, tuple(errors)))

    def make(answer: OffsetCommitResponse) -> Table:
        return Table(
            tuple(
                OfTopic(n, tuple(PartitionError(i, error or answer.error) for i, error in row), t)
                for n, t, row in plan
            )
        )

    if not positions:
        return broker, (Reply(caller, make(OffsetCommitResponse())),)
    if _is_too_large(broker, ask, positions):
        too_large = OffsetCommitResponse(Error.UNKNOWN_SERVER_ERROR)
        return broker, (Reply(caller, make(too_large)),)
    return _ask_coordinator(broker, caller, ask, _make_commit(ask, tuple(positions)), make)


def count_chars(text: str) -> int:
    """As Java's String#length counts: one beyond the first 65,536 counts twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def _is_too_large(broker: Broker, ask: Ask, positions: list[Position]) -> bool:
    """Whether the records of a commit, in one batch, are larger than `__consumer_offsets` allows
    (CoordinatorRuntime#append, CoordinatorOperationExceptionHelper). Built, to be measured, only
    where that may be."""
    limit = int(value("max.message.bytes", CONFIGS[OFFSETS]))
    group = ask.body.group_id
    texts = sum(len(p.partition) + len(p.metadata) + len(group) + 64 for p in positions)
    if 4 * texts <= limit:
        return False
    transactional = ask.api is Api.TXN_OFFSET_COMMIT
    records = (RecordsOf(group, tuple(positions)),)
    batch = Batch(records, count=len(positions), transactional=transactional)
    return as_sent(batch, lambda name: _id_of(broker, name)).size > limit


def _make_commit(ask: Ask, positions: tuple[Position, ...]) -> OffsetCommit | TxnOffsetCommit:
    """Make the coordinator's message, OffsetCommit or TxnOffsetCommit, from a client's request.
    `positions`: the offsets of the partitions that were not refused."""
    body = ask.body
    # getattr: older versions of the request lack the field
    if ask.api is Api.OFFSET_COMMIT:
        generation = body.generation_id_or_member_epoch
        instance = getattr(body, "group_instance_id", None)
        return OffsetCommit(
            body.group_id, positions, body.member_id, generation, ask.version, instance
        )
    return TxnOffsetCommit(
        txn_id=body.transactional_id,
        group=body.group_id,
        pid=body.producer_id,
        epoch=body.producer_epoch,
        positions=positions,
        member=getattr(body, "member_id", ""),
        generation=getattr(body, "generation_id", -1),
        version=ask.version,
        instance=getattr(body, "group_instance_id", None),
    )


# ---- OffsetFetch ---------------------------------------------------------------------


#: of each topic asked for: its name ("" where the id is unknown), its id, the partitions
Wanted = tuple[tuple[str, UUID | None, tuple[int, ...]], ...]


def fetch_offsets(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Handle OffsetFetch: ask the coordinator of each group for its committed offsets. Up to
    version 7 a request is about one group, from 8 on about several; from 10 on topics are named by
    their ids."""
    body = ask.body
    # before version 8 the body itself describes the one group
    groups = getattr(body, "groups", None) or ((body,) if ask.version < 8 else ())
    stable = bool(getattr(body, "require_stable", False))
    parts = []
    for group in groups:
        # None: all partitions of which the group has an offset
        rows: Wanted | None = None
        names = None
        if group.topics is not None:
            # each: the topic's name, its id if it was asked for by that, its partitions' numbers
            rows = tuple(_name_partitions(broker, topic) for topic in group.topics)
            names = tuple(f"{name}-{i}" for name, _, indexes in rows for i in indexes)
        log = offsets_log(group.group_id, broker.config.kafka)
        made = partial(_offsets_of, broker, group.group_id, rows)
        parts.append(Later(log, OffsetFetch(group.group_id, names, stable), made))
    return broker.gather(caller, ask, Rows(_offsets, tuple(parts)))


def _name_partitions(broker: Broker, topic: Any) -> tuple[str, UUID | None, tuple[int, ...]]:
    name, topic_id = getattr(topic, "name", None), getattr(topic, "topic_id", None)
    if name is None:
        known = broker.topic(None, topic_id)
        name = known.name if known is not None else ""
    return name, topic_id, tuple(topic.partition_indexes)


def _offsets(groups: tuple[OffsetGroup, ...]) -> Offsets:
    return Offsets(groups, groups[0].topics if groups else ())


def _offsets_of(
    broker: Broker, group: str, wanted: Wanted | None, answer: OffsetFetchResponse
) -> OffsetGroup:
    if answer.error:
        return OffsetGroup(group, (), answer.error)
    return OffsetGroup(group, _offsets_by_topic(broker, wanted, answer))


def _offsets_by_topic(
    broker: Broker, wanted: Wanted | None, answer: OffsetFetchResponse
) -> tuple[OfTopic, ...]:
    """Arrange a group's committed offsets by topic, as OffsetFetch answers them: for the partitions
    that were asked for, or, where `wanted` is None, for all that the group has."""
    unstable = frozenset(answer.unstable)
    positions = {position.partition: position for position in answer.positions}

    def offset_of(topic: str, index: int) -> OffsetPartition:
        name = f"{topic}-{index}"
        if not topic:  # no topic has the id that was asked for
            return OffsetPartition(index, error_code=Error.UNKNOWN_TOPIC_ID)
        if name in unstable:
            return OffsetPartition(index, error_code=Error.UNSTABLE_OFFSET_COMMIT)
        position = positions[name]  # offset -1: none is committed
        return OffsetPartition(index, position.offset, position.leader_epoch, position.metadata)

    if wanted is None:
        wanted = tuple((t, _id_of(broker, t), tuple(i)) for t, i in by_topic(positions).items())
    # of each topic its name, its id (if it was asked for by that) and its partitions' numbers
    return tuple(OfTopic(t, tuple(offset_of(t, i) for i in row), uuid) for t, uuid, row in wanted)


def _id_of(broker: Broker, name: str) -> UUID | None:
    topic = broker.topic(name)
    return topic.uuid if topic is not None else None
