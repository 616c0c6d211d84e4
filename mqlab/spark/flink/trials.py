"""Spark and Flink killed with -9 at the same instants, started again, and added up.

Spark dies at the arrows of its micro-batch (kills.py), in batch 3 of the day. Flink's job is
given the first half of the orders, and when it has committed their minutes and a checkpoint says
so, the relay's trap is set and the other half is fed:

    rows out, nothing decided       the first answer to Produce
    decided, one side not told      the request to commit (EndTxn), which the broker never gets
    both told                       the answer to it, which the job never gets

Both jobs are started again in new processes, so that the seconds can be compared: they include
the start of a JVM. They end when the last minute is in topic Income, for a reader of committed
records. The connector's bounded source does not end a job that was restored from a checkpoint
(FLINK-33466): it has read and committed everything, and waits. So after that it is stopped here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...kernel.text import Words
from .. import crashes, feeder, job, topics
from ..errors import IncomeError
from ..files import DAY, read, read_lines
from ..kills import Point
from ..orders import MINUTE_MS, minute_ms
from ..truth import Truth, truth_of
from .job import Flink, Process, Say, ends_of, last_checkpoint, number_of
from .relay import END_TXN, PRODUCE, Relay, Trap
from .statements import VERSION, Instant, Job, Table, Trial

POINTS = {Instant.OUT: Point.OUT, Instant.DECIDED: Point.COMMITTED, Instant.DONE: Point.NEXT}
TRAPS = {
    Instant.OUT: Trap(PRODUCE, answered=True),
    Instant.DECIDED: Trap(END_TXN, answered=False),
    Instant.DONE: Trap(END_TXN, answered=True),
}
WANTED = (
    ("exactly-once", Instant.NEVER),
    ("exactly-once", Instant.OUT),
    ("exactly-once", Instant.DECIDED),
    ("exactly-once", Instant.DONE),
    ("at-least-once", Instant.OUT),
)
CAME = Words("{}, {}, killed: {} → {}")
PATIENCE_S = 300.0  # a JVM starts in it on a busy machine
CHECKPOINTS = 2  # the next one may have begun already


def kill_both(flink: Flink, address: str, say: Say = lambda line: None) -> Table:
    """All trials of `WANTED`, of both jobs, over the committed day. Raises IncomeError."""
    with topics.broker_errors(address), TemporaryDirectory(prefix="mqlab-kills-") as folder:
        with Bench(flink, address, Path(folder)) as bench:
            trials = []
            for run in (bench.try_flink, bench.try_spark):
                for sink, instant in WANTED:
                    one = run(sink, instant)
                    trials.append(one)
                    say(str(CAME(one.job, sink, instant, one.error or "ok")))
    return Table(bench.lines, tuple(trials))


class Bench:
    """The day's orders at a broker, for jobs that each write to a topic of their own."""

    def __init__(self, flink: Flink, address: str, folder: Path) -> None:
        self.flink, self.address, self.folder = flink, address, folder
        self.records = feeder.records_of(read(DAY))
        self.half = len(self.records) // 2
        self.true = truth_of(DAY)
        minutes = truth_of(read_lines(DAY)[: self.half]).lines
        self.closed = closed_minutes(self.records[: self.half], minutes)
        self.setup = crashes.prepare(address, DAY, folder)
        self.lines = len(self.records)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self.setup.victims.stop()

    def try_spark(self, sink: str, instant: Instant) -> Trial:
        """One run of the Spark job, killed or not. Raises IncomeError."""
        from pyspark import __version__

        target = crashes.target_of(self.setup, f"spark-{sink}-{instant.name.lower()}")
        job.create_topics(target)
        if instant is not Instant.NEVER:
            crashes.kill_hard(self.setup, target, sink, POINTS[instant])
        with ThreadPoolExecutor(1) as pool:
            job_run = pool.submit(crashes.run_apart, self.setup, target, sink)
            seconds = self._until_whole(target.topic, job_run.done)
            job_run.result()
        sums = add_up(self.address, target.topic, self.true)
        return Trial(f"Spark {__version__}", sink, instant, *sums, round(seconds, 1))

    def try_flink(self, sink: str, instant: Instant) -> Trial:
        """Run the Flink job with the guarantee `sink`, killed at `instant` and restarted, or not
        killed (Instant.NEVER), and compare its output with the truth. One that is to be killed gets
        the orders in two halves, from a topic of its own. Raises IncomeError."""
        name = f"flink-{sink}-{instant.name.lower()}"
        flink_job = Job(
            self.address, self.setup.source, f"Income-{name}", ends_of(self.records), sink,
            self.folder / name, self.flink.jar,
            parallelism=1,  # one writer: one transaction, one commit
        )  # fmt: skip
        topics.create(self.address, flink_job.topic, job.INCOME_PARTITIONS)
        if instant is not Instant.NEVER:
            flink_job = replace(flink_job, source=f"Order-{name}")
            # `half`: how many records are half of them; `_kill_flink` feeds the others
            feeder.feed(self.address, flink_job.source, self.records, only=self.half)
            self._kill_flink(flink_job, instant)
            flink_job = replace(flink_job, restored=last_checkpoint(flink_job.folder))
        with Process(self.flink, flink_job) as process:
            seconds = self._until_whole(flink_job.topic, lambda: process.ended)
            # whatever it may still have to write is out then
            _wait_for_checkpoints(flink_job, process)
            if process.ended:
                process.wait()  # raises, where it has failed
        sums = add_up(self.address, flink_job.topic, self.true)
        return Trial(f"Flink {VERSION}", sink, instant, *sums, round(seconds, 1))

    def _kill_flink(self, one: Job, instant: Instant) -> None:
        """The job over the first half, then into the trap with the other."""
        with Relay(one.address) as relay:
            with Process(self.flink, replace(one, address=relay.address)) as process:
                wait_for(lambda: process.ended or self._is_half_done(one))
                _wait_for_checkpoints(one, process)
                relay.set(TRAPS[instant], process.kill)
                feeder.feed(self.address, one.source, self.records)
                process.wait()
            if not relay.sprung.is_set():
                raise IncomeError("the Flink job ended before it could be killed: {}", instant)

    def _until_whole(self, topic: str, ended: Callable[[], bool]) -> float:
        """Seconds from now until every minute is in the topic, or the job gives up."""
        started = time.monotonic()
        wait_for(lambda: ended() or self._minutes(topic) >= self.true.lines.keys())
        return time.monotonic() - started

    def _minutes(self, topic: str) -> set[str]:
        return {row.minute for row in job.read_rows(self.address, topic)}

    def _is_half_done(self, one: Job) -> bool:
        return len(job.read_rows(self.address, one.topic)) == len(self.closed)


