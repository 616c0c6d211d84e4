"""Transactional outbox: a table beside the row, a relay that reads it, consumers with an inbox.

A shop stores an order, stock and accounting must hear of it, and stock passes a follow-up on. No
broker transaction is asked for. Each service has one database of its own, and does everything that
must happen together in **one local transaction** there:

    shop    the order's row + the row of its message (the *outbox*)
    stock   its effect + the message's id (the *inbox*) + the row of its follow-up

A **relay** reads the oldest row of an outbox that is not marked, publishes it, and marks the row
when the broker has stored it. It keeps nothing itself: if it is killed between the two, the row is
published again. So a topic holds a message **at least once**, and it is the inbox that makes its
effect happen once.

The six stages that the brokers' transactions have are all here, with other owners: nothing is
reserved at the broker; row and message are *written* and *decided* by the database's commit; the
relay *publishes the decision*; the broker's append makes it *visible*; the mark lets the shop
*forget*. The broker needs no transactions at all, and a broker that is down delays messages but
stops no order.

What is durable: at a service `ordered` or `applied` with the message's row, then `sent`; at the
broker `message` and `acked`.

What can go wrong: two writes in place of one transaction (*dual write*) lose the message; a relay
that marks first loses it too; a relay that keeps one number for "read up to here" passes over a
transaction that took its number early and committed late; an inbox that knows messages by their
place in the topic does not recognise one that was published twice.

Left out: several relays of one outbox, deleting marked rows and old inbox rows, a message that can
never be applied (`message_transaction refuses=1` shows it).

Read on: Richardson, "Microservices Patterns", 2018, "Transactional outbox", "Polling publisher" and
"Idempotent consumer"; Kleppmann, "Designing Data-Intensive Applications", 2017, chapter 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from ...kernel import NodeSpec, tr
from ...kernel.options import Most
from ...kernel.text import BadValue
from ..client import Client
from ..model import Model
from ..picture import read_model
from .claims import BROKER, KEPT, RELAY, SAFEGUARDS, SECOND, SHOP, UNKEPT, can_apply, has_arrived
from .picture import draw as draw_world
from .roles import ORDERS, SHIPMENTS, Broker, Consumer, PlaceOrder, Relay, Shop


@dataclass(frozen=True)
class Outbox(Model):
    """An outbox on nodes of its own.

        system outbox consumers=stock,accounting follow_up=1 'app=order T1'

    `apps`: applications that place orders. `slow`: orders whose local transaction takes time (`fire
    shop commit T1` ends it). `consumers`: services that each read every order. `follow_up`: 1 where
    the first of them passes a message on to a second topic.
    """

    apps: tuple[str, ...] = ("app",)
    slow: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ("stock",)
    follow_up: Annotated[int, Most(1, tr("expected 0 or 1"))] = 0

    name = "outbox"
    retrying = ("retry",)
    title = tr("Transactional outbox")
    guards = SAFEGUARDS
    kept = (*KEPT, has_arrived, can_apply)
    unkept = UNKEPT
    calls: ClassVar = {"order TRANSACTION": PlaceOrder}
    sentences = read_model(__file__)
    draw = draw_world

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.consumers:
            raise BadValue("consumers=: expected one name at least, as in consumers=stock")

    @property
    def running(self) -> tuple[str, ...]:
        """The nodes that no application runs on."""
        return (SHOP, RELAY, BROKER, *self.consumers, *((SECOND,) if self.follow_up else ()))

    def nodes(self) -> tuple[NodeSpec, ...]:
        ask = partial(Client.recover, SHOP)
        first, on = self.consumers[0], self.config
        services = (
            (SHOP, partial(Shop.recover, on, self.slow)),
            (RELAY, partial(Relay.recover, on, SHOP, BROKER, ORDERS)),
            (BROKER, partial(Broker.recover, on)),
            *((name, self._consumer(name)) for name in self.consumers),
        )
        second = partial(Relay.recover, on, first, BROKER, SHIPMENTS)
        return (
            *(NodeSpec(name, ((name, ask),), self.program(name)) for name in self.apps),
            *(NodeSpec(name, ((name, start),)) for name, start in services),
            *((NodeSpec(SECOND, ((SECOND, second),)),) if self.follow_up else ()),
        )

    def _consumer(self, name: str) -> Any:
        follows = bool(self.follow_up) and name == self.consumers[0]
        return partial(Consumer.recover, self.config, BROKER, name, follows)
