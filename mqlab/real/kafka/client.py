"""What a program talks to: a broker at an address, and a notebook of what it answered.

A program says what it wants in its own names (`orders-0`, the transactional id `A`); on the
wire they get a prefix, so that many programs can use one broker. Each question is noted with
its answer in the wording of the engine's own messages, so a recording, a scenario's
narration and a live broker can be laid side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any

from ...kafka.log import ABORT, Batch
from ...kafka.messages import READ_COMMITTED as READ_COMMITTED
from ...kafka.messages import READ_UNCOMMITTED as READ_UNCOMMITTED
from ...kafka.messages import Fetch, FetchResponse, braces
from ...recordings.recording import Observation
from ..program import NotOffered
from .batches import read_batches
from .wire import MINUTE, Raw

PATIENCE_S = 15.0  # a server that sweeps for timeouts every 10 s is the slowest to wait for
PAUSE_S = 0.02
GROUP, TRANSACTION = 0, 1  # kinds of coordinators
TC, GC, ADMIN = "tc", "gc", "admin"
NOT_OFFERED = "not offered"

#: a client asks again after these (number → why is Kafka's own: Errors.java, retriable)
AGAIN = {
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_LEADER_OR_FOLLOWER",
    "LEADER_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS",
    "CONCURRENT_TRANSACTIONS",
    "UNSTABLE_OFFSET_COMMIT",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """A transaction.version of the cluster and a protocol of the client. The numbers are the
    request versions that make the difference. `produce`, `end_txn`, `txn_offset_commit`: versions
    of these requests."""

    name: str
    transaction_version: int
    produce: int
    end_txn: int
    txn_offset_commit: int

    @property
    def v2(self) -> bool:
        return self.end_txn >= 5


PROFILES = {
    "tv2": Profile("tv2", 2, produce=12, end_txn=5, txn_offset_commit=5),
    "tv2-legacy": Profile("tv2-legacy", 2, produce=11, end_txn=4, txn_offset_commit=4),
    "tv0": Profile("tv0", 0, produce=11, end_txn=4, txn_offset_commit=4),
}


@dataclass(frozen=True)
class Target:
    """A running broker. `address`: one or several "host:port" with commas. `index`: reads a
    partition's `.txnindex`, one line an entry; `control`: stops and starts it; `kafka`: the
    real one itself, whose files and tools a program may need. None where there is none."""

    broker: str
    address: str
    index: Callable[[str], list[str]] | None = None
    control: Any = None
    kafka: Any = None


@dataclass
class Lab:
    """One execution of one program. `target`: the broker; `profile`: the request versions;
    `prefix`: of all names on the wire, so that executions do not meet; `notes`: what was asked and
    answered; `clients`: client ids by name."""

    target: Target
    profile: Profile
    prefix: str = ""
    notes: list[Observation] = field(default_factory=list)
    clients: dict[str, str] = field(default_factory=dict)
    _open: dict[str, Raw] = field(default_factory=dict)
    _where: dict[str, str] = field(default_factory=dict)
    _offered: dict[int, tuple[int, int]] = field(default_factory=dict)

    def note(self, who: str, to: str, question: object, answer: object) -> None:
        self.notes.append(Observation(who, to, str(question), str(answer)))

    def need(self, api: int, version: int, question: str) -> None:
        """Raises NotOffered, with the question, where the broker does not know it."""
        if not self.offers(api, version):
            raise NotOffered(question)

    def close(self) -> None:
        for raw in self._open.values():
            raw.close()
        self._open.clear()

    # -- where to ask ----------------------------------------------------------------------

    def wire(self, name: str) -> str:
        """The name on the wire of a topic, an id or a group of this program."""
        return self.prefix + name

    def split(self, partition: str) -> tuple[str, int]:
        topic, _, index = partition.rpartition("-")
        return (topic if topic.startswith("__") else self.wire(topic)), int(index)

    def group_by_topic(self, partitions: Iterable[str]) -> dict[str, list[int]]:
        """The indexes of these partitions, by the topic's name on the wire."""
        topics: dict[str, list[int]] = {}
        for topic, index in map(self.split, partitions):
            topics.setdefault(topic, []).append(index)
        return topics

    def join(self, topic: str, index: int) -> str:
        """The inverse of `split`: a partition's name (`orders-0`), without the prefix."""
        return f"{topic.removeprefix(self.prefix)}-{index}"

    def raw(self, address: str = "") -> Raw:
        """The connection to a broker; the first one that can be had where none is named."""
        for where in [address] if address else self.target.address.split(","):
            if where in self._open:
                return self._open[where]
            try:
                self._open[where] = Raw(where)
                self.clients["kio"] = ""
                return self._open[where]
            except OSError:
                continue
        raise ConnectionError(f"nobody listens at {address or self.target.address}")

    def coordinator(self, key: str, kind: int) -> Raw:
        def find() -> str:
            node = self.ask_coordinator(key, kind)
            return f"{node.host}:{node.port}"

        return self._located(f"{kind} {key}", find)

    def ask_coordinator(self, key: str, kind: int) -> Any:
        """FindCoordinator's answer. Raises Moved where there is none yet."""
        node = self.raw().coordinator(self.wire(key), kind)
        if node.error_code.value:
            raise Moved(word(node.error_code))
        return node

    def leader(self, partition: str) -> Raw:
        topic, index = self.split(partition)

        def find() -> str:
            answer = self.raw().ask(3, 12, **Raw.metadata([topic]))
            nodes = {b.node_id: f"{b.host}:{b.port}" for b in answer.brokers}
            rows = [p for p in answer.topics[0].partitions if p.partition_index == index]
            # Any broker says of a partition that it does not exist.
            leader = rows[0].leader_id if rows else next(iter(nodes))
            if leader not in nodes:
                raise Moved("no leader")
            return nodes[leader]

        return self._located(partition, find)

    def _located(self, key: str, find: Callable[[], str]) -> Raw:
        single = "," not in self.target.address
        if key not in self._where:
            self._where[key] = self.target.address if single else self.patiently(find)
        return self.raw(self._where[key])

    def patiently(self, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer; brokers come and go meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask()
            except (OSError, EOFError, Moved):
                self.close()
                self._where.clear()
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_S)

    def again(self, ask: Callable[[], Any], error_of: Callable[[Any], str], once: bool) -> Any:
        """The answer; with `once` the first there is, else the first that is no reason to
        ask again."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.patiently(ask)
            if once or error_of(answer) not in AGAIN or time.monotonic() > deadline:
                return answer
            self._where.clear()
            time.sleep(PAUSE_S)

    def offers(self, api: int, version: int) -> bool:
        if not self._offered:
            self._offered = self.patiently(lambda: self.raw().ask_versions())
        low, high = self._offered.get(api, (0, -1))
        return low <= version <= high

    # -- topics and their logs -------------------------------------------------------------

    def topic(
        self, name: str, partitions: int = 1, on: tuple[int, ...] = (), **configs: str
    ) -> None:
        """Create a topic, and wait up to PATIENCE_S until each of its partitions can be read. Each
        is `on` the brokers with these numbers (the first leads), else on any one. `configs`:
        `retention_ms="-1"` is retention.ms. The answer is not noted; ValueError where the topic
        cannot be created."""
        assignments = [Row(partition_index=i, broker_ids=on) for i in range(partitions)]
        settings = tuple(Row(name=k.replace("_", "."), value=v) for k, v in configs.items())
        topic = Row(
            name=self.wire(name),
            num_partitions=-1 if on else partitions,  # -1: as the assignments say
            replication_factor=-1 if on else 1,
            assignments=tuple(assignments) if on else (),
            configs=settings,
        )
        answer = self.patiently(  # 19: CreateTopics
            lambda: self.raw().ask(19, 5, topics=(topic,), timeout=MINUTE, validate_only=False)
        )
        error = word(answer.topics[0].error_code)
        if error != "ok":
            raise ValueError(f"no topic {name}: {error} {answer.topics[0].error_message}")
        for index in range(partitions):
            # (`i=index`: each function keeps its own)
            self.wait_until(lambda i=index: self._there(f"{name}-{i}"), True)  # type: ignore[misc]

    def _there(self, partition: str) -> bool:
        return not self._fetched(partition, 0, False).error_code.value

    def wait_until(
        self, ask: Callable[[], Any], wanted: Any, patience_s: float = PATIENCE_S
    ) -> bool:
        """Ask until it is as wanted; False where it never is."""
        deadline = time.monotonic() + patience_s
        while ask() != wanted:
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    def _fetched(self, partition: str, offset: int, committed: bool) -> Any:
        """Send one Fetch for one partition to its leader, again after an error in AGAIN, such as
        while the leader moves; returns the partition's part of the answer, which has records, the
        high watermark, the LSO and an error code. `committed`: with read_committed."""
        topic, index = self.split(partition)
        part = Row(
            partition=index,
            current_leader_epoch=-1,  # of no known leader
            fetch_offset=offset,
            log_start_offset=-1,
            partition_max_bytes=1 << 20,
        )
        fields = {
            "replica_id": -1,  # a consumer
            "max_wait": timedelta(0),
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "isolation_level": int(committed),
            "session_id": 0,  # and epoch -1: without a fetch session
            "session_epoch": -1,
            "forgotten_topics_data": (),
            "rack_id": "",
            "topics": (Row(topic=topic, partitions=(part,)),),
        }

        def ask() -> Any:
            # request 1: Fetch, in version 11
            answer = self.leader(partition).ask(1, 11, **fields).responses[0].partitions[0]
            if word(answer.error_code) in AGAIN:
                raise Moved(partition)
            return answer

        return self.patiently(ask)

    def fetch(
        self, partition: str, offset: int = 0, isolation: str = READ_COMMITTED, who: str = "reader"
    ) -> list[Batch]:
        """One fetch: what comes, and the list of aborted transactions that comes with it."""
        answer = self._fetched(partition, offset, isolation == READ_COMMITTED)
        batches = tuple(read_batches(answer.records))
        code = answer.error_code
        response = FetchResponse(batches=batches) if not code.value else word(code)
        self.note(who, partition, Fetch(offset, isolation), response)
        if isolation == READ_COMMITTED and answer.aborted_transactions:
            rows = [
                f"pid={a.producer_id} from @{a.first_offset}" for a in answer.aborted_transactions
            ]
            self.note(who, partition, f"{Fetch(offset, isolation)} aborted", braces(tuple(rows)))
        return list(batches)

    def log(self, partition: str, end: int, dump: bool = True) -> None:
        """Wait until the log ends at `end` and everything in it is decided that will be, then
        note each batch, the frontiers and the index of aborted transactions."""
        self.wait_until(lambda: self._fetched(partition, 0, False).high_watermark >= end, True)
        answer = self._fetched(partition, 0, False)
        for batch in read_batches(answer.records) if dump else ():
            self.note("log", partition, _say_place(batch), _say_kind(batch))
        hw, lso = answer.high_watermark, answer.last_stable_offset
        self.note("log", partition, "frontiers", f"HW={hw} LSO={lso}")
        aborts = dump and any(batch.control == ABORT for batch in read_batches(answer.records))
        if self.target.index is not None and aborts:
            topic, index = self.split(partition)
            for entry in self.target.index(f"{topic}-{index}"):
                self.note("log", partition, "txnindex", entry)

    def end(self, partition: str) -> int:
        """The high watermark."""
        return int(self._fetched(partition, 0, False).high_watermark)

    def stable_end(self, partition: str) -> int:
        """The last stable offset."""
        return int(self._fetched(partition, 0, False).last_stable_offset)

    # -- what a real consumer makes of it --------------------------------------------------

    def read(self, partition: str, isolation: str = READ_COMMITTED) -> None:
        """An ordinary consumer (confluent-kafka) from the beginning to the end it is shown:
        what its application gets, and the position it ends at."""
        for message in self.consume(partition, isolation):
            value = "" if message.error() else (message.value() or b"").decode()
            record = f"{value or 'ends'} @{message.offset() or 0}"
            self.note("reader", partition, f"read {isolation}", record)

    def consume(self, partition: str, isolation: str, **settings: object) -> Iterator[Any]:
        """Yield what a confluent-kafka consumer polls from a partition's beginning to the end that
        it is shown. The last message is no record, but the event that says the end; TimeoutError
        where that does not come within PATIENCE_S. `settings` overrides the consumer's."""
        import confluent_kafka as ck

        self.clients["confluent-kafka"] = ""
        topic, index = self.split(partition)
        consumer = ck.Consumer(
            {
                "bootstrap.servers": self.target.address,
                "group.id": self.wire("readers"),
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "auto.offset.reset": "earliest",
                **settings,
            }
        )
        try:
            consumer.assign([ck.TopicPartition(topic, index, 0)])
            deadline = time.monotonic() + PATIENCE_S
            while time.monotonic() < deadline:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                # other errors are passed over: the client goes on by itself
                if message.error() is None:
                    yield message
                elif message.error().code() == ck.KafkaError._PARTITION_EOF:  # type: ignore
                    yield message
                    return
            raise TimeoutError(f"no end of {partition} in sight")
        finally:
            consumer.close()


class Moved(Exception):
    """The broker that was asked is not the one to ask, now."""


def word(code: Any) -> str:
    """`ok`, or the error's name."""
    return "ok" if not code.value else str(code.name).upper()


def _say_place(batch: Batch) -> str:
    return f"@{batch.base}" if batch.count == 1 else f"@{batch.base}-{batch.last}"


def _say_kind(batch: Batch) -> str:
    who = f" pid={batch.pid} epoch={batch.epoch}" if batch.pid >= 0 else ""
    if batch.control:
        again = f" coordinatorEpoch={batch.coordinator_epoch}" if batch.coordinator_epoch else ""
        return f"{batch.control}{who}{again}"
    seq = f" seq={batch.first_seq}" if batch.pid >= 0 else ""
    kind = "transactional" if batch.transactional else "plain"
    return f"{batch.words}: {kind}{who}{seq}"
