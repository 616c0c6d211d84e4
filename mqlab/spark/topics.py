"""Topics: the few things the job asks of a broker, each with an end: nothing waits for ever.

Only the public Kafka protocol through confluent-kafka, and of it only a small part: topics are
created and listed, records produced (idempotently or in a transaction), consumed by `assign()`
from a given offset, offsets looked up by time, and a group's offsets committed in a transaction
and read back. There is no group membership and so no rebalance: the job's positions are Spark's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
)

from .. import places
from .errors import CannotResume, IncomeError
from .orders import TOO_EARLY, TOO_LATE, floor_minute, minute_ms, minute_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A broker on the same machine answers in milliseconds, a restarting one within ten seconds.
TIMEOUT_S = 15.0
CHUNK = 10_000  # messages asked for at once

# Beyond every order's time; a limit of Kafka may be larger than a calendar reaches.
FOREVER_MS = minute_ms("9998-12-31 23:59")

T = TypeVar("T")

QUIET: dict[str, Any] = {
    # librdkafka writes to the process's stderr by itself; what matters comes back as an error.
    "log_level": 0,
    "socket.timeout.ms": 10_000,
    "reconnect.backoff.max.ms": 1_000,
    # Otherwise it forgets every broker it knew when all of them are away, and a call that was to
    # ask one of them (sendOffsetsToTransaction) waits for ever: librdkafka #5511, with 2.16.0.
    "metadata.recovery.strategy": "none",
}


class Out(NamedTuple):
    """One message for topic Income or Dead; `stamp_ms` in milliseconds since 1970 UTC."""

    key: str
    value: bytes
    stamp_ms: int
    dead: bool = False


def partition_of(key: str, partitions: int) -> int:
    """Where a key belongs. Our own rule, so that every client and every run agrees."""
    return zlib.crc32(key.encode()) % partitions


def unreachable(address: str) -> IncomeError:
    return IncomeError(
        "the broker at {} does not answer: restart it (or name another with "
        "--bootstrap-server) and run the command again with the same --checkpoint; the "
        "job continues where it stopped",
        address,
    )


@contextmanager
def broker_errors(address: str) -> Iterator[None]:
    """Turns the client's errors into one line that says what to do."""
    try:
        yield
    except (KafkaException, SystemError) as error:
        # 2.16.1 calls a report while its own fatal error is being raised: SystemError, caused by it
        cause = error.__cause__ if isinstance(error, SystemError) else error
        if not isinstance(cause, KafkaException):
            raise
        raise explain_error(cause, address) from error


# How the client names it when no broker answers; the other errors are answers that say no.
GONE = re.compile(r"code=_(TRANSPORT|ALL_BROKERS_DOWN|TIMED_OUT|MSG_TIMED_OUT|RESOLVE)\b")


def explain_error(error: KafkaException, address: str) -> IncomeError:
    """Turn an error of Kafka's client into one that says in a line what to do. Every KafkaException
    has a KafkaError as its first argument."""
    if GONE.search(str(error)):
        return unreachable(address)
    if error.args[0].code() in (KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD):
        return IncomeError(
            "the broker at {} accepts no record with such a time ({}): check its "
            "message.timestamp.before.max.ms and message.timestamp.after.max.ms, and "
            "both machines' clocks",
            address,
            error.args[0].str(),
        )
    return IncomeError(
        "the broker at {} refused: {}; nothing is lost: run the command again with the same "
        "--checkpoint, and if it refuses again, first change what it names (a limit, a right)",
        address,
        error.args[0].str(),
    )


def answers(address: str, timeout_s: float = 5.0) -> bool:
    """Whether a broker is there."""
    client = AdminClient({**QUIET, "bootstrap.servers": address})
    try:
        client.list_topics(timeout=timeout_s)
    except KafkaException:
        return False
    return True


def partitions_of(address: str, topic: str) -> int:
    """How many partitions the topic has; 0 where there is no such topic."""
    client = AdminClient({**QUIET, "bootstrap.servers": address})
    metadata = client.list_topics(timeout=TIMEOUT_S).topics.get(topic)
    return len(metadata.partitions) if metadata is not None and metadata.error is None else 0


