"""A server that is handed frames, without sockets, and what most cases begin with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any

from mqlab.kernel import Caller, Request
from mqlab.serve.driver import Driver
from mqlab.serve.kafka.adapter import make_adapter
from mqlab.serve.kafka.front import BROKER
from mqlab.serve.kafka.wire.codec import decode, encode
from tests.serve.kafka.raw import MINUTE, build_positions, write_request

FIRST, WIDE = "first", "wide"  # a topic with one partition, one with as many as are named


class Many:
    """A driver that is handed frames, and the answers of clients, without sockets."""

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}
        self.driver = Driver(make_adapter(), self._hear)
        self.driver.start()
        self._count = 0

    def _hear(self, conn: int, number: int, body: Any) -> None:
        self.answers[number] = body

    def send(self, api: int, version: int, conn: int = 1, **fields: Any) -> int:
        """Its number. The request is decoded, handled with all that follows on this node, and its
        answer, if there is one by now, is encoded, as a server does."""
        _, ask = decode(write_request(api, version, **fields)[4:], ("127.0.0.1", 9092))
        self._count += 1
        event = Request(Caller(f"conn-{conn}", conn, self._count), ask, self.driver.now)
        self.driver.deliver(BROKER, event)
        while (due := self.driver.next_timer()) is not None and due < self.driver.now + 1_000:
            self.driver.now = due  # short pauses end at once
            self.driver.fire()
        if self._count in self.answers:
            encode(api, version, 1, self.answers[self._count])
        return self._count

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        return self.answers[self.send(api, version, **fields)]

    def create(self, *names: str, partitions: int = 1) -> None:
        topics = tuple(
            Row(name=n, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
            for n in names
        )
        self.ask(19, 5, topics=topics, timeout=MINUTE, validate_only=False)

    def create_many(self, n: int) -> tuple[str, ...]:
        names = tuple(f"t{i}" for i in range(n))
        self.create(*names)
        return names

    def create_wide(self, n: int) -> range:
        self.create(WIDE, partitions=max(n, 1))
        return range(n)

    def init(self, txn_id: str) -> Any:
        return self.ask(
            22, 4, transactional_id=txn_id, transaction_timeout=timedelta(minutes=1),
            producer_id=-1, producer_epoch=-1,
        )  # fmt: skip

    def init_many(self, n: int) -> list[tuple[str, int]]:
        """Transactional ids with their producer ids."""
        return [(f"id{i}", self.init(f"id{i}").producer_id) for i in range(n)]

    def commit(self, group: str, indexes: range, topic: str = WIDE) -> None:
        self.ask(
            8, 8, group_id=group, generation_id_or_member_epoch=-1, member_id="",
            group_instance_id=None, topics=build_positions(topic, indexes=indexes),
        )  # fmt: skip

    def commit_many(self, n: int) -> tuple[str, ...]:
        self.create(FIRST)
        groups = tuple(f"g{i}" for i in range(n))
        for group in groups:
            self.commit(group, range(1), FIRST)
        return groups

    def add(self, pid: int, indexes: range) -> None:
        self.ask(
            24, 3, v3_and_below_transactional_id="id0", v3_and_below_producer_id=pid,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=(Row(name=WIDE, partitions=tuple(indexes)),),
        )  # fmt: skip

    def join(self, group: str, n: int) -> list[str]:
        """Members of a group by version 3, which are told their ids at once."""
        protocols = (Row(name="range", metadata=b""),)
        sent = [
            self.send(
                11, 3, conn=2 + i, group_id=group, session_timeout=timedelta(seconds=45),
                rebalance_timeout=timedelta(milliseconds=2_000), member_id="",
                protocol_type="consumer", protocols=protocols,
            )
            for i in range(n)
        ]  # fmt: skip
        self.driver.now += 5_000
        self.driver.fire()
        return [self.answers[number].member_id for number in sent if number in self.answers]


Next = Callable[[], object]
Prepare = Callable[[Many, int], Next]
