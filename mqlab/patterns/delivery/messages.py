"""What shop, queue and accounting say to each other, and what they write down."""

from __future__ import annotations

from ...kernel import frozen

SHOP, QUEUE, ACCOUNTING = "shop", "queue", "accounting"
FROM_COMMITTED = -1  # "where I said that I had come to"


@frozen
class Order:
    """`number` is the shop's own and never given twice, so it says of two messages whether they
    are one order. The amount does not: two customers may pay the same."""

    number: str
    pence: int

    def __str__(self) -> str:
        return self.number


# ---- the application's calls -------------------------------------------------------------


@frozen
class SendOrder:
    """The shop sends an order: `send 580538:31678`, number and pence."""

    order: Order

    def __str__(self) -> str:
        return f"send {self.order.number}:{self.order.pence}"


@frozen
class Seek:
    """Accounting goes to another place in the queue: `seek 0`."""

    offset: int

    def __str__(self) -> str:
        return f"seek {self.offset}"


# ---- shop and queue ----------------------------------------------------------------------


@frozen
class Publish:
    order: Order

    def __str__(self) -> str:
        return f"Publish {self.order}"


@frozen
class PublishResponse:
    """The acknowledgement (ack): this order is in the queue."""

    number: str

    def __str__(self) -> str:
        return f"ack {self.number}"


@frozen
class Write:
    """The queue's note to itself, where it acknowledges first: this is still to be written."""

    order: Order

    def __str__(self) -> str:
        return f"still to write: {self.order}"


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


@frozen
class Commit:
    """Accounting needs nothing below `position` any more."""

    position: int

    def __str__(self) -> str:
        return f"Commit {self.position}"


@frozen
class CommitResponse:
    position: int

    def __str__(self) -> str:
        return f"ok {self.position}"


# ---- what is written down ----------------------------------------------------------------


@frozen
class Message:
    """An entry of the queue's log `orders`."""

    order: Order
    base: int

    @property
    def last(self) -> int:
        return self.base

    def __str__(self) -> str:
        return f"{self.order} @{self.base}"


@frozen
class Booking:
    """An entry of accounting's log `books`. `position`: how far the queue was read, where that
    is written together with the amount; None where it is not."""

    order: Order
    base: int
    position: int | None = None

    @property
    def last(self) -> int:
        return self.base

    def __str__(self) -> str:
        read = "" if self.position is None else f" (read up to {self.position})"
        return f"{self.order}{read}"
