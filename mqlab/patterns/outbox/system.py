"""An outbox on nodes of its own.

system outbox consumers=stock,accounting follow_up=1 'app=order T1'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from ...kernel import NodeSpec, Snapshot, World
from ...kernel.options import Most
from ..client import Client
from ..model import Model
from . import words
from .broker import ORDERS, SHIPMENTS, Broker
from .claims import APPLIES, BROKER, KEPT, REACHES, RELAY, SECOND, SHOP, UNKEPT
from .config import SAFEGUARDS
from .consumer import Consumer
from .messages import PlaceOrder
from .picture import draw
from .relay import Relay
from .shop import Shop


@dataclass(frozen=True)
class Outbox(Model):
    """`apps`: applications that place orders. `slow`: orders whose local transaction takes time
    (`fire shop commit T1` ends it). `consumers`: services that each read every order.
    `follow_up`: 1 where the first of them passes a message on to a second topic."""

    apps: tuple[str, ...] = ("app",)
    slow: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ("stock",)
    follow_up: Annotated[int, Most(1, "expected 0 or 1")] = 0

    name = "outbox"
    retrying = ("retry",)
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, REACHES, APPLIES)
    unkept = UNKEPT
    calls: ClassVar = {"order TRANSACTION": PlaceOrder}
    whys = words.WHYS
    unguards = words.UNGUARDED

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.consumers:
            raise ValueError("consumers=: expected one name at least, as in consumers=stock")

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

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)
