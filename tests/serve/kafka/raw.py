"""A client that is nothing but bytes: requests by kio's schemas, record batches by hand.

The batches are built here a second time, independently of the server, so that the two can
disagree.
"""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.records.readers import crc32c
from kio.serial import entity_reader, entity_writer

TRANSACTIONAL = 0x10
MINUTE = timedelta(minutes=1)


def varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def record(delta: int, value: bytes, stamp: int = 0) -> bytes:
    body = b"\0" + varint(stamp) + varint(delta) + varint(-1) + varint(len(value)) + value
    body += varint(0)
    return varint(len(body)) + body


def batch(
    values: Sequence[bytes],
    pid: int = -1,
    epoch: int = -1,
    seq: int = -1,
    bits: int = 0,
    stamps: Sequence[int] = (),
    magic: int = 2,
) -> bytes:
    """A batch of the current format; `stamps` are added to a base of 1,000."""
    stamps = stamps or [0] * len(values)
    records = b"".join(record(i, v, s) for i, (v, s) in enumerate(zip(values, stamps, strict=True)))
    count = len(values)
    newest = 1000 + max(stamps)
    fields = (bits, count - 1, 1000, newest, pid, epoch, seq, count)
    checked = struct.pack(">hiqqqhii", *fields) + records
    head = struct.pack(">qiibI", 0, len(checked) + 9, -1, magic, crc32c(checked))
    return head + checked


def request(api: int, version: int, corr: int = 1, **fields: Any) -> bytes:
    """A frame. Nested parts may be any objects that have the schema's fields."""
    schema = load_request_schema(api, version)
    out = io.BytesIO()
    header = SimpleNamespace(
        request_api_key=api, request_api_version=version, correlation_id=corr, client_id="raw"
    )
    entity_writer(schema.__header_schema__)(out, header)
    entity_writer(schema)(out, SimpleNamespace(**fields))
    body = out.getvalue()
    return struct.pack(">i", len(body)) + body


def fetching(
    topic: str, offset: int = 0, committed: bool = True, index: int = 0, max_wait_ms: int = 0
) -> dict[str, Any]:
    """The fields of a Fetch v11 of one partition."""
    part = SimpleNamespace(
        partition=index, current_leader_epoch=-1, fetch_offset=offset, log_start_offset=-1,
        partition_max_bytes=1 << 20,
    )  # fmt: skip
    return {
        "replica_id": -1, "max_wait": timedelta(milliseconds=max_wait_ms), "min_bytes": 1,
        "max_bytes": 1 << 20, "isolation_level": int(committed), "session_id": 0,
        "session_epoch": -1, "forgotten_topics_data": (), "rack_id": "",
        "topics": (SimpleNamespace(topic=topic, partitions=(part,)),),
    }  # fmt: skip


class Raw:
    """One connection."""

    def __init__(self, address: str, timeout_s: float = 20.0) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout_s)
        self._corr = 0

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        self._corr += 1
        self.send(request(api, version, self._corr, **fields))
        return self.answer(api, version, self._corr)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, api: int, version: int, corr: int) -> Any:
        """The next answer, which must be that of request `corr`."""
        frame = self.frame()
        schema = load_response_schema(api, version)
        header, size = entity_reader(schema.__header_schema__)(frame, 0)
        assert header.correlation_id == corr
        answer, more = entity_reader(schema)(frame, size)
        assert size + more == len(frame)
        return answer

    def frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError("the server closed the connection")
            data += more
        return data

    @property
    def closed(self) -> bool:
        """Whether the server closes this connection, now or in a moment."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- requests that many tests need -----------------------------------------------------

    def init(self, txn_id: str | None, version: int = 4, pid: int = -1, epoch: int = -1) -> Any:
        return self.ask(
            22, version, transactional_id=txn_id, transaction_timeout=MINUTE,
            producer_id=pid, producer_epoch=epoch,
        )  # fmt: skip

    def produce(
        self, topic: str, index: int, records: bytes, txn_id: str | None = None,
        version: int = 11, acks: int = -1,
    ) -> Any:  # fmt: skip
        part = SimpleNamespace(index=index, records=records)
        row = SimpleNamespace(name=topic, partition_data=(part,))
        fields = {"transactional_id": txn_id, "acks": acks, "timeout": MINUTE}
        answer = self.ask(0, version, topic_data=(row,), **fields)
        return answer.responses[0].partition_responses[0]

    def end(self, txn_id: str, pid: int, epoch: int, commit: bool, version: int = 4) -> Any:
        return self.ask(
            26, version, transactional_id=txn_id, producer_id=pid, producer_epoch=epoch,
            committed=commit,
        )  # fmt: skip

    def add(
        self, txn_id: str, pid: int, epoch: int, *names: tuple[str, int], version: int = 3
    ) -> list[str]:
        """The error of each partition, by name."""
        topics = tuple(SimpleNamespace(name=t, partitions=(i,)) for t, i in names)
        answer = self.ask(
            24, version, v3_and_below_transactional_id=txn_id, v3_and_below_producer_id=pid,
            v3_and_below_producer_epoch=epoch, v3_and_below_topics=topics,
        )  # fmt: skip
        rows = answer.results_by_topic_v3_and_below
        return [p.partition_error_code.name for t in rows for p in t.results_by_partition]

    def create(self, name: str, partitions: int = 1, **configs: str) -> str:
        given = tuple(SimpleNamespace(name=k, value=v) for k, v in configs.items())
        topic = SimpleNamespace(
            name=name, num_partitions=partitions, replication_factor=1, assignments=(),
            configs=given,
        )  # fmt: skip
        answer = self.ask(19, 5, topics=(topic,), timeout=MINUTE, validate_only=False)
        return answer.topics[0].error_code.name

    def fetch(self, topic: str, offset: int, committed: bool = True, index: int = 0) -> Any:
        answer = self.ask(1, 11, **fetching(topic, offset, committed, index))
        return answer.responses[0].partitions[0]

    def offset(self, topic: str, at_ms: int, committed: bool = True, index: int = 0) -> Any:
        part = SimpleNamespace(partition_index=index, current_leader_epoch=-1, timestamp=at_ms)
        topics = (SimpleNamespace(name=topic, partitions=(part,)),)
        answer = self.ask(2, 7, replica_id=-1, isolation_level=int(committed), topics=topics)
        return answer.topics[0].partitions[0]
