"""The same answer a second time, by other code: without Spark, without a broker, in decimals.

It shares nothing with the first reading and the job but the shop's rules (orders.py has them in
words): CSV is read by Arrow's reader and not Python's, Parquet by Spark's and not Arrow's; numbers
are decimals, times are read by `strptime`, lines are counted by their ends. So a slip in a parser,
in the job's integers or in its windows cannot hide in its own check.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import IncomeError
from .topics import ANY, Span

if TYPE_CHECKING:
    from .files import Orders

Clock = Callable[[str], str]  # the minute of a time; raises ValueError
Row = Sequence[str | None]  # InvoiceNo, Quantity, InvoiceDate, UnitPrice
NAMES = {
    "InvoiceNo": ("invoiceno", "invoice"),
    "Quantity": ("quantity",),
    "InvoiceDate": ("invoicedate",),
    "UnitPrice": ("unitprice", "price"),
}
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
    `head`, and some are `beside` rows: empty, or the rest of a row)."""

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
    """Arrow's reader gives the rows that fit, and the number of each that does not."""
    import pyarrow as pa
    from pyarrow import csv

    data = path.read_bytes()
    ends = len(re.findall(rb"\r\n|\r|\n", data)) + (data[-1:] not in (b"\n", b"\r"))
    head = data.lstrip().splitlines()[0]
    mark = max(b",", b";", b"\t", b"|", key=head.count)
    fields = [f"f{number}" for number in range(head.count(mark) + 1)]
    odd: set[int] = set()

    def skip(row: csv.InvalidRow) -> str:
        odd.add(row.number)
        return "skip"

    table = csv.read_csv(
        pa.BufferReader(data),
        # One thread and one block, or Arrow does not number its rows.
        csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=fields),
        csv.ParseOptions(
            delimiter=mark.decode(), newlines_in_values=True, invalid_row_handler=skip
        ),
        csv.ConvertOptions(column_types=dict.fromkeys(fields, pa.string())),
    )
    names = [str(table.column(name)[0]).strip("\ufeff") for name in fields]
    chosen = [fields[place] for place in _places(names)]
    good = zip(*(table.column(name)[1:].to_pylist() for name in chosen), strict=True)
    count_of = table.num_rows + len(odd)
    rows = (None if number in odd else next(good) for number in range(2, count_of + 1))
    dates = set(table.column(chosen[2])[1:].to_pylist())
    found = Truth(total=ends, head=1, beside=ends - count_of)
    return _add_up(found, rows, _clock(dates, span))


def _of_parquet(path: Path, span: Span) -> Truth:
    """Spark's reader, in Java, which also writes numbers and times as texts."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as f

    from .session import session

    spark = session()
    # Spark has no nanoseconds: it gives such times as whole numbers, or refuses the file.
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    try:
        table = spark.read.parquet(path.resolve().as_uri())
        fields = [table.schema[place] for place in _places(table.columns)]
        texts = [
            f.expr(f"timestamp_micros(`{one.name}` div 1000)")
            if one.name in _in_nanoseconds(path)
            else f.col(f"`{one.name}`")
            for one in fields
        ]
        place = f.col("_metadata.row_index").alias("place")
        rows = table.select(place, *(text.cast("string") for text in texts)).toArrow()
    except PySparkException as error:
        raise IncomeError(
            f"{path} cannot be read a second time, by Spark ({str(error).splitlines()[0]}): write "
            "numbers, times and texts in types that Spark knows"
        ) from error
    columns = [column.to_pylist() for column in rows.sort_by("place").columns[1:]]
    for number, one in enumerate(fields):
        if one.dataType.typeName() in ("double", "float"):
            columns[number] = [text and f"{Decimal(text):f}" for text in columns[number]]
    filled = [[text or "" for text in column] for column in columns]
    found = Truth(total=len(filled[0]))
    return _add_up(found, zip(*filled, strict=True), _clock(set(filled[2]), span))


def _in_nanoseconds(path: Path) -> list[str]:
    """The columns whose type in the file says so."""
    import pyarrow.parquet as pq

    types = {field.name: str(field.type) for field in pq.read_schema(path)}
    return [name for name, kind in types.items() if kind.startswith("timestamp[ns")]


def _places(names: Sequence[str]) -> list[int]:
    """Where the needed columns stand."""
    plain = ["".join(name.lower().replace("_", " ").split()) for name in names]
    return [next(plain.index(one) for one in known if one in plain) for known in NAMES.values()]


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
    # strptime forgives digits of other scripts, blanks, minutes of one digit.
    if not text.isascii() or text != " ".join(text.split()) or re.search(r":\d(?!\d)|[-/.] ", text):
        raise ValueError(text)
    text = re.sub(r"(\.\d{6})\d{1,3}(?!\d)", r"\1", text)  # and knows no parts of a microsecond
    for form in forms:
        try:
            moment = datetime.strptime(text, form)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except ValueError:
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
    fine = each * 1000 == int(each * 1000) and abs(each) < 10**10
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