class Span(NamedTuple):
    """The times of records that a broker takes, ms since 1970 UTC, and the limits they come from:
    milliseconds before and after the broker's own time."""

    earliest_ms: int
    latest_ms: int
    before_ms: int
    after_ms: int

    def refuse(self, stamp_ms: int, written: str) -> str:
        """Why this time, `written` so in the file, is not taken, in English; empty where it is."""
        if stamp_ms > self.latest_ms:
            last, limit = minute_text(self.latest_ms), f"after.max.ms={self.after_ms}"
            return TOO_LATE(written, last, limit).en
        if stamp_ms < self.earliest_ms:
            first, limit = minute_text(self.earliest_ms), f"before.max.ms={self.before_ms}"
            return TOO_EARLY(written, first, limit).en
        return ""


ANY = Span(0, FOREVER_MS, 0, 0)


def read_span(address: str) -> Span:
    """The span of timestamps that the cluster accepts at this moment, from the settings
    `log.message.timestamp.{before,after}.max.ms` of its first broker; no limits where these may not
    be read.

    Kafka (3.6 and later; `LogValidator.validateTimestamp`) refuses a record beyond them, with the
    whole batch around it. The span ends before the minute that holds the limit, as the closing
    record is at the start of the minute after the last order.
    """
    now_ms = int(time.time() * 1000)
    client = AdminClient({**QUIET, "bootstrap.servers": address})
    broker_id = min(client.list_topics(timeout=TIMEOUT_S).brokers)
    resource = ConfigResource(ConfigResource.Type.BROKER, str(broker_id))
    try:
        settings = client.describe_configs([resource], request_timeout=TIMEOUT_S)[resource].result()
    except KafkaException:  # not permitted, or no answer: no limits are known
        settings = {}
    name = "log.message.timestamp.{}.max.ms"
    before, after = (
        int(entry.value) if (entry := settings.get(name.format(side))) else FOREVER_MS
        for side in ("before", "after")
    )
    latest = min(floor_minute(now_ms + after) - 1, FOREVER_MS)
    return Span(max(now_ms - before, 0), latest, before, after)


def create(address: str, topic: str, partitions: int) -> None:
    """Make the topic unless it is there, and wait until it has so many partitions, each with a
    leader. Raises IncomeError where that takes longer than TIMEOUT_S, KafkaException where the
    broker refuses.

    Records keep the stamps of 2011, so retention by time is off: with Kafka's default of seven
    days the broker would delete them as old.
    """
    client = AdminClient({**QUIET, "bootstrap.servers": address})
    wish = NewTopic(topic, partitions, config={"retention.ms": "-1"})
    try:
        futures = client.create_topics(
            [wish], operation_timeout=TIMEOUT_S, request_timeout=TIMEOUT_S
        )
        futures[topic].result(TIMEOUT_S + 5)  # the client answers by itself before that
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise

    deadline = time.monotonic() + TIMEOUT_S
    while not _led(client, topic, partitions):
        if time.monotonic() > deadline:
            raise IncomeError(
                "topic {} has no leader for {} partitions after {:.0f} s: read the "
                "broker's log, or start with a fresh --checkpoint",
                topic,
                partitions,
                TIMEOUT_S,
            )
        time.sleep(0.02)


def _led(client: AdminClient, topic: str, partitions: int) -> bool:
    metadata = client.list_topics(timeout=TIMEOUT_S).topics.get(topic)
    return (
        metadata is not None
        and len(metadata.partitions) == partitions
        and all(part.leader >= 0 for part in metadata.partitions.values())
    )


# A broker that has just made a topic, or has just come back, says these for a moment.
_SOON = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
}


