"""What services, relays and the broker say to each other."""

from __future__ import annotations

from ...kernel import frozen, worded


@worded("order {txn}")
class PlaceOrder:
    """The application's call."""

    txn: str


@frozen
class ReadOutbox:
    """Give me the oldest row behind number `after` without a mark; answered when there is one."""

    after: int = -1

    def __str__(self) -> str:
        return "ReadOutbox" if self.after < 0 else f"ReadOutbox behind #{self.after}"


@worded("row #{number} {txn}")
class OutboxRow:
    """`number`: which the database gave the row when its transaction began."""

    txn: str
    number: int


@worded("MarkSent {txn}")
class MarkSent:
    txn: str


@worded("marked")
class Marked:
    pass


@worded("Publish {topic} {txn}")
class Publish:
    topic: str
    txn: str


@worded("stored")
class PublishResponse:
    txn: str


@worded("Poll")
class Poll:
    """Give `group` the oldest message that it has not acknowledged; answered when there is one."""

    group: str


@worded("message {txn} @{offset}")
class PollResponse:
    txn: str
    offset: int


@worded("Acknowledge @{offset}")
class Acknowledge:
    group: str
    txn: str
    offset: int


@worded("ok")
class AcknowledgeResponse:
    pass
