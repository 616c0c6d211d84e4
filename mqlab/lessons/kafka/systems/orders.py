"""Orders and their payments: the shop of lab 00, whose order service writes into two topics.

    system orders producers=app:order-service,billing readers=reader
    run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit

`580538` and `paid-580538` belong together. *Money in = money out*: what a reader of committed data
is shown as ordered it must be shown as paid, once nothing is in flight. Between two markers it may
be shown one of the two only; that comes right by itself. What is committed in one topic and aborted
in the other does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ....kernel import Words
from ....kernel.options import LISTED, Pairs
from .shop import ShopSystem, find_price

ORDERED = Words("ordered", context="state")
PAID = Words("paid")
RECORD = re.compile(r"(?<![\w-])(paid-)?(\d+)\b")


@dataclass(frozen=True)
class OrdersSystem(ShopSystem):
    """`shop` with the topics `orders` and `payments`."""

    topic: Annotated[str, LISTED] = "orders,payments"
    partitions: int = 1
    producers: Pairs = (("app", "order-service"),)

    name = "orders"
    taken: ClassVar[Words] = ORDERED
    given: ClassVar[Words] = PAID

    def list_amounts(self, words: str) -> list[int]:
        bookings = [(kind, find_price(number)) for kind, number in RECORD.findall(words)]
        return [amount if kind else -amount for kind, amount in bookings]
