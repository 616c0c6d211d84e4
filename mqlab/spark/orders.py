"""One order line: how it travels, what it is worth, and why some lines are not orders.

A line travels as a JSON object of the eight published columns, all of them text, as they are in the
file; only times are written in one form (`find_form`). Nothing is cleaned on the way in: the feeder
does not judge, the job does.

Money is an integer, in tenths of a penny, because four real prices are £0.001. Floating point
would make the total depend on the order of the additions, and then no two runs could be compared.

What counts (the rules of this shop):

- A cancellation (invoice begins with C, quantity below zero) is negative income, not an error.
- A line at price 0 is an order of no income. It is counted.
- Two lines that are equal in every column are two lines. Only the *delivery* of a message is
  made once; its content does not matter here.
- A line that cannot be read is never dropped in silence: it becomes a dead letter with a reason.
  So does a line with a field too many or too few (files.py), which travels as its text.

Left out: currencies, time zones of the shop (its stamps are taken as UTC), taxes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache, partial

from ..kernel.text import Said, Words, match_words, tr
from .errors import IncomeError

COLUMNS = (
    "InvoiceNo",
    "StockCode",
    "Description",
    "Quantity",
    "InvoiceDate",
    "UnitPrice",
    "CustomerID",
    "Country",
)
NEEDED = ("InvoiceNo", "Quantity", "InvoiceDate", "UnitPrice")
Line = Mapping[str, str]

MINUTE_MS = 60_000
TENTHS_PER_POUND = 1_000
# A line of £1,000,000,000 is a typing error, and a few million of them would overflow a sum of
# 64 bits: then one poisoned message would stop the job for ever. So it is a dead letter.
LIMIT_TENTHS = 1_000_000_000 * TENTHS_PER_POUND

# Kafka's record times begin in 1970 (a client takes 0 as "now", -1 is "none"), and the calendar
# of Python and Spark ends with 9999: a closing record is a minute after the last order.
YEARS = range(1971, 9999)

# [0-9] and not \d: the latter also takes the digits of other scripts.
# Noughts at the end change nothing: a column of decimal(10,4) holds 3.3900, one of pandas 6.0.
QUANTITY = re.compile(r"(-?)0*([0-9]{1,9})(?:\.0+)?")
PRICE = re.compile(r"(-?)0*([0-9]{1,10})(?:\.([0-9]{1,3})0*)?")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")

SHOWN = 400  # characters of a text that is no number, in the reason

# What stands in for a line whose fields cannot be told apart, or whose time the broker refuses:
# the reader's reason, and the line as it is.
REJECTED, ROW = "Rejected", "Row"

# The last record of a partition: no order comes after it. It is no order and earns nothing.
CLOSING = b'{"closing": true}'


AMOUNT = Words("amount of {} is beyond £1,000,000,000")
STAMP = Words("InvoiceDate {} is not the record's stamp {}")
NOT_JSON, NO_OBJECT = Words("not JSON"), Words("not a JSON object")
NO_TEXT = Words("{} is missing or not text")
NO_NUMBER = Words("Quantity {} is not a whole number of at most 9 digits, like 12")
NO_PRICE = Words("UnitPrice {} is not a price with at most three decimals, like 3.39")
NO_TIME = Words("InvoiceDate {} is not a time like 2011-12-05 08:38:00")
NO_YEAR = Words("InvoiceDate {} is outside the years {} to {}")
TOO_LATE = Words(
    "InvoiceDate {} is after {}, the last minute the broker takes (message.timestamp.{})"
)
TOO_EARLY = Words(
    "InvoiceDate {} is before {}, the first time the broker takes (message.timestamp.{})"
)
TOO_MANY = Words(
    "{} fields, the head has {}: put a text that holds the separator in quotation marks"
)
TOO_FEW = Words("{} fields, the head has {}")
REASONS = (
    AMOUNT, STAMP, NOT_JSON, NO_OBJECT, NO_TEXT, NO_NUMBER, NO_PRICE, NO_TIME, NO_YEAR, TOO_LATE,
    TOO_EARLY, TOO_MANY, TOO_FEW,
)  # fmt: skip


class BadLine(ValueError):
    """The message is no order; the text says why and becomes the dead letter's reason, in
    English."""

    def __init__(self, why: Words | str, *values: object) -> None:
        super().__init__(why if isinstance(why, str) else why(*values).en)


def say_reason(reason: str) -> str:
    """The reason of a dead letter in the language that is spoken."""
    return str(match_words(reason, REASONS) or reason)


def shorten(text: str) -> str:
    """As much of a text as a sentence can have of it."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def encode(line: Line) -> bytes:
    """The message's value: a JSON object in UTF-8, columns in the published order."""
    return json.dumps(dict(line), ensure_ascii=False).encode()


