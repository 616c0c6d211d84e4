"""Which role stands on which node: each coordinator, each partition and each client is one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...kernel import NodeSpec
from ..client import Client, ClientConfig
from ..config import name_coordinator
from ..coordinator import Coordinator
from ..topic import Topic

if TYPE_CHECKING:
    from . import PulsarSystem


def nodes(system: PulsarSystem) -> tuple[NodeSpec, ...]:
    config = system.config
    specs = list(_clients(system))
    for tc_id in range(config.coordinators):
        name = name_coordinator(tc_id)
        specs.append(NodeSpec(name, ((name, partial(Coordinator.recover, config, tc_id)),)))
    for name in config.partitions:
        specs.append(NodeSpec(name, ((name, partial(Topic.recover, config, name)),)))
    return tuple(specs)


def _clients(system: PulsarSystem) -> list[NodeSpec]:
    programs, specs = dict(system.programs), []
    for name in system.clients:
        config = ClientConfig(
            cluster=system.config,
            name=name,
            timeout_ms=system.timeout_ms,
            operation_ms=system.operation_ms,
        )
        role = (name, partial(Client.recover, config))
        specs.append(NodeSpec(name, (role,), programs.get(name, ())))
    return specs
