"""What shop, queue and warehouse say to each other, and what each of them does."""

from __future__ import annotations

from ...kernel import (
    FAILED,
    Caller,
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
    worded,
)
from ..client import Answer
from ..records import Record, force, read_latest, read_records, write

# ---- messages -------------------------------------------------------------------------


@worded("order {txn}")
class PlaceOrder:
    """The application's call."""

    txn: str


@worded("Publish {txn}")
class Publish:
    txn: str


@worded("stored")
class PublishResponse:
    txn: str


@worded("Poll")
class Poll:
    """Give me the oldest message that is not acknowledged; answered when there is one."""


@worded("message {txn} @{offset}")
class PollResponse:
    txn: str
    offset: int


@worded("Acknowledge @{offset}")
class Acknowledge:
    txn: str
    offset: int


@worded("ok")
class AcknowledgeResponse:
    pass


# ---- the shop -------------------------------------------------------------------------

ORDERS_LOG = "orders"
ORDERED, SENT = "ordered", "sent"
WITH_MESSAGE = "+ message"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Shop(Quiet):
    """The shop: one local transaction for order and message, and a relay that empties the outbox.

        order asked for → `ordered`, message included (one write) → answered, published → `sent`

    After a restart every order without `sent` is published again: perhaps for the second time, for
    `sent` is written after the queue has acknowledged, and need not be forced.

    `outbox`: orders whose message the queue has not acknowledged.
    """

    config: Config
    queue: str
    outbox: tuple[str, ...] = ()

    @staticmethod
    def recover(config: Config, queue: str, disk: Disk, at_ms: int) -> tuple[Shop, Effects]:
        last = read_latest(disk, ORDERS_LOG)
        waiting = tuple(t for t, record in last.items() if record.more == WITH_MESSAGE)
        return Shop(config, queue, waiting), tuple(Send(queue, Publish(txn)) for txn in waiting)

    def step(self, event: Event, disk: Disk) -> tuple[Shop, Effects]:
        """Write an order and its message in one transaction and publish the message; mark it as
        sent when the queue has it. Some time after a broken connection every message without that
        mark is published again, unless the safeguard `publish_again` is off. An order whose id is
        known is refused."""
        match event:
            case Request(caller=caller, body=PlaceOrder(txn)):
                if txn in read_latest(disk, ORDERS_LOG):
                    return self, (Reply(caller, Answer(txn, FAILED, "this order is known")),)
                # without it a restart finds no message to publish
                with_message = WITH_MESSAGE if "outbox" in self.config.on else ""
                # self.outbox: the orders whose message the queue has not acknowledged
                return replace(self, outbox=(*self.outbox, txn)), (
                    *force(disk, ORDERS_LOG, ORDERED, txn, with_message),
                    Reply(caller, Answer(txn)),
                    Send(self.queue, Publish(txn)),
                )
            case Response(body=PublishResponse(txn)) if txn in self.outbox:
                unsent = tuple(other for other in self.outbox if other != txn)
                cancel = () if unsent else (CancelTimer(RETRY),)
                return replace(self, outbox=unsent), (write(disk, ORDERS_LOG, SENT, txn), *cancel)
            case ConnectionLost() if self.outbox and "publish_again" in self.config.on:
                return self, (SetTimer(RETRY, RETRY_MS),)
            case Fired():
                return self, tuple(Send(self.queue, Publish(txn)) for txn in self.outbox)
        # published twice, so acknowledged twice; or a connection broke, and nothing is sent again
        return self, ()


# ---- the queue ------------------------------------------------------------------------

MESSAGES_LOG, POSITION = "messages", "position"
MESSAGE, ACKED = "message", "acked"


