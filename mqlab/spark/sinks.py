"""Ways to hand a micro-batch to Kafka. Only `ExactlyOnce` is exactly once.

Spark calls a sink after `offsets/N` is on disk and before `commits/N` is. If the driver dies in
between, it calls the sink again with the same batch, so *at least once* is the best Spark can do
by itself; what is written twice is for the sink to prevent.

1. AtLeastOnce: rows are produced and acknowledged. Any death after the first row doubles rows.
2. Transactions: all rows of the batch or none. A death *inside* the sink is healed: the restarted
   query fences the old producer and its half-written transaction is aborted. A death between the
   commit and `commits/N` still doubles the whole batch: **a transaction alone is not exactly
   once**, because the progress is not in it.
3. ExactlyOnce: the same transaction also holds the number of the batch, the *progress record*.
   It takes five steps, and the order matters:

       fence → read the progress → decide → write rows and progress → commit

   Fence first, or a driver that was only slow could commit after the progress was read. Then

       progress == batch        this batch is in: it is a replay, skip it
       progress == batch - 1    (or no progress record at batch 0) write it
       anything else            stop: sink and checkpoint disagree

   The last rule turns a lost checkpoint, which would otherwise skip or double silently, into an
   error. Every batch commits a transaction, one without rows too, so the numbers have no gaps.

4. TwoPhase (two_phase.py): pre-commit, checkpoint, commit, as Flink's; sinks into a database are
   in databases.py.

5. SparksOwn: `format("kafka")`, Spark's own sink, beside the others for comparison. It needs
   Spark's Kafka connector (connector.py) and is at least once.

The progress record travels as the metadata of the group's offsets
(`send_offsets_to_transaction`), on every partition of topic Order: it is found again with one
request (`committed()`), and tools that show a group's lag show this query's.

Always run the DataFrame, and once: a stateful query whose sink returns early, the widespread
`if batch <= last: return`, does not commit its state and never gets past that batch (Spark 4).

Left out: rows go through the driver. That is right for one row per minute; for an output as large
as the input each task would commit a transaction of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from . import checkpoint, topics
from .errors import IncomeError
from .kills import NEVER, Kill, Point
from .topics import Out

Encode = Callable[[Mapping[str, Any]], Out]
Rule = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a query's output goes and what it is called.

    `query` is a fixed name, not Spark's random id: a checkpoint that was deleted must meet the
    progress of the one before it.
    """

    address: str
    query: str
    source: str  # topic Order
    topic: str  # topic Income
    partitions: int
    dead: str  # topic Dead, of one partition
    checkpoint: Path

    @property
    def group(self) -> str:
        """The consumer group whose offsets carry the progress record; also the transactional id."""
        return f"spark-{self.query}"


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a batch: how many rows, and whether they were written or were there."""

    batch: int
    rows: int
    written: bool
    until: str


class Sink:
    """The common shape of the three, called by Spark once a batch: `foreachBatch(sink)`. `rule`
    stands in for the rule of a sink that has one; a lab puts a learner's in its place."""

    transactional = False

    def __init__(
        self, target: Target, encode: Encode, kill: Kill = NEVER, rule: Rule | None = None
    ) -> None:
        self.target, self.encode, self.kill, self.rule = target, encode, kill, rule
        self.client: Any = None  # what the rows go through, once it is open
        self.delivery = topics.Delivery()
        self.log: list[Done] = []
        self.error: Exception | None = None
        self.spark: Any = None  # the session, from the first batch on

    def __call__(self, df: Any, batch: int) -> None:
        """Runs `df` once, whatever is decided afterwards. An error is kept for the caller,
        because Spark hands on only its text."""
        try:
            out = [self.encode(row) for row in df.toArrow().to_pylist()]
            self.spark = df.sparkSession
            written = self.put(batch, out)
        except Exception as error:
            self.error = error
            raise
        until = checkpoint.cut_of(self.target.checkpoint, batch).to_json()["until"]
        self.log.append(Done(batch, len(out), written, str(until)))

    def put(self, batch: int, out: Sequence[Out]) -> bool:
        """Hand over one batch; False where it was there already."""
        if not self.begin(batch):
            return False
        self.kill.at(Point.BEFORE, batch)
        half = len(out) // 2
        self.write(out[:half])
        self.kill.at(Point.HALF, batch)
        self.write(out[half:])
        self.kill.at(Point.OUT, batch)
        self.commit(batch)
        self.kill.at(Point.COMMITTED, batch)
        return True

    def begin(self, batch: int) -> bool:
        """Prepare for the batch's rows; False if they must not be written."""
        if self.client is None:
            self.client = self.open()
        return True

    def open(self) -> Producer:
        return topics.producer(self.target.address)

    def write(self, out: Sequence[Out]) -> None:
        """Produce the rows and wait for their acknowledgement."""
        assert self.client is not None
        for key, value, stamp_ms, dead in out:
            partition = 0 if dead else topics.partition_of(key, self.target.partitions)
            topic = self.target.dead if dead else self.target.topic
            topics.send(self.client, topic, value, key, partition, stamp_ms, self.delivery)
        topics.flush(self.client)
        self.delivery.check()

    def commit(self, batch: int) -> None:
        """Nothing: an acknowledged row is out."""

    def finish(self) -> None:
        """The query has ended. Nothing: every batch is out."""

    def close(self) -> None:
        """When the query has ended, however it did. A client of Kafka keeps nobody out: its open
        transaction is ended by the next sink, by its id."""


