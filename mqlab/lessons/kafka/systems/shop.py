"""An order and its money: the smallest thing that a transaction is for.

A customer of a gift shop orders something for £5. The shop's order service books the money
from the customer's account to the shop's own: "C-5" goes to the partition of the customer's
account, "S+5" to that of the shop's; pence may follow, as in "C-316.78". Money in = money out:
what a reader of committed data is shown must sum to zero.

While an order is still on its way (its sender is at work, a transaction is not complete, an
account is down) the sum may differ, and the light does not ask: it judges what is left when nothing
is in flight.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from ....kafka import KafkaSystem
from ....kafka.claims import reads
from ....kafka.messages import READ_COMMITTED
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import Money, Property, Snapshot, Text, Trace, Words, World
from ....kernel.options import LISTED, Pairs
from ....kernel.world import NodeState
from ....registry.tables import in_words, pad
from ...patterns.systems import find_worth

MONEY = Words("money in = money out, once nothing is in flight")
TAKEN = Words("paid by customers", context="account")
GIVEN = Words("given to the shop")
BOOKED = {"C": Words("the customer's payment of {sum}"), "S": Words("the shop's income of {sum}")}
PRICE = 500
"""In pence: what everything costs in this story whose record names no amount."""
ACCOUNTS = {"C": "customer", "S": "shop"}
BOOKING = re.compile(r"([A-Z])([+-]\d+)(?:\.(\d\d))?")


def find_price(number: str) -> int:
    """What a customer pays for an order, in pence; `PRICE` where the text names no real order."""
    return find_worth(number) or PRICE


@dataclass(frozen=True)
class ShopSystem(KafkaSystem):
    """Kafka with the topic `accounts`, one more light, and the money."""

    topic: Annotated[str, LISTED] = "accounts"
    producers: Pairs = (("order-service", "order-service"),)

    name = "shop"
    most_replicas = 1
    taken: ClassVar[Words] = TAKEN
    given: ClassVar[Words] = GIVEN

    def snapshot(self, world: World) -> Snapshot:
        taken, given = self._sums(world)
        left = 0 if self._under_way(world) else taken - given
        money = Money(
            taken, given, self.taken(), self.given(), missing=max(left, 0), extra=max(-left, 0)
        )
        return replace(super().snapshot(world), money=money)

    def properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *super().properties())

    def _balanced(self, world: World) -> bool:
        if self._under_way(world):
            return True
        taken, given = self._sums(world)
        return taken == given

    def _under_way(self, world: World) -> bool:
        """Whether the sums may still come right by themselves."""
        if not all(world.nodes[name].up for name in self.cluster.partitions):
            return True  # an account that cannot be asked has lost nothing yet
        if any(t.state not in COMPLETED for t in read_world(self.cluster, world).list_txns()):
            return True
        return any(_is_working(world.nodes[name]) for name, _ in self.producers)

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        working = name in dict(self.producers) and _is_working(node)
        return node.up, working, reads(self.cluster, name, node)

    def _sums(self, world: World) -> tuple[int, int]:
        """What was taken from one side and given to the other, in pence, as a reader of
        committed data is shown it."""
        seen = read_world(self.cluster, world)
        amounts = [
            amount
            for p in self.cluster.partitions
            for b, _ in seen.list_readable(p, READ_COMMITTED)
            for amount in self.list_amounts(b.words)
        ]
        return -sum(min(a, 0) for a in amounts), sum(max(a, 0) for a in amounts)

    def name_record(self, label: Text) -> Text:
        """Each booking in plain words."""
        booked = bookings(label.en)
        if not booked:
            return label
        said = [
            BOOKED[account](sum=f"£{abs(pence) / 100:,.2f}")
            if account in BOOKED
            else Text(f"{account} {pence / 100:+,.2f}")
            for account, pence in booked
        ]
        return Text(", ".join(text.en for text in said), "、".join(text.of("zh") for text in said))

    def list_amounts(self, words: str) -> list[int]:
        """What records take (below zero) and give, in pence."""
        return [pence for _, pence in bookings(words)]


def _is_working(node: NodeState) -> bool:
    """Whether a producer runs and has something left to call, to send or to hear."""
    if not node.up:
        return False
    calls = node.app is not None and (node.app.waiting or node.app.next_call() is not None)
    return calls or bool(node.roles[0].flights)


def bookings(text: str) -> list[tuple[str, int]]:
    """The account and the amount, in pence, of each booking in a record's words."""
    matches = BOOKING.findall(text)
    return [(account, int(pounds + (pence or "00"))) for account, pounds, pence in matches]


def balances(trace: Trace, position: int = -1) -> str:
    """The table of what each reader has been given at a position of the trace (-1: its end), in
    pounds: a line for each isolation level, a column for each account, and their sum; where that is
    not 0, money was made or lost."""
    rows = []
    for reader in trace.snapshot(position).readers:  # `got`: the records it was given, with labels
        sums = dict.fromkeys(ACCOUNTS, 0)
        for got in reader.got:
            for account, amount in bookings(got.label):
                sums[account] = sums.get(account, 0) + amount
        rows.append((reader.name, sums))
    accounts = list(dict.fromkeys(account for _, sums in rows for account in sums))
    names = (*(ACCOUNTS.get(a, a) for a in accounts), "sum")
    header = "".join(pad(in_words(name), 10, right=True) for name in names)
    lines = [pad(in_words("reader"), 18) + header]
    for name, sums in rows:
        amounts = (*(sums.get(a, 0) for a in accounts), sum(sums.values()))
        lines.append(f"{name:<18}" + "".join(f"{pence / 100:>+10.2f}" for pence in amounts))
    return "\n".join(lines)
