"""What a protocol tells the server about one connection.

**Requests.** `Frames` cuts bytes into frames and reads them. It says how many requests of one
client may be under way at once, and whether their answers leave in the order of the requests
(Kafka: one at a time) or as they come. A request that is `one_way` is never answered, and
counts as none.

**Pushes.** Where a home has `push`, a role may `Send` to a client by the name of its
connection ("conn-3", the name in `Caller.name`; such a home gives no role a name like that).
The message becomes a frame of its own, which leaves at the end of the turn, in the order of
the effects and whatever requests of that client are under way. Where the protocol lets the
client answer it, the answer comes back to the role as `Response("conn-3", corr, body)`, in
any order, or never.

    the client does not read    Its unsent bytes are bounded. Beyond the bound a push is not
                                sent and not kept, and its role hears so: Response("conn-3",
                                corr, Unsent(body)). When the client has read what is under way,
                                each role that was told so hears Response("conn-3", 0, Drained()),
                                once: then is the time to try again. Nobody has to ask meanwhile.
    too many pushes unanswered  The client is cut off.
    the client has gone         The front and every role that has pushed to it hear
                                `ConnectionLost("conn-3")`, once. A role that pushes after that
                                hears it at once. In this run of the server no other
                                connection is called "conn-3".

RocketMQ's check-back (the broker asks a producer what became of its transaction) and Pulsar's
message flow (a broker sends as many messages as a consumer has permitted) are such pushes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..kernel import frozen, worded


class BadFrame(Exception):
    """Bytes that are no message of the protocol: the connection is closed."""


class Refused(Exception):
    """A request that is answered without asking any role; `frame` is the answer. `last`: the
    connection closes after it."""

    def __init__(self, frame: bytes, why: str, last: bool = False) -> None:
        super().__init__(why)
        self.frame = frame
        self.last = last


class Hangup:
    """In the place of an answer: close the connection, because of `why`."""

    def __init__(self, why: str) -> None:
        self.why = why


@worded("unsent, the client does not read")
class Unsent:
    """In the place of an answer to a push: the client does not read, `body` was not sent."""

    body: Any


@worded("the client reads again")
class Drained:
    """In the place of an answer to a push that was not sent: the client reads again."""


@dataclass(slots=True)
class ClientRequest:
    """A request. `tag`: what `write` needs to know of it (a correlation id). `one_way`: it has
    no answer. `waits`: it may wait for long, so its client may go without a word. `last`: the
    connection closes after its answer."""

    body: Any
    tag: int = 0
    one_way: bool = False
    waits: bool = False
    last: bool = False


@dataclass(slots=True)
class PushAnswer:
    """A client's answer to push number `number` on its connection."""

    number: int
    body: Any


class Frames(Protocol):
    """The protocol of one connection. `client`: what the client calls itself, "" as long as
    it has not said so. `at_once`: so many of its requests may be under way. `in_order`:
    answers leave in the order of the requests."""

    client: str
    at_once: int
    in_order: bool

    def cut(self, buffer: bytearray) -> bytes | None:
        """Take the next frame out of the buffer; None while it is not complete. Raises
        BadFrame or Refused as soon as it is clear that it never will be."""

    def read(self, frame: bytes) -> ClientRequest | PushAnswer:
        """What a frame says. Raises BadFrame or Refused."""

    def write(self, request: ClientRequest, answer: Any) -> bytes:
        """The frame of an answer."""

    def name(self, request: ClientRequest) -> str:
        """A request in a few words, for the server's log."""

    def refusals(self, answer: Any) -> Iterable[str]:
        """What an answer refuses, each in a word, for the server's log."""


@frozen
class Peer:
    """Both ends of a connection: (host, port) that the client has reached, and where it is."""

    here: tuple[str, int] = ("127.0.0.1", 0)
    there: tuple[str, int] = ("", 0)
