"""Between the job and its broker: passes everything on, and kills the job at a chosen request.

A broker's log and a checkpoint's folder tell what has happened, always a little too late to die
there. The instant between a durable checkpoint and the commit is some milliseconds wide, and
nothing of Flink can be asked to stop in it. But the job must speak to the broker: a relay between
the two sees the request to commit before the broker does, and need not pass it on.

Kafka's clients connect to the address that the broker names. So in answers the broker's address
is replaced by this one: the same host, another port, the same number of bytes.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

HOST = "127.0.0.1"


# What a request asks for: ApiKeys in Kafka's clients.
PRODUCE, END_TXN = 0, 26


@dataclass(frozen=True, slots=True)
class Trap:
    """Springs at the first request of this kind: before the broker gets it, or, with `answered`,
    before the job gets the answer."""

    key: int
    answered: bool


class Relay:
    """`with Relay("127.0.0.1:9092") as relay:`, and the job gets `relay.address`."""

    def __init__(self, broker: str) -> None:
        host, _, port = broker.rpartition(":")
        self._broker = host, int(port)
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        self._theirs, self._ours = _address(int(port)), _address(self.port)
        self._trap: tuple[Trap, Callable[[], None]] | None = None
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self.sprung = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def set(self, trap: Trap, then: Callable[[], None]) -> None:
        """`then` is called once, when the trap springs; that request or answer goes no further."""
        with self._lock:
            self._trap = trap, then

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing goes through any more; all connections are closed."""
        with self._lock:
            opened, self._open = self._open, []
        for one in (self._server, *opened):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection(self._broker)
                with self._lock:
                    self._open += [client, broker]
                pending: dict[int, int] = {}
                for pump in (self._pass_requests, self._pass_answers):
                    args = client, broker, pending
                    threading.Thread(target=pump, args=args, daemon=True).start()

    def _pass_requests(
        self, client: socket.socket, broker: socket.socket, pending: dict[int, int]
    ) -> None:
        with client.makefile("rb") as read, _closing(broker):
            while frame := _read(read):
                key, _, correlation = struct.unpack_from(">hhi", frame)
                pending[correlation] = key
                if self._springs(key, answered=False):
                    return
                broker.sendall(_framed(frame))

    def _pass_answers(
        self, client: socket.socket, broker: socket.socket, pending: dict[int, int]
    ) -> None:
        with broker.makefile("rb") as read, _closing(client):
            while frame := _read(read):
                (correlation,) = struct.unpack_from(">i", frame)
                if self._springs(pending.pop(correlation, -1), answered=True):
                    return
                client.sendall(_framed(frame.replace(self._theirs, self._ours)))

    def _springs(self, key: int, answered: bool) -> bool:
        """Whether it springs now. It does so once, whichever thread comes first."""
        with self._lock:
            if self._trap is None or self._trap[0] != Trap(key, answered):
                return False
            (_, then), self._trap = self._trap, None
        then()
        self.sprung.set()
        return True


def _address(port: int) -> bytes:
    """How an address is written in an answer: the host's letters, then the port in four bytes."""
    return HOST.encode() + struct.pack(">i", port)


def _read(stream: BinaryIO) -> bytes:
    """A request or an answer without its length; nothing at the end."""
    with suppress(OSError):
        head = stream.read(4)
        if len(head) == 4:
            (size,) = struct.unpack(">i", head)
            body = stream.read(size)
            return body if len(body) == size else b""
    return b""


def _framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@contextmanager
def _closing(other: socket.socket) -> Iterator[None]:
    """A side that can be passed nothing more is shut down; that a side has gone is no error."""
    try:
        with suppress(OSError):
            yield
    finally:
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
