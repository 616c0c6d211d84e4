"""Which role stands on which node: each process is one, and so is the database."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...kernel import NodeSpec
from ..application import orders
from ..application.database import Database
from ..broker import Broker
from ..broker.slave import Slave
from ..consumer import Consumer, ConsumerConfig
from ..producer import Producer, ProducerConfig

if TYPE_CHECKING:
    from . import RocketMQSystem


def nodes(system: RocketMQSystem) -> tuple[NodeSpec, ...]:
    config = system.config
    specs = list(_producers(system))
    specs.append(NodeSpec(config.database, ((config.database, Database.recover),)))
    specs.append(NodeSpec(config.broker, ((config.broker, partial(Broker.recover, config)),)))
    if system.slave == "on":
        specs.append(NodeSpec(config.slave, ((config.slave, partial(Slave.recover, config)),)))
    specs += _consumers(system)
    return tuple(specs)


def _producers(system: RocketMQSystem) -> list[NodeSpec]:
    programs, rules = dict(system.programs), dict(system.rules)
    specs = []
    for name, group in system.producers:
        config = ProducerConfig(
            cluster=system.config,
            name=name,
            group=group,
            early=system.registers_early,
            execute=rules.get("execute", orders.execute),
            check=rules.get("check", orders.check),
        )
        role = (name, partial(Producer.recover, config))
        specs.append(NodeSpec(name, (role,), programs.get(name, ())))
    return specs


def _consumers(system: RocketMQSystem) -> list[NodeSpec]:
    programs, specs = dict(system.programs), []
    for name, group in system.consumers:
        config = ConsumerConfig(
            cluster=system.config,
            name=name,
            group=group,
            queues=system.config.topics,
            broadcasting=system.model == "broadcasting",
        )
        role = (name, partial(Consumer.recover, config))
        specs.append(NodeSpec(name, (role,), programs.get(name, ())))
    return specs
