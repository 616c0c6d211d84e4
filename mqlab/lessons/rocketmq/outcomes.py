"""What becomes of many orders, with and without check-back: counted over seeds.

A row and a message belong together. Each seed runs the day's first orders once, one after the
other, through two processes of the order service. What a process sends to the broker may be lost,
and the process that takes the orders may be killed in the middle of one; it starts again, and its
twin lives on. The run goes on until every round of the check has had its turn.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from ...kernel import World, worded
from ...kernel.simulate import Timing, simulate_world
from ...registry import system
from ...rocketmq import RocketMQSystem
from ...rocketmq.picture.view import read_world
from ..patterns.orders import list_orders

#: an order takes about 25 ms while nothing goes wrong
SLOT_MS = 40
INTERVAL_MS = 30_000
LOSSY = (("app", "broker"), ("twin", "broker"))


@worded("{delivered:4.0%}, {twice} of {orders} twice")
class Outcomes:
    """Of so many `orders`: `once` has a row and one message, `twice` a row and several messages,
    `neither` has no row and no message, and its customer was told or will ask; `split` has a row
    whose message never comes."""

    orders: int
    once: int
    twice: int
    neither: int
    split: int

    @property
    def delivered(self) -> float:
        """Of the orders that have a row: the share whose message comes."""
        rows = self.once + self.twice + self.split
        return 1 - self.split / rows if rows else 1.0


def measure_outcomes(
    check_back: bool,
    loss: float = 0.0,
    death: float = 0.0,
    check_max: int = 15,
    seeds: int = 20,
    many: int = 12,
) -> Outcomes:
    """The same orders once for each seed. `loss`: of the messages to the broker; `death`: how
    often the process is killed while it is at an order; `check_max`: transactionCheckMax."""
    service = build_service(check_back, check_max, many)
    timing = Timing(loss=loss, lossy=LOSSY)
    until_ms = (check_max + 3) * INTERVAL_MS
    counted: Counter[str] = Counter()
    for seed in range(seeds):
        deaths = list_deaths(random.Random(seed), death, many)
        world = simulate_world(service, seed, until_ms, deaths, timing)
        counted.update(judge_orders(service, world, many).values())
    parts = (counted[name] for name in ("once", "twice", "neither", "split"))
    return Outcomes(seeds * many, *parts)


def build_service(check_back: bool, check_max: int, many: int) -> RocketMQSystem:
    """Two processes of the order service, of which one takes the orders."""
    calls = "; ".join(f"send-in-transaction orders-0 {o.number}" for o in list_orders(many))
    off = "" if check_back else "off=check_back "
    made = system(
        f"order_service {off}producers=app:order-service,twin:order-service early=on "
        f"check_max={check_max} 'app={calls}'"
    )
    assert isinstance(made, RocketMQSystem)
    return made


def list_deaths(dice: random.Random, death: float, many: int) -> Iterator[tuple[int, str]]:
    """When the process is killed, and when it starts again: in the time of one order each."""
    for number in range(many):
        dies, moment = dice.random() < death, dice.random()
        if dies:
            yield number * SLOT_MS + int(moment * 25), "kill app"
            yield (number + 1) * SLOT_MS - 1, "restart app"


def judge_orders(service: RocketMQSystem, world: World, many: int) -> dict[str, str]:
    """For each order what became of it, by the names of `Outcomes`."""
    seen = read_world(service.cluster, world)
    sent = Counter(stored.message.words for stored in seen.read("orders-0"))
    names = (order.number for order in list_orders(many))
    return {number: _judge(number in seen.rows, sent[number]) for number in names}


def _judge(row: bool, messages: int) -> str:
    if not row:
        assert not messages, "a message without its row"
        return "neither"
    return "split" if messages == 0 else "once" if messages == 1 else "twice"
