"""What shop, queue and accounting say to each other, and what they write down."""

from __future__ import annotations

from ...kernel import Single, frozen, worded

SHOP, QUEUE, ACCOUNTING = "shop", "queue", "accounting"
FROM_COMMITTED = -1  # "where I said that I had come to"


@worded("{number}")
class Order:
    """`number` is the shop's own and never given twice, so it says of two messages whether they
    are one order. The amount does not: two customers may pay the same."""

    number: str
    pence: int


# ---- the application's calls -------------------------------------------------------------


@worded("send {order.number}:{order.pence}")
class SendOrder:
    """The shop sends an order: `send 580538:31678`, number and pence."""

    order: Order


@worded("seek {offset}")
class Seek:
    """Accounting goes to another place in the queue: `seek 0`."""

    offset: int


# ---- shop and queue ----------------------------------------------------------------------


@worded("Publish {order}")
class Publish:
    order: Order


@worded("ack {number}")
class PublishResponse:
    """The acknowledgement (ack): this order is in the queue."""

    number: str


@worded("still to write: {order}")
class Write:
    """The queue's note to itself, where it acknowledges first: this is still to be written."""

    order: Order


# ---- queue and accounting ----------------------------------------------------------------


@frozen
class Fetch:
    """The order at this offset, as soon as there is one."""

    offset: int = FROM_COMMITTED

    def __str__(self) -> str:
        return "Fetch" if self.offset == FROM_COMMITTED else f"Fetch @{self.offset}"


@frozen
class FetchResponse:
    """`again`: the queue remembers that it has handed out this offset before. It cannot know
    what became of it."""

    offset: int
    order: Order
    again: bool = False

    def __str__(self) -> str:
        return f"{self.order} @{self.offset}{', again' if self.again else ''}"


@worded("Commit {position}")
class Commit:
    """Accounting needs nothing below `position` any more."""

    position: int


@worded("ok {position}")
class CommitResponse:
    position: int


# ---- what is written down ----------------------------------------------------------------


@worded("{order} @{base}")
class Message(Single):
    """An entry of the queue's log `orders`."""

    order: Order
    base: int


@frozen
class Booking(Single):
    """An entry of accounting's log `books`. `position`: how far the queue was read, where that
    is written together with the amount; None where it is not."""

    order: Order
    base: int
    position: int | None = None

    def __str__(self) -> str:
        read = "" if self.position is None else f" (read up to {self.position})"
        return f"{self.order}{read}"
