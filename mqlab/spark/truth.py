"""Reconciliation: the same answer a second time, by other code, without Spark and in decimals.

It shares nothing with the first reading and the job but the shop's rules (orders.py has them in
words): CSV is read by Arrow's reader and not Python's, Parquet by Spark's and not Arrow's; numbers
are decimals, times are read by `strptime`, lines are counted by their ends. So a slip in a parser,
in the job's integers or in its windows cannot hide in its own check.
"""

from __future__ import annotations

import csv
import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel import Words, tr
from ..kernel.text import say_cause
from . import files, topics
from .columns import Judged, judge
from .cuts import Cut
from .errors import IncomeError
from .feeder import Record, arrange
from .orders import MINUTE_MS, ROW, floor_minute, minute_text, say_reason, shorten
from .topics import ANY, Span

if TYPE_CHECKING:
    from .files import Orders, Reading


Clock = Callable[[str], str]  # the minute of a time; raises ValueError
Row = Sequence[str | None]  # InvoiceNo, Quantity, InvoiceDate, UnitPrice
NAMES = {
    "InvoiceNo": ("invoiceno", "invoice"),
    "Quantity": ("quantity",),
    "InvoiceDate": ("invoicedate",),
    "UnitPrice": ("unitprice", "price"),
}
KNOWN = {name for names in NAMES.values() for name in names}
BOM = b"\xef\xbb\xbf"
PLAIN = ("%Y-%m-%d %H:%M:%S",)
YEAR_FIRST = tuple(
    f"%Y{mark}%m{mark}%d{between}{time}{zone}"
    for mark in "-/"
    for between in " T"
    for time in ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f")
    for zone in ("", "%z")
)
MONTH_FIRST, DAY_FIRST = (
    tuple(f"{mark.join(order)} {time}" for mark in "/.-" for time in ("%H:%M", "%H:%M:%S"))
    for order in (("%m", "%d", "%Y"), ("%d", "%m", "%Y"))
)


@dataclass(slots=True)
class Truth:
    """Pounds and lines per minute (`2011-12-05 08:38`), the number of cancellations among these
    lines, the rows that are no orders (from 0), and the lines of the file (in a CSV file one is the
    `head`, and some are `beside` rows: empty, or the rest of a row). `cancelled`: that number;
    `rejected`: those rows; `total`: all lines."""

    pounds: dict[str, Decimal] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    cancelled: int = 0
    rejected: list[int] = field(default_factory=list)
    total: int = 0
    head: int = 0
    beside: int = 0

    @property
    def dead(self) -> int:
        """How many lines are no orders."""
        return len(self.rejected)

    @property
    def counted(self) -> int:
        """Orders, without the cancellations."""
        return sum(self.lines.values()) - self.cancelled

    @property
    def sum(self) -> Decimal:
        """Pounds, exact."""
        return sum(self.pounds.values(), Decimal(0))

    @property
    def total_tenths(self) -> int:
        """The sum in tenths of a penny; exact, as no price has a fourth decimal."""
        return int(self.sum * 1000)

    def tenths(self) -> dict[str, int]:
        """Minute → income in tenths of a penny, in order of time."""
        return {at: int(self.pounds[at] * 1000) for at in sorted(self.pounds)}


def truth_of(orders: Orders, span: Span = ANY) -> Truth:
    """Income per minute of the lines, as it must come out when no line comes late.

    Times that the broker does not take (`span`) are no orders. A Parquet file needs Spark's
    session, which is started unless it runs; on a cluster its executors must see the file.
    Raises IncomeError where it cannot be read.
    """
    if not isinstance(orders, str | Path):
        found = Truth(total=len(orders))
        rows: Iterator[Row | None] = (tuple(line.get(name) for name in NAMES) for line in orders)
        return _add_up(found, rows, _minutes(PLAIN, span))
    if Path(orders).suffix.lower() == ".csv":
        return _of_csv(Path(orders), span)
    return _of_parquet(Path(orders), span)


