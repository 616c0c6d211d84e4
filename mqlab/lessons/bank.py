"""A pays B: the smallest thing that a transaction is for.

Account A's partition gets a debit ("A-5"), account B's a credit ("B+5"). Money in = money
out: what a reader of committed data is shown must sum to zero, except while a payment is
still on its way (its sender is at work, or the coordinator owes a marker).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..kafka import KafkaSystem
from ..kafka.snapshot import view
from ..kafka.states import COMPLETED
from ..kernel import Property, Trace, Words, World

MONEY = Words("money in = money out", "进账 = 出账")
PAYMENT = re.compile(r"([A-Z])([+-]\d+)")


@dataclass(frozen=True)
class BankSystem(KafkaSystem):
    """Kafka with the topic `accounts` and one more light."""

    topic: str = "accounts"
    producers: tuple[tuple[str, str], ...] = (("bank", "payments"),)

    name = "bank"

    @classmethod
    def from_options(cls, options: Mapping[str, str], off: frozenset[str]) -> BankSystem:
        found = super().from_options(options, off)
        assert isinstance(found, BankSystem)
        return found

    def properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced)
        return (money, *super().properties())

    def _balanced(self, world: World) -> bool:
        if not all(world.nodes[name].up for name in self.cluster.partitions):
            return True  # who cannot be asked has lost nothing yet
        seen = view(self.cluster, world)
        if any(t.state not in COMPLETED for t in seen.all_txns()):
            return True
        for name, _ in self.producers:
            node = world.nodes[name]
            working = node.app is not None and (node.app.waiting or node.app.next_call())
            if node.up and (working or node.roles[0].flights):
                return True
        shown = [b for p in self.cluster.partitions for b, _ in seen.got(p, "read_committed")]
        return sum(amount for b in shown for _, amount in payments(b.words)) == 0


def payments(text: str) -> list[tuple[str, int]]:
    """The (account, amount) pairs in a record's words."""
    return [(account, int(amount)) for account, amount in PAYMENT.findall(text)]


def balances(trace: Trace, position: int = -1) -> str:
    """What each reader is shown, as a table: a line an isolation level, a column an
    account, and the sum, which is money made or lost."""
    rows = []
    for reader in trace.snapshot(position).readers:
        sums = {"A": 0, "B": 0}
        for got in reader.got:
            for account, amount in payments(got.label):
                sums[account] = sums.get(account, 0) + amount
        rows.append((reader.name, sums))
    accounts = sorted({account for _, sums in rows for account in sums})
    lines = [f"{'reader':<18}" + "".join(f"{a:>6}" for a in accounts) + f"{'sum':>6}"]
    for name, sums in rows:
        cells = "".join(f"{sums.get(a, 0):>+6d}" for a in accounts)
        lines.append(f"{name:<18}{cells}{sum(sums.values()):>+6d}")
    return "\n".join(lines)
