"""An order that is kept in two rows: its own, and that of its goods.

    system order_with_goods 'app=send-in-transaction orders-0 580538'

The warehouse that gets the message about order 580538 looks up the row `580538/goods` to see what
to pack. The two rows are written by two statements, each committed by itself. The light *whole
order* is red where a message is there and the goods are not: the warehouse packs an empty parcel.
Goods without an order do no harm, so *row with message* speaks of the orders' own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

from ...kernel import Property, Words, World, replace
from ...rocketmq.claims import find_txns, is_open, list_working, reads_rows
from ...rocketmq.picture.view import read_world
from .systems import OrderServiceSystem

WHOLE_ORDER = Words("an order whose message the warehouse gets has its goods")


def goods_of(order: str) -> str:
    """The key of the row that says what to pack."""
    return f"{order}/goods"


@dataclass(frozen=True)
class OrderWithGoodsSystem(OrderServiceSystem):
    """The order service, with claims about both rows of an order."""

    name = "order_with_goods"

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        kept = (
            replace(claim, holds=self._has_message) if claim.name == "row with message" else claim
            for claim in super()._properties
        )
        return (self._claim("whole order", WHOLE_ORDER, self._is_whole), *kept)

    def _claim(self, name: str, says: Words, holds: Callable[[World], bool]) -> Property:
        return Property(name, says(), holds, "always", partial(reads_rows, self.cluster))

    def _is_whole(self, world: World) -> bool:
        seen = read_world(self.cluster, world)
        return all(
            goods_of(txn.order) in seen.rows for txn in seen.book.txns.values() if txn.delivered
        )

    def _has_message(self, world: World) -> bool:
        """Not while the call that writes the row is in progress: its half message may still
        come."""
        seen = read_world(self.cluster, world)
        working = list_working(self.cluster, world)
        return all(
            any(txn.delivered or txn.parked or is_open(seen, txn) for txn in find_txns(seen, order))
            for order in list_orders(seen.rows)
            if order not in working
        )


def list_orders(rows: Iterable[str]) -> list[str]:
    """The orders among the keys of rows: a key with a slash is a part of one."""
    return [key for key in rows if "/" not in key]
