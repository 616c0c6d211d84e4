"""Order → income per minute, from a file of orders to a checked result.

One run is: feed topic Order while Spark starts, run the query over it, read the output back, and
compare it with the truth computed without Spark. A run has a name; its topics, groups and
transactional ids carry it, and the checkpoint folder remembers it. So runs do not meet, and a run
that was killed goes on when it is started again with its checkpoint.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from ..kernel import Words, tr
from ..kernel.text import NO_REASON, Said
from . import feeder, pipeline, runs, sinks, topics
from .cuts import END_MS, Plan, day_plan
from .errors import CannotResume, IncomeError, SlowStart
from .files import (
    DAY,
    Orders,
    Reading,
    batches,
    check,
    need_same,
    read,
    read_commits,
    version_of,
)
from .kills import NEVER, Kill, Killed
from .orders import Times, minute_text, pounds
from .session import Starting
from .sinks import DATABASES, EVERY, SINKS, Rule, Sink, Target
from .truth import (
    EQUAL,
    UNEQUAL,
    WRONG,
    Account,
    Missing,
    Reconciliation,
    Truth,
    find_rejected,
    reconcile,
    take_account,
    truth_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LATE = Words("the {:,} late lines are missing, {}")
FEEDING = Words("feeding {n:,} order lines to topic {topic}")
SENT = Words("  {n:,} sent")
UNTIL = Words("orders before {until}")
WRITTEN = Words("  batch {batch}: {part}, {n:,} minutes written")
THERE = Words("  batch {batch}: {part}, {n:,} minutes were there already")
Say = Callable[[str], None]
INCOME_PARTITIONS = 2
LAST = minute_text(END_MS)
STARTS = 3  # of a query whose workers did not start in time


@dataclass(frozen=True, slots=True)
class Names:
    """The topics and queries of one run."""

    run: str

    @property
    def order(self) -> str:
        return f"Order-{self.run}"

    @property
    def income(self) -> str:
        return f"Income-{self.run}"

    @property
    def dead(self) -> str:
        return f"Dead-{self.run}"

    def target(self, address: str, folder: Path) -> Target:
        """Where the query writes."""
        return Target(
            address, f"income-{self.run}", self.order, self.income, INCOME_PARTITIONS,
            self.dead, folder / "income",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One minute of income: `tenths` of a penny, summed over `lines` order lines."""

    minute: str
    tenths: int
    lines: int

    @property
    def pounds(self) -> float:
        """For a chart; for sums use `tenths`."""
        return self.tenths / 1000


@dataclass(frozen=True, slots=True)
class Result:
    """What a job has computed, read back from its topics, and what it should have. `rows`: topic
    Income; `dead`: the dead letters; `reconciliation`, `account`: how the numbers of lines add up;
    `truth`: the income without Spark; `names`: of topics and query; `batches`: how many were
    committed; `times`: how long each part took."""

    rows: list[Row]
    dead: list[dict]
    reconciliation: Reconciliation
    truth: Truth
    names: Names
    batches: int
    times: Times
    account: Account

    @property
    def tenths(self) -> int:
        return sum(row.tenths for row in self.rows)

    @property
    def total(self) -> str:
        """The sum over all rows, as a consumer would add them up: `£57,751.32`."""
        return pounds(self.tenths)

    @property
    def expected(self) -> str:
        """The sum computed without Spark."""
        return pounds(self.truth.total_tenths)

    @property
    def right(self) -> bool:
        """Every line of the file is read, and counted once or a dead letter, as the second reading
        has it; every minute is there once, with its lines and its sum. One late line makes it
        wrong, and so does an income of no line."""
        fed = self.reconciliation
        complete = fed.balanced and not fed.unaccounted and self.account.balanced
        return complete and bool(self.rows) and self._minutes() == self._should({})

    @property
    def explained(self) -> bool:
        """Whether the late lines, each with its pounds, are the whole difference to `expected`."""
        return self.reconciliation.balanced and self._minutes() == self._should(
            self.reconciliation.missing
        )

    @property
    def verdict(self) -> str:
        """How total and expected compare, in words."""
        if self.right:
            return str(EQUAL)
        if not self.rows:
            return str(tr("NOTHING was counted"))
        if self._minutes() == self._should({}):
            return str(tr("equal, but lines are NOT ACCOUNTED FOR"))
        if not self.explained:
            return str(UNEQUAL if self.total != self.expected else WRONG)
        gone = self.truth.total_tenths - self.tenths
        return str(LATE(self.reconciliation.late, pounds(gone)))

    def _minutes(self) -> list[tuple[str, int, int]]:
        return [(row.minute, row.tenths, row.lines) for row in self.rows]

    def _should(self, missing: Missing) -> list[tuple[str, int, int]]:
        """The minutes that must be there when the missing lines are not counted."""
        tenths = self.truth.tenths()
        minutes = []
        for minute, lines in sorted(self.truth.lines.items()):
            gone_tenths, gone_lines = missing.get(minute, (0, 0))
            if lines > gone_lines:
                minutes.append((minute, tenths[minute] - gone_tenths, lines - gone_lines))
        return minutes

    @property
    def table(self) -> str:
        """All minutes as plain text; the middle is left out where there are more than 200."""
        return write_minutes(self.rows)


