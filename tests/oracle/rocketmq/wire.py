"""One connection to a broker: requests with their answers, and what the broker asks by itself.

    with Connection("127.0.0.1:10911") as broker:
        answer = broker.ask(RequestCode.GET_MAX_OFFSET, topic="orders", queueId=0)

Both sides may ask at any time, so a thread reads. An answer goes to the thread that waits for its
number (`opaque`); a request of the broker (a check) is put into `pushed`.
"""

from __future__ import annotations

import queue
import socket
import threading
from contextlib import suppress
from typing import Any

from mqlab.rocketmq.remoting import Flag, RemotingCommand, cut_frame, decode_command, encode_command

PATIENCE_S = 60.0


class Connection:
    """`pushed`: requests that the broker has sent, in their order. `version`: of the client, as
    MQVersion counts it; a broker does not look at every field that an old one sends."""

    version = 0

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(None)
        self._lock = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[RemotingCommand | None]] = {}
        self._asked = 0
        self.pushed: queue.SimpleQueue[RemotingCommand] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def local(self) -> tuple[str, int]:
        """This end's address, by which the broker knows where a message was born."""
        host, port = self._socket.getsockname()
        return host, port

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError):  # the broker may have been quicker
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def ask(
        self, code: int, body: bytes = b"", patience_s: float = PATIENCE_S, **fields: Any
    ) -> RemotingCommand:
        """The answer to a request. Raises TimeoutError where there is none, ConnectionError where
        the connection is gone."""
        answer: queue.SimpleQueue[RemotingCommand | None] = queue.SimpleQueue()
        number = self._send(code, body, 0, fields, answer)
        try:
            command = answer.get(timeout=patience_s)
        except queue.Empty as error:
            raise TimeoutError(f"no answer to request {code}") from error
        finally:
            self._waiting.pop(number, None)
        if command is None:
            raise ConnectionError("the broker has closed the connection")
        return command

    def send_oneway(self, code: int, body: bytes = b"", **fields: Any) -> None:
        """A one-way request."""
        self._send(code, body, Flag.ONEWAY, fields, None)

    def _send(self, code: int, body: bytes, flag: int, fields: dict[str, Any], waiter: Any) -> int:
        header = {name: _text(value) for name, value in fields.items() if value is not None}
        with self._lock:
            self._asked += 1
            number = self._asked
            if waiter is not None:
                self._waiting[number] = waiter
            command = RemotingCommand(
                code, header, body, number, flag, language="PYTHON", version=self.version
            )
            self._socket.sendall(encode_command(command))
        return number

    def _read(self) -> None:
        """Until the connection ends; all that wait then hear it."""
        buffer = bytearray()
        try:
            while data := self._socket.recv(1 << 16):
                buffer += data
                while (frame := cut_frame(buffer)) is not None:
                    self._take(decode_command(frame))
        except OSError:
            pass  # closed here or there
        for waiter in list(self._waiting.values()):
            waiter.put(None)

    def _take(self, command: RemotingCommand) -> None:
        if not command.is_response:
            self.pushed.put(command)
        elif waiter := self._waiting.get(command.opaque):
            waiter.put(command)


def _text(value: Any) -> str:
    """As Java writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
