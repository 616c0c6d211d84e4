"""What shop, queue and warehouse say to each other."""

from __future__ import annotations

from ...kernel import frozen


@frozen
class PlaceOrder:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"order {self.txn}"


@frozen
class Publish:
    txn: str

    def __str__(self) -> str:
        return f"Publish {self.txn}"


@frozen
class PublishResponse:
    txn: str

    def __str__(self) -> str:
        return "stored"


@frozen
class Poll:
    """Give me the oldest message that is not acknowledged; answered when there is one."""

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
    txn: str
    offset: int

    def __str__(self) -> str:
        return f"Acknowledge @{self.offset}"


@frozen
class AcknowledgeResponse:
    def __str__(self) -> str:
        return "ok"
