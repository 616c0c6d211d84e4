"""The job in Flink's own words: settings and SQL.

    Order ──► orders that count ──► windows of one minute ──► topic Income

A window closes when the watermark has passed its end. The watermark follows the records' own
stamps without a delay, in each partition by itself, and the job goes by the slowest: so partitions
that run far apart in time make no line late, and no batches need to be cut as for Spark (cuts.py).

The source is bounded: it ends at the offsets that topic Order has when all is fed, also where
they are not there yet. At its end Flink takes a last checkpoint, commits, and the job has finished.

The rules of orders.py are here once more, as conditions of SQL; the patterns are the same
objects. A number that is not in quotation marks is text to Flink's JSON and none to orders.py:
that is the one line about which the two would not agree.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from ...kernel import Words, tr
from ...places import RECORDINGS
from ..orders import DATE, LIMIT_TENTHS, PRICE, QUANTITY, TENTHS_PER_POUND

VERSION = "2.2.1"
SINKS = ("at-least-once", "exactly-once")
# Between the barrier and the end of the checkpoint rows wait in an open transaction.
CHECKPOINT_MS = 500
# The connector's default of an hour is more than a broker allows (transaction.max.timeout.ms).
TRANSACTION_TIMEOUT_MS = 600_000


@dataclass(frozen=True, slots=True)
class Job:
    """`ends`: after which offset of each partition of topic Order the job is done; `guarantee`: one
    of `SINKS`; `folder`: for checkpoints; `restored`: the checkpoint to begin from; `parallelism`:
    how many writers there are, each with a transaction of its own. `jar`: Flink's Kafka
    connector."""

    address: str
    source: str
    topic: str
    ends: tuple[int, ...]
    guarantee: str
    folder: Path
    jar: Path
    restored: Path | None = None
    parallelism: int = 2


def settings(job: Job) -> dict[str, str]:
    """Flink's configuration for this job; it begins from the checkpoint `job.restored`, if any."""
    config = {
        "pipeline.jars": job.jar.as_uri(),
        "parallelism.default": str(job.parallelism),
        "table.local-time-zone": "UTC",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.interval": f"{CHECKPOINT_MS} ms",
        "execution.checkpointing.dir": job.folder.as_uri(),
        # A killed job leaves its checkpoints behind; one that has finished deletes them.
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "none",  # the one who kills a job starts it again
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
    }
    if job.restored is not None:
        config["execution.state-recovery.path"] = job.restored.as_uri()
    return config


def statements(job: Job) -> list[str]:
    """SQL; the last one is the job."""
    return [_orders(job), _counted(), _income(job), INSERT]


def _orders(job: Job) -> str:
    """The CREATE TABLE of the source: topic Order, up to the offsets `job.ends`, which it may reach
    only later."""
    ends = ";".join(f"partition:{part},offset:{end}" for part, end in enumerate(job.ends))
    # By default a watermark is sent every 200 ms, and for partitions that are not yet read to
    # their end. A job that reads its last orders in less sends none for them; started from a
    # checkpoint it does not end either (FLINK-33466), and its last windows would never close.
    return f"""
CREATE TEMPORARY TABLE orders (
    InvoiceNo STRING, Quantity STRING, InvoiceDate STRING, UnitPrice STRING,
    stamp TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR stamp AS stamp
) WITH (
    'connector' = 'kafka', 'topic' = {_text(job.source)},
    'properties.bootstrap.servers' = {_text(job.address)},
    'properties.isolation.level' = 'read_committed',
    'scan.startup.mode' = 'earliest-offset',
    'scan.watermark.emit.strategy' = 'on-event',
    'scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = '{ends}',
    'format' = 'json', 'json.ignore-parse-errors' = 'true'
)"""


def _counted() -> str:
    pounds = "TRY_CAST(Quantity AS DECIMAL(9, 0)) * TRY_CAST(UnitPrice AS DECIMAL(14, 3))"
    rules = " AND ".join(
        f"REGEXP({column}, {_text(f'^(?:{pattern.pattern})$')})"
        for column, pattern in (("Quantity", QUANTITY), ("UnitPrice", PRICE), ("InvoiceDate", DATE))
    )
    return f"""
CREATE TEMPORARY VIEW counted AS
SELECT stamp, TRY_CAST({pounds} * {TENTHS_PER_POUND} AS BIGINT) AS tenths FROM orders
WHERE InvoiceNo IS NOT NULL AND {rules}
  AND TO_TIMESTAMP(InvoiceDate) = CAST(stamp AS TIMESTAMP(3))
  AND ABS({pounds}) <= {LIMIT_TENTHS // TENTHS_PER_POUND}"""