def _wait_for_checkpoints(one: Job, process: Process) -> None:
    """Until a checkpoint is complete that began after this call, or the job has ended."""
    enough = number_of(last_checkpoint(one.folder)) + CHECKPOINTS
    wait_for(lambda: process.ended or number_of(last_checkpoint(one.folder)) >= enough)


def add_up(address: str, topic: str, true: Truth) -> tuple[str, int, int]:
    """What a reader of committed records gets wrong, and the minutes that it and a reader of
    everything get twice."""
    rows = job.read_rows(address, topic)
    seen = job.read_rows(address, topic, "read_uncommitted")
    return job.error_of(rows, true), _doubled(rows), _doubled(seen)


def closed_minutes(records: Sequence[feeder.Record], minutes: Iterable[str]) -> list[str]:
    """Which minutes Flink closes once it has read these records, and no closing one: those that
    every partition has got past."""
    parts = feeder.split(records, job.INCOME_PARTITIONS)
    reached = min(part[-2].stamp_ms for part in parts)  # before the closing record
    return [at for at in minutes if minute_ms(at) + MINUTE_MS <= reached]


def _doubled(rows: Sequence[job.Row]) -> int:
    """How many minutes are there more than once."""
    return sum(count > 1 for count in Counter(row.minute for row in rows).values())


def wait_for(done: Callable[[], bool]) -> None:
    """Look again and again. Raises IncomeError where it takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            raise IncomeError(
                "the Flink job made no progress in {:.0f} s: end other programs and try again",
                PATIENCE_S,
            )
        time.sleep(0.2)
