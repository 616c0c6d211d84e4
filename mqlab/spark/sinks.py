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

4. TwoPhase: pre-commit, checkpoint, commit, as Flink's; sinks into a database are
   in `DATABASES`.

5. BuiltInSink: `format("kafka")`, Spark's own sink, beside the others for comparison. It needs
   Spark's Kafka connector (topics.py) and is at least once.

The progress record travels as the metadata of the group's offsets
(`send_offsets_to_transaction`), on every partition of topic Order: it is found again with one
request (`committed()`), and tools that show a group's lag show this query's.

Always run the DataFrame, and once: a stateful query whose sink returns early, the widespread
`if batch <= last: return`, does not commit its state and never gets past that batch (Spark 4).

Left out: rows go through the driver. That is right for one row per minute; for an output as large
as the input each task would commit a transaction of its own.
"""

from __future__ import annotations

import io
import json
import os
import socket
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from ..kernel.text import Text, Words
from . import files, topics
from .errors import CannotResume, IncomeError
from .kills import NEVER, Kill, Point
from .topics import TIMEOUT_S, Out

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
        until = files.cut_of(self.target.checkpoint, batch).to_json()["until"]
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
        """When the query has ended, however it did. A Kafka client locks nothing: its open
        transaction is ended by the next sink, by its id."""


class AtLeastOnce(Sink):
    """Rows, acknowledged. What Spark's own Kafka sink does."""


class BuiltInSink(Sink):
    """Spark's own Kafka sink, the one of `format("kafka")`.

    The batch form is used here, so that it can be killed where the others are. Its streaming form
    has nothing more: KafkaStreamingWrite#commit and #abort are empty, and rows are sent by the
    same KafkaRowWriter, without a transaction (spark-sql-kafka-0-10_2.13 4.2.0).
    """

    def write(self, out: Sequence[Out]) -> None:
        from . import topics as connector

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
        cut = files.cut_of(self.target.checkpoint, batch)
        done = read_progress(self.reader, self.target, len(cut.offsets))
        answer = (self.rule or decide)(done, batch)
        if answer == "skip":
            return False
        if answer != "write":
            raise CannotResume(disagreement(self.target, batch, done))
        self.client.begin_transaction()
        return True

    def commit(self, batch: int) -> None:
        """The progress record joins the rows, on every partition of the source."""
        assert self.client is not None
        cut = files.cut_of(self.target.checkpoint, batch)
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
    """The number of the last batch that the output contains; -1 where it contains none. The sink
    commits it as metadata of its group's offsets, the same on each of the `partitions` (their
    number) of topic Order. Raises IncomeError where the partitions differ.

    Kafka answers a reader of committed data only when no transaction that touches the group's
    offsets is in flight, so the answer cannot change afterwards.
    """
    committed = topics.fetch_offsets(reader, target.source, partitions)
    batches = {_batch_of(offset) for offset in committed}
    if len(batches) != 1:
        raise IncomeError(
            "the progress records of group {} differ among the partitions of {} ({}): "
            "another program commits to this group; use a fresh --checkpoint",
            target.group,
            target.source,
            sorted(batches),
        )
    return batches.pop()


def _batch_of(place: TopicPartition) -> int:
    return int(json.loads(place.metadata)["batch"]) if place.metadata else -1


DISAGREE = Words(
    "sink and checkpoint disagree: topic {} holds batch {} (-1 is none), the checkpoint {} is "
    "about to write batch {}. Give back the checkpoint that belongs to this topic, or start a new "
    "one with fresh topics"
)


def disagreement(target: Target, batch: int, done: int) -> Text:
    return DISAGREE(target.topic, done, target.checkpoint, batch)


# ---- Sinks that write into a database: exactly once does not need Kafka at both ends -
#
# What it needs of a sink is one of two things:
#
# - *rows and progress in one transaction*, whosever transaction it is (`WithProgress`), or
# - *writing that may be repeated*: a row has a key, and the second copy takes the place of the
#   first (`Overwriting`). That serves only where a repeated batch has the same rows.
#
# A database whose transaction holds the rows alone (`RowsOnly`) doubles a batch as Kafka's does.
# SQLite here: one file beside the checkpoint, a transaction per batch, and after `kill -9` the next
# process that opens the file takes an unfinished one back (its rollback journal).

TABLES = """
create table if not exists income (minute text{key}, tenths integer, lines integer);
create table if not exists dead (place text{key}, value text);
create table if not exists progress (batch integer);
"""


class RowsOnly(Sink):
    """Each batch in one transaction of the database, without its number: perhaps twice."""

    transactional = True
    key = ""

    def begin(self, batch: int) -> bool:
        if self.client is None:
            # Spark calls a sink from whatever thread it likes, one call at a time.
            path = path_of(self.target)
            self.client = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.client.executescript(TABLES.format(key=self.key))
        self.client.execute("begin immediate")
        return True

    def write(self, out: Sequence[Out]) -> None:
        for row in out:
            if row.dead:
                self._put("dead", row.key, row.value.decode())
            else:
                value = json.loads(row.value)
                self._put("income", value["minute"], value["income_tenths"], value["lines"])

    def _put(self, table: str, *values: object) -> None:
        marks = ", ".join("?" for _ in values)
        self.client.execute(f"insert or replace into {table} values ({marks})", values)

    def commit(self, batch: int) -> None:
        self.client.execute("commit")

    def close(self) -> None:
        """As the end of the process does: the file is free, what was not committed is gone."""
        if self.client is not None:
            self.client.close()


