"""Order → income per minute with Flink, from a file of orders to a checked result."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import feeder, topics
from ..account import Account, judge_lines, take_account
from ..errors import IncomeError
from ..files import DAY, Orders, read
from ..job import INCOME_PARTITIONS, Row, error_of, read_rows, write_minutes
from ..orders import pounds
from ..truth import Truth, truth_of
from .home import Flink
from .process import Process
from .statements import SINKS, Job

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Seconds:
    """`whole`: from the start of Flink's processes to their end; `job`: of the job in them."""

    whole: float
    job: float

    def __str__(self) -> str:
        return f"{self.whole:.1f} s, {self.job:.1f} s of them the job"


@dataclass(frozen=True, slots=True)
class Result:
    """What a run has computed, read back from topic Income, and what it should have."""

    rows: list[Row]
    truth: Truth
    account: Account
    seconds: Seconds

    @property
    def right(self) -> bool:
        """Whether each minute is there once, with its sum and its number of lines, and each line of
        the file is in one place."""
        exact = not error_of(self.rows, self.truth) and bool(self.rows) and self.account.balanced
        return exact and {row.minute: row.lines for row in self.rows} == self.truth.lines

    def __str__(self) -> str:
        total, due = sum(row.tenths for row in self.rows), self.truth.total_tenths
        verdict = "equal" if self.right else "NOT EQUAL" if total != due else "minutes are WRONG"
        return "\n".join(
            [
                write_minutes(self.rows),
                "",
                str(self.account),
                f"total {pounds(total)}, without Flink {pounds(due)} → {verdict}",
                f"Flink ran for {self.seconds}",
            ]
        )


def income(
    flink: Flink,
    address: str,
    orders: Orders = DAY,
    *,
    sink: str = "exactly-once",
    say: Say = lambda line: None,
) -> Result:
    """Feed the orders to the broker at `address` and let Flink compute their income per minute.

    Raises IncomeError, whose text says what to do next.
    """
    if sink not in SINKS:
        raise IncomeError(f"Flink's Kafka sink is one of {', '.join(SINKS)}; {sink!r} is Spark's")
    reading = read(orders)
    if reading.said:
        say(f"{reading.name}: {reading.said}")
    with (
        topics.broker_errors(address),
        tempfile.TemporaryDirectory(prefix="mqlab-flink-") as folder,
    ):
        where = Path(folder)
        if not topics.answers(address):
            raise topics.unreachable(address)
        span = topics.read_span(address)
        records = feeder.records_of(reading, span)
        if not records:
            raise IncomeError("there are no order lines to feed: give a file with some")
        run = uuid.uuid4().hex[:8]
        job = Job(
            address,
            f"Order-{run}",
            f"Income-{run}",
            ends_of(records),
            sink,
            where,
            flink.jar,
        )
        say(f"feeding {len(records):,} order lines to topic {job.source}")
        feeder.feed(address, job.source, records)
        topics.create(address, job.topic, INCOME_PARTITIONS)
        say("starting Flink")
        seconds = run_to_end(flink, job)
        say("reading the result back, and computing it again without Flink")
        rows, true = read_rows(address, job.topic), truth_of(orders, span)
        rejected = judge_lines(reading, records)
        account = take_account(reading, true, sum(row.lines for row in rows), rejected, where)
        return Result(rows, true, account, seconds)


def ends_of(records: list[feeder.Record]) -> tuple[int, ...]:
    """Where each partition of topic Order ends when all of them are fed."""
    return tuple(len(part) for part in feeder.split(records, INCOME_PARTITIONS))


def run_to_end(flink: Flink, job: Job) -> Seconds:
    """The job until it has finished. Raises IncomeError."""
    started = time.monotonic()
    with Process(flink, job) as process:
        process.wait()
        return Seconds(time.monotonic() - started, process.job_s)
