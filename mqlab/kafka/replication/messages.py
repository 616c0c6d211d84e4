"""What replicas, the controller and clients say about who leads."""

from __future__ import annotations

from typing import Any, ClassVar

from ...kernel import frozen, worded
from ..errors import Error
from ..messages import braces


def replica_name(partition: str, number: int) -> str:
    """The role that holds copy `number` (from 1) of a partition, or of the coordinator's."""
    return f"{partition}@{number}"


@frozen
class Leadership:
    """Who leads a partition (-1: nobody), since which leader epoch, and which replicas are in
    sync.

    The controller's record of it (PartitionRecord, PartitionChangeRecord in Kafka's
    metadata log), sent to every broker."""

    quiet: ClassVar[bool] = True
    partition: str
    leader: int
    epoch: int
    isr: tuple[int, ...]

    def __str__(self) -> str:
        isr = braces(tuple(map(str, self.isr)))
        leader = self.leader if self.leader > 0 else "none"
        return f"{self.partition}: leader {leader} epoch={self.epoch} ISR {isr}"

    @property
    def role(self) -> str:
        return replica_name(self.partition, self.leader)


@frozen
class Register:
    """A broker that has started again asks the controller how things stand."""

    partition: str
    number: int

    def __str__(self) -> str:
        return f"Register {replica_name(self.partition, self.number)}"


@frozen
class AlterPartition:
    """A leader has seen a follower catch up, and proposes the ISR with it. `known`: the ISR
    it knew, so that a change it has not heard of is not undone (Kafka: the partition
    epoch)."""

    partition: str
    epoch: int
    known: tuple[int, ...]
    isr: tuple[int, ...]

    def __str__(self) -> str:
        return f"AlterPartition ISR {braces(tuple(map(str, self.isr)))}"


@frozen
class FetchReplica:
    """A follower asks for what follows. `logs`: (log, its end, the leader epoch of its last
    record, the high watermark it knows)."""

    quiet: ClassVar[bool] = True
    number: int
    epoch: int
    logs: tuple[tuple[str, int, int, int], ...]

    def __str__(self) -> str:
        return "Fetch " + " ".join(f"{log}@{end}" for log, end, _, _ in self.logs)


@frozen
class Copied:
    """What one log has for a follower. `cut`: where its own log parts from the leader's
    (it must truncate to there first), -1 where it does not; `epochs`: (leader epoch, first
    offset) of the leader's log."""

    log: str
    entries: tuple[Any, ...]
    hw: int
    epochs: tuple[tuple[int, int], ...]
    cut: int = -1


@frozen
class FetchReplicaResponse:
    logs: tuple[Copied, ...] = ()
    error: Error = Error.NONE

    def __str__(self) -> str:
        if self.error:
            return self.error.words
        logs = []
        for copied in self.logs:
            parts = [f"cut back to {copied.cut}"] if copied.cut >= 0 else []
            parts += [str(entry) for entry in copied.entries]
            logs.append("; ".join([*parts, f"HW={copied.hw}"]))
        return " | ".join(logs)


@worded("Metadata {partition}")
class Metadata:
    """From a client to any broker: who leads this partition?"""

    partition: str


@worded("FindCoordinator {key} ({partition})")
class FindCoordinator:
    """From a client to any broker: who coordinates this? `partition`: of the internal
    topic, by the hash of the key."""

    key: str
    partition: str
    name: str


@frozen
class Found:
    """Who leads, as far as the broker that was asked knows."""

    leadership: Leadership

    def __str__(self) -> str:
        return self.leadership.role


@worded("load, leader epoch {epoch}")
class Load:
    """A new leader's note to itself: read the log, then serve."""

    epoch: int
