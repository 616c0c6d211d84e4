"""A topic as the cluster's metadata keeps it, and what may be said about one.

Sources: Topic#validate, ReplicationControlManager#createTopic, #createPartitions (Kafka 4.3).
"""

from __future__ import annotations

import re
from uuid import UUID, uuid5

from ....kafka.errors import Error
from ....kernel import worded

NAMESPACE = UUID("6d716c61-6200-4b61-8000-746f70696373")
NAME = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)
LONGEST = 249
INTERNAL = ("__consumer_offsets", "__transaction_state")
PROHIBITED = "__cluster_metadata"
#: partitions of all topics, a leader each, on one node; a real controller creates at most so
#: many in one request (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)
MOST_PARTITIONS = 10_000
EXCESSIVE = "Excessively large number of partitions per request."


@worded("topic {name}, {count} partitions")
class Topic:
    """`id` is made from the name and the number of topics made before, so that a topic
    created again is another one. `configs`: what it was given, by name."""

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


def topic_id(name: str, made: int) -> str:
    return str(uuid5(NAMESPACE, f"{name}/{made}"))


def is_internal(partition: str) -> bool:
    """Whether a partition ("topic-0") belongs to one of Kafka's own topics: a user's topic
    may be called `__consumer_offsets-3`."""
    return partition.rpartition("-")[0] in INTERNAL


def name_problem(name: str) -> str:
    """Why this cannot be a topic's name; empty if it can."""
    wrong = "Topic name is invalid: "
    if not name:
        return f"{wrong}the empty string is not allowed"
    if name in (".", ".."):
        return f"{wrong}'{name}' is not allowed"
    if len(name) > LONGEST:
        return f"{wrong}the length of '{name}' is longer than the max allowed length {LONGEST}"
    if not NAME.fullmatch(name):
        return (
            f"{wrong}'{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    return ""


def plain(name: str) -> str:
    """A name as metrics write it: two topics whose plain names are equal collide."""
    return name.replace(".", "_")


def count_problem(count: int, replicas: int) -> tuple[Error, str]:
    """Why a topic cannot have so many partitions or replicas."""
    if count != -1 and count < 1:
        words = "Number of partitions was set to an invalid non-positive value."
        return Error.INVALID_PARTITIONS, words
    if replicas != -1 and replicas < 1:
        words = "Replication factor must be larger than 0, or -1 to use the default value."
        return Error.INVALID_REPLICATION_FACTOR, words
    if replicas > 1:
        return Error.INVALID_REPLICATION_FACTOR, (
            f"Unable to replicate the partition {replicas} time(s): The target replication factor "
            f"of {replicas} cannot be reached because only 1 broker(s) are registered or some "
            "brokers have all their log directories cordoned."
        )
    return Error.NONE, ""
