"""Which role stands on which node.

With one replica every role is a node of its own, called by what it leads: `coordinator`,
`orders-0`. With several, each *copy* is one: `orders-0@1`, `orders-0@2`, `coordinator@1` …; a
`controller` says who leads, and clients find their way by a router.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...kernel import Disk, Effects, Map, NodeSpec, Program
from ..clients.admin import Admin, AdminConfig
from ..clients.consumer import Consumer, ConsumerConfig
from ..clients.producer import Producer, ProducerConfig
from ..clients.worker import Worker
from ..config import KafkaConfig, txn_log
from ..coordinator import Coordinator
from ..group import GroupCoordinator
from ..leader import Leader
from ..replication import Leadership, Replica, ReplicaConfig, Router, RouterConfig
from ..replication.controller import start_controller
from ..replication.replica import Lead, TakingOver

if TYPE_CHECKING:
    from . import KafkaSystem


def client(role: Any, disk: Disk, at_ms: int) -> tuple[Any, Effects]:
    """A client starts with nothing but its configuration."""
    return role, ()


def nodes(system: KafkaSystem) -> tuple[NodeSpec, ...]:
    programs = dict(system.programs)
    specs = [_client(system, *made, programs) for made in _producers(system, system.producers)]
    for name, key, producer in _producers(system, system.workers):
        worker = Worker(Consumer(_consumer(system, name)), producer)
        specs.append(_client(system, name, key, worker, programs))
    specs += _brokers(system) if system.replicas == 1 else _replicas(system, programs)
    for name in system.readers:
        consumer = Consumer(_consumer(system, name))
        specs.append(_client(system, name, "", consumer, programs))
    for name in system.admins:
        admin = Admin(AdminConfig(coordinator=system.config.coordinator))
        specs.append(_client(system, name, "", admin, programs))
    return tuple(specs)


def _consumer(system: KafkaSystem, name: str) -> ConsumerConfig:
    return ConsumerConfig(cluster=system.config, name=name, partitions=system.cluster.partitions)


def _producers(
    system: KafkaSystem, named: tuple[tuple[str, str], ...]
) -> list[tuple[str, str, Producer]]:
    out = []
    for node, txn_id in named:
        config = producer_config(system, txn_id)
        out.append((node, config.txn_id or "", Producer(config)))
    return out


def producer_config(system: KafkaSystem, txn_id: str) -> ProducerConfig:
    """Raises ConfigException for what Java refuses to build, unless it is told not to look."""
    return ProducerConfig(
        cluster=system.config,
        txn_id=None if txn_id in ("-", "plain") else txn_id,
        client=system.client,
        idempotent=txn_id != "plain",
        timeout_ms=system.timeout_ms,
        max_in_flight=system.max_in_flight,
        retries=system.retries,
        delivery_timeout_ms=system.delivery_timeout_ms,
        max_block_ms=system.max_block_ms,
        checked=system.config_check == "on",
    )


def _client(
    system: KafkaSystem, name: str, key: str, role: Any, programs: dict[str, Program]
) -> NodeSpec:
    if system.replicas > 1:
        brokers = system.cluster.copies(system.config.coordinator)  # they know of every leader
        role = Router(RouterConfig(cluster=system.config, brokers=brokers, key=key), role)
    return NodeSpec(name, ((name, partial(client, role)),), programs.get(name, ()))


def _brokers(system: KafkaSystem) -> list[NodeSpec]:
    config, cluster = system.config, system.cluster
    tc = config.coordinator
    specs = [NodeSpec(tc, ((tc, partial(Coordinator.recover, config)),))]
    for name in cluster.partitions:
        specs.append(NodeSpec(name, ((name, partial(Leader.recover, config, name)),)))
    for name in cluster.groups:
        specs.append(NodeSpec(name, ((name, partial(GroupCoordinator.recover, config, name)),)))
    return specs


# ---- several replicas ------------------------------------------------------------------


def leaders_of(system: KafkaSystem) -> tuple[str, ...]:
    """What has a leader: the coordinator's log and every partition."""
    cluster = system.cluster
    return (system.config.coordinator, *cluster.partitions, *cluster.groups)


def hears(system: KafkaSystem) -> Map[str, tuple[str, ...]]:
    """Who is told who leads a partition. The coordinator's copies hear of all, for they send
    markers everywhere; and all hear of the coordinator, whom every leader asks."""
    tc, copies = system.config.coordinator, system.cluster.copies
    everywhere = tuple(c for partition in leaders_of(system) for c in copies(partition))
    return Map(
        (p, everywhere if p == tc else (*copies(tc), *copies(p))) for p in leaders_of(system)
    )


def first_leaders(system: KafkaSystem) -> tuple[Leadership, ...]:
    """A new cluster begins with everybody in sync and the first replica leading."""
    return tuple(
        Leadership(partition, 1, 0, system.cluster.numbers(partition))
        for partition in leaders_of(system)
    )


def _replicas(system: KafkaSystem, programs: dict[str, Program]) -> list[NodeSpec]:
    first = first_leaders(system)
    specs = []
    for partition in leaders_of(system):
        for number in system.cluster.numbers(partition):
            config = ReplicaConfig(
                partition=partition,
                number=number,
                logs=_logs(system, partition),
                lead=_lead(system, partition, number),
                first=first,
                loads=partition not in system.cluster.partitions,
                min_isr=system.min_isr,
                skip_leaderless_marker=system.config.skip_leaderless_marker,
            )
            me = config.me
            specs.append(NodeSpec(me, ((me, partial(Replica.recover, config)),)))
    start = partial(start_controller, hears(system), first)
    specs.append(NodeSpec("controller", (("controller", start),), programs.get("controller", ())))
    return specs


def _logs(system: KafkaSystem, partition: str) -> tuple[str, ...]:
    if partition != system.config.coordinator:
        return (partition,)
    return tuple(sorted({txn_log(i, system.config) for i in system.cluster.ids}))


def _lead(system: KafkaSystem, partition: str, number: int) -> Lead:
    """How the role inside a replica is recovered when it begins to lead."""
    config = system.config
    if partition == config.coordinator:
        return partial(_lead_coordinator, config, number, system.replicas)
    if partition in system.cluster.groups:
        return partial(_lead_group, config, partition)
    return partial(_lead_partition, config, partition)


def _lead_coordinator(
    config: KafkaConfig, number: int, replicas: int, disk: Disk, at_ms: int, over: TakingOver
) -> tuple[Coordinator, Effects]:
    return Coordinator.begin_leading(
        config, disk, at_ms, over.epoch, first_block=number - 1, stride=replicas
    )


def _lead_partition(
    config: KafkaConfig, name: str, disk: Disk, at_ms: int, over: TakingOver
) -> tuple[Leader, Effects]:
    return Leader.recover(config, name, disk, at_ms, over.hw.get(name, 0), over.since.get(name))


def _lead_group(
    config: KafkaConfig, name: str, disk: Disk, at_ms: int, over: TakingOver
) -> tuple[GroupCoordinator, Effects]:
    return GroupCoordinator.recover(config, name, disk, at_ms, over.hw.get(name, 0), over.epoch)
