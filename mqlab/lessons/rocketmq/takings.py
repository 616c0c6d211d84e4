"""The money of the order service: what customers have paid, and what a consumer has counted.

An order is paid when its row is written, and counted when the first group of consumers applies its
message. Money in = money out: the two sums agree in the end. An order whose message is in flight,
asked about or set aside is not settled yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...kernel import Money, Words, World
from ...rocketmq.claims import find_unjudged, list_left_alone
from ...rocketmq.consumer import APPLIED
from ...rocketmq.picture.view import Cluster, read_world
from ..patterns.systems import find_worth

PAID = Words("paid, with a row")
COUNTED = Words("counted by {group}")


def count_money(cluster: Cluster, world: World) -> Money | None:
    """Add up what the orders with a row are worth and what the first consumer group has counted;
    None where there is no consumer. `missing`: the orders whose row no message will follow;
    `extra`: what was counted more often than once, or without a row. An order that no row decides
    (a scripted listener's) may be counted once."""
    if not cluster.consumer_groups:
        return None
    group = cluster.consumer_groups[0]
    rows = dict.fromkeys(read_world(cluster, world).orders, 1)
    applied: dict[str, int] = {}
    for name, its_group in cluster.consumers:
        for order, times in world.disk(name).table(APPLIED).items() if its_group == group else ():
            applied[order] = applied.get(order, 0) + times
    expected = rows | dict.fromkeys(find_unjudged(cluster, world), 1)
    return Money(
        _sum_up(rows),
        _sum_up(applied),
        PAID(),
        COUNTED(group=group),
        missing=_sum_up(dict.fromkeys(list_left_alone(cluster, world), 1)),
        extra=_sum_up({order: count - expected.get(order, 0) for order, count in applied.items()}),
    )


def _sum_up(orders: Mapping[str, int]) -> int:
    """What these orders are worth in pence, each as often as it is there; other texts are worth
    nothing."""
    return sum(find_worth(order) * max(0, times) for order, times in orders.items())