def income_of(value: bytes | None, stamp_ms: int) -> int:
    """What a message is worth, in tenths of a penny; negative for a cancellation.

    `stamp_ms` is the record's own time, milliseconds since 1970 UTC. Raises BadLine.
    """
    line = _decode(value)
    quantity = parse_quantity(line["Quantity"])
    tenths = quantity * parse_price(line["UnitPrice"])
    if abs(tenths) > LIMIT_TENTHS:
        raise BadLine(AMOUNT, pounds(tenths))
    # The window is taken from the record's stamp, because the broker indexes that one. If the
    # two differed, the income would be right and its minute wrong: the worst kind of wrong.
    if time_ms(line["InvoiceDate"]) != stamp_ms:
        raise BadLine(STAMP, repr(shorten(line["InvoiceDate"])), stamp_ms)
    return tenths


def _decode(value: bytes | None) -> Line:
    try:
        line = json.loads(value or b"")
    except (ValueError, RecursionError):  # bad UTF-8 is a ValueError as well
        raise BadLine(NOT_JSON) from None
    if not isinstance(line, dict):
        raise BadLine(NO_OBJECT)
    if isinstance(reason := line.get(REJECTED), str):
        raise BadLine(reason)
    for column in NEEDED:
        if not isinstance(line.get(column), str):
            raise BadLine(NO_TEXT, column)
    return line


def parse_quantity(text: str) -> int:
    """Pieces, below zero for a cancellation. Raises BadLine."""
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise BadLine(NO_NUMBER, repr(shorten(text)))
    sign, digits = match.groups()
    return -int(digits) if sign else int(digits)


def parse_price(text: str) -> int:
    """Pounds as text in tenths of a penny. Raises BadLine."""
    match = PRICE.fullmatch(text)
    if match is None:
        raise BadLine(NO_PRICE, repr(shorten(text)))
    sign, whole, decimals = match.groups()
    tenths = int(whole) * TENTHS_PER_POUND + int((decimals or "").ljust(3, "0"))
    return -tenths if sign else tenths


@lru_cache(maxsize=1 << 16)  # a shop sells many lines in one minute
def time_ms(text: str) -> int:
    """`2011-12-05 08:38:00` as milliseconds since 1970 UTC. Raises BadLine."""
    try:
        if not DATE.fullmatch(text):
            raise ValueError
        moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        raise BadLine(NO_TIME, repr(shorten(text))) from None
    if moment.year not in YEARS:
        raise BadLine(NO_YEAR, repr(shorten(text)), YEARS[0], YEARS[-1])
    return int(moment.timestamp()) * 1000


def floor_minute(ms: int) -> int:
    """The start of the minute `ms` is in, in milliseconds."""
    return ms - ms % MINUTE_MS


