"""A RocketMQ cluster as a picture needs it: the names, in the order in which they are drawn."""

from __future__ import annotations

from ...kernel import frozen
from ..config import RocketMQConfig


@frozen
class Cluster:
    """`producers`: (node, producer group); `consumers`: (node, consumer group). The queues that
    consumers may read are the config's `topics`, as "orders-0". `slave`: there is one."""

    config: RocketMQConfig
    producers: tuple[tuple[str, str], ...]
    consumers: tuple[tuple[str, str], ...] = ()
    slave: bool = False

    @property
    def consumer_groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group for _, group in self.consumers))
