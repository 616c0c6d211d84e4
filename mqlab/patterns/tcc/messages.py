"""What application, coordinator and services say to each other."""

from __future__ import annotations

from ...kernel import worded

CONFIRM, CANCEL = "confirm", "cancel"


@worded("order {txn}")
class PlaceOrder:
    """The application's call."""

    txn: str


@worded("Try {txn}")
class Try:
    txn: str


@worded("{key}")
class TryResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "reserved" if self.ok else "not reserved"


@worded("Confirm {txn}")
class Confirm:
    txn: str


@worded("ok")
class ConfirmResponse:
    txn: str


@worded("Cancel {txn}")
class Cancel:
    txn: str


@worded("ok")
class CancelResponse:
    txn: str