def _of_csv(path: Path, span: Span) -> Truth:
    """Compute the true income of a CSV file, with Arrow's reader and not with the job's own: it
    gives the rows that have as many fields as the head, and the number of each that has not.
    `span`: the times that the broker takes; a line at another time is no order."""
    import pyarrow as pa
    from pyarrow import csv

    data = path.read_bytes()
    # the last line may have no end
    line_count = len(re.findall(rb"\r\n|\r|\n", data)) + (data[-1:] not in (b"\n", b"\r"))
    head = data.removeprefix(BOM).lstrip(b"\r\n").splitlines()[0].decode()
    separator = max(",;\t|", key=lambda mark: len(KNOWN & set(_plain(head.split(mark)))))
    # Arrow finds how many columns the first row has; there are no more than marks in it
    fields = [f"f{number}" for number in range(head.count(separator) + 1)]
    misfits: set[int] = set()  # rows with other numbers of fields, the head being row 1

    def skip(row: csv.InvalidRow) -> str:
        misfits.add(row.number)
        return "skip"

    table = csv.read_csv(
        pa.BufferReader(data),
        # One thread and one block, or Arrow does not number its rows.
        csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, autogenerate_column_names=True
        ),
        csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=skip),
        csv.ConvertOptions(column_types=dict.fromkeys(fields, pa.string())),
    )
    names = [str(column[0]).strip("\ufeff") for column in table.columns]
    # InvoiceNo, Quantity, InvoiceDate and UnitPrice, as _add_up takes them
    chosen = [fields[place] for place in _places(names)]
    fitting = zip(*(table.column(name)[1:].to_pylist() for name in chosen), strict=True)
    row_count = table.num_rows + len(misfits)
    # row 1 is the head; None stands for a row that is no order
    rows = (None if number in misfits else next(fitting) for number in range(2, row_count + 1))
    dates = set(table.column(chosen[2])[1:].to_pylist())
    found = Truth(total=line_count, head=1, beside=line_count - row_count)
    return _add_up(found, rows, _clock(dates, span))


