"""What a transaction costs a real Kafka: requests behind a proxy, batches in its segment files.

The broker advertises the proxy's address, so the requests it sends to itself (AddPartitionsToTxn of
a leader to the coordinator, WriteTxnMarkers of the coordinator to the leaders) pass there as well;
those to the controller do not, and are not counted, and neither is what a reader fetches.
WriteTxnMarkers are held until the client's last answer has been counted, and their answers until a
reader of committed messages has every order.

Source of the layout of a batch: org.apache.kafka.common.record.DefaultRecordBatch (base offset 8
bytes, length 4 bytes).
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any

from kio.index import load_request_schema

from mqlab.places import PACKAGE
from mqlab.real.kafka.broker import RealKafka
from mqlab.real.kafka.client import PROFILES, Lab, Target
from mqlab.real.kafka.wire import MINUTE, Raw
from mqlab.recordings.costs import FORGOTTEN, OTHERS, SEEN, TOLD
from tests.oracle.counting import Flushes, Namer, Proxy
from tests.oracle.kafka.producer import Producer
from tests.oracle.measuring import PREFIX, Priced

MARKERS = "WriteTxnMarkers"
COORDINATOR, PARTITIONS = "coordinator's log", "partitions' logs"
#: what a reader asks, as often as it likes
READING = "Fetch"
BATCH = struct.Struct(">qi")


def make_namer() -> Namer:
    """Names requests by their key, and an answer by the request of its correlation id."""
    requests: dict[int, str] = {}

    def name(frame: bytes, up: bool) -> str:
        if not up:
            return requests.pop(struct.unpack_from(">i", frame)[0], "unasked")
        key, version, corr = struct.unpack_from(">hhi", frame)
        words = load_request_schema(key, version).__name__.removesuffix("Request")
        return requests.setdefault(corr, "" if words == READING else words)

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


class PricedKafka(Priced):
    def __init__(self, kafka: RealKafka, proxy: Proxy) -> None:
        super().__init__(proxy, f"kafka-{kafka.version}")
        self.kafka = kafka
        self._lab: Lab | None = None

    def watch(self) -> Flushes:
        node = self.kafka.nodes[0]
        return Flushes(node.process.pid, place_of, node.folder)

    def open(self, prefix: str, partitions: int) -> None:
        target = Target(self.broker, self.proxy.address)
        self._lab = Lab(target, PROFILES["tv2"], prefix)
        self._lab.topic("orders", partitions)
        self._app = Producer(self._lab, "app")
        self._app.init()

    def perform(self, partitions: int, orders: int) -> Iterator[str]:
        self.proxy.hold(MARKERS)
        for i in range(orders):
            self._app.produce(f"orders-{i % partitions}", f"T{i + 1}")
        self._app.commit()
        self.proxy.wait_for_held(MARKERS)
        yield TOLD
        self.proxy.hold(MARKERS, answers=True)
        self.wait_for_reader(lambda: self._count_read(partitions), orders)
        yield SEEN
        self.proxy.hold()
        self.settle()
        yield FORGOTTEN

    def _count_read(self, partitions: int) -> int:
        """The orders that a reader of committed messages gets now."""
        assert self._lab is not None
        logs = [self._lab.fetch(f"orders-{at}") for at in range(partitions)]
        return sum(batch.count for log in logs for batch in log if not batch.control)

    def writes(self) -> Counter[str]:
        batches: Counter[str] = Counter()
        for path in self.kafka.nodes[0].data.glob("*/*.log"):
            batches[place_of(str(path))] += count_batches(path.read_bytes())
        del batches[OTHERS]
        return batches

    def close(self) -> None:
        if self._lab is not None:
            self._lab.close()


@contextmanager
def open_priced(version: str) -> Iterator[PricedKafka]:
    with Proxy(make_namer) as proxy, RealKafka(version, front=proxy.front) as kafka:
        priced = PricedKafka(kafka, proxy)
        try:
            yield priced
        finally:
            priced.close()


# ---- The configurations a real broker knows: names, types, defaults, documentation
#
#     python -m tests.oracle.kafka.cost ADDRESS
#
# asks a fresh broker of the pinned version for all configs of a topic and for `SHOWN` of its own
# and writes `mqlab/serve/kafka/front/configs.tsv`, from which this project's server answers the
# same question. One config a line: scope, name, type, "r" where it is read-only, default, synonyms,
# documentation; "\N" is no value.
#
# Source: DescribeConfigs v4 of Kafka 4.3.1, whose documentation texts are Apache Kafka's
# (Apache License 2.0).

TABLE = PACKAGE / "serve" / "kafka" / "front" / "configs.tsv"
TOPIC, BROKER = 2, 4  # kinds of resources (ConfigResource.Type)
DEFAULT = 5  # where a value comes from (DescribeConfigsResponse.ConfigSource)
#: a broker's configs by which this project's server does something
SHOWN = frozenset(
    {
        "compression.gzip.level", "compression.type", "compression.zstd.level",
        "log.message.timestamp.after.max.ms", "log.message.timestamp.before.max.ms",
        "log.message.timestamp.type", "message.max.bytes", "min.insync.replicas",
        "transaction.partition.verification.enable",
    }
)  # fmt: skip
NONE = "\\N"


def describe_configs(raw: Raw, kind: int, name: str) -> list[Any]:
    """Every config of a resource with synonyms and documentation, by name."""
    resource = Row(resource_type=kind, resource_name=name, configuration_keys=None)
    answer = raw.ask(
        32, 4, resources=(resource,), include_synonyms=True, include_documentation=True
    )
    return sorted(answer.results[0].configs, key=lambda config: str(config.name))


def line(scope: str, config: Any) -> str:
    """One config as a line of the table, as it would be had nobody set it."""
    defaults = [s for s in config.synonyms if s.source == DEFAULT]
    flags = "r" if config.read_only else ""
    synonyms = ";".join(f"{s.name}={_text(s.value)}" for s in defaults)
    words = " ".join((config.documentation or "").split())
    fields = (
        scope,
        config.name,
        str(config.config_type),
        flags,
        _text(config.value),
        synonyms,
        words,
    )
    return "\t".join(fields)


def _text(value: str | None) -> str:
    return NONE if value is None else value


def table(address: str) -> str:
    """All lines: of a topic, then of the broker."""
    topic = "configs-of-a-topic"
    with Raw(address) as raw:
        fields = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
        raw.ask(19, 5, topics=(Row(name=topic, **fields),), timeout=MINUTE, validate_only=False)
        while not (rows := describe_configs(raw, TOPIC, topic)):
            pass
        lines = [line("topic", config) for config in rows]
        own = describe_configs(raw, BROKER, "1")
        lines += [line("broker", config) for config in own if config.name in SHOWN]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(sys.argv[1]), "utf-8")
