"""An order and its money: the smallest thing that a transaction is for.

A customer of a gift shop orders something for 5. The shop's order service books the money
from the customer's account to the shop's own: "C-5" goes to the partition of the customer's
account, "S+5" to that of the shop's. Money in = money out: what a reader of committed data
is shown must sum to zero.

While an order is still on its way (its sender is at work, a transaction is not complete, an
account is down) the sum may differ, and the light does not ask: it judges what is left when
nothing is under way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ....kafka import KafkaSystem
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import Property, Trace, Words, World
from ....kernel.options import Pairs

MONEY = Words("money in = money out, once nothing is under way", "没有事务在进行时，进账 = 出账")
ACCOUNTS = {"C": "customer", "S": "shop"}
BOOKING = re.compile(r"([A-Z])([+-]\d+)")


@dataclass(frozen=True)
class ShopSystem(KafkaSystem):
    """Kafka with the topic `accounts` and one more light."""

    topic: str = "accounts"
    producers: Pairs = (("order-service", "order-service"),)

    name = "shop"

    def properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced)
        return (money, *super().properties())

    def _balanced(self, world: World) -> bool:
        if not all(world.nodes[name].up for name in self.cluster.partitions):
            return True  # an account that cannot be asked has lost nothing yet
        seen = read_world(self.cluster, world)
        if any(t.state not in COMPLETED for t in seen.list_txns()):
            return True
        for name, _ in self.producers:
            node = world.nodes[name]
            working = node.app is not None and (node.app.waiting or node.app.next_call())
            if node.up and (working or node.roles[0].flights):
                return True
        shown = [
            b for p in self.cluster.partitions for b, _ in seen.list_readable(p, "read_committed")
        ]
        return sum(amount for b in shown for _, amount in bookings(b.words)) == 0


def bookings(text: str) -> list[tuple[str, int]]:
    """The (account, amount) pairs in a record's words."""
    return [(account, int(amount)) for account, amount in BOOKING.findall(text)]


def balances(trace: Trace, position: int = -1) -> str:
    """What each reader is shown, as a table: a line an isolation level, a column an
    account, and the sum, which is money made or lost."""
    rows = []
    for reader in trace.snapshot(position).readers:
        sums = dict.fromkeys(ACCOUNTS, 0)
        for got in reader.got:
            for account, amount in bookings(got.label):
                sums[account] = sums.get(account, 0) + amount
        rows.append((reader.name, sums))
    accounts = list(dict.fromkeys(account for _, sums in rows for account in sums))
    head = "".join(f"{ACCOUNTS.get(a, a):>10}" for a in accounts)
    lines = [f"{'reader':<18}{head}{'sum':>6}"]
    for name, sums in rows:
        cells = "".join(f"{sums.get(a, 0):>+10d}" for a in accounts)
        lines.append(f"{name:<18}{cells}{sum(sums.values()):>+6d}")
    return "\n".join(lines)