HEADS = tr("minute (UTC)", "income"), tr("income", "income"), tr("lines", "income")


def write_minutes(rows: Sequence[Row]) -> str:
    """The rows as plain text; the middle is left out where there are more than 200."""
    lines = [f"{row.minute}  {pounds(row.tenths):>14}  {row.lines:>6,}" for row in rows]
    if len(lines) > 200:
        lines[10:-10] = [str(Words("… {:,} minutes more …")(len(lines) - 20))]
    minute, income, count = (Said(one) for one in HEADS)
    return "\n".join([f"{minute:16}  {income:>14}  {count:>6}", *lines])


def income(
    address: str,
    orders: Orders = DAY,
    *,
    checkpoint: str | Path | None = None,
    sink: str = "exactly-once",
    minutes_per_batch: int = 0,
    orders_per_batch: int = 0,
    master: str | None = None,
    name: str = "",
    say: Say = lambda line: None,
) -> Result:
    """Feed the orders, run Spark's query over them to its end, and compare its output with a count
    without Spark. `sink`: how the output is written, one of SINKS; `checkpoint`: the folder of a
    job that goes on, or can (None: a temporary one); `name`: of the job and its topics; `master`:
    Spark's address, None for the default; `say` gets lines of progress. Without a batch size a day
    is cut into 8 batches, anything longer into batches of about 200,000 orders. Raises IncomeError,
    whose text says what to do next."""
    if sink not in SINKS:
        raise IncomeError("no sink {!r}: choose one of {}", sink, ", ".join(SINKS))
    folder, times = _folder_of(checkpoint), Times()
    try:
        version = version_of(orders)
        with times.measure("read the orders"):
            reading = read(orders)
        if reading.note:
            say(f"{reading.name}: {reading.note}")
        with runs.open_folder(folder), topics.broker_errors(address):
            check(folder)
            if not topics.answers(address):
                raise topics.unreachable(address)
            # Spark needs seconds to start; the orders are encoded and fed meanwhile.
            starting = Starting(master)
            try:
                with times.measure("encode them"):
                    # the times that the broker takes; of a job that goes on, as it began
                    span = runs.read_span(folder) or topics.read_span(address)
                    records = feeder.records_of(reading, span)
                if not records:
                    raise IncomeError("the file has no order lines: give one that has some")
                plan = plan_of(records, minutes_per_batch, orders_per_batch)
                run = run_name(address, folder, records, sink, name, span)
                target = _feed(address, folder, records, run, times, say)
                say(str(tr("starting Spark")))
                with times.measure("wait for Spark's start"):
                    spark = starting.wait()
            finally:
                starting.finish()
            _run(spark, target, sink, plan, times, say)
            say(str(tr("reading the result back, and computing it again without Spark")))
            with times.measure("read back and compare"):
                need_same(orders, version)
                # (`visible`: the file, where the machines of a cluster can read it too)
                true = truth_of(visible(orders, folder, spark), span)
                result = read_result(address, target, reading, records, true, times)
    except IncomeError as error:
        if checkpoint is None and not (folder / "run.json").exists():
            shutil.rmtree(folder, ignore_errors=True)  # nothing was begun
        if not os.path.exists(folder):  # (Path.exists raises where the name is too long)
            raise
        raise IncomeError("{} (checkpoint: {})", error, folder) from error
    if checkpoint is None:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _folder_of(checkpoint: str | Path | None) -> Path:
    """The folder of a job's progress, a temporary one for None. Raises IncomeError."""
    if "://" in str(checkpoint):
        raise IncomeError(
            "{} is no folder that this machine can see: give --checkpoint a local folder, or a "
            "mount that all machines share",
            checkpoint,
        )
    return Path(checkpoint or tempfile.mkdtemp(prefix="mqlab-income-")).resolve()


def _feed(
    address: str, folder: Path, records: Sequence[feeder.Record], run: str, times: Times, say: Say
) -> Target:
    """The topics of this run, with the orders in topic Order."""
    names = Names(run)
    say(str(FEEDING(n=len(records), topic=names.order)))
    with times.measure("feed topic Order"):
        sent = feeder.feed(address, names.order, records, progress=lambda n: say(str(SENT(n=n))))
    if not sent:
        say(str(tr("  they were there already")))
    target = names.target(address, folder)
    create_topics(target)
    return target