def patiently(ask: Callable[[], T]) -> T:
    """Ask again while the broker says "not yet", for at most `TIMEOUT_S`."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in _SOON or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def consumer(address: str, group: str = "mqlab", **config: Any) -> Consumer:
    """A consumer that reads where `assign()` has put it: read_committed, unless `config`, settings
    of confluent-kafka that come before these, says otherwise. `group`: the group whose positions it
    reads or commits. It reports the end of a partition as a message with an error."""
    return Consumer(
        QUIET
        | {
            "bootstrap.servers": address,
            "client.id": "reader",
            "group.id": group,  # the client demands one; without `subscribe` nothing joins it
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            # An offset the broker no longer has is an error, never a silent jump.
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 50,
            # Every look at one record fills the small queue; the default pause after that is 1 s.
            "fetch.queue.backoff.ms": 5,
        }
        | config
    )


def producer(address: str, **config: Any) -> Producer:
    """A writer that waits for all replicas and gives up after `TIMEOUT_S`."""
    defaults = {
        "bootstrap.servers": address,
        "client.id": "income job",
        "acks": "all",
        "linger.ms": 5,
        "message.timeout.ms": int(TIMEOUT_S * 1000),
        "queue.buffering.max.messages": 100_000,
    }
    return Producer(QUIET | defaults | config)


def send(
    client: Producer,
    topic: str,
    value: bytes,
    key: str | bytes | None,
    partition: int,
    stamp_ms: int,
    delivery: Delivery,
) -> None:
    """Produce one record to the partition, with `stamp_ms` as its time; waits for room where the
    client's queue is full. `delivery` collects what the broker reports."""
    while True:
        try:
            # twice `delivery`: `callback` and `on_delivery` are two parameters for the same
            client.produce(topic, value, key, partition, delivery, delivery, stamp_ms)
            return
        except BufferError:
            client.poll(0.1)


def flush(client: Producer) -> None:
    """Wait until every message has its answer. Raises KafkaException if one stays without."""
    if client.flush(TIMEOUT_S):
        raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT, "messages without an answer"))


class Delivery:
    """Collects what is reported to a producer about its messages: `on_delivery=delivery`."""

    def __init__(self) -> None:
        self.error: KafkaError | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        self.error = self.error or error

    def check(self) -> None:
        if self.error is not None:
            raise KafkaException(self.error)


def read(client: Consumer, topic: str, partition: int, start: int, end: int) -> Iterator[Message]:
    """The records of one partition with `start <= offset < end`, in order.

    Fewer come where the log has markers or aborted records; the end of the partition ends it too.
    Raises KafkaException, also where nothing comes for `TIMEOUT_S`.
    """
    for chunk in read_chunks(client, topic, partition, start, end):
        yield from chunk


def read_chunks(
    client: Consumer, topic: str, partition: int, start: int, end: int
) -> Iterator[list[Message]]:
    """Yield the records of a partition at `start <= offset < end` that the client's isolation level
    lets through, in lists of up to `CHUNK`; the end of the partition ends it too. Raises
    KafkaException where none comes for TIMEOUT_S, CannotResume where they were deleted."""
    client.assign([TopicPartition(topic, partition, start)])
    at, deadline = start, time.monotonic() + TIMEOUT_S
    while at < end:  # `at` is the next offset to read
        batch = client.consume(min(CHUNK, end - at), timeout=0.05)
        records = [message for message in batch if message.error() is None]
        if records:
            at = (records[-1].offset() or 0) + 1  # `or 0`: for the type, which allows None
            deadline = time.monotonic() + TIMEOUT_S
            # (after a gap a record beyond `end` may come)
            if within := [m for m in records if (m.offset() or 0) < end]:
                yield within
        # some messages are errors, which `_at_end` raises, or the end
        if len(records) < len(batch) and _at_end(batch):
            return
        if time.monotonic() > deadline:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic} [{partition}] @{at}"))


def _at_end(batch: list[Message]) -> bool:
    """Whether a consumed batch has the message that the partition has ended. Raises KafkaException
    for an error that stays, CannotResume where the log no longer has the offset."""
    for error in (message.error() for message in batch):
        if error is None:
            continue
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise CannotResume(
                "records that must be read again were deleted by the topic's retention: "
                "start with fresh topics and a fresh --checkpoint, and keep records "
                "longer than the longest outage"
            )
        if not error.retriable() and error.code() not in _PASSING:
            raise KafkaException(error)
    return False


# The client reports these and goes on trying by itself; the deadline above ends it.
_PASSING = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)


