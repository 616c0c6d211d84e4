"""The forms of time that files of orders come with, written as `2011-12-05 08:38:00`, UTC.

    2011-12-05 08:38:00   2011-12-05T08:38Z   2011/12/05 8:38   2011-12-05 17:38:00+09:00
    12/5/2011 8:38        5.12.2011 08:38:00

A time without a zone is taken as UTC; parts of a second are left out, as income is per minute. Of
the last two forms nobody can say whether the day or the month comes first, unless another date of
the same file has a day beyond the 12th. Where none has, the file is refused: a guess would be
wrong for half of the shops, and each line would be in a wrong month without a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

from .errors import IncomeError

ISO = re.compile(
    r"(?P<year>[0-9]{4})([-/])(?P<month>[0-9]{1,2})\2(?P<day>[0-9]{1,2})[ T]"
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.[0-9]{1,9})?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-5][0-9])?"
)
SHORT = re.compile(
    r"(?P<one>[0-9]{1,2})([-/.])(?P<two>[0-9]{1,2})\2(?P<year>[0-9]{4}) "
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
)
INSTEAD = "write the times like 2011-12-05 08:38:00"
Normal = Callable[[str], str]


def find_form(texts: Iterable[str]) -> tuple[Normal, str]:
    """How the times of one file are read, and a sentence on it where there was a choice.

    The function gives a text back unchanged where it is no time. Raises IncomeError where it cannot
    be told whether the day or the month comes first.
    """
    short = [match for text in texts if (match := SHORT.fullmatch(text))]
    pairs = [(int(match["one"]), int(match["two"]), match[0]) for match in short]
    days = next((text for one, two, text in pairs if one > 12 >= two), "")
    months = next((text for one, two, text in pairs if two > 12 >= one), "")
    if days and months:
        raise IncomeError(
            f"InvoiceDate {days!r} begins with the day and {months!r} with the month: {INSTEAD}"
        )
    open_ones = [text for one, two, text in pairs if one != two and one <= 12 and two <= 12]
    if open_ones and not (days or months):
        raise IncomeError(
            f"InvoiceDate {open_ones[0]!r} may begin with the day or with the month, and no date "
            f"of the file has a day beyond the 12th: {INSTEAD}"
        )
    said = ""
    if days or months:
        first = "month/day/year" if months else "day/month/year"
        said = f"dates are read as {first}, because of {days or months!r}"
    return partial(_normal, day_first=bool(days)), said


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
