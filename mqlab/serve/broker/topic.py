"""A topic as the cluster's metadata keeps it, and what may be said about one.

Sources: Topic#validate, LogConfig, ReplicationControlManager#createTopic (Kafka 4.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID, uuid5

from ...kafka.errors import Error

NAMESPACE = UUID("6d716c61-6200-4b61-8000-746f70696373")
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
INTERNAL = ("__consumer_offsets", "__transaction_state")
MOST_PARTITIONS = 1_000  # a leader each, on one node
MAX_MESSAGE_BYTES = 1_048_588

#: The topic configurations there are (TopicConfig). They are kept and given back; of all
#: of them only max.message.bytes changes what this server does: it never deletes a record.
_CONFIGS = """
    cleanup.policy compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delete.retention.ms file.delete.delay.ms flush.messages flush.ms
    follower.replication.throttled.replicas index.interval.bytes
    leader.replication.throttled.replicas local.retention.bytes local.retention.ms
    max.compaction.lag.ms max.message.bytes message.timestamp.after.max.ms
    message.timestamp.before.max.ms message.timestamp.type min.cleanable.dirty.ratio
    min.compaction.lag.ms min.insync.replicas preallocate remote.storage.enable
    retention.bytes retention.ms segment.bytes segment.index.bytes segment.jitter.ms
    segment.ms unclean.leader.election.enable
"""
CONFIGS = frozenset(_CONFIGS.split())


@dataclass(frozen=True, slots=True)
class Topic:
    """`id` is made from the name and the number of topics made before, so that a topic
    created again is another one."""

    name: str
    count: int
    id: str
    configs: tuple[tuple[str, str], ...] = ()

    @property
    def uuid(self) -> UUID:
        return UUID(self.id)

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{i}" for i in range(self.count))

    @property
    def max_message_bytes(self) -> int:
        return int(dict(self.configs).get("max.message.bytes", MAX_MESSAGE_BYTES))

    def __str__(self) -> str:
        return f"topic {self.name}, {self.count} partitions"


def topic_id(name: str, made: int) -> str:
    return str(uuid5(NAMESPACE, f"{name}/{made}"))


def name_problem(name: str) -> str:
    """Why this cannot be a topic's name; empty if it can."""
    if name in INTERNAL:
        return f"{name} is internal to the broker"
    if name in (".", "..") or not NAME.fullmatch(name):
        return "a topic's name has 1 to 249 of the characters a-z A-Z 0-9 . _ -"
    return ""


def config_problem(configs: tuple[tuple[str, str], ...]) -> str:
    """Why a topic cannot be configured like this; empty if it can."""
    for key, value in configs:
        if key not in CONFIGS:
            return f"Unknown topic config name: {key}"
        if key == "message.timestamp.type" and value != "CreateTime":
            return "this server keeps the client's timestamps: message.timestamp.type is CreateTime"
        if key == "max.message.bytes" and not value.isdigit():
            return f"max.message.bytes is a number of bytes, not {value!r}"
    return ""


def count_problem(count: int, replicas: int) -> tuple[Error, str]:
    """Why a topic cannot have so many partitions or replicas."""
    if count != -1 and not 1 <= count <= MOST_PARTITIONS:
        return Error.INVALID_PARTITIONS, f"1 to {MOST_PARTITIONS} partitions, or -1 for one"
    if replicas not in (-1, 1):
        return Error.INVALID_REPLICATION_FACTOR, "this cluster has one broker: 1 replica, or -1"
    return Error.NONE, ""