def bounds(client: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """First offset, and the offset after the last record a reader of committed data may see."""
    where = TopicPartition(topic, partition)
    return patiently(lambda: client.get_watermark_offsets(where, timeout=TIMEOUT_S, cached=False))


def at_offset(client: Consumer, topic: str, partition: int, offset: int) -> Message | None:
    """The record at `offset`, or the next one there is; None at the end."""
    # first this one alone, so that no more is read where it is there, as nearly always
    for end in (offset + 1, 1 << 62):
        for found in read(client, topic, partition, offset, end):
            return found  # (a record without a value is false: its length is 0)
    return None


def offsets_for_time(
    client: Consumer, topic: str, partitions: Sequence[int], at_ms: int
) -> dict[int, int]:
    """Partition → offset of the first record stamped `at_ms` or later; -1 where there is none."""
    wanted = [TopicPartition(topic, partition, at_ms) for partition in partitions]
    entries = patiently(lambda: _checked(client.offsets_for_times(wanted, timeout=TIMEOUT_S)))
    return {entry.partition: entry.offset for entry in entries}


def fetch_offsets(client: Consumer, topic: str, partitions: int) -> list[TopicPartition]:
    """The group's offset and metadata on every partition, once no transaction may change them."""
    wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
    return patiently(lambda: _checked(client.committed(wanted, timeout=TIMEOUT_S)))


def _checked(entries: list[TopicPartition]) -> list[TopicPartition]:
    for entry in entries:
        if entry.error is not None:
            raise KafkaException(entry.error)
    return entries


def delete_before(address: str, topic: str, offsets: Sequence[int]) -> None:
    """DeleteRecords: in each partition everything before this offset. Raises KafkaException."""
    client = AdminClient({**QUIET, "bootstrap.servers": address})
    wish = [TopicPartition(topic, partition, at) for partition, at in enumerate(offsets)]
    for done in client.delete_records(wish, operation_timeout=TIMEOUT_S).values():
        done.result(TIMEOUT_S + 5)


def read_values(address: str, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """The value of every committed record of a topic, partition by partition; with
    `read_uncommitted` also of those whose transaction is open or was aborted."""
    client = consumer(address, **{"isolation.level": isolation})
    try:
        values: list[bytes] = []
        for partition in range(partitions_of(address, topic)):
            low, high = bounds(client, topic, partition)
            records = read(client, topic, partition, low, high)
            values += [record.value() or b"" for record in records]
        return values
    finally:
        client.close()


# ---- Spark's own Kafka connector, for comparison only: the job does not need it ------
#
# PySpark does not bring it, and for Spark 4.3 none is published (2026-11). The one of Spark 4.2.0
# works with 4.3.0 (reads in both isolation levels and writes, against Kafka 4.3.1 and against the
# engine, were equal). Four jars are taken one by one from Maven, without what they would pull in:
# Spark has the rest.

CACHE = places.CACHE / "spark-kafka"
JARS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def jars() -> list[Path]:
    """The four jars; nothing unless all have been fetched."""
    paths = [CACHE / f"{name}-{version}.jar" for _, name, version in map(_parts, JARS)]
    return paths if all(path.is_file() for path in paths) else []


def _parts(jar: str) -> list[str]:
    return jar.split(":")


def fetch() -> list[Path]:
    """The four jars of Spark's Kafka connector, downloaded with Maven unless all are there. Raises
    IncomeError where that is not possible."""
    if present := jars():
        return present
    maven = shutil.which("mvn")
    if maven is None:
        raise IncomeError(
            "Spark's own Kafka sink consists of four jars that Maven downloads: install "
            "maven (Debian: apt-get install maven)"
        )
    CACHE.mkdir(parents=True, exist_ok=True)
    for jar in JARS:
        done = subprocess.run(
            [maven, "-q", "-B", "dependency:copy", f"-Dartifact={jar}",
             f"-DoutputDirectory={CACHE}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            line = (done.stdout.strip().splitlines() or ["nothing"])[0]
            raise IncomeError(
                "Maven could not download {}: {}; try again with a network", jar, line
            )
    return jars()


def _load(spark: SparkSession) -> None:
    """Into a session that was started before the jars were there. `ADD JAR` makes the classes
    known to the thread that runs it, which is the one that writes."""
    if "spark-sql-kafka" not in (spark.conf.get("spark.jars", "") or ""):
        for path in fetch():
            spark.sql(f"ADD JAR '{path}'")


def write(
    spark: SparkSession, address: str, topic: str, partitions: int, out: Sequence[Out]
) -> None:
    """Write messages to a topic with Spark's own Kafka writer, each to the partition of its key
    (`partition_of`), without its time."""

    if not out:
        return
    _load(spark)
    rows = [(m.key, bytes(m.value), partition_of(m.key, partitions)) for m in out]
    (
        spark.createDataFrame(rows, "key string, value binary, partition int")
        .write.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("topic", topic)
        .save()
    )