class AtLeastOnce(Sink):
    """Rows, acknowledged. What Spark's own Kafka sink does."""


class SparksOwn(Sink):
    """Spark's own Kafka sink, the one behind `format("kafka")`.

    The batch form is used here, so that it can be killed where the others are. Its streaming form
    has nothing more: KafkaStreamingWrite#commit and #abort are empty, and rows are sent by the
    same KafkaRowWriter, without a transaction (spark-sql-kafka-0-10_2.13 4.2.0).
    """

    def write(self, out: Sequence[Out]) -> None:
        from . import connector

        connector.write(self.spark, self.target.address, self.target.topic,
                        self.target.partitions, [row for row in out if not row.dead])  # fmt: skip
        connector.write(self.spark, self.target.address, self.target.dead, 1,
                        [row for row in out if row.dead])  # fmt: skip


class Transactions(Sink):
    """One transaction per batch, without its number: all or nothing, but perhaps twice."""

    transactional = True
    timeout_ms = 60_000

    def open(self) -> Producer:
        """A producer that has fenced every earlier one of this query."""
        client = topics.producer(
            self.target.address,
            **{"transactional.id": self.target.group, "transaction.timeout.ms": self.timeout_ms},
        )
        client.init_transactions(topics.TIMEOUT_S)
        return client

    def begin(self, batch: int) -> bool:
        super().begin(batch)
        assert self.client is not None
        self.client.begin_transaction()
        return True

    def commit(self, batch: int) -> None:
        assert self.client is not None
        self.client.commit_transaction(topics.TIMEOUT_S)


class ExactlyOnce(Transactions):
    """One transaction per batch, and the batch's number in it. Its rule is the third step,
    `decide`."""

    def open(self) -> Producer:
        """Also the reader of the progress record; one of each lasts as long as the query."""
        named = {"client.id": "progress reader"}
        self.reader = topics.consumer(self.target.address, self.target.group, **named)
        return super().open()

    def begin(self, batch: int) -> bool:
        Sink.begin(self, batch)  # fence
        assert self.client is not None
        cut = checkpoint.cut_of(self.target.checkpoint, batch)
        done = read_progress(self.reader, self.target, len(cut.offsets))
        answer = (self.rule or decide)(done, batch)
        if answer == "skip":
            return False
        if answer != "write":
            raise IncomeError(disagreement(self.target, batch, done))
        self.client.begin_transaction()
        return True

    def commit(self, batch: int) -> None:
        """The progress record joins the rows, on every partition of the source."""
        assert self.client is not None
        cut = checkpoint.cut_of(self.target.checkpoint, batch)
        note = json.dumps({"query": self.target.query, "batch": batch})
        places = [
            TopicPartition(self.target.source, partition, offset, metadata=note)
            for partition, offset in enumerate(cut.offsets)
        ]
        self.client.send_offsets_to_transaction(
            places, self.reader.consumer_group_metadata(), topics.TIMEOUT_S
        )
        super().commit(batch)


def decide(progress: int, batch: int) -> str:
    """What to do with `batch` where the output holds batch `progress` (-1: none): "write", "skip"
    or "stop"."""
    if batch == progress:
        return "skip"
    return "write" if batch == progress + 1 else "stop"


def read_progress(reader: Consumer, target: Target, partitions: int) -> int:
    """The last batch the output holds; -1 where it holds none. Raises IncomeError.

    `partitions` of topic Order carry it. A reader of committed data is answered only when no
    transaction that touches the group's offsets is under way, so the answer cannot change behind
    our back.
    """
    places = topics.fetch_offsets(reader, target.source, partitions)
    batches = {_batch_of(place) for place in places}
    if len(batches) != 1:
        raise IncomeError(
            f"the progress records of group {target.group} differ among the partitions of "
            f"{target.source} ({sorted(batches)}): something else commits to this group; use a "
            "fresh --checkpoint"
        )
    return batches.pop()


def _batch_of(place: TopicPartition) -> int:
    return int(json.loads(place.metadata)["batch"]) if place.metadata else -1


def disagreement(target: Target, batch: int, done: int) -> str:
    return (
        f"sink and checkpoint disagree: topic {target.topic} holds batch {done} "
        f"(-1 is none), the checkpoint {target.checkpoint} is about to write batch {batch}. "
        "Give back the checkpoint that belongs to this topic, or start a new one with fresh topics"
    )