@frozen
class Queue(Quiet):
    """The queue: it keeps messages in order, and gives the oldest one until it is acknowledged.

    A message that is published twice is in the log twice: a plain queue does not look inside.
    The position is the offset after the last acknowledged message, and is on disk.

    `waiting`: Polls of the consumer that are not answered yet. A late one came on a connection that
    has broken since; it is not known here which, so every one of them is answered.
    """

    config: Config
    waiting: tuple[Caller, ...] = ()

    @staticmethod
    def recover(config: Config, disk: Disk, at_ms: int) -> tuple[Queue, Effects]:
        """Who was waiting has lost its connection, and will ask again."""
        return Queue(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Queue, Effects]:
        """Store a message and acknowledge it; answer a poll with the oldest message that the
        consumer has not acknowledged, at once or when one arrives; at the consumer's
        acknowledgement move the position on."""
        match event:
            case Request(caller=caller, body=Publish(txn)):
                message = Record(MESSAGE, txn, disk.log(MESSAGES_LOG).end)
                stored = (
                    *force(disk, MESSAGES_LOG, MESSAGE, txn),
                    Reply(caller, PublishResponse(txn)),
                )
                replies = self._give(disk, self.waiting, message) if self.waiting else ()
                return replace(self, waiting=()), (*stored, *replies)
            case Request(caller=caller, body=Poll()):
                oldest = find_next(disk)
                if oldest is None:
                    return replace(self, waiting=(*self.waiting, caller)), ()
                return self, self._give(disk, (caller,), oldest)
            case Request(caller=caller, body=Acknowledge(txn, offset)):
                # the log POSITION has one entry for each message that was acknowledged
                is_next = offset == disk.log(POSITION).end  # else acknowledged before
                position_written = force(disk, POSITION, ACKED, txn) if is_next else ()
                return self, (*position_written, Reply(caller, AcknowledgeResponse()))
        return self, ()

    def _give(self, disk: Disk, callers: tuple[Caller, ...], message: Record) -> Effects:
        given = tuple(Reply(to, PollResponse(message.txn, message.base)) for to in callers)
        if "redelivery" in self.config.on:
            return given
        return (*force(disk, POSITION, ACKED, message.txn), *given)


def find_next(disk: Disk) -> Record | None:
    """The oldest message that is not acknowledged."""
    position = disk.log(POSITION).end
    return next((m for m in read_records(disk, MESSAGES_LOG) if m.base == position), None)


# ---- the warehouse --------------------------------------------------------------------

APPLIED_LOG = "applied"
APPLIED = "applied"


@frozen
class Consumer(Quiet):
    """The warehouse: it applies each message once, and says so afterwards.

        message → already applied? else `applied`, effect included (one write) → acknowledged → next

    A crash between the write and the acknowledgement brings the message again; the write is what it
    is recognised by. A message that cannot be applied is not acknowledged: it comes again, and
    nothing after it comes before.

    `refuses`: its local transaction fails every time: the goods do not exist.
    """

    config: Config
    queue: str
    refuses: bool = False

    @staticmethod
    def recover(
        config: Config, queue: str, refuses: bool, disk: Disk, at_ms: int
    ) -> tuple[Consumer, Effects]:
        return Consumer(config, queue, refuses), (Send(queue, Poll()),)

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        match event:
            case Response(body=PollResponse(txn, offset)):
                return self, self._apply(disk, txn, offset)
            case Response(body=AcknowledgeResponse()) | Fired():
                return self, (Send(self.queue, Poll()),)
            case ConnectionLost():
                return self, (SetTimer(RETRY, RETRY_MS),)
        return self, ()

    def _apply(self, disk: Disk, txn: str, offset: int) -> Effects:
        if self.refuses:
            return (SetTimer(RETRY, RETRY_MS),)
        known = txn in read_latest(disk, APPLIED_LOG) and "applies_once" in self.config.on
        applied = () if known else force(disk, APPLIED_LOG, APPLIED, txn)
        acknowledged = (Send(self.queue, Acknowledge(txn, offset)),)
        if "acknowledge_last" in self.config.on:
            return (*applied, *acknowledged)
        return (*acknowledged, *applied)
