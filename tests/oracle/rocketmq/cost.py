"""What transactional messages cost a real RocketMQ: requests behind a proxy, and records in its
commit log.

The producer ends a transaction as released clients do, by a one-way request; the last one is held
on its way to the broker until the client has been told. The shop's row is in no broker, so what it
costs is not counted here. The op batch, which RocketMQ writes after 3 s at most
(transactionOpBatchInterval), is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from mqlab.real.rocketmq.broker import RealRocketMQ
from mqlab.recordings.costs import FORGOTTEN, OTHERS, SEEN, TOLD
from mqlab.rocketmq.config import HALF_TOPIC, OP_TOPIC
from mqlab.rocketmq.remoting import RequestCode, decode_command, decode_record

from ..counting import Flushes, Namer, Proxy
from ..measuring import Priced
from .client import COMMIT, PROFILES, Lab, Producer, Target

#: what the engine calls the same
NAMES = {
    RequestCode.HEART_BEAT: "Heartbeat",
    RequestCode.SEND_MESSAGE_V2: "SendMessage",
    RequestCode.END_TRANSACTION: "EndTransaction",
    RequestCode.PULL_MESSAGE: "",  # a reader asks as often as it likes
}
END = NAMES[RequestCode.END_TRANSACTION]
HALVES, OPS, QUEUES, LOG = "half topic", "op topic", "topics' queues", "commit log"


def make_namer() -> Namer:
    """Names requests by their code, an answer by the request of its number; either side asks."""
    requests: dict[tuple[bool, int], str] = {}

    def name(frame: bytes, up: bool) -> str:
        command = decode_command(frame)
        if command.is_response:
            return requests.pop((not up, command.opaque), "unasked")
        words = NAMES.get(command.code, f"request {command.code}")  # type: ignore[call-overload]
        return requests.setdefault((up, command.opaque), words)

    return name


def count_records(log: bytes) -> Counter[str]:
    """The records of a file of the commit log, by topic."""
    records: Counter[str] = Counter()
    at = 0
    while at + 4 <= len(log) and int.from_bytes(log[at : at + 4], "big"):
        record, at = decode_record(log, at)
        topics = {HALF_TOPIC: HALVES, OP_TOPIC: OPS}
        records[topics.get(record.topic, QUEUES)] += 1
    return records


def place_of(path: str) -> str:
    return LOG if "/commitlog/" in path else OTHERS


class PricedRocketMQ(Priced):
    def __init__(self, rocketmq: RealRocketMQ, proxy: Proxy) -> None:
        super().__init__(proxy, f"rocketmq-{rocketmq.version}")
        self.rocketmq = rocketmq
        self._lab: Lab | None = None

    def watch(self) -> Flushes:
        return Flushes(self.rocketmq.pid, place_of, self.rocketmq.folder)

    def open(self, prefix: str, partitions: int) -> None:
        target = Target(self.broker, self.proxy.address, self.rocketmq, self.rocketmq.version)
        self._lab = Lab(target, PROFILES["5.5"], prefix)
        self._lab.topic("orders", partitions)
        self._app = Producer(self._lab)

    def perform(self, partitions: int, orders: int) -> Iterator[str]:
        self._app.start()
        for i in range(orders):
            half = self._app.send(f"orders-{i % partitions}", f"T{i + 1}")
            if i == orders - 1:
                self.settle()
                self.proxy.hold(END, counted=True)
            fields = self._app.end_fields(half, COMMIT, False, {})
            self._app.connection.begin(RequestCode.END_TRANSACTION, oneway=True, **fields)
        self.proxy.wait_for_held(END)
        yield TOLD
        self.proxy.hold()
        self.wait_for_reader(lambda: self._count_read(partitions), orders)
        yield SEEN
        self.settle()
        self.rocketmq.write_ops()
        self.settle()
        yield FORGOTTEN

    def _count_read(self, partitions: int) -> int:
        """The orders that a reader of all queues gets now."""
        assert self._lab is not None
        return sum(len(self._lab.pull("orders", at)) for at in range(partitions))

    def writes(self) -> Counter[str]:
        files = (self.rocketmq.folder / "store" / "commitlog").glob("*")  # none before the first
        return sum((count_records(path.read_bytes()) for path in files), Counter[str]())

    def close(self) -> None:
        if self._lab is not None:
            self._lab.close()


@contextmanager
def open_priced(version: str) -> Iterator[PricedRocketMQ]:
    with Proxy(make_namer) as proxy, RealRocketMQ(version) as rocketmq:
        proxy.front(rocketmq.address)
        priced = PricedRocketMQ(rocketmq, proxy)
        try:
            yield priced
        finally:
            priced.close()
