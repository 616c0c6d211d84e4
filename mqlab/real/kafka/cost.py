"""What a transaction costs a real Kafka: requests behind a proxy, batches in its segment files.

The broker advertises the proxy's address, so the requests it sends to itself (AddPartitionsToTxn of
a leader to the coordinator, WriteTxnMarkers of the coordinator to the leaders) pass there as well;
those to the controller do not, and are not counted. WriteTxnMarkers are held until the client's
last answer has been counted.

Source of the layout of a batch: org.apache.kafka.common.record.DefaultRecordBatch (base offset 8
bytes, length 4 bytes).
"""

from __future__ import annotations

import struct
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kio.index import load_request_schema

from ..costs import OTHERS
from ..counting import Flushes, Namer, Proxy
from .broker import RealKafka
from .client import PROFILES, Lab, Target
from .producer import Producer

MARKERS = "WriteTxnMarkers"
COORDINATOR, PARTITIONS = "coordinator's log", "partitions' logs"
PREFIX = "cost"
QUIET_S = 1.0
BATCH = struct.Struct(">qi")


def make_namer() -> Namer:
    """Names requests by their key, and an answer by the request of its correlation id."""
    asked: dict[int, str] = {}

    def name(frame: bytes, up: bool) -> str:
        if not up:
            return asked.pop(struct.unpack_from(">i", frame)[0], "unasked")
        key, version, corr = struct.unpack_from(">hhi", frame)
        words = load_request_schema(key, version).__name__.removesuffix("Request")
        return asked.setdefault(corr, words)

    return name


def count_batches(segment: bytes) -> int:
    """The batches in a segment file; a last one that is not whole does not count."""
    count = at = 0
    while at + BATCH.size <= len(segment):
        at += BATCH.size + BATCH.unpack_from(segment, at)[1]
        count += at <= len(segment)
    return count


def place_of(path: str) -> str:
    """Whose file it is, by the folder of its partition."""
    folder = Path(path).parent.name
    if folder.startswith("__transaction_state"):
        return COORDINATOR
    return PARTITIONS if folder.startswith(PREFIX) else OTHERS


@dataclass
class PricedKafka:
    kafka: RealKafka
    proxy: Proxy
    broker: str
    settings: dict[str, str] = field(default_factory=dict)
    _lab: Lab | None = None
    _app: Producer | None = None
    _size: tuple[int, int] = (0, 0)
    _round: int = 0

    def watch(self) -> Flushes:
        node = self.kafka.nodes[0]
        return Flushes(node.process.pid, place_of, node.folder)

    def prepare(self, partitions: int, orders: int) -> None:
        self.close()
        self._round += 1
        self._size = partitions, orders
        target = Target(self.broker, self.proxy.address)
        self._lab = Lab(target, PROFILES["tv2"], f"{PREFIX}{self._round}.")
        self._lab.topic("orders", partitions)
        self._app = Producer(self._lab, "app")
        self._app.init()
        self._settle()

    def tell(self) -> None:
        assert self._app is not None
        partitions, orders = self._size
        self.proxy.hold(MARKERS)
        for i in range(orders):
            self._app.produce(f"orders-{i % partitions}", f"T{i + 1}")
        self._app.commit()
        self.proxy.wait_for_held(MARKERS)

    def forget(self) -> None:
        self.proxy.hold()
        self._settle()

    def writes(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for path in self.kafka.nodes[0].data.glob("*/*.log"):
            found[place_of(str(path))] += count_batches(path.read_bytes())
        del found[OTHERS]
        return found

    def close(self) -> None:
        if self._lab is not None:
            self._lab.close()

    def _settle(self) -> None:
        """Until nothing has been written or said for a while."""
        seen = None
        while seen != (now := (self.writes(), self.proxy.counts())):
            seen = now
            time.sleep(QUIET_S)


@contextmanager
def open_priced(version: str) -> Iterator[PricedKafka]:
    with Proxy(make_namer) as proxy, RealKafka(version, front=proxy.front) as kafka:
        priced = PricedKafka(kafka, proxy, f"kafka-{version}")
        try:
            yield priced
        finally:
            priced.close()
