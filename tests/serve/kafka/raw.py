"""A client that is nothing but bytes: the product's own connection and batches by hand, with the
requests that many tests need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from mqlab.real.kafka import batches, wire
from mqlab.real.kafka.batches import TRANSACTIONAL, patch, record
from mqlab.real.kafka.wire import MINUTE, write_request

__all__ = ["MINUTE", "TRANSACTIONAL", "Raw", "batch", "build_fetch", "build_positions", "record",
           "write_request"]  # fmt: skip


def batch(
    values: Sequence[bytes],
    pid: int = -1,
    epoch: int = -1,
    seq: int = -1,
    bits: int = 0,
    stamps: Sequence[int] = (),
    magic: int = 2,
) -> bytes:
    """A batch of these values; `stamps` are added to a base of 1,000."""
    stamps = stamps or [0] * len(values)
    data = batches.batch(
        b"".join(record(v, delta=i, stamp=stamps[i]) for i, v in enumerate(values)),
        len(values),
        bits=bits,
        pid=pid,
        epoch=epoch,
        seq=seq,
        at_ms=1000,
        max_ms=1000 + max(stamps),
    )
    return patch(data, 16, bytes([magic]))


def build_fetch(
    topic: str, offset: int = 0, committed: bool = True, indexes: Iterable[int] = (0,),
    max_wait_ms: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """The fields of a Fetch v11 of some partitions of a topic."""
    parts = tuple(
        SimpleNamespace(
            partition=index, current_leader_epoch=-1, fetch_offset=offset, log_start_offset=-1,
            partition_max_bytes=1 << 20,
        )
        for index in indexes
    )  # fmt: skip
    return {
        "replica_id": -1, "max_wait": timedelta(milliseconds=max_wait_ms), "min_bytes": 1,
        "max_bytes": 1 << 20, "isolation_level": int(committed), "session_id": 0,
        "session_epoch": -1, "forgotten_topics_data": (), "rack_id": "",
        "topics": (SimpleNamespace(topic=topic, partitions=parts),),
    }  # fmt: skip


def build_positions(
    topic: str, offset: int = 1, indexes: Iterable[int] = (0,), note: str = ""
) -> tuple[SimpleNamespace]:
    """The topics of both offset commits: one, with the same offset of some partitions."""
    parts = tuple(
        SimpleNamespace(
            partition_index=index, committed_offset=offset, committed_leader_epoch=-1,
            committed_metadata=note,
        )
        for index in indexes
    )  # fmt: skip
    return (SimpleNamespace(name=topic, partitions=parts),)


class Raw(wire.Raw):
    """The product's connection, with the requests that many tests need."""

    @property
    def closed(self) -> bool:
        """Whether the server closes this connection, now or in a moment."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

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
        answer = self.ask(1, 11, **build_fetch(topic, offset, committed, (index,)))
        return answer.responses[0].partitions[0]

    def offset(self, topic: str, at_ms: int, committed: bool = True, index: int = 0) -> Any:
        part = SimpleNamespace(partition_index=index, current_leader_epoch=-1, timestamp=at_ms)
        topics = (SimpleNamespace(name=topic, partitions=(part,)),)
        answer = self.ask(2, 7, replica_id=-1, isolation_level=int(committed), topics=topics)
        return answer.topics[0].partitions[0]
