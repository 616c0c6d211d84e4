"""What a client asks, on its way to the front, and what only the server's own roles say."""

from __future__ import annotations

from typing import Any

from ....kernel import Caller, frozen, worded
from ....pulsar.messages import Answer, PushMessage, SendReceipt
from .commands import Command

Host = tuple[str, int]


@frozen
class Ask:
    """A command as it came, and the address at which it has reached us."""

    command: Command
    here: Host = ("127.0.0.1", 0)

    def __str__(self) -> str:
        return self.command.name


@worded("{method} {path}")
class AdminAsk:
    """A request of the admin interface, and the address at which it has reached us."""

    method: str
    path: str
    body: bytes = b""
    here: Host = ("127.0.0.1", 0)


@frozen
class Handed:
    """What the front hands on: the role answers `caller`, who is the client, by itself. `epoch`:
    of a consumer, where it says a new one."""

    caller: Caller
    body: Any
    epoch: int | None = None

    def __str__(self) -> str:
        return str(self.body)


# ---- answers of the front's own --------------------------------------------------------------


@frozen
class CommandAnswer(Answer):
    """A command as an answer: its fields without the request's number."""

    name: str = "SUCCESS"
    fields: tuple[tuple[str, Any], ...] = ()


@frozen
class Receipt(SendReceipt):
    """A receipt, with the ledger in which the message lies."""

    ledger: int = -1


@frozen
class AdminAnswer:
    """`body`: JSON, or a message's bytes. `headers`: what is said of an entry."""

    status: int
    body: Any = ""
    headers: tuple[tuple[str, str], ...] = ()


# ---- pushes ----------------------------------------------------------------------------------


@frozen
class Push:
    """MESSAGE, on its way to consumer `consumer_id` of a connection. `ledger`: of the topic."""

    consumer_id: int
    ledger: int
    message: PushMessage
    epoch: int | None = None

    def __str__(self) -> str:
        return str(self.message)


@worded("{name}")
class Notice:
    """A command that the broker sends unasked."""

    name: str
    fields: tuple[tuple[str, Any], ...] = ()
