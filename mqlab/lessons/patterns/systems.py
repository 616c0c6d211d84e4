"""The delivery system whose accounting asks a learner's rule whether it counts an order.

The rule is given how far the books say that the queue was read, the numbers in the books, the
offset and the number of the order, and whether the queue hands it out again; it says "count" or
"skip".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

from ...kernel import (
    Caller,
    Config,
    Disk,
    Effects,
    Event,
    NodeSpec,
    Property,
    Reply,
    Request,
    Words,
    World,
)
from ...kernel.options import Rules
from ...patterns.claims import reads_running
from ...patterns.delivery import DeliverySystem
from ...patterns.delivery.roles import ACCOUNTING, BOOKS, Accounting, FetchResponse, Order
from ...patterns.records import force
from ...patterns.tcc import Tcc
from ...patterns.tcc.claims import TM
from ...patterns.tcc.roles import (
    LOG,
    Cancel,
    CancelResponse,
    Confirm,
    ConfirmResponse,
    Service,
    Try,
    TryResponse,
)
from ...spark.orders import parse_price, parse_quantity
from ..roles import put_roles, recover_as

Rule = Callable[[int, tuple[str, ...], int, str, bool], str]


@dataclass(frozen=True, slots=True)
class RuledAccounting(Accounting):
    """`rule` says whether an order is counted."""

    rule: Rule = field(kw_only=True)

    def decide(self, given: FetchResponse, disk: Disk) -> str:
        booked = tuple(entry.order.number for entry in disk.log(BOOKS).read(0))
        return self.rule(self.position, booked, given.offset, given.order.number, given.again)


@dataclass(frozen=True)
class Counting(DeliverySystem):
    """`rules`: what a learner writes, by the decision ("count")."""

    rules: Rules = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        more = {"rule": dict(self.rules)["count"]}
        recover = partial(recover_as, RuledAccounting, Accounting.recover, more, self.config)
        return put_roles(super().nodes(), {ACCOUNTING: recover})


# TCC whose services ask a learner's rule what to do with a Try, a Confirm and a Cancel
#
# The rule is given the call and the last entry of the ledger for this order ("" for none), and says
# which entry is written now: "tried", "confirmed", "cancelled", "empty"; "" for none, the call
# is then acknowledged all the same; or "refuse": nothing is written, and the call fails.

Fence = Callable[[str, str], str]
TRY, CONFIRM, CANCEL = "try", "confirm", "cancel"
REFUSE = "refuse"
ANSWERS = ("tried", "confirmed", "cancelled", "empty", "", REFUSE)
OVER = Words("every order comes to an end")


@dataclass(frozen=True, slots=True)
class Fenced(Service):
    """A service with another service's rule; `lacks` is still its own affair."""

    fence: Fence | None = None

    @staticmethod
    def start(
        config: Config, fence: Fence, lacks: bool, disk: Disk, at_ms: int
    ) -> tuple[Fenced, Effects]:
        return Fenced(config, lacks, fence), ()

    def step(self, event: Event, disk: Disk) -> tuple[Service, Effects]:
        match event:
            case Request(caller=caller, body=Try(txn)) if self.lacks:
                return self, (Reply(caller, TryResponse(txn, False)),)
            case Request(caller=caller, body=Try(txn) | Confirm(txn) | Cancel(txn) as body):
                return self, self._ask(disk, caller, body, txn)
        return self, ()

    def _ask(self, disk: Disk, caller: Caller, body: Try | Confirm | Cancel, txn: str) -> Effects:
        assert self.fence is not None
        decision = self.fence(type(body).__name__.lower(), self._last(disk, txn))
        written = force(disk, LOG, decision, txn) if decision and decision != REFUSE else ()
        match body:
            case Try():
                return (*written, Reply(caller, TryResponse(txn, decision != REFUSE)))
            case Confirm() if decision != REFUSE:
                return (*written, Reply(caller, ConfirmResponse(txn)))
            case Cancel() if decision != REFUSE:
                return (*written, Reply(caller, CancelResponse(txn)))
        return ()  # a coordinator that is refused asks again, for ever


@dataclass(frozen=True)
class FencedTcc(Tcc):
    """`rules`: what a learner writes, by the decision ("fence")."""

    rules: Rules = ()

    def _service(self, name: str) -> Any:
        rule = dict(self.rules)["fence"]
        return partial(Fenced.start, self.config, rule, name in self.lacking)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        over = Property("over", OVER(), self._is_over, "can_always", self._reads)
        return (*super()._properties, over)

    def _is_over(self, world: World) -> bool:
        tm = world.role(TM)
        return tm is not None and not tm.txns

    def _reads(self, name: str, node: Any) -> Any:
        return node.up and node.roles[0].txns if name == TM else reads_running(self, name, node)


# The real orders of the labs: invoices of one shop on one day, with what each is worth

TENTHS_PER_PENNY = 10


@cache
def list_orders(many: int = 12) -> tuple[Order, ...]:
    """The first orders of 5 December 2011, an invoice each. Cancellations and invoices without
    an amount are left out: the books do not need them."""
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
