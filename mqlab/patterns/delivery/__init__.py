"""Delivery: an order goes from a shop through a queue to accounting, over links that break.

How often is it counted? There are three promises, and none of them is about the network:

    at most once     never twice; it may be lost
    at least once    never lost; it may be counted twice
    exactly once     neither

The network is the same in all three: a message may be lost with its connection, it may be late, and
processes may be killed. What differs is what the three participants do about it, and each of them
has a line that decides (`claims.py`, SAFEGUARDS). Exactly once needs all of these lines; it is not
a property of a network or of a queue alone.

    shop         sends again until it hears an acknowledgement   send_again
    queue        writes first; knows what it has already          append_first, recognise
    accounting   writes amount and position in one write         one_write

Read the shop, the queue and accounting in `roles.py` in this order; `claims.py` says what *lost*
and *twice* mean.

Left out: everything that makes delivery fast (batches, several orders in flight, partitions); and
power cuts: a process that is killed leaves what it has written, and no flush is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from ...kernel import Effect, Event, NodeSpec, Telling, World, tr
from ...kernel.claims import Claim
from ...kernel.options import Order, fill
from ...kernel.text import BadValue
from ...kernel.usages import number
from ..model import Model
from ..picture import read_model
from .claims import CLAIMS, SAFEGUARDS
from .picture import draw_world, explain_repeat
from .roles import (
    ACCOUNTING,
    AFTER,
    BEFORE,
    PIECES,
    QUEUE,
    RETRY,
    SHOP,
    STEP,
    Accounting,
    DeliveryConfig,
    Queue,
    Seek,
    SendOrder,
    Shop,
)
from .roles import Order as ShopOrder


def _read_order(text: str) -> ShopOrder | None:
    name, _, pence = text.partition(":")
    amount = number(pence)
    return ShopOrder(name, amount) if name and amount is not None else None


@dataclass(frozen=True)
class DeliverySystem(Model):
    """The delivery system: a shop, a queue and accounting, each on a node of its own.

        system delivery off=recognise 'shop=send 580538:31678; send 580539:31073'
        run shop: send 580538:31678
        run accounting: seek 0

    `commit`: whether accounting commits "after" or "before" it counts, where `one_write` is off.
    `order`: accounting's pieces (`order.consume=count,commit`). `patience_ms`: after how long the
    shop sends again what was not acknowledged."""

    patience_ms: int = 100
    commit: str = AFTER
    order: Order = ()

    name = "delivery"
    title = tr("delivery")
    retrying = (RETRY,)
    orderable: ClassVar = {STEP: PIECES}
    calls: ClassVar = {"send NUMBER:PENCE": SendOrder, "seek OFFSET": Seek}
    readers: ClassVar = {"NUMBER:PENCE": _read_order, "OFFSET": number}
    guards: ClassVar = SAFEGUARDS
    kept: ClassVar = CLAIMS
    sentences = read_model(__file__)
    draw = draw_world

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.commit not in (AFTER, BEFORE):
            raise BadValue("commit={}: expected after or before", self.commit)

    @classmethod
    def nameable(cls) -> dict[str, Claim[Any]]:
        """None: every claim has a light, that no order is lost too."""
        return {}

    @cached_property
    def config(self) -> DeliveryConfig:
        return fill(DeliveryConfig, self, on=super().config.on)

    def nodes(self) -> tuple[NodeSpec, ...]:
        shop = partial(Shop.recover, self.config)
        queue = partial(Queue.recover, self.config)
        accounting = partial(Accounting.recover, self.config)
        return (
            NodeSpec(SHOP, ((SHOP, shop),), self.program(SHOP)),
            NodeSpec(QUEUE, ((QUEUE, queue),)),
            NodeSpec(ACCOUNTING, ((ACCOUNTING, accounting),), self.program(ACCOUNTING)),
        )

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        telling = super().annotate(world, role, event, effect)
        repeated = explain_repeat(world, effect)
        return telling if repeated is None else replace(telling, why=repeated)
