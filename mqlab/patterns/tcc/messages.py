"""What application, coordinator and services say to each other."""

from __future__ import annotations

from ...kernel import frozen

CONFIRM, CANCEL = "confirm", "cancel"


@frozen
class PlaceOrder:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"order {self.txn}"


@frozen
class Try:
    txn: str

    def __str__(self) -> str:
        return f"Try {self.txn}"


@frozen
class TryResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "reserved" if self.ok else "not reserved"

    def __str__(self) -> str:
        return self.key


@frozen
class Confirm:
    txn: str

    def __str__(self) -> str:
        return f"Confirm {self.txn}"


@frozen
class ConfirmResponse:
    txn: str

    def __str__(self) -> str:
        return "ok"


@frozen
class Cancel:
    txn: str

    def __str__(self) -> str:
        return f"Cancel {self.txn}"


@frozen
class CancelResponse:
    txn: str

    def __str__(self) -> str:
        return "ok"
