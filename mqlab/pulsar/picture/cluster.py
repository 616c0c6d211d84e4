"""A Pulsar cluster as claims and pictures need it: the names, in the order in which they stand."""

from __future__ import annotations

from ...kernel import frozen
from ..config import PulsarConfig, name_coordinator


@frozen
class Cluster:
    """`clients`: the nodes with a PulsarClient. Partitions are the config's."""

    config: PulsarConfig
    clients: tuple[str, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        return self.config.partitions

    @property
    def coordinators(self) -> tuple[str, ...]:
        return tuple(name_coordinator(number) for number in range(self.config.coordinators))
