"""The shop: it sends an order, and is told that the queue has it. Or it is told nothing.

Silence has four causes which look the same from here: the order was lost on its way, the queue
died, the acknowledgement was lost on its way back, or something takes longer than the shop's
patience. In the first case the queue does not have the order, in the third it does, and no
message can tell the shop which: that answer may be lost too. (It is the problem of the two
generals: Gray, "Notes on Data Base Operating Systems", 1978.)

So there are two things to do about silence, and both are wrong sometimes:

- send once and forget (`send_again` off): an order that was lost stays lost, *at most once*;
- send again until it is acknowledged: an order of which only the acknowledgement was lost is in
  the queue twice, *at least once*.

Nothing is durable here: the orders are in the shop's own books, and a shop that is started
again goes through them from the first one. An order's number is the shop's own, so an order that
is sent again after a restart is still the same order.

Left out: several orders under way, giving up after so many attempts, and waiting longer each time.
In Kafka it is `KafkaProducer` with `retries=0` or the default, in AMQP a publisher with or without
publisher confirms.
"""

from __future__ import annotations

from ...kernel import (
    UNKNOWN,
    Call,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Outcome,
    Response,
    Return,
    Send,
    SetTimer,
    Text,
    Words,
    build_success,
    frozen,
    replace,
)
from .config import DeliveryConfig
from .messages import QUEUE, Order, Publish, PublishResponse, SendOrder

RETRY = "retry"
GIVEN_UP = Words("nobody will send {numbers} again", "没有人会再发送 {numbers}")


@frozen
class Shop:
    """`waiting`: the order that must be acknowledged before the call returns. `unheard`: without
    `send_again`, the numbers that were sent on this connection and of which nothing was heard yet;
    `given_up`: those of which nothing will be heard, since their connection broke."""

    config: DeliveryConfig
    waiting: Order | None = None
    unheard: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()

    @staticmethod
    def recover(config: DeliveryConfig, disk: Disk, at_ms: int) -> tuple[Shop, Effects]:
        return Shop(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Shop, Effects]:
        match event:
            case Call(body=SendOrder(order)) if "send_again" in self.config.on:
                return replace(self, waiting=order), self._publish(order)
            case Call(body=SendOrder(order) as call):
                # Nobody waits, so the call says what is true: it may have arrived.
                sent = Return(Outcome(call, UNKNOWN, "sent"))
                unheard = (*self.unheard, order.number)
                return replace(self, unheard=unheard), (Send(QUEUE, Publish(order)), sent)
            case Response(body=PublishResponse(number)):
                return self._acknowledged(number)
            case Fired() | ConnectionLost() if self.waiting is not None:
                return self, self._publish(self.waiting)
            case ConnectionLost():
                given_up = (*self.given_up, *self.unheard)
                return replace(self, unheard=(), given_up=given_up), ()
        return self, ()  # a timer that ran out as the acknowledgement came

    def _publish(self, order: Order) -> Effects:
        return Send(QUEUE, Publish(order)), SetTimer(RETRY, self.config.patience_ms)

    def _acknowledged(self, number: str) -> tuple[Shop, Effects]:
        if self.waiting is not None and self.waiting.number == number:
            done = Return(build_success(SendOrder(self.waiting)))
            return replace(self, waiting=None), (CancelTimer(RETRY), done)
        # An order that was sent twice is acknowledged twice; the first one was enough.
        return replace(self, unheard=tuple(n for n in self.unheard if n != number)), ()

    def describe_changes(self, old: Shop | None) -> tuple[Text, ...]:
        """What it has given up."""
        new = self.given_up[len(old.given_up) :] if old is not None else ()
        return (GIVEN_UP(numbers=", ".join(new)),) if new else ()
