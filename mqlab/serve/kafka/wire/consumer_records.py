"""The records of a group of the newer protocol (KIP-848), as Kafka's own bytes.

    3  ConsumerGroupMetadata               group            the group's epoch
    5  ConsumerGroupMemberMetadata         group, member    what it said of itself
    6  ConsumerGroupTargetAssignmentMetadata  group         the target's epoch
    7  ConsumerGroupTargetAssignmentMember group, member    what it shall have
    8  ConsumerGroupCurrentMemberAssignment   group, member how far it is, what it has

Sources: the schemas of these names, GroupCoordinatorRecordHelpers (Kafka 4.3); compared
byte by byte with what a 4.3.1 broker wrote.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ....kafka.group.consumer.values import (
    ConsumerGroupTombstones,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    Held,
    MemberMetadata,
    MemberState,
    MemberTombstones,
    TargetAssignment,
    TargetEpoch,
)
from .encoding import NO_TAGS, Pair, TopicId, array, by_topic, compact, ints, string, tags

GROUP, MEMBER, TARGET_EPOCH, TARGET, CURRENT = 3, 5, 6, 7, 8
VERSION = b"\0\0"
#: MemberState#value
STATES = {
    MemberState.STABLE: 0,
    MemberState.UNREVOKED_PARTITIONS: 1,
    MemberState.UNRELEASED_PARTITIONS: 2,
}


def consumer_records(record: object, topic_id: TopicId) -> list[Pair] | None:
    """None for a record that is not of this protocol."""
    match record:
        case GroupEpoch(group=group, epoch=epoch, subscribed=subscribed):
            value = struct.pack(">i", epoch) + tags((0, struct.pack(">q", subscribed)))
            return [(_key(GROUP, group), VERSION + value)]
        case MemberMetadata(group=group, member=member):
            return [(_key(MEMBER, group, member.id), VERSION + _member(member))]
        case TargetEpoch(group=group, epoch=epoch, at_ms=at_ms):
            value = struct.pack(">i", epoch) + tags((0, struct.pack(">q", at_ms)))
            return [(_key(TARGET_EPOCH, group), VERSION + value)]
        case TargetAssignment(group=group, member=name, partitions=partitions):
            rows = ((topic, ints(sorted(i))) for topic, i in by_topic(partitions).items())
            value = _assigned(rows, topic_id) + NO_TAGS
            return [(_key(TARGET, group, name), VERSION + value)]
        case CurrentAssignment(group=group, member=name):
            return [(_key(CURRENT, group, name), VERSION + _current(record, topic_id))]
        case MemberTombstones(group=group, member=name):
            return [(_key(kind, group, name), None) for kind in (CURRENT, TARGET, MEMBER)]
        case ConsumerGroupTombstones(group=group):
            return [(_key(kind, group), None) for kind in (TARGET_EPOCH, GROUP)]
    return None


def _key(kind: int, *names: str) -> bytes:
    return struct.pack(">h", kind) + b"".join(map(string, names))


def _member(m: ConsumerMember) -> bytes:
    """Its tag says that it does not join by the classic protocol."""
    data = compact(m.instance) + compact(m.rack) + compact(m.client) + compact(m.host)
    data += array(map(compact, m.topics)) + compact(m.regex)
    return data + struct.pack(">i", m.rebalance_ms) + compact(m.assignor) + tags((0, b"\0"))


def _current(record: CurrentAssignment, topic_id: TopicId) -> bytes:
    state = STATES[MemberState(record.state)]
    head = struct.pack(">iib", record.epoch, record.previous, state)
    return head + _held(record.assigned, topic_id) + _held(record.revoking, topic_id) + NO_TAGS


def _held(held: Held, topic_id: TopicId) -> bytes:
    """Partitions by topic, and as a tag the epoch at which each was given."""
    rows = (
        (topic, ints(i for i, _ in row) + tags((0, ints(epoch for _, epoch in row))))
        for topic, row in _topics(held)
    )
    known = ((topic_id(topic), data) for topic, data in rows)
    return array(uuid.bytes + data for uuid, data in known if uuid is not None)


def _assigned(rows: Iterable[tuple[str, bytes]], topic_id: TopicId) -> bytes:
    known = ((topic_id(topic), data) for topic, data in rows)
    return array(uuid.bytes + data + NO_TAGS for uuid, data in known if uuid is not None)


def _topics(held: Held) -> list[tuple[str, list[tuple[int, int]]]]:
    """(topic, its (index, epoch) in order)."""
    topics: dict[str, list[tuple[int, int]]] = {}
    for name, epoch in held:
        topic, _, index = name.rpartition("-")
        topics.setdefault(topic, []).append((int(index), epoch))
    return [(topic, sorted(rows)) for topic, rows in topics.items()]