def _of_parquet(path: Path, span: Span) -> Truth:
    """Compute the true income of a Parquet file, with Spark's reader in Java, not with the job's
    own; it also writes numbers and times as texts. `span`: the times that the broker takes; a line
    at another time is no order. Raises IncomeError where Spark cannot read the file."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as f

    from .session import session

    spark = session()
    # Spark has no nanoseconds: it gives such times as whole numbers, or refuses the file.
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    try:
        # one file, whatever its name: [1] and * in it are no pattern
        table = spark.read.option("__globPaths__", "false").parquet(str(path.resolve()))
        fields = [table.schema[place] for place in _places(table.columns)]
        texts = [
            f.expr(f"timestamp_micros(`{schema_field.name}` div 1000)")
            if schema_field.name in _in_nanoseconds(path)
            and schema_field.dataType.simpleString() == "bigint"  # INT96 is a time for Spark
            else f.col(f"`{schema_field.name}`")
            for schema_field in fields
        ]
        place = f.col("_metadata.row_index").alias("place")
        rows = table.select(place, *(text.cast("string") for text in texts)).toArrow()
    except (PySparkException, Py4JJavaError) as error:
        # an error of Java names its cause last, one of Spark begins with its sentence
        causes = re.findall(r"(?<=Caused by: ).+", str(error)) or str(error).splitlines()[:1]
        raise IncomeError(
            "Spark cannot read {} ({}): use types of columns and a compression that Spark supports",
            path,
            causes[-1],
        ) from error
    # as in the file: Spark may read its parts in any sequence
    columns = [column.to_pylist() for column in rows.sort_by("place").columns[1:]]
    # Java writes 1.0E-4
    for index, schema_field in enumerate(fields):
        if schema_field.dataType.typeName() in ("double", "float"):
            # (`text and`: null stays null)
            columns[index] = [text and f"{Decimal(text):f}" for text in columns[index]]
    filled = [[text or "" for text in column] for column in columns]
    found = Truth(total=len(filled[0]))
    # [2]: InvoiceDate, the third of NAMES
    return _add_up(found, zip(*filled, strict=True), _clock(set(filled[2]), span))


def _in_nanoseconds(path: Path) -> list[str]:
    """The columns whose type in the file says so."""
    import pyarrow.parquet as pq

    types = {field.name: str(field.type) for field in pq.read_schema(path)}
    return [name for name, kind in types.items() if kind.startswith("timestamp[ns")]


def _places(names: Sequence[str]) -> list[int]:
    """Where the needed columns are."""
    plain = _plain(names)
    return [next(plain.index(one) for one in known if one in plain) for known in NAMES.values()]


def _plain(names: Iterable[str]) -> list[str]:
    """Names without what does not matter in them."""
    return ["".join(name.strip('"').lower().replace("_", " ").split()) for name in names]


def _clock(texts: Iterable[str | None], span: Span) -> Clock:
    """Reads the times of a file: day and month in the order that fits more of them."""
    short = [text for text in texts if text and not text[:4].isdigit()]
    fits = [sum(_fits(text, form) for text in short) for form in (MONTH_FIRST, DAY_FIRST)]
    return _minutes(YEAR_FIRST + (MONTH_FIRST if fits[0] >= fits[1] else DAY_FIRST), span)


def _fits(text: str, forms: Sequence[str]) -> bool:
    try:
        _time(text, forms)
    except ValueError:
        return False
    return True


def _minutes(forms: Sequence[str], span: Span) -> Clock:
    @lru_cache(maxsize=1 << 16)  # a shop sells many lines in one minute
    def minute(text: str) -> str:
        at = _time(text, forms)
        taken = span.earliest_ms <= at.timestamp() * 1000 <= span.latest_ms
        if not (taken and 1971 <= at.year < 9999):
            raise ValueError(text)
        return f"{at:%Y-%m-%d %H:%M}"

    return minute


def _time(text: str, forms: Sequence[str]) -> datetime:
    """Without a zone it is UTC. Raises ValueError."""
    # strptime forgives digits of other scripts, blanks, minutes of one digit, a small t, and zones
    # with seconds.
    forgiven = r":\d(?!\d)|[-/.] |t|[+-]\d\d:?\d\d:?\d"
    if not text.isascii() or text != " ".join(text.split()) or re.search(forgiven, text):
        raise ValueError(text)
    text = re.sub(r"(\.\d{6})\d{1,3}(?!\d)", r"\1", text)  # and knows no parts of a microsecond
    for form in forms:
        try:
            moment = datetime.strptime(text, form)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):  # beyond the calendar in UTC
            continue
    raise ValueError(text)


def _number(text: str) -> Decimal:
    """Raises ValueError, InvalidOperation."""
    if set(text) - set("0123456789-.") or not (text.lstrip("-")[:1] + text[-1:]).isdigit():
        raise ValueError(text)
    return Decimal(text)


@lru_cache(maxsize=1 << 16)
def _amount(quantity: str, price: str) -> tuple[Decimal, bool]:
    """Pounds, and whether pieces came back. Raises ValueError, InvalidOperation."""
    pieces, each = _number(quantity), _number(price)
    whole = pieces == int(pieces) and abs(pieces) < 10**9
    # (a product of Decimals is rounded to 28 digits, a Fraction is exact)
    fine = (Fraction(each) * 1000).denominator == 1 and abs(each) < 10**10
    if not (whole and fine and abs(pieces * each) <= 10**9):
        raise ValueError(quantity, price)
    return pieces * each, pieces < 0


def _add_up(found: Truth, rows: Iterable[Row | None], clock: Clock) -> Truth:
    """Each row, None where its fields cannot be told apart."""
    pounds: defaultdict[str, Decimal] = defaultdict(Decimal)
    lines: Counter[str] = Counter()
    for number, row in enumerate(rows):
        try:
            invoice, minute, (amount, back) = _judge(row, clock)
        except (ValueError, InvalidOperation):
            found.rejected.append(number)
            continue
        pounds[minute] += amount
        lines[minute] += 1
        found.cancelled += back and invoice.startswith("C")
    found.pounds, found.lines = dict(pounds), dict(lines)
    return found


def _judge(row: Row | None, clock: Clock) -> tuple[str, str, tuple[Decimal, bool]]:
    """Invoice, minute, and what it comes to. Raises ValueError, InvalidOperation."""
    if row is None:
        raise ValueError
    invoice, quantity, date, price = row
    if invoice is None or quantity is None or date is None or price is None:
        raise ValueError
    return invoice, clock(date), _amount(quantity, price)


# ---- Does the account balance? fed = read = counted + dead + unaccounted, counted in the topics
#
# *Fed* is the number of lines the file has. *Counted* comes from the rows themselves (each says how
# many lines it sums), *dead* from the dead-letter topic, *read* from topic Order up to where the
# job
# has read. What is left over was dropped without a word: orders that came after their minute was
# closed.
#
# How many those must be is computed a second time, without Spark: the batches are replayed from
# `offsets/N`, with the rule Spark follows. In batch n the watermark for late orders is the largest
# time seen in the batches before n - 1 (one batch before the one that closes minutes), and an order
# is late when its minute's end is not after it.

Missing = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Numbers of lines. `late` and `open` are computed without Spark, the rest is counted.

    `missing` is what the late lines and those in open minutes would have added: minute → (tenths of
    a penny, lines). `fed`: lines in the file, `read`: by the job; `dead`: on the dead-letter
    topic."""

    fed: int
    read: int
    counted: int
    dead: int
    late: int
    open: int
    missing: Missing = field(default_factory=dict)

    @property
    def unaccounted(self) -> int:
        """Lines that were read and are nowhere; below 0 where lines are counted twice."""
        return self.read - self.counted - self.dead

    @property
    def balanced(self) -> bool:
        """All that was fed was read, and the late and open lines are all that is unaccounted."""
        return self.fed == self.read and self.unaccounted == self.late + self.open

    def __str__(self) -> str:
        waiting = str(OPEN(n=self.open)) if self.open else ""
        lines = RECONCILED(
            fed=self.fed, read=self.read, counted=self.counted, dead=self.dead,
            unaccounted=self.unaccounted, late=self.late, waiting=waiting,
            verdict=BALANCED[self.balanced],
        )  # fmt: skip
        return str(lines)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a job with these batches must leave: numbers of lines. `read`: by the job; `dead`:
    unreadable; `late`: after their minute was closed; `open`: in minutes that are not closed;
    `missing`: as in Reconciliation."""

    read: int
    dead: int
    late: int
    open: int
    missing: Missing


class Replay:
    """The batches once more, without Spark. Give it every record, then ask for its sums,
    as `replay_orders` does."""

    def __init__(self, ends: Sequence[Cut]) -> None:
        """`ends[n]` is where batch n ends, as `offsets/n` says."""
        self.ends = ends
        self.columns = list(zip(*(cut.offsets for cut in ends), strict=True))
        self.newest = [0] * len(ends)  # the largest time seen in each batch
        # (batch, end of minute) → tenths of a penny, lines
        self.tenths: Counter[tuple[int, int]] = Counter()
        self.lines: Counter[tuple[int, int]] = Counter()
        self.firsts: list[int] = []  # the time of each partition's first record
        self.dead_in: set[int] = set()  # batches
        self.read = self.dead = 0

    def add(
        self,
        partition: int,
        offsets: Sequence[int],
        stamps: Sequence[int],
        values: Sequence[bytes | None],
    ) -> None:
        """Add some of a partition's records, at least one, in the log's sequence, each to the batch
        that has its offset; stamps in ms since 1970 UTC; a value may be None, which is no order."""
        if offsets[0] == 0:  # the partition's first record
            self.firsts.append(stamps[0])
        judged = judge(values, stamps)
        start = 0  # `end`: the partition's first offset after the batch
        for batch, end in enumerate(self.columns[partition]):
            stop = bisect_left(offsets, end, start)
            if start < stop:
                self._add_to(batch, start, stop, stamps, judged)
            start = stop

    def _add_to(
        self, batch: int, start: int, stop: int, stamps: Sequence[int], judged: Judged
    ) -> None:
        """Add the records at `start <= position < stop` of what `add` was given to the batch with
        this number: dead letters are counted, orders are added up by minute. `judged`: of each
        record what it is worth, or why it is no order."""
        tenths = judged.tenths[start:stop].to_pylist()
        lines = judged.lines[start:stop].to_pylist()
        for position, income, line in zip(range(start, stop), tenths, lines, strict=True):
            if position in judged.reasons:
                self.dead += 1
                self.read += 1
                self.dead_in.add(batch)
                continue
            stamp = stamps[position]
            self.newest[batch] = max(self.newest[batch], stamp)
            if line:  # not a closing record; a window is the batch and the end of the minute
                window = batch, stamp - stamp % MINUTE_MS + MINUTE_MS
                self.tenths[window] += income
                self.lines[window] += 1
                self.read += 1

    def expected(self) -> Expected:
        """What the job must have left, by Spark's rules for late data: a minute is closed in the
        first batch whose watermark is not before its end, and a line is late if its minute's end is
        not after the watermark of the batch before its own."""
        watermarks = [0]  # ms; by batch, the largest time in the batches before it
        for batch, newest in enumerate(self.newest[:-1]):
            # A dead letter has the time at which its batch begins (source.py).
            begins = self.ends[batch - 1].until_ms if batch else floor_minute(min(self.firsts))
            newest_seen = max(newest, begins if batch in self.dead_in else 0)
            watermarks.append(max(watermarks[-1], newest_seen))
        late = still_open = 0
        missing: dict[str, tuple[int, int]] = {}
        for (batch, end_ms), lines in self.lines.items():
            # (the first batch has none before it, and its own watermark is 0)
            if end_ms <= watermarks[max(batch - 1, 0)]:
                late += lines
            elif end_ms > watermarks[-1]:
                still_open += lines
            else:
                continue  # counted in time, so nothing is missing
            minute = minute_text(end_ms - MINUTE_MS)
            tenths, missing_lines = missing.get(minute, (0, 0))
            missing[minute] = tenths + self.tenths[batch, end_ms], missing_lines + lines
        return Expected(self.read, self.dead, late, still_open, missing)


def replay_orders(address: str, order_topic: str, folder: Path) -> Expected:
    """Compute what the query whose checkpoint is `folder` must have left: reads topic Order
    (`order_topic`) again, up to the end of its last batch, without Spark. Raises IncomeError where
    the checkpoint lacks a batch."""
    numbers = files.batches(folder)
    if numbers != list(range(len(numbers))) or not numbers:
        raise IncomeError(
            "{}/offsets is incomplete, so the income cannot be checked: start with a fresh "
            "--checkpoint",
            folder,
        )
    replay = Replay([files.cut_of(folder, number) for number in numbers])
    client = topics.consumer(address)
    try:
        for partition, end in enumerate(replay.ends[-1].offsets):
            for chunk in topics.read_chunks(client, order_topic, partition, 0, end):
                replay.add(
                    partition,
                    [record.offset() or 0 for record in chunk],
                    [record.timestamp()[1] for record in chunk],
                    [record.value() for record in chunk],
                )
    finally:
        client.close()
    return replay.expected()


def reconcile(
    address: str, order_topic: str, counted: int, dead: int, folder: Path, fed: int
) -> Reconciliation:
    """What the rows and the dead letters sum up to, compared with a replay of the batches.

    `counted` lines are in topic Income, `dead` ones in topic Dead; `folder` is the query's
    checkpoint. Raises IncomeError.
    """
    must = replay_orders(address, order_topic, folder)
    return Reconciliation(fed, must.read, counted, dead, must.late, must.open, must.missing)


# ---- Where every line of the file is: counted, cancelled, rejected, or the head; read twice
#
#     lines 5,332 = counted 5,305 + cancelled 26 + rejected 0 + header 1
#
# The numbers are the job's: what the rows of topic Income say they sum, and what is in topic
# Dead.
# The second reading (truth.py) must find the same ones, and the same rejected lines.

BALANCED = tr("NOT BALANCED"), tr("balanced")
OPEN = Words(" + {n:,} in minutes still open")
RECONCILED = Words(
    "lines fed {fed:,}, read {read:,} = counted {counted:,} + dead {dead:,} + unaccounted "
    "{unaccounted:,}\nwithout Spark: {late:,} late{waiting} → {verdict}"
)
AGAIN = Words("read again by other code: {sum} → {verdict}")
BESIDE = Words(" + empty or inside a text {n:,}")
SUM = Words(
    "lines {n:,} = counted {counted:,} + cancelled {cancelled:,} + rejected {rejected:,} + header "
    "{head}{rest}"
)
LINE = Words("  rejected line {:,}: {}: {}")
MORE, ALL = Words("{:,} more; "), Words("all of them are in {}")
TOTAL = Words("total {}, without {} {} → {}")
EQUAL, UNEQUAL, WRONG = tr("equal"), tr("NOT EQUAL"), tr("equal, but minutes are WRONG")
FIRST = 10  # rejected lines that are shown; all of them are in the file


class Rejected(NamedTuple):
    """A line that is no order: its row from 0, the line of the file, why, and its text."""

    row: int
    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Account:
    """`counted` lines, without `cancelled` ones. `file` holds all `rejected` ones, if there are.
    `reading`: how the file was read; `truth`: the sums without Spark."""

    reading: Reading
    truth: Truth
    counted: int
    cancelled: int
    rejected: tuple[Rejected, ...]
    file: Path | None = None

    @property
    def balanced(self) -> bool:
        """Each line of the file is in one place, and the second reading says so too."""
        ours, theirs = self._numbers(), _numbers_of(self.truth)
        rows = [one.row for one in self.rejected]
        whole = sum(ours[1:]) == ours[0] and sum(theirs[1:]) == theirs[0]
        return whole and ours == theirs and rows == self.truth.rejected

    def _numbers(self) -> tuple[int, ...]:
        read = self.reading
        dead = len(self.rejected)
        return read.total, self.counted, self.cancelled, dead, read.head, read.beside

    def __str__(self) -> str:
        again, verdict = _sum_of(_numbers_of(self.truth)), BALANCED[self.balanced]
        lines = [
            f"{self.reading.name}: {_sum_of(self._numbers())}",
            str(AGAIN(sum=again, verdict=verdict)),
        ]
        shown = self.rejected[:FIRST]
        lines += [str(LINE(one.line, say_reason(one.reason), shorten(one.text))) for one in shown]
        if self.file:
            more = len(self.rejected) - len(shown)
            lines.append(f"  {MORE(more) if more else ''}{ALL(self.file)}")
        return "\n".join(lines)


def _numbers_of(true: Truth) -> tuple[int, ...]:
    return true.total, true.counted, true.cancelled, true.dead, true.head, true.beside


def _sum_of(numbers: Sequence[int]) -> str:
    total, counted, cancelled, rejected, head, beside = numbers
    rest = str(BESIDE(n=beside)) if beside else ""
    return str(
        SUM(n=total, counted=counted, cancelled=cancelled, rejected=rejected, head=head, rest=rest)
    )


def find_rejected(
    reading: Reading, records: Sequence[Record], letters: Sequence[Mapping[str, Any]], parts: int
) -> tuple[Rejected, ...]:
    """The dead letters of topic Dead, each with its line; `parts`: partitions of topic Order.

    What is in that topic after the closing record is no line of the file, and left out."""
    rows = arrange(records, parts)
    found = []
    for letter in letters:
        part, offset = rows[letter["partition"]], letter["offset"]
        if offset < len(part):
            line, text = reading.places[part[offset]], _text(letter["value"])
            found.append(Rejected(part[offset], line, letter["reason"], text))
    return tuple(sorted(found))


def judge_lines(reading: Reading, records: Sequence[Record]) -> tuple[Rejected, ...]:
    """What is no order by the rules, of a job that writes no dead letters."""
    from .columns import judge

    values = [record.value for record in records]
    reasons = judge(values, [record.stamp_ms for record in records]).reasons
    return tuple(
        Rejected(row, reading.places[row], reason, _text(values[row].decode()))
        for row, reason in sorted(reasons.items())
    )


def _text(value: str) -> str:
    """The line as it is, of one that could not be told apart; else the message."""
    fields = json.loads(value)
    return str(fields[ROW]) if ROW in fields else value


def take_account(
    reading: Reading, true: Truth, summed: int, rejected: tuple[Rejected, ...], folder: Path
) -> Account:
    """`summed` lines are in the rows of topic Income. What was rejected is written down beside the
    folder of the run. Raises IncomeError."""
    cancelled = _count_cancelled(reading, rejected)
    file = _write_down(rejected, folder.parent / f"{folder.name}.rejected.csv")
    return Account(reading, true, summed - cancelled, cancelled, rejected, file)


def _count_cancelled(reading: Reading, rejected: Sequence[Rejected]) -> int:
    """Lines whose invoice begins with C and whose quantity is below zero."""
    import pyarrow.compute as pc

    table = reading.table
    if not {"InvoiceNo", "Quantity"} <= set(table.column_names):
        return 0
    named = pc.starts_with(table.column("InvoiceNo"), "C")
    below = pc.match_substring_regex(table.column("Quantity"), "^-.*[1-9]")
    cancels = pc.fill_null(pc.and_(named, below), False)
    dead = {one.row for one in rejected}
    return sum(row not in dead for row in pc.indices_nonzero(cancels).to_pylist())


def _write_down(rejected: Sequence[Rejected], file: Path) -> Path | None:
    """Write the rejected lines to a CSV file and return it; None where there are none, and an older
    file of that name is removed. Raises IncomeError where it cannot be written."""
    try:
        if not rejected:
            file.unlink(missing_ok=True)
            return None
        with file.open("w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(("line", "reason", "text"))
            rows.writerows(one[1:] for one in rejected)  # without the row's number
    except OSError as error:
        raise IncomeError(
            "cannot write {} ({}): free some space, or give another --checkpoint",
            file,
            say_cause(error),
        ) from error
    return file