class Overwriting(RowsOnly):
    """The minute is the key: a row that comes again takes the place of the first."""

    key = " primary key"


class WithProgress(RowsOnly):
    """The batch's number is in the transaction, and is looked at before anything is written."""

    def begin(self, batch: int) -> bool:
        super().begin(batch)
        (done,) = self.client.execute("select coalesce(max(batch), -1) from progress").fetchone()
        answer = decide(done, batch)
        if answer != "write":
            self.client.execute("rollback")
        if answer == "stop":
            raise CannotResume(disagreement(self.target, batch, done))
        return answer == "write"

    def commit(self, batch: int) -> None:
        self.client.execute("insert into progress values (?)", (batch,))
        super().commit(batch)


DATABASES: dict[str, type[RowsOnly]] = {
    "a database": RowsOnly,
    "a database that overwrites": Overwriting,
    "a database with the progress": WithProgress,
}


def path_of(target: Target) -> Path:
    """Beside the checkpoint, so that both are kept or thrown away together."""
    return target.checkpoint.with_name(f"{target.topic}.db")


def read_rows(target: Target) -> list[tuple[str, int, int]]:
    """(minute, tenths, lines) of every row that is committed, by minute."""
    with sqlite3.connect(path_of(target)) as client:
        return client.execute("select minute, tenths, lines from income order by minute").fetchall()


# ---- A two-phase sink, as Flink's Kafka sink is one: pre-commit → checkpoint → commit
#
#     batch N:    begin, write the rows, wait until they are stored          pre-commit
#                 note which transaction that is: prepared/N                 part of the checkpoint
#     Spark:      writes commits/N                                           the checkpoint
#     then:       commit the transaction, remove the note                    commit
#
# The transaction outlives the process that began it. After a kill `prepared/N` names the one that
# is open, and `commits/N` says what is to become of it: there, it is committed (Spark never hands
# batch N over again); not there, it is aborted (Spark does). That rule is `resume`.
#
# A client library cannot go on with a transaction of another process: its first call,
# initTransactions, aborts it. Flink therefore sets producer id and epoch inside Kafka's Java client
# by reflection (flink-connector-kafka, FlinkKafkaInternalProducer#resumeTransaction). Here the same
# request, EndTxn with that producer id and epoch, is sent by hand. KIP-939 will make it a call.
#
# A checkpoint that is older than one batch does not belong to this topic: Spark hands over
# batches that were committed long ago. The rule answers "stop", and a person must look.
#
# Its cost: from the pre-commit to the next batch the transaction is open and holds up every reader
# of committed data; and if no process comes back before `transaction.timeout.ms`, the coordinator
# aborts what the checkpoint counts as done: the batch is lost.
#
# Left out: one transaction for each writing task. Rows go through the driver, as in sinks.py.

FIND_COORDINATOR, END_TXN, DESCRIBE_TRANSACTIONS = 10, 26, 65


