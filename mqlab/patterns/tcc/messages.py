"""What application, coordinator and services say to each other."""

from __future__ import annotations

from dataclasses import dataclass

CONFIRM, CANCEL = "confirm", "cancel"


@dataclass(frozen=True, slots=True)
class PlaceOrder:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"order {self.txn}"


@dataclass(frozen=True, slots=True)
class Try:
    txn: str

    def __str__(self) -> str:
        return f"Try {self.txn}"


@dataclass(frozen=True, slots=True)
class TryResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "reserved" if self.ok else "not reserved"

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True)
class Confirm:
    txn: str

    def __str__(self) -> str:
        return f"Confirm {self.txn}"


@dataclass(frozen=True, slots=True)
class ConfirmResponse:
    txn: str

    def __str__(self) -> str:
        return "ok"


@dataclass(frozen=True, slots=True)
class Cancel:
    txn: str

    def __str__(self) -> str:
        return f"Cancel {self.txn}"


@dataclass(frozen=True, slots=True)
class CancelResponse:
    txn: str

    def __str__(self) -> str:
        return "ok"
