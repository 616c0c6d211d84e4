"""Orders and their payments: the shop of lab 00, whose order service writes into two topics.

    system orders producers=app:order-service,billing readers=reader
    run app: init, begin, send orders-0 order-17, send payments-0 paid-17, commit

`order-17` and `paid-17` belong together, and each order costs the same. *Money in = money out*:
what a reader of committed data is shown as ordered it must be shown as paid, once nothing is
under way. Between two markers it may be shown half; that comes right by itself. What is committed
in one topic and aborted in the other does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ....kernel import Words
from ....kernel.options import Pairs
from .shop import PRICE, ShopSystem

ORDERED = Words("ordered", "已下单")
PAID = Words("paid", "已付款")
SIGNS = {"order": -1, "paid": 1}
RECORD = re.compile(r"\b(order|paid)-\d+")


@dataclass(frozen=True)
class OrdersSystem(ShopSystem):
    """`shop` with the topics `orders` and `payments`."""

    topic: str = "orders,payments"
    partitions: int = 1
    producers: Pairs = (("app", "order-service"),)

    name = "orders"
    taken: ClassVar[Words] = ORDERED
    given: ClassVar[Words] = PAID

    def list_amounts(self, words: str) -> list[int]:
        return [SIGNS[kind] * PRICE for kind in RECORD.findall(words)]
