"""The delivery system: a shop, a queue and accounting, each on a node of its own.

system delivery off=recognise 'shop=send 580538:31678; send 580539:31073'
run shop: send 580538:31678
run accounting: seek 0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from ...kernel import Effect, Event, NodeSpec, Snapshot, Telling, Text, World
from ...kernel.claims import Claim
from ...kernel.options import Order
from ..model import Model
from . import words
from .accounting import PIECES, STEP, Accounting
from .claims import CLAIMS
from .config import AFTER, BEFORE, SAFEGUARDS, DeliveryConfig
from .messages import ACCOUNTING, QUEUE, SHOP, Seek, SendOrder
from .messages import Order as ShopOrder
from .picture import draw_world, explain_repeat
from .queue import Queue
from .shop import RETRY, Shop

DIGITS = 9


@dataclass(frozen=True)
class DeliverySystem(Model):
    """`commit`: whether accounting commits "after" or "before" it counts, where `one_write` is
    off. `order`: accounting's pieces (`order.consume=count,commit`)."""

    patience_ms: int = 100
    commit: str = AFTER
    order: Order = ()

    name = "delivery"
    title = Text("delivery", "投递")
    retrying = (RETRY,)
    guards: ClassVar = SAFEGUARDS
    kept: ClassVar = CLAIMS
    whys: ClassVar = words.WHYS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.commit not in (AFTER, BEFORE):
            raise ValueError(f"commit={self.commit}: expected after or before")
        for step, pieces in self.order:
            unknown = sorted(set(pieces) - set(PIECES))
            if step != STEP or unknown:
                wrong = f"piece {unknown[0]!r}" if unknown else f"step {step!r}"
                raise ValueError(f"no {wrong}; there is order.{STEP}= with: {', '.join(PIECES)}")

    @classmethod
    def nameable(cls) -> dict[str, Claim[Any]]:
        """None: every claim has a light, that no order is lost too."""
        return {}

    @cached_property
    def config(self) -> DeliveryConfig:
        return DeliveryConfig(
            on=super().config.on,
            order=self.order,
            patience_ms=self.patience_ms,
            commit=self.commit,
        )

    def nodes(self) -> tuple[NodeSpec, ...]:
        shop = partial(Shop.recover, self.config)
        queue = partial(Queue.recover, self.config)
        accounting = partial(Accounting.recover, self.config)
        return (
            NodeSpec(SHOP, ((SHOP, shop),), self.program(SHOP)),
            NodeSpec(QUEUE, ((QUEUE, queue),)),
            NodeSpec(ACCOUNTING, ((ACCOUNTING, accounting),), self.program(ACCOUNTING)),
        )

    def call(self, words: tuple[str, ...]) -> Any:
        match words:
            case ("send", text) if _is_order(text):
                number, _, pence = text.partition(":")
                return SendOrder(ShopOrder(number, int(pence)))
            case ("seek", offset) if _is_number(offset):
                return Seek(int(offset))
        raise ValueError(
            f"{' '.join(words)!r} is no call; expected `send NUMBER:PENCE` (shop) or "
            "`seek OFFSET` (accounting)"
        )

    def draw(self, world: World) -> Snapshot:
        return draw_world(self, world)

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        telling = super().annotate(world, role, event, effect)
        repeated = explain_repeat(world, effect)
        return telling if repeated is None else replace(telling, why=repeated)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= DIGITS


def _is_order(text: str) -> bool:
    number, colon, pence = text.partition(":")
    return bool(number and colon) and _is_number(pence)
