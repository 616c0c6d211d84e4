"""What services, relays and the broker say to each other."""

from __future__ import annotations

from ...kernel import frozen


@frozen
class PlaceOrder:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"order {self.txn}"


@frozen
class ReadOutbox:
    """Give me the oldest row behind number `after` without a mark; answered when there is one."""

    after: int = -1

    def __str__(self) -> str:
        return "ReadOutbox" if self.after < 0 else f"ReadOutbox behind #{self.after}"


@frozen
class OutboxRow:
    """`number`: which the database gave the row when its transaction began."""

    txn: str
    number: int

    def __str__(self) -> str:
        return f"row #{self.number} {self.txn}"


@frozen
class MarkSent:
    txn: str

    def __str__(self) -> str:
        return f"MarkSent {self.txn}"


@frozen
class Marked:
    def __str__(self) -> str:
        return "marked"


@frozen
class Publish:
    topic: str
    txn: str

    def __str__(self) -> str:
        return f"Publish {self.topic} {self.txn}"


@frozen
class PublishResponse:
    txn: str

    def __str__(self) -> str:
        return "stored"


@frozen
class Poll:
    """Give `group` the oldest message that it has not acknowledged; answered when there is one."""

    group: str

    def __str__(self) -> str:
        return "Poll"


@frozen
class PollResponse:
    txn: str
    offset: int

    def __str__(self) -> str:
        return f"message {self.txn} @{self.offset}"


@frozen
class Acknowledge:
    group: str
    txn: str
    offset: int

    def __str__(self) -> str:
        return f"Acknowledge @{self.offset}"


@frozen
class AcknowledgeResponse:
    def __str__(self) -> str:
        return "ok"