def plan_of(records: Sequence[feeder.Record], minutes: int, orders: int) -> Plan:
    """The batch size that was asked for, or the one that suits the records' span of time."""
    if minutes and orders:
        raise IncomeError("give minutes per batch or orders per batch, not both")
    if minutes < 0 or orders < 0:
        raise IncomeError("a batch has at least 1 minute or 1 order: give a larger number")
    if minutes or orders:
        return Plan(minutes, orders)
    stamps = [record.stamp_ms for record in records]
    return day_plan(min(stamps), max(stamps))


def run_name(
    address: str,
    folder: Path,
    records: Sequence[feeder.Record],
    sink: str,
    name: str = "",
    span: topics.Span = topics.ANY,
) -> str:
    """Return the name of the job whose checkpoint is `folder`; its topics are named after it. A new
    checkpoint gets `name`, or the first of `name`-2, `name`-3 … of which the broker has no topic;
    without `name`, eight random hexadecimal digits. `records`: the order lines as they are sent to
    Kafka; `span`: the times that the broker takes, which a new checkpoint keeps.

    Raises IncomeError if the checkpoint is damaged, or of other orders, another sink or broker.
    """
    wanted, count = name, 1
    while wanted and topics.partitions_of(address, Names(wanted).order):
        count += 1
        wanted = f"{name}-{count}"
    run = runs.name_of(folder, feeder.digest(records), sink, wanted, span)
    started = batches(folder / "income")  # those in Spark's own checkpoint of the query
    if started and not topics.partitions_of(address, Names(run).income):
        raise IncomeError(
            "the broker at {} has no topic {}, which this checkpoint wrote to: name the "
            "broker it used, or a fresh --checkpoint",
            address,
            Names(run).income,
        )
    return run


def create_topics(target: Target) -> None:
    """Topics Income and Dead."""
    topics.create(target.address, target.topic, target.partitions)
    topics.create(target.address, target.dead, 1)


def _run(
    spark: SparkSession, target: Target, sink: str, plan: Plan, times: Times, say: Say
) -> None:
    """Run the query to its end, and add to `times` the seconds until it reported its first batch,
    which includes the start of Spark's workers, and those of the others."""
    started = time.perf_counter()
    reports: list[float] = []

    def note(line: str) -> None:
        if not reports:
            reports.append(time.perf_counter())
        say(line)

    run_income(spark, target, sink, plan, say=note)
    ended = time.perf_counter()
    first_done = reports[0] if reports else ended
    times.add("query: until its first batch is in", first_done - started)
    times.add("query: the other batches", ended - first_done)


def run_income(
    spark: SparkSession,
    target: Target,
    sink: str,
    plan: Plan,
    kill: Kill = NEVER,
    say: Say = lambda line: None,
    rule: Rule | None = None,
) -> Sink:
    """Run Spark's query over the source topic of `target` (its topics and checkpoint) to its end,
    in the batches of `plan`, and return its sink; all topics must exist. A start that is too slow
    is repeated (STARTS times in all) where that is safe. Raises Killed at the point of `kill`, or
    IncomeError.

    `rule`: of a sink that decides by the progress it finds, the function to use instead of its own
    (`decide` or `resume` in sinks.py).
    """
    for starts_left in range(STARTS - 1, -1, -1):
        output = EVERY[sink](target, pipeline.encode, kill, rule)
        stream = pipeline.orders_stream(spark, target.address, target.source, plan, kill)
        try:
            wait(_start(stream, target, output), output, say)
            output.finish()
            break
        except SlowStart:
            # Any other sink that has begun (`client`: what it writes through) may have written what
            # it would write again.
            if not starts_left or (output.client is not None and sink != "exactly-once"):
                raise
        finally:
            output.close()
    return output


