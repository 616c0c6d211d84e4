"""What shop, queue and warehouse say to each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlaceOrder:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"order {self.txn}"


@dataclass(frozen=True, slots=True)
class Publish:
    txn: str

    def __str__(self) -> str:
        return f"Publish {self.txn}"


@dataclass(frozen=True, slots=True)
class PublishResponse:
    txn: str

    def __str__(self) -> str:
        return "stored"


@dataclass(frozen=True, slots=True)
class Poll:
    """Give me the oldest message that is not acknowledged; answered when there is one."""

    def __str__(self) -> str:
        return "Poll"


@dataclass(frozen=True, slots=True)
class PollResponse:
    txn: str
    offset: int

    def __str__(self) -> str:
        return f"message {self.txn} @{self.offset}"


@dataclass(frozen=True, slots=True)
class Acknowledge:
    txn: str
    offset: int

    def __str__(self) -> str:
        return f"Acknowledge @{self.offset}"


@dataclass(frozen=True, slots=True)
class AcknowledgeResponse:
    def __str__(self) -> str:
        return "ok"