def _income(job: Job) -> str:
    """The CREATE TABLE of the sink: topic Income, its minutes as keys, with Kafka transactions
    where the guarantee is exactly-once."""
    # POOLING takes a transactional id again when its transaction is over; Flink's default takes
    # a new one for each checkpoint, and the broker remembers them for a week.
    transactions = f"""
    'properties.transaction.timeout.ms' = '{TRANSACTION_TIMEOUT_MS}',
    'sink.transactional-id-prefix' = {_text(f"flink-{job.topic}")},
    'sink.transaction-naming-strategy' = 'POOLING',"""
    return f"""
CREATE TEMPORARY TABLE income (
    `minute` STRING, income_tenths BIGINT, `lines` BIGINT,
    stamp TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
    'connector' = 'kafka', 'topic' = {_text(job.topic)},
    'properties.bootstrap.servers' = {_text(job.address)},
    'sink.delivery-guarantee' = '{job.guarantee}',{
        transactions if job.guarantee == "exactly-once" else ""
    }
    'key.format' = 'raw', 'key.fields' = 'minute', 'value.format' = 'json'
)"""


INSERT = """
INSERT INTO income
SELECT DATE_FORMAT(window_start, 'yyyy-MM-dd HH:mm'), SUM(tenths), COUNT(*),
       CAST(window_start AS TIMESTAMP_LTZ(3))
FROM TABLE(TUMBLE(TABLE counted, DESCRIPTOR(stamp), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end"""


def _text(value: str) -> str:
    """A text of SQL."""
    return "'" + value.replace("'", "''") + "'"


# What came of killing both jobs: one line a trial, as text, and as a file that is kept

#: what a real run has found, committed for lab 11, which needs no Flink
RECORDING = RECORDINGS / "flink-2.2.1" / "kills.json"


class Instant(StrEnum):
    """When the job dies, said of both. The value is what the table prints.

    *Decided* means something else in each: Spark's sink has committed its transaction and
    `commits/N` is not written; Flink's checkpoint is durable and its transaction is open."""

    NEVER = "never"
    OUT = "rows out, nothing decided"
    DECIDED = "decided, one side not told"
    DONE = "both told"


@dataclass(frozen=True, slots=True)
class Trial:
    """One run. `error`: of the income that a reader of committed records adds up, "" where it is
    exact; `twice` and `seen`: the minutes that are there more than once, for a reader of committed
    records and for one of everything; `seconds`: from the start of the job, of the second one after
    a kill, until a reader of committed records has every minute. `sink`: its guarantee; `killed`:
    when."""

    job: str
    sink: str
    killed: Instant
    error: str
    twice: int
    seen: int
    seconds: float

    @property
    def as_expected(self) -> bool:
        """At least once is wrong where rows were out; exactly once nowhere."""
        return bool(self.error) == (self.sink == "at-least-once" and self.killed is Instant.OUT)


HEAD = ("job", "sink", "killed", "income", "twice", "seen twice", "seconds")
WIDTHS = (13, 14, 27, 9, 6, 11, 8)
NOTES = (
    tr("income, twice: what a reader of committed records adds up, and minutes that it gets twice"),
    tr("seen twice: minutes that a reader of everything (read_uncommitted) gets twice"),
    tr("seconds: from the start or the crash until a reader of committed records has every minute"),
)
AS_IT_MUST_BE = tr("as it must be"), tr("cells marked ! are not as expected")
LINES = Words("{n:,} order lines: {verdict}")


@dataclass(frozen=True, slots=True)
class Table:
    """All trials over so many order lines; prints as a table. `orders`: their number."""

    orders: int
    trials: tuple[Trial, ...]

    @property
    def as_expected(self) -> bool:
        return all(trial.as_expected for trial in self.trials)

    def __str__(self) -> str:
        rows = [_line(HEAD)]
        for trial in self.trials:
            income = (trial.error or "ok") + ("" if trial.as_expected else " !")
            cells = trial.job, trial.sink, trial.killed, income
            rows.append(
                _line((*cells, *map(str, (trial.twice, trial.seen)), f"{trial.seconds:.1f}"))
            )
        verdict = AS_IT_MUST_BE[not self.as_expected]
        return "\n".join([*rows, *map(str, (LINES(n=self.orders, verdict=verdict), *NOTES))])

    def to_json(self) -> str:
        """The file that is kept: a head, then one trial a line."""
        trials = [json.dumps(asdict(trial), ensure_ascii=False) for trial in self.trials]
        return f'{{"orders": {self.orders}, "trials": [\n' + ",\n".join(trials) + "\n]}\n"

    @staticmethod
    def from_json(text: str) -> Table:
        """Raises ValueError where the text is no such file."""
        try:
            given = json.loads(text)
            trials = [
                Trial(**trial | {"killed": Instant(trial["killed"])}) for trial in given["trials"]
            ]
            return Table(int(given["orders"]), tuple(trials))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a table of trials: {error}") from error


def _line(cells: tuple[str, ...]) -> str:
    """Texts to the left, numbers to the right."""
    said = [str(tr(cell, "cell")) for cell in cells]
    # a Chinese character takes two columns
    wide = [w - sum(c > "\u2e80" for c in text) for text, w in zip(said, WIDTHS, strict=True)]
    texts = [f"{cell:{width}}" for cell, width in zip(said[:3], wide[:3], strict=True)]
    numbers = [f"{cell:>{width}}" for cell, width in zip(said[3:], wide[3:], strict=True)]
    return "".join(texts + numbers).rstrip()