def _start(stream: DataFrame, target: Target, out: Sink) -> StreamingQuery:
    """Spark reads the checkpoint here. Raises IncomeError."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return pipeline.start(pipeline.results(stream), target.query, out)
    except (PySparkException, Py4JJavaError) as error:
        raise _cause(str(error), error, target.address) from error


def wait(query: StreamingQuery, sink: Sink, say: Say) -> None:
    """Wait until the query has ended, and say a line of progress for each batch in the sink's log.
    Where it fails, the cause is raised as Killed or IncomeError. The query is stopped in any
    case."""
    from pyspark.errors import StreamingQueryException

    reported = 0
    try:
        while query.isActive:
            time.sleep(0.05)
            reported = _report(sink, reported, say)
        query.awaitTermination()  # raises what the query died of
        _report(sink, reported, say)
    except StreamingQueryException as error:
        raise _cause(str(error), sink.error, sink.target.address) from error
    finally:
        query.stop()


def _report(sink: Sink, reported: int, say: Say) -> int:
    for done in sink.log[reported:]:
        part = tr("the last minutes") if done.until == LAST else UNTIL(until=done.until)
        what = WRITTEN if done.written else THERE
        say(str(what(batch=done.batch, part=part, n=done.rows)))
    return len(sink.log)


def _cause(text: str, error: Exception | None, address: str) -> Exception:
    """The exception to raise for a failed query, which says what to do: by the sink's own `error`
    where that is one, else by Spark's message (`text`), in which an error of a Python worker is
    only text."""
    if isinstance(error, Killed | IncomeError):
        return error
    if isinstance(error, KafkaException):
        return topics.explain_error(error, address)
    kinds = {kind.__name__: kind for kind in (Killed, CannotResume, IncomeError)}
    if raised := re.search(rf"\b({'|'.join(kinds)}): (.*)", text):
        return kinds[raised[1]](raised[2].strip())
    if re.search(r"Python worker (failed )?to connect back", text):
        return SlowStart(
            "this machine is too busy to start Spark's Python workers within its 10 seconds: end "
            "other programs, and repeat the command with the same --checkpoint"
        )
    if re.search(r"No space left on device|Disk quota exceeded", text):
        return IncomeError(
            "the checkpoint's disk is full: free some space and run the command again "
            "with the same --checkpoint; nothing is lost"
        )
    if topics.GONE.search(text) or not topics.answers(address):
        return topics.unreachable(address)
    # Spark's own sentence, if it comes first: [CLASS] text; else the last cause or error.
    lines = re.findall(
        r"\[[A-Z][A-Z_.]{5,}\] .+|(?<=Caused by: ).+|^\S*(?:Error|Exception): .+",
        f"{error}\n{text}",
        re.MULTILINE,
    )
    why = lines[0] if lines and lines[0][0] == "[" else lines[-1] if lines else str(NO_REASON)
    return IncomeError(
        "the Spark query failed: {}; if the checkpoint is damaged, restore a copy of it, "
        "or begin again with a fresh --checkpoint",
        why.strip(),
    )


def read_rows(address: str, topic: str, isolation: str = "read_committed") -> list[Row]:
    """Every row of topic Income, as a consumer of committed records gets them, by time."""
    values = [json.loads(value) for value in topics.read_values(address, topic, isolation)]
    rows = [Row(value["minute"], value["income_tenths"], value["lines"]) for value in values]
    return sorted(rows, key=lambda row: row.minute)


def read_output(sink: str, target: Target) -> list[Row]:
    """The rows that a sink has written, wherever it writes them."""
    if sink in DATABASES:
        return [Row(*row) for row in sinks.read_rows(target)]
    return read_rows(target.address, target.topic)


def visible(orders: Orders, folder: Path, spark: SparkSession) -> Orders:
    """The orders where Spark can read them: on a cluster a copy in the checkpoint's folder, which
    all machines share."""
    local = str(spark.sparkContext.master).startswith("local[")
    if local or not isinstance(orders, str | Path):
        return orders
    copy = folder / Path(orders).name
    return copy if copy.exists() and copy.samefile(orders) else Path(shutil.copy(orders, copy))


def read_result(
    address: str,
    target: Target,
    reading: Reading,
    records: Sequence[feeder.Record],
    true: Truth,
    times: Times,
) -> Result:
    """Read topic Income and the dead letters back, and compare them with the file (`reading`; its
    lines as they were sent: `records`) and with `true`, the income without Spark. `target`: the
    job's topics and checkpoint; `times`: how long each part took, which the result keeps. Raises
    IncomeError."""
    rows = read_rows(address, target.topic)
    dead = [json.loads(value) for value in topics.read_values(address, target.dead)]
    counted = sum(row.lines for row in rows)
    balance = reconcile(address, target.source, counted, len(dead), target.checkpoint, len(records))
    parts = topics.partitions_of(address, target.source)
    rejected = find_rejected(reading, records, dead, parts)
    account = take_account(reading, true, counted, rejected, target.checkpoint.parent)
    # the query of the job NAME is called income-NAME
    names = Names(target.query.removeprefix("income-"))
    done = len(read_commits(target.checkpoint))
    return Result(rows, dead, balance, true, names, done, times, account)


def error_of(rows: Sequence[Row], true: Truth) -> str:
    """Empty where every minute is there once and exact, else how wrong the sum is, in percent."""
    minutes = true.tenths()
    times = Counter(row.minute for row in rows)
    exact = times.keys() == minutes.keys() and set(times.values()) <= {1}
    if exact and all(row.tenths == minutes[row.minute] for row in rows):
        return ""
    total = true.total_tenths
    percent = (sum(row.tenths for row in rows) - total) / total * 100 if total else float("inf")
    return f"{percent:+.1f} %"
