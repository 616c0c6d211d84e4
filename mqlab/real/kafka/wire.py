"""One connection that speaks raw requests, by kio's schemas.

kio makes room for as many elements as an array says it has before it looks at the first:
the other end of its connection is trusted. Here that is a broker this program started itself.

Source: the message definitions of Kafka 4.3 (clients/src/main/resources/common/message).
"""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any, Self
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from ...kernel.text import BadValue

MINUTE = timedelta(minutes=1)
PATIENCE_S = 40.0


def write_request(
    api: int, version: int, corr: int = 1, client: str = "mqlab", **fields: Any
) -> bytes:
    """A request as a frame. Nested parts may be any objects that have the schema's fields."""
    schema = load_request_schema(api, version)
    out = io.BytesIO()
    header = Row(
        request_api_key=api, request_api_version=version, correlation_id=corr, client_id=client
    )
    entity_writer(schema.__header_schema__)(out, header)  # type: ignore[arg-type]
    entity_writer(schema)(out, Row(**fields))  # type: ignore[arg-type]
    body = out.getvalue()
    return struct.pack(">i", len(body)) + body


class Raw:
    """One connection to the broker at `address` ("host:port"). `ask` sends a request and waits
    for its answer; with `send` and `read_answer` several may be in flight."""

    def __init__(self, address: str, timeout_s: float = PATIENCE_S) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout_s)
        self._corr = 0
        self.client = "mqlab"

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        """The answer to a request. Raises EOFError where the broker closes the connection."""
        self._corr += 1
        self.send(write_request(api, version, self._corr, self.client, **fields))
        return self.read_answer(api, version, self._corr)

    def ask_for_bytes(self, api: int, version: int, **fields: Any) -> tuple[bytes, int]:
        """The answer to a request as bytes, and where its body begins."""
        self._corr += 1
        self.send(write_request(api, version, self._corr, self.client, **fields))
        return self._read_head(api, version, self._corr)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read_answer(self, api: int, version: int, corr: int) -> Any:
        """The next answer, which must be that of request `corr`."""
        frame, at = self._read_head(api, version, corr)
        answer, size = entity_reader(load_response_schema(api, version))(frame, at)
        assert at + size == len(frame), f"{len(frame) - at - size} bytes behind an answer"
        return answer

    def read_frame(self) -> bytes:
        """The next frame, without its length. Raises EOFError where there is none."""
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read_head(self, api: int, version: int, corr: int) -> tuple[bytes, int]:
        frame = self.read_frame()
        head, at = entity_reader(load_response_schema(api, version).__header_schema__)(frame, 0)
        assert head.correlation_id == corr
        return frame, at

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError("the broker closed the connection")
            data += more
        return bytes(data)

    # -- what is needed before there is a client ------------------------------------------

    def ask_versions(self) -> dict[int, tuple[int, int]]:
        """The versions (lowest, highest) of each request this broker answers."""
        answer = self.ask(18, 3, client_software_name="mqlab", client_software_version="1")
        return {k.api_key: (k.min_version, k.max_version) for k in answer.api_keys}

    @staticmethod
    def metadata(names: Sequence[str]) -> dict[str, Any]:
        """The fields of a Metadata request v12."""
        topics = tuple(Row(topic_id=UUID(int=0), name=name) for name in names)
        return {
            "topics": topics,
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        }

    def coordinator(self, key: str, kind: int) -> Any:
        """`kind` 0: of a group, 1: of a transactional id."""
        return self.ask(10, 4, key_type=kind, coordinator_keys=(key,)).coordinators[0]

    def init(
        self,
        txn_id: str | None,
        version: int = 4,
        pid: int = -1,
        epoch: int = -1,
        timeout_ms: int = 60_000,
    ) -> Any:
        """Send InitProducerId, and return the decoded answer, also where that is an error. `txn_id`
        None: an idempotent producer and no more; `version`: of the request; `pid`, `epoch`: those
        that it has (-1: none yet)."""
        return self.ask(
            22,  # the request's number
            version,
            transactional_id=txn_id,
            transaction_timeout=timedelta(milliseconds=timeout_ms),
            producer_id=pid,
            producer_epoch=epoch,
        )


class Unknown(BadValue):
    """A record that this program cannot read; the message says what it is."""


class Cursor:
    """Fields of bytes, one after the other; `flexible`: with the newer lengths, which are numbers
    in seven bits a byte, one more than the length (0: null)."""

    def __init__(self, data: bytes, at: int = 0, flexible: bool = False) -> None:
        self.data, self.at, self.flexible = data, at, flexible

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from(f">{code}", self.data, self.at)
        self.at += struct.calcsize(f">{code}")
        return int(value)

    def size(self, code: str) -> int:
        """A length, which may be -1."""
        if not self.flexible:
            return self.number(code)
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 28:
                return value - 1

    def text(self) -> str:
        size = max(self.size("h"), 0)
        if self.at + size > len(self.data):
            raise Unknown("a text that ends outside its record")
        self.at += size
        return self.data[self.at - size : self.at].decode("utf-8", "backslashreplace")

    def skip_tags(self) -> None:
        """Their number is no compact length: 0 is read as -1."""
        assert self.size("b") == -1, "there are no tagged fields here"


def read_transactions(frame: bytes, at: int) -> list[Row]:
    """Decode the rows of a DescribeTransactions answer v0, whose body begins at `at`: error,
    txn_id, state, timeout_ms, start_ms, pid, epoch and partitions, each (topic, number). By hand,
    because kio fails at a transaction that has not begun: its start is -1, a time before kio's
    epoch."""
    cursor, rows = Cursor(frame, at, flexible=True), []
    cursor.number("i")  # throttle time
    for _ in range(cursor.size("i")):
        row = Row(error=cursor.number("h"), txn_id=cursor.text(), state=cursor.text())
        row.timeout_ms, row.start_ms = cursor.number("i"), cursor.number("q")
        row.pid, row.epoch, row.partitions = cursor.number("q"), cursor.number("h"), []
        for _ in range(cursor.size("i")):
            topic = cursor.text()
            row.partitions += [(topic, cursor.number("i")) for _ in range(cursor.size("i"))]
            cursor.skip_tags()
        cursor.skip_tags()
        rows.append(row)
    return rows