def resume(prepared: int, done: int) -> str:
    """What to do with the open transaction of batch `prepared`, where `done` is the last batch in
    the checkpoint (-1: none): "commit", "abort" or "stop"."""
    if prepared <= done:
        return "commit"
    return "abort" if prepared == done + 1 else "stop"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The transaction that holds a batch."""

    batch: int
    pid: int
    epoch: int


class TwoPhase(Transactions):
    """Its rule is `resume`."""

    # As long as a broker allows (transaction.max.timeout.ms): it must outlive the restart.
    timeout_ms = 900_000

    @property
    def note(self) -> Path:
        return self.target.checkpoint / "prepared"

    def open(self) -> Producer:
        """End what an earlier process has left open; whatever is open after that is aborted."""
        self._resume()
        return super().open()

    def begin(self, batch: int) -> bool:
        """Spark hands over a batch when `commits` has the one before it."""
        self._commit()
        return super().begin(batch)

    def commit(self, batch: int) -> None:
        """Only the pre-commit: the rows are stored, and the note says where."""
        _, pid, epoch = describe(self.target.address, self.target.group)
        draft = self.note.with_suffix(".new")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(Prepared(batch, pid, epoch)), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.note)

    def finish(self) -> None:
        """The query has ended, so `commits` has its last batch."""
        if self.client is None:
            self.client = self.open()
        self._commit()

    def _commit(self) -> None:
        if self.client is not None and self.note.exists():
            self.client.commit_transaction(TIMEOUT_S)
            self.note.unlink()

    def _resume(self) -> None:
        if not self.note.exists():
            return
        open_one = Prepared(**json.loads(self.note.read_text(encoding="utf-8")))
        state, pid, epoch = describe(self.target.address, self.target.group)
        if state == "Ongoing" and (pid, epoch) == (open_one.pid, open_one.epoch):
            done = max(files.read_commits(self.target.checkpoint), default=-1)
            answer = (self.rule or resume)(open_one.batch, done)
            if answer not in ("commit", "abort"):
                raise CannotResume(disagreement_two_phase(self.target, open_one.batch, done))
            end(self.target.address, self.target.group, pid, epoch, answer == "commit")
        self.note.unlink()


DISAGREE_TWO_PHASE = Words(
    "sink and checkpoint disagree: topic {} has batch {} in an open transaction, the checkpoint {} "
    "ends with batch {} (-1 is none). Give back the checkpoint that belongs to this topic, or "
    "start a new one with fresh topics"
)


def disagreement_two_phase(target: Target, prepared: int, done: int) -> Text:
    return DISAGREE_TWO_PHASE(target.topic, prepared, target.checkpoint, done)


# --- two requests that the client library does not have -----------------------------------------


def describe(address: str, txn_id: str) -> tuple[str, int, int]:
    """State (`Ongoing`, `CompleteCommit`, …), producer id and epoch of a transactional id.
    Raises IncomeError."""
    frame, at = _ask(coordinator_of(address, txn_id), DESCRIBE_TRANSACTIONS, 0,
                     transactional_ids=(txn_id,))  # fmt: skip
    # By hand: kio takes the start of a transaction that has not begun, -1, for a time.
    (error,) = struct.unpack_from(">h", frame, at + 5)  # throttle time, one entry
    at += 7 + _length(frame, at + 7)  # the id
    (size, at) = (_length(frame, at), at + 1)
    state = frame[at : at + size - 1].decode()
    _timeout, _since, pid, epoch = struct.unpack_from(">iqqh", frame, at + size - 1)
    _check(error, f"describe {txn_id}")
    return state, pid, epoch


def _length(frame: bytes, at: int) -> int:
    """One more than the length of a text of less than 127 bytes (a transactional id, a state)."""
    return frame[at]


def end(address: str, txn_id: str, pid: int, epoch: int, commit: bool) -> None:
    """EndTxn for a transaction that another process has begun. Raises IncomeError."""
    answer = _read(
        END_TXN, 3,
        *_ask(coordinator_of(address, txn_id), END_TXN, 3, transactional_id=txn_id,
              producer_id=pid, producer_epoch=epoch, committed=commit),
    )  # fmt: skip
    _check(answer.error_code, f"end the transaction of {txn_id}")


def coordinator_of(address: str, txn_id: str) -> str:
    """Where the transaction coordinator of this id is. Raises IncomeError."""
    frame = _ask(address, FIND_COORDINATOR, 4, key_type=1, coordinator_keys=(txn_id,))
    (coordinator,) = _read(FIND_COORDINATOR, 4, *frame).coordinators
    _check(coordinator.error_code, f"find the coordinator of {txn_id}")
    return f"{coordinator.host}:{coordinator.port}"


def _check(error: int, what: str) -> None:
    if error:
        raise IncomeError("the broker refused to {} (error {!r}): start the job again", what, error)


def _ask(address: str, api: int, version: int, **fields: Any) -> tuple[bytes, int]:
    """Send one Kafka request, which client libraries do not offer: on a transaction of another
    process (`api`: its number; `fields`: of its body) on a connection of its own, and return the
    response's bytes and the offset at which its body begins. Raises IncomeError where no broker
    answers."""
    host, _, port = address.rpartition(":")
    request, response = load_request_schema(api, version), load_response_schema(api, version)
    request_bytes = io.BytesIO()
    header = SimpleNamespace(
        request_api_key=api, request_api_version=version, correlation_id=1, client_id="income job"
    )
    entity_writer(request.__header_schema__)(request_bytes, header)  # type: ignore[arg-type]
    entity_writer(request)(request_bytes, SimpleNamespace(**fields))  # type: ignore[arg-type]
    body = request_bytes.getvalue()
    try:
        with socket.create_connection((host, int(port)), TIMEOUT_S) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            with connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                frame = stream.read(size)
    except (OSError, struct.error) as error:
        raise IncomeError("no broker answers at {} ({}); start it again", address, error) from error
    return frame, entity_reader(response.__header_schema__)(frame, 0)[1]


def _read(api: int, version: int, frame: bytes, at: int) -> Any:
    return entity_reader(load_response_schema(api, version))(frame, at)[0]


# Every sink by its name: those of `sinks.py`, those into a database, the two-phase one

SINKS: dict[str, type[Sink]] = {
    "at-least-once": AtLeastOnce,
    "transactions": Transactions,
    "exactly-once": ExactlyOnce,
}
BUILT_IN = "Spark's own"  # needs its connector (topics.py)
TWO_PHASE = "two-phase"
EVERY: dict[str, type[Sink]] = {**SINKS, **DATABASES, BUILT_IN: BuiltInSink, TWO_PHASE: TwoPhase}
