"""A Kafka cluster as a picture needs it: the names, in the order in which they are drawn."""

from __future__ import annotations

from typing import Any

from ...kernel import World, frozen
from ..config import KafkaConfig
from ..replication import Leadership, Replica
from ..replication.controller import TABLE as LEADERSHIP
from ..replication.messages import replica_name


@frozen
class Cluster:
    """The names a picture needs: node names by their part, and the ids in a fixed order.
    With several `replicas` a partition stands on several nodes, one of which leads; a topic's
    and a group's on `topic_replicas` of them."""

    config: KafkaConfig
    producers: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...]
    readers: tuple[str, ...]
    groups: tuple[str, ...]
    admins: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    replicas: int = 1
    topic_replicas: int = 1

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(txn_id for _, txn_id in self.producers if txn_id))

    def copies(self, partition: str) -> tuple[str, ...]:
        """The nodes that hold a copy of a partition (or of the coordinator's log)."""
        if self.replicas == 1:
            return (partition,)
        return tuple(replica_name(partition, n) for n in self.numbers(partition))

    def numbers(self, partition: str) -> tuple[int, ...]:
        """The numbers of those copies, from 1."""
        own = partition == self.config.coordinator
        return tuple(range(1, 1 + (self.replicas if own else self.topic_replicas)))

    def leader(self, world: World, partition: str) -> str:
        """The node that leads a partition, by the controller's record."""
        if self.replicas == 1:
            return partition
        led: Leadership = world.disk("controller").table(LEADERSHIP)[partition]
        return led.role if led.leader > 0 else replica_name(partition, led.isr[0])

    def in_sync(self, world: World, partition: str) -> tuple[str, ...]:
        """The nodes whose copies the controller counts as in sync: one of them leads next."""
        if self.replicas == 1:
            return (partition,)
        led: Leadership = world.disk("controller").table(LEADERSHIP)[partition]
        return tuple(replica_name(partition, n) for n in led.isr)

    def leading_role(self, world: World, partition: str) -> Any:
        """The role that leads a partition; None while its node is down, follows or loads."""
        role = world.role(self.leader(world, partition))
        return role.role if isinstance(role, Replica) else role
