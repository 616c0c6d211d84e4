"""One connection to a broker: requests with their answers, and what the broker asks by itself.

    with Connection("127.0.0.1:10911") as broker:
        answer = broker.ask(RequestCode.GET_MAX_OFFSET, topic="orders", queueId=0)

Both sides may ask at any time. What comes is read while somebody waits for it: an answer is kept
for the one who asks for its number (`opaque`), a request of the broker until it is looked for.
"""

from __future__ import annotations

import itertools
import socket
from contextlib import suppress
from typing import Any, Self

from mqlab.rocketmq.remoting import (
    Flag,
    RemotingCommand,
    RequestCode,
    SerializeType,
    cut_frame,
    decode_command,
    encode_command,
)

PATIENCE_S = 60.0


class Connection:
    """`checks`: what the broker has asked so far, in its order; `told`: its other pushes.
    `version`: of the client, as MQVersion counts it; a broker does not look at every field that an
    old one sends."""

    version = 0
    serialize_type = SerializeType.JSON

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        host, _, port = address.rpartition(":")
        self.patience_s = patience_s
        self.socket = socket.create_connection((host, int(port)), patience_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.checks: list[RemotingCommand] = []
        self.told: list[RemotingCommand] = []
        self._numbers = itertools.count(1)
        self._buffer = bytearray()
        self._answers: dict[int, RemotingCommand] = {}

    @property
    def local(self) -> tuple[str, int]:
        """This end's address, by which the broker knows where a message was born."""
        host, port = self.socket.getsockname()
        return host, port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.settimeout(self.patience_s)
        self.socket.sendall(data)

    def begin(self, code: int, body: bytes = b"", oneway: bool = False, **fields: Any) -> int:
        """Ask, and do not wait; the request's number."""
        number = next(self._numbers)
        header = {name: _text(value) for name, value in fields.items() if value is not None}
        command = RemotingCommand(
            code, header, body, number, Flag.ONEWAY if oneway else 0, language="PYTHON",
            version=self.version, serialize_type=self.serialize_type,
        )  # fmt: skip
        self.send(encode_command(command))
        return number

    def ask(
        self, code: int, body: bytes = b"", patience_s: float = 0.0, **fields: Any
    ) -> RemotingCommand:
        """The answer to a request. Raises TimeoutError where the broker is silent for so long,
        ConnectionError where the connection is gone."""
        return self.answer(self.begin(code, body, **fields), patience_s)

    def answer(self, number: int, patience_s: float = 0.0) -> RemotingCommand:
        while number not in self._answers:
            self.hear(patience_s)
        return self._answers.pop(number)

    def hear(self, patience_s: float = 0.0) -> None:
        """Keep the next command, whatever it is; errors as of `ask`."""
        self.socket.settimeout(patience_s or self.patience_s)
        while (frame := cut_frame(self._buffer)) is None:
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the broker has closed the connection")
            self._buffer += data
        command = decode_command(frame)
        if command.is_response:
            self._answers[command.opaque] = command
        elif command.code == RequestCode.CHECK_TRANSACTION_STATE:
            self.checks.append(command)
        else:
            self.told.append(command)

    def take_checks(self, count: int, patience_s: float) -> list[RemotingCommand]:
        """So many checks, or those that come until the broker is silent for so long or has gone;
        they are no longer among `checks`."""
        with suppress(OSError):
            while len(self.checks) < count:
                self.hear(patience_s)
        taken, self.checks = self.checks[:count], self.checks[count:]
        return taken


def _text(value: Any) -> str:
    """As Java writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
