"""Where every line of the file is: counted, cancelled, rejected, or the head; read twice.

    lines 5,332 = counted 5,305 + cancelled 26 + rejected 0 + header 1

The numbers are the job's: what the rows of topic Income say they sum, and what lies in topic Dead.
The second reading (truth.py) must find the same ones, and the same rejected lines.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import IncomeError
from .feeder import Record, arrange
from .orders import ROW
from .truth import Truth

if TYPE_CHECKING:
    from .files import Reading

FIRST = 10  # rejected lines that are shown; all of them are in the file


class Rejected(NamedTuple):
    """A line that is no order: its row from 0, the line of the file, why, and how it stands."""

    row: int
    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Account:
    """`counted` lines, without `cancelled` ones. `file` holds all `rejected` ones, if there are."""

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
        verdict = "balanced" if self.balanced else "NOT BALANCED"
        lines = [
            f"{self.reading.name}: {_sum_of(self._numbers())}",
            f"read again by other code: {_sum_of(_numbers_of(self.truth))} → {verdict}",
        ]
        shown = self.rejected[:FIRST]
        lines += [f"  rejected line {one.line:,}: {one.reason}: {one.text}" for one in shown]
        if self.file:
            more = len(self.rejected) - len(shown)
            lines.append(f"  {f'{more:,} more; ' if more else ''}all of them are in {self.file}")
        return "\n".join(lines)


def _numbers_of(true: Truth) -> tuple[int, ...]:
    return true.total, true.counted, true.cancelled, true.dead, true.head, true.beside


def _sum_of(numbers: Sequence[int]) -> str:
    total, counted, cancelled, rejected, head, beside = numbers
    rest = f" + empty or inside a text {beside:,}" if beside else ""
    return (
        f"lines {total:,} = counted {counted:,} + cancelled {cancelled:,} + rejected "
        f"{rejected:,} + header {head}{rest}"
    )


def find_rejected(
    reading: Reading, records: Sequence[Record], letters: Sequence[Mapping[str, Any]], parts: int
) -> tuple[Rejected, ...]:
    """The dead letters of topic Dead, each with its line; `parts`: partitions of topic Order.

    What stands in that topic behind the closing record is no line of the file, and left out."""
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
    """The line as it stands, of one that could not be told apart; else the message."""
    fields = json.loads(value)
    return str(fields[ROW]) if ROW in fields else value


def take_account(
    reading: Reading, true: Truth, summed: int, rejected: tuple[Rejected, ...], folder: Path
) -> Account:
    """`summed` lines are in the rows of topic Income. What was rejected is written down beside the
    folder of the run. Raises IncomeError."""
    cancelled = _count_cancelled(reading, rejected)
    file = _write_down(rejected, folder.with_name(f"{folder.name}.rejected.csv"))
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
    if not rejected:
        file.unlink(missing_ok=True)
        return None
    try:
        with file.open("w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(("line", "reason", "text"))
            rows.writerows(one[1:] for one in rejected)
    except OSError as error:
        raise IncomeError(
            f"{file} cannot be written ({error.strerror}): make room there or give another "
            "--checkpoint"
        ) from error
    return file
