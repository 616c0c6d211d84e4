"""A message transaction on nodes of its own.

system message_transaction 'app=order T1'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from ...kernel import NodeSpec, Snapshot, World
from ...kernel.claims import Claim
from ...kernel.options import Most
from ..client import Client
from ..model import Model
from . import words
from .claims import APPLIES, ARRIVES, KEPT, QUEUE, SHOP, UNKEPT, WAREHOUSE
from .config import SAFEGUARDS
from .consumer import Consumer
from .messages import PlaceOrder
from .picture import draw
from .queue import Queue
from .shop import Shop


@dataclass(frozen=True)
class MessageTransaction(Model):
    """`refuses`: 1 where the warehouse can never apply a message."""

    refuses: Annotated[int, Most(1, "expected 0 or 1")] = 0

    name = "message_transaction"
    retrying = ("retry",)
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, ARRIVES, APPLIES)
    unkept = UNKEPT
    calls: ClassVar = {"order TRANSACTION": PlaceOrder}
    whys = words.WHYS
    unguards = words.UNGUARDED

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
