"""What transactional messages cost a real RocketMQ: requests behind a proxy, and records in its
commit log.

The producer ends a transaction as released clients do, by a one-way request; the last one is held
on its way to the broker until the client has been told. The shop's row is in no broker, so what it
costs is not counted here. The op batch, which RocketMQ writes after 3 s at most
(transactionOpBatchInterval), is asked for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...rocketmq.config import HALF_TOPIC, OP_TOPIC
from ...rocketmq.remoting import RequestCode, decode_command, decode_record
from ..costs import OTHERS
from ..counting import Flushes, Namer, Proxy
from .broker import RealRocketMQ
from .client import PROFILES, Lab, Target
from .producer import COMMIT, Producer

#: what the engine calls the same
NAMES = {
    RequestCode.HEART_BEAT: "Heartbeat",
    RequestCode.SEND_MESSAGE_V2: "SendMessage",
    RequestCode.END_TRANSACTION: "EndTransaction",
}
END = NAMES[RequestCode.END_TRANSACTION]
HALVES, OPS, QUEUES, LOG = "half topic", "op topic", "topics' queues", "commit log"
PREFIX = "cost"
QUIET_S = 1.0


def make_namer() -> Namer:
    """Names requests by their code, an answer by the request of its number; either side asks."""
    asked: dict[tuple[bool, int], str] = {}

    def name(frame: bytes, up: bool) -> str:
        command = decode_command(frame)
        if command.is_response:
            return asked.pop((not up, command.opaque), "unasked")
        words = NAMES.get(command.code, f"request {command.code}")  # type: ignore[call-overload]
        return asked.setdefault((up, command.opaque), words)

    return name


def count_records(log: bytes) -> Counter[str]:
    """The records of a file of the commit log, by topic."""
    found: Counter[str] = Counter()
    at = 0
    while at + 4 <= len(log) and int.from_bytes(log[at : at + 4], "big"):
        record, at = decode_record(log, at)
        topics = {HALF_TOPIC: HALVES, OP_TOPIC: OPS}
        found[topics.get(record.topic, QUEUES)] += 1
    return found


def place_of(path: str) -> str:
    return LOG if "/commitlog/" in path else OTHERS


@dataclass
class PricedRocketMQ:
    rocketmq: RealRocketMQ
    proxy: Proxy
    broker: str
    settings: dict[str, str] = field(default_factory=dict)
    _lab: Lab | None = None
    _app: Producer | None = None
    _size: tuple[int, int] = (0, 0)
    _round: int = 0

    def watch(self) -> Flushes:
        return Flushes(self.rocketmq.pid, place_of, self.rocketmq.folder)

    def prepare(self, partitions: int, orders: int) -> None:
        self.close()
        self._round += 1
        self._size = partitions, orders
        target = Target(self.broker, self.proxy.address, self.rocketmq, self.rocketmq.version)
        self._lab = Lab(target, PROFILES["5.5"], f"{PREFIX}{self._round}.")
        self._lab.topic("orders", partitions)
        self._app = Producer(self._lab)
        self._settle()

    def tell(self) -> None:
        assert self._app is not None
        partitions, orders = self._size
        self._app.start()
        for i in range(orders):
            half = self._app.send(f"orders-{i % partitions}", f"T{i + 1}")
            if i == orders - 1:
                self._settle()
                self.proxy.hold(END, counted=True)
            fields = self._app.end_fields(half, COMMIT, False, {})
            self._app.connection.tell(RequestCode.END_TRANSACTION, **fields)
        self.proxy.wait_for_held(END)

    def forget(self) -> None:
        self.proxy.hold()
        self._settle()
        self.rocketmq.write_ops()
        self._settle()

    def writes(self) -> Counter[str]:
        files = (self.rocketmq.folder / "store" / "commitlog").glob("*")  # none before the first
        return sum((count_records(path.read_bytes()) for path in files), Counter[str]())

    def close(self) -> None:
        if self._app is not None:
            self._app.leave()
            self._app = None
        if self._lab is not None:
            self._lab.close()

    def _settle(self) -> None:
        """Until nothing has been written or said for a while."""
        seen = None
        while seen != (now := (self.writes(), self.proxy.counts())):
            seen = now
            time.sleep(QUIET_S)


@contextmanager
def open_priced(version: str) -> Iterator[PricedRocketMQ]:
    with Proxy(make_namer) as proxy, RealRocketMQ(version) as rocketmq:
        proxy.front(rocketmq.address)
        priced = PricedRocketMQ(rocketmq, proxy, f"rocketmq-{version}")
        try:
            yield priced
        finally:
            priced.close()