def minute_text(ms: int) -> str:
    """Milliseconds as `2011-12-05 08:38`, UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def minute_ms(text: str) -> int:
    """The inverse of `minute_text`."""
    return time_ms(f"{text}:00")


def pounds(tenths: int) -> str:
    """Tenths of a penny as `£57,751.32`; a third decimal only where it is not 0."""
    whole, rest = divmod(abs(tenths), TENTHS_PER_POUND)
    decimals = f"{rest:03}" if rest % 10 else f"{rest // 10:02}"
    return f"{'-' if tenths < 0 else ''}£{whole:,}.{decimals}"


# ---- The forms of time that files of orders come with, written as `2011-12-05 08:38:00`, UTC
#
#     2011-12-05 08:38:00   2011-12-05T08:38Z   2011/12/05 8:38   2011-12-05 17:38:00+09:00
#     12/5/2011 8:38        5.12.2011 08:38:00
#
# A time without a zone is taken as UTC; parts of a second are left out, as income is per minute. Of
# the last two forms it is unknown whether the day or the month comes first, unless another date of
# the same file, with the same mark in it, has a day beyond the 12th. Where none has, the file
# is refused: a guess would be wrong for half of the shops, and each line would be in a wrong month
# without a word.

ISO = re.compile(
    r"(?P<year>[0-9]{4})([-/])(?P<month>[0-9]{1,2})\2(?P<day>[0-9]{1,2})[ T]"
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.[0-9]{1,9})?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-5][0-9])?"
)
SHORT = re.compile(
    r"(?P<one>[0-9]{1,2})(?P<mark>[-/.])(?P<two>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4}) "
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
)
INSTEAD = tr("write the times like 2011-12-05 08:38:00")
READ_AS = Words("dates are read as {}, because of {!r}")
Normal = Callable[[str], str]


def find_form(texts: Iterable[str]) -> tuple[Normal, str]:
    """Find how the times of one file are written: return a function that rewrites a time like
    2011-12-05 08:38:00, and a note for the user where day and month had to be told apart.

    Only a day above 12 tells them apart. The function returns a text unchanged where it is no time.
    Raises IncomeError where the file's dates contradict each other, or where some could be read
    both ways and none tells which.
    """
    short = [match for text in texts if (match := SHORT.fullmatch(text))]
    # the first number, the mark, the second number, and the whole text
    dates = [(int(match["one"]), match["mark"], int(match["two"]), match[0]) for match in short]
    # by mark, a time that only one of the two readings (_is_time: with the day first, or not)
    # allows: 12/13/2011 says nothing of 5.12.2011
    days_first = {m: text for a, m, b, text in dates if a > 12 >= b and _is_time(text, True)}
    months_first = {m: text for a, m, b, text in dates if b > 12 >= a and _is_time(text, False)}
    day_first, month_first = (
        next(iter(found.values()), "") for found in (days_first, months_first)
    )
    if day_first and month_first:
        raise IncomeError(
            "InvoiceDate {!r} begins with the day and {!r} with the month: {}",
            day_first,
            month_first,
            INSTEAD,
        )
    told = days_first | months_first
    # (5.5.2011 is the same day either way)
    ambiguous = (
        text for a, m, b, text in dates if a != b and a <= 12 and b <= 12 and m not in told
    )
    if text := next(ambiguous, ""):
        raise IncomeError(
            "InvoiceDate {!r} may begin with the day or with the month, and no date in "
            "the file that is written like it has a day after the 12th: {}",
            text,
            INSTEAD,
        )
    note = ""
    if day_first or month_first:
        form = tr("month/day/year") if month_first else tr("day/month/year")
        note = str(READ_AS(form, day_first or month_first))
    return partial(_normal, day_first=bool(day_first)), note


def _is_time(text: str, day_first: bool) -> bool:
    return bool(DATE.fullmatch(_normal(text, day_first)))


def _normal(text: str, day_first: bool) -> str:
    try:
        if match := ISO.fullmatch(text):
            month, day = match["month"], match["day"]
            zone = _zone(match["zone"])
        elif match := SHORT.fullmatch(text):
            month, day = (match["two"], match["one"]) if day_first else (match["one"], match["two"])
            zone = UTC
        else:
            return text
        parts = (match["year"], month, day, match["hour"], match["minute"], match["second"] or 0)
        moment = datetime(*map(int, parts), tzinfo=zone)  # type: ignore[misc, arg-type]
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
    except (ValueError, OverflowError):
        return text


def _zone(text: str | None) -> timezone:
    """Of `Z`, `+09:00` or `-0330`."""
    if text is None or text == "Z":
        return UTC
    shift = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-shift if text[0] == "-" else shift)


# ---- Numbers that may have a mark for thousands
#
# In 1.234 the point may be either. Another number of the column tells: a decimal point is that of
# a 3.39, a 0.500 or a 1234.500.

POINTED = re.compile(r"-?[0-9]+\.[0-9]+")
UNCLEAR = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")


def check_points(column: str, texts: Iterable[str | None]) -> None:
    """Raise IncomeError where the point in the numbers of a column may be the one of thousands."""
    # (what is no number, as 1.234,50 is here, tells nothing)
    pointed = [text for text in texts if text and POINTED.fullmatch(text)]
    if pointed and all(map(UNCLEAR.fullmatch, pointed)):
        raise IncomeError(
            "{} {!r} may have three decimals or a point for thousands, and no other number of "
            "the column tells: write {} or {}0",
            column,
            pointed[0],
            pointed[0].replace(".", ""),
            pointed[0],
        )


# ---- Where the time of a job goes: one line a step, printed at its end ---------------


class Times:
    """Steps in the order they began, each with its seconds."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}

    def add(self, step: str, seconds: float) -> None:
        self.steps[step] = self.steps.get(step, 0.0) + seconds

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(step, time.perf_counter() - started)

    def __str__(self) -> str:
        steps = [*self.steps.items(), ("total", sum(self.steps.values()))]
        return "\n".join(f"{Said(tr(one, 'cell')):36}{seconds:7.1f} s" for one, seconds in steps)
