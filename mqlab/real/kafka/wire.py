"""One connection that speaks raw requests: kio's schemas, record batches by hand.

Batches are built and read here a second time, apart from the server of this project, so
that the two can disagree. kio makes room for as many elements as an array says it has
before it looks at the first: whoever it is connected to is trusted. Here that is a broker
this program started itself.

Source: the message definitions of Kafka 4.3 (clients/src/main/resources/common/message),
DefaultRecordBatch, EndTransactionMarker.
"""

from __future__ import annotations

import io
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.records.readers import crc32c  # type: ignore[attr-defined]
from kio.serial import entity_reader, entity_writer

from ...kafka.log import ABORT, COMMIT, Batch

HEAD = struct.Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL = 0x10, 0x20
MINUTE = timedelta(minutes=1)
PATIENCE_S = 40.0


class Raw:
    """One connection to the broker at `address` ("host:port"); requests one at a time."""

    def __init__(self, address: str, timeout_s: float = PATIENCE_S) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout_s)
        self._corr = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        """Send a request, wait for its answer. Nested parts may be any objects that have the
        fields of the schema. Raises EOFError where the broker closes the connection."""
        frame, at = self.frame(api, version, **fields)
        return entity_reader(load_response_schema(api, version))(frame, at)[0]

    def frame(self, api: int, version: int, **fields: Any) -> tuple[bytes, int]:
        """The answer as bytes, and where its body begins."""
        self._corr += 1
        schema = load_request_schema(api, version)
        out = io.BytesIO()
        header = Row(
            request_api_key=api,
            request_api_version=version,
            correlation_id=self._corr,
            client_id="mqlab",
        )
        entity_writer(schema.__header_schema__)(out, header)  # type: ignore[arg-type]
        entity_writer(schema)(out, Row(**fields))  # type: ignore[arg-type]
        body = out.getvalue()
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", self._read(4))
        frame = self._read(size)
        answer = load_response_schema(api, version)
        head, at = entity_reader(answer.__header_schema__)(frame, 0)
        assert head.correlation_id == self._corr
        return frame, at

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise EOFError("the broker closed the connection")
            data += more
        return bytes(data)

    def unknown_version(self) -> Any:
        """The answer to an ApiVersions request of a version that nobody knows; it comes in
        version 0 (KIP-511)."""
        self._corr += 1
        body = struct.pack(">hhihb", 18, 99, self._corr, 0, 0)
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", self._read(4))
        frame = self._read(size)
        return entity_reader(load_response_schema(18, 0))(frame, 4)[0]

    # -- what is needed before there is a client ------------------------------------------

    def offered(self) -> dict[int, tuple[int, int]]:
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
        return self.ask(
            22,
            version,
            transactional_id=txn_id,
            transaction_timeout=timedelta(milliseconds=timeout_ms),
            producer_id=pid,
            producer_epoch=epoch,
        )


# ---- record batches ----------------------------------------------------------------------


def written(batch: Batch, stamps: Sequence[int] = (), base_ms: int = 0) -> bytes:
    """A client's batch as bytes; `stamps` are added to `base_ms` (0: now), one for each
    record. A batch of more than a week ago ends its segment: the next one, of today, is too
    young for it."""
    base_ms = base_ms or round(time.time() * 1000)
    values = [str(value).encode() for value in batch.records]
    stamps = stamps or [0] * len(values)
    base_ms, stamps = base_ms + stamps[0], [stamp - stamps[0] for stamp in stamps]
    records = b"".join(
        _record(i, value, stamp)
        for i, (value, stamp) in enumerate(zip(values, stamps, strict=True))
    )
    bits = TRANSACTIONAL if batch.transactional else 0
    count = len(values)
    fields = (bits, count - 1, base_ms, base_ms + max(stamps), batch.pid, batch.epoch)
    checked = struct.pack(">hiqqqhii", *fields, batch.first_seq, count) + records
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c(checked)) + checked


def read(data: bytes | None) -> Iterator[Batch]:
    """The whole batches in what a fetch brought; a cut one at the end is left out."""
    at = 0
    data = data or b""
    while at + HEAD.size <= len(data):
        base, length, _, _, _, bits, delta, _, max_ms, pid, epoch, seq, _ = HEAD.unpack_from(
            data, at
        )
        end = at + 12 + length
        if end > len(data):
            return
        pairs = tuple(_pairs(data[at + HEAD.size : end]))
        control, coordinator_epoch = "", -1
        if bits & CONTROL:
            control = COMMIT if struct.unpack(">hh", pairs[0][0])[1] else ABORT
            coordinator_epoch = struct.unpack(">hi", pairs[0][1])[1]
        yield Batch(
            records=() if control else tuple(value.decode(errors="replace") for _, value in pairs),
            count=delta + 1,
            base=base,
            pid=pid,
            epoch=epoch,
            first_seq=seq,
            transactional=bool(bits & TRANSACTIONAL),
            control=control,
            coordinator_epoch=coordinator_epoch,
            at_ms=max_ms,
            size=12 + length,
        )
        at = end


def _record(delta: int, value: bytes, stamp: int) -> bytes:
    body = b"\0" + _varint(stamp) + _varint(delta) + _varint(-1) + _varint(len(value)) + value
    body += _varint(0)
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _pairs(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each record, uncompressed; b"" where there is none."""
    at = 0
    while at < len(body):
        size, at = _number(body, at)
        end = at + size
        _, at = _number(body, at + 1)
        _, at = _number(body, at)
        parts = []
        for _ in range(2):
            length, at = _number(body, at)
            parts.append(body[at : at + max(length, 0)])
            at += max(length, 0)
        yield parts[0], parts[1]
        at = end


def described(frame: bytes, at: int) -> list[Row]:
    """The rows of a DescribeTransactions answer v0. By hand: the start of a transaction that
    has not begun is -1, which kio takes for a time before its epoch."""

    def number(code: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(code, frame, at)
        at += struct.calcsize(code)
        return int(value)

    def length() -> int:
        """A compact length is one more than it says, in seven bits a byte."""
        nonlocal at
        value = shift = 0
        while True:
            byte = frame[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value - 1
            shift += 7

    def text() -> str:
        nonlocal at
        size = length()
        at += size
        return frame[at - size : at].decode()

    def no_tags() -> None:
        assert length() == -1, "DescribeTransactions v0 has no tagged fields"

    rows = []
    number(">i")  # throttle time
    for _ in range(length()):
        row = Row(error=number(">h"), txn_id=text(), state=text())
        number(">i"), number(">q")  # timeout, start
        row.pid, row.epoch, row.partitions = number(">q"), number(">h"), []
        for _ in range(length()):
            topic = text()
            row.partitions += [(topic, number(">i")) for _ in range(length())]
            no_tags()
        no_tags()
        rows.append(row)
    return rows


def _number(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
