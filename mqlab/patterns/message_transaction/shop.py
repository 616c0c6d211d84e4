"""The shop: one local transaction for order and message, and a relay that empties the outbox.

    order asked for → `ordered`, message included (one write) → answered, published → `sent`

After a restart every order without `sent` is published again: perhaps for the second time, for
`sent` is written after the queue has acknowledged, and need not be forced.
"""

from __future__ import annotations

from ...kernel import (
    FAILED,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    frozen,
    replace,
)
from ..client import Answer
from ..records import force, read_latest, write
from .messages import PlaceOrder, Publish, PublishResponse

LOG = "orders"
ORDERED, SENT = "ordered", "sent"
WITH_MESSAGE = "+ message"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Shop(Quiet):
    """`outbox`: orders whose message the queue has not acknowledged."""

    config: Config
    queue: str
    outbox: tuple[str, ...] = ()

    @staticmethod
    def recover(config: Config, queue: str, disk: Disk, at_ms: int) -> tuple[Shop, Effects]:
        last = read_latest(disk, LOG)
        waiting = tuple(t for t, record in last.items() if record.more == WITH_MESSAGE)
        return Shop(config, queue, waiting), tuple(Send(queue, Publish(txn)) for txn in waiting)

    def step(self, event: Event, disk: Disk) -> tuple[Shop, Effects]:
        match event:
            case Request(caller=caller, body=PlaceOrder(txn)):
                if txn in read_latest(disk, LOG):
                    return self, (Reply(caller, Answer(txn, FAILED, "this order is known")),)
                together = WITH_MESSAGE if "outbox" in self.config.on else ""
                return replace(self, outbox=(*self.outbox, txn)), (
                    *force(disk, LOG, ORDERED, txn, together),
                    Reply(caller, Answer(txn)),
                    Send(self.queue, Publish(txn)),
                )
            case Response(body=PublishResponse(txn)) if txn in self.outbox:
                left = tuple(other for other in self.outbox if other != txn)
                done = () if left else (CancelTimer(RETRY),)
                return replace(self, outbox=left), (write(disk, LOG, SENT, txn), *done)
            case ConnectionLost() if self.outbox and "publish_again" in self.config.on:
                return self, (SetTimer(RETRY, RETRY_MS),)
            case Fired():
                return self, tuple(Send(self.queue, Publish(txn)) for txn in self.outbox)
        return self, ()  # published twice, so acknowledged twice
