"""Message transaction: a local transaction, a message about it, and a consumer that repeats.

A shop stores an order; a warehouse is to set its goods aside. No coordinator asks both. The shop
writes the order **and the message about it in one local transaction** (the message waits in a
table of the same database, the *outbox*), and sends it until the queue has acknowledged. The queue
keeps it and gives it to the warehouse until that has acknowledged. So each step is either done or
repeated, and what is repeated must be recognised: the consumer writes what it has applied together
with its effect, and acknowledges only then.

What is durable: at the shop `ordered` with its message, then `sent`; in the queue `message` and
`acked`; at the warehouse `applied`.

What it gives: once an order is stored, its goods are set aside **in the end** (eventual
consistency, the E of BASE). What it gives up: there is a time at which one is there without the
other, and the warehouse cannot undo the shop. An order whose goods cannot be set aside at all is
delivered again for ever; brokers give up after some time and put it into a dead-letter queue, and
then a person or a compensation must help. That is what `refuses` shows.

Brokers with transactional messages move the outbox into the broker: RocketMQ's half message is
stored first and confirmed after the local transaction. The rest stays as here.

Left out: the order of messages, several consumers, the dead-letter queue itself.

Read on: Pritchett, "BASE: An ACID Alternative", ACM Queue 2008, which explains it with code;
Richardson, "Microservices Patterns", 2018, "Transactional outbox".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from ...kernel import NodeSpec, Snapshot, World, tr
from ...kernel.claims import Claim
from ...kernel.options import Most
from ..client import Client
from ..model import Model
from ..picture import read_model
from .claims import KEPT, QUEUE, SAFEGUARDS, SHOP, UNKEPT, WAREHOUSE, can_apply, has_arrived
from .picture import draw
from .roles import Consumer, PlaceOrder, Queue, Shop


@dataclass(frozen=True)
class MessageTransaction(Model):
    """A message transaction on nodes of its own.

        system message_transaction 'app=order T1'

    `refuses`: 1 where the warehouse can never apply a message.
    """

    refuses: Annotated[int, Most(1, tr("expected 0 or 1"))] = 0

    name = "message_transaction"
    retrying = ("retry",)
    title = tr("Message transaction")
    guards = SAFEGUARDS
    kept = (*KEPT, has_arrived, can_apply)
    unkept = UNKEPT
    calls: ClassVar = {"order TRANSACTION": PlaceOrder}
    sentences = read_model(__file__)

    def nodes(self) -> tuple[NodeSpec, ...]:
        relay = partial(Shop.recover, self.config, QUEUE)
        stock = partial(Consumer.recover, self.config, QUEUE, bool(self.refuses))
        return (
            NodeSpec("app", (("app", partial(Client.recover, SHOP)),), self.program("app")),
            NodeSpec(SHOP, ((SHOP, relay),)),
            NodeSpec(QUEUE, ((QUEUE, partial(Queue.recover, self.config)),)),
            NodeSpec(WAREHOUSE, ((WAREHOUSE, stock),)),
        )

    def draw(self, world: World) -> Snapshot:
        return draw(world)

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where the warehouse refuses, nothing arrives: that one must ask for by its name."""
        return KEPT if self.refuses else self.kept
