"""What shop, queue and warehouse say to each other."""

from __future__ import annotations

from ...kernel import worded


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
