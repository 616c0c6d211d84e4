"""What services, relays and the broker say to each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlaceOrder:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"order {self.txn}"


@dataclass(frozen=True, slots=True)
class ReadOutbox:
    """Give me the oldest row behind number `after` without a mark; answered when there is one."""

    after: int = -1

    def __str__(self) -> str:
        return "ReadOutbox" if self.after < 0 else f"ReadOutbox behind #{self.after}"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """`number`: which the database gave the row when its transaction began."""

    txn: str
    number: int

    def __str__(self) -> str:
        return f"row #{self.number} {self.txn}"


@dataclass(frozen=True, slots=True)
class MarkSent:
    txn: str

    def __str__(self) -> str:
        return f"MarkSent {self.txn}"


@dataclass(frozen=True, slots=True)
class Marked:
    def __str__(self) -> str:
        return "marked"


@dataclass(frozen=True, slots=True)
class Publish:
    topic: str
    txn: str

    def __str__(self) -> str:
        return f"Publish {self.topic} {self.txn}"


@dataclass(frozen=True, slots=True)
class PublishResponse:
    txn: str

    def __str__(self) -> str:
        return "stored"


@dataclass(frozen=True, slots=True)
class Poll:
    """Give `group` the oldest message that it has not acknowledged; answered when there is one."""

    group: str

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
    group: str
    txn: str
    offset: int

    def __str__(self) -> str:
        return f"Acknowledge @{self.offset}"


@dataclass(frozen=True, slots=True)
class AcknowledgeResponse:
    def __str__(self) -> str:
        return "ok"
