"""The real orders of the labs: invoices of one shop on one day, with what each is worth."""

from __future__ import annotations

from functools import cache

from ...patterns.delivery.roles import Order
from ...spark.orders import parse_price, parse_quantity

TENTHS_PER_PENNY = 10


@cache
def list_orders(many: int = 12) -> tuple[Order, ...]:
    """The first orders of 5 December 2011, an invoice each. Cancellations and invoices without
    an amount are left out: nobody would miss them in the books."""
    from ...spark.files import DAY, read_lines

    tenths: dict[str, int] = {}
    for line in read_lines(DAY):
        worth = parse_quantity(line["Quantity"]) * parse_price(line["UnitPrice"])
        tenths[line["InvoiceNo"]] = tenths.get(line["InvoiceNo"], 0) + worth
    sold = [(number, worth) for number, worth in tenths.items() if worth > 0]
    return tuple(Order(number, worth // TENTHS_PER_PENNY) for number, worth in sold[:many])


def find_worth(number: str) -> int:
    """What an order is worth, in pence; 0 for a text that is no number of one."""
    return {order.number: order.pence for order in list_orders()}.get(number, 0)


def send_all(many: int = 12) -> str:
    """The shop's program: `send 580538:31678; send 580539:31073; …`."""
    return "; ".join(f"send {order.number}:{order.pence}" for order in list_orders(many))
