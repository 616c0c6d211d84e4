"""Files of order lines: CSV and Parquet with the eight published columns, as columns of text.

This is the first reading, whose lines go to topic Order; truth.py reads the file a second time.
A CSV file may be separated by commas, semicolons, tabs or bars, and its columns may have the names
of *Online Retail II* (Invoice, Price, Customer ID). A line with a field too many or too few is
never cut or filled: it is unknown which field is which. It travels as its text and becomes a dead
letter. A file in which a quotation mark has swallowed lines is refused as a whole.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from ..kernel.text import Text, Words, say_cause, tr
from ..places import DATASETS
from .cuts import Cut
from .errors import IncomeError, need
from .orders import COLUMNS, REJECTED, ROW, TOO_FEW, TOO_MANY, Line, check_points, find_form

if TYPE_CHECKING:
    import pyarrow as pa

DAY = DATASETS / "orders-2011-12-05.csv"
YEAR = DATASETS / "orders-year.parquet"
LONGEST = 1_000_000  # characters of one column; what is longer does not fit into a message either
SEPARATORS = ",;\t|"
NUMBERS = ("Quantity", "UnitPrice")
CURRENCY = {"currency", "currencycode"}  # names of a column, folded
POUNDS = {"", "GBP", "gbp", "£"}  # not GBp, which is pence
GOES_ON = Words("the text goes on to line {:,}")
SHOWN = 200  # characters of a first line that is not understood

# What the first bytes of files with the wrong ending say they are, and what to do.
PACKED = Words("packed with {}: unpack it")
KINDS = {
    b"PK\x03\x04": tr("a zip archive, as Excel's .xlsx is: unpack it, or save it as “CSV UTF-8”"),
    b"\xd0\xcf\x11\xe0": tr("an Excel file: save it as “CSV UTF-8”"),
    b"\x1f\x8b": PACKED("gzip"),
    b"BZh": PACKED("bzip2"),
    b"\xfd7zXZ": PACKED("xz"),
    b"\x28\xb5\x2f\xfd": PACKED("zstd"),
    b"PAR1": tr("a Parquet file: name it .parquet"),
}

Orders = str | Path | Sequence[Line]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file (`name`) holds.

    `table`: a row per record, all columns texts; a row whose fields cannot be told apart has only
    the columns Rejected and Row. `places`: the line of the file that each row begins in, from 1;
    in a Parquet file the number of the row. `total` is the number of lines: of a CSV file each is
    the head (`head`: 1), begins a row, or is one `beside` these: an empty line, or the rest of a
    row with a line break in quotation marks. `note`: for the user, how day and month were
    distinguished in its dates.
    """

    name: str
    table: pa.Table
    places: Sequence[int]
    total: int
    head: int = 0
    beside: int = 0
    note: str = ""


def read(orders: Orders) -> Reading:
    """Read a `.csv` or `.parquet` file, or order lines in memory, as one table of texts, in their
    sequence.

    Lines in memory may lack columns (null), and their times stay as they are written. Raises
    IncomeError where the file is missing, damaged, of another kind or lacks a column, or where a
    value in memory is no text.
    """
    need((("pyarrow", "pyarrow"),))
    if not isinstance(orders, str | Path):
        return Reading(
            str(tr("these orders")), _of_lines(orders), range(1, len(orders) + 1), len(orders)
        )
    path = Path(orders)
    match path.suffix.lower():
        case ".csv":
            return _csv(path)
        case ".parquet":
            return _parquet(path)
        case other:
            _need_file(path)
            raise IncomeError(
                "{} is a {} file: give .csv or .parquet", path, other or tr("nameless")
            )


def read_lines(orders: Orders) -> list[Line]:
    """The same lines as dicts of texts; a `.csv` file needs no package. Raises IncomeError."""
    if isinstance(orders, str | Path) and Path(orders).suffix.lower() == ".csv":
        found = _read_csv(Path(orders))
        return [
            dict(zip((REJECTED, ROW), found.refused[place], strict=True))
            if place in found.refused
            else {name: text or "" for name, text in zip(COLUMNS, row, strict=True)}
            for place, row in enumerate(found.rows)
        ]
    return [
        {name: text for name, text in row.items() if text is not None}
        for row in read(orders).table.to_pylist()
    ]


def _need_file(path: Path) -> None:
    try:
        if path.is_dir():  # what Spark writes under the name orders.parquet
            raise IncomeError(
                "{} is a folder: give one .csv or .parquet file, such as one in it", path
            )
        if not path.is_file():
            raise IncomeError("no file {}: give a .csv or .parquet file of order lines", path)
        path.open("rb").close()
    except OSError as error:  # no right to read it, or a name that is too long
        raise IncomeError("cannot read {}: {}", path, say_cause(error)) from error


def version_of(orders: Orders) -> object:
    """What tells a file from itself after a change; None of lines in memory, and of no file."""
    with suppress(OSError, ValueError):
        if isinstance(orders, str | Path):
            found = Path(orders).stat()
            return found.st_ino, found.st_size, found.st_mtime_ns
    return None


def need_same(orders: Orders, version: object) -> None:
    """Raise IncomeError where the file is no longer what it was when `version_of` gave
    `version`: the income could not be checked."""
    if version_of(orders) != version:
        raise IncomeError(
            "{} has changed while the job was running: give a copy that stays as it is, and a "
            "fresh --checkpoint",
            orders,
        )


def _fold(name: str) -> str:
    return re.sub(r"[\s_]", "", name).casefold()


KNOWN = {_fold(name): name for name in COLUMNS} | {"invoice": "InvoiceNo", "price": "UnitPrice"}


def find_columns(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Map the published name of each needed column to its index among the file's `names`, in the
    sequence of COLUMNS; other columns are left out. Case, blanks and underscores in names do not
    matter. Raises IncomeError where a column is missing or there twice."""
    found: dict[str, int] = {}
    for index, name in enumerate(names):
        published = KNOWN.get(_fold(name))  # None: another column
        if published in found:
            raise _twice(path, published, names[found[published]], name)
        if published:
            found[published] = index
    if missing := [name for name in COLUMNS if name not in found]:
        has = ", ".join(map(repr, names))
        raise IncomeError(
            "{} lacks the columns {}; it has {}: name the columns in the first line, as "
            "datasets/README.md shows",
            path,
            ", ".join(missing),
            has if len(has) < SHOWN else has[:SHOWN] + "…",
        )
    return {name: found[name] for name in COLUMNS}


def _twice(path: Path, column: str, first: str, second: str) -> IncomeError:
    return IncomeError(
        "{} has the column {} twice (“{}” and “{}”): rename one of the two, or leave it out",
        path,
        column,
        first,
        second,
    )


def _find_currencies(names: Sequence[str]) -> list[int]:
    return [index for index, name in enumerate(names) if _fold(name) in CURRENCY]


def _need_pounds(path: Path, place: int, currencies: Iterable[str]) -> None:
    """Raise IncomeError for a line in another currency, which would be added up as pounds."""
    if other := next((text for text in currencies if text.strip() not in POUNDS), ""):
        raise IncomeError(
            "{}, line {:,}: the currency is {!r}, and the job adds up pounds (GBP): leave such "
            "lines out, or convert them and leave the column out",
            path,
            place,
            other,
        )


def _of_lines(lines: Sequence[Line]) -> pa.Table:
    import pyarrow as pa

    names = list(dict.fromkeys(name for line in lines for name in line)) or list(COLUMNS)
    try:
        return pa.table(
            {name: pa.array([line.get(name) for line in lines], pa.string()) for name in names}
        )
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise IncomeError("a column of these order lines is not text: {}", error) from error


class _Csv(NamedTuple):
    """A row has a text for each of COLUMNS, or nulls; `refused`: its number → why, and its text."""

    rows: list[list[str | None]]
    refused: dict[int, tuple[str, str]]
    places: list[int]
    total: int
    note: str


def _read_csv(path: Path) -> _Csv:
    """Read a CSV file into rows of texts. Its separator is the one that splits the first line that
    is not empty into most known column names. Raises IncomeError, which says what to do."""
    _need_file(path)
    with path.open("rb") as raw:
        start = raw.read(8)
    if wrong_kind := next((text for magic, text in KINDS.items() if start.startswith(magic)), ""):
        raise IncomeError("{} is {}", path, wrong_kind)
    csv.field_size_limit(LONGEST)
    try:
        with _open(path) as file:
            head = next((line for line in file if line.strip()), "")
        if not head:
            raise IncomeError("{} is empty: its first line must name the columns", path)
        separator = max(SEPARATORS, key=lambda character: _count_known(head.split(character)))
        with _open(path) as file:
            return _collect(path, _read_rows(path, file, separator), separator)
    except UnicodeDecodeError as error:
        raise IncomeError(
            "{} is not UTF-8 (byte 0x{:02x}): save it as UTF-8, in Excel as “CSV UTF-8”",
            path,
            error.object[error.start],
        ) from error


def _open(path: Path) -> TextIO:
    # Excel begins its "CSV UTF-8" with a byte order mark; utf-8-sig takes files with and without.
    return path.open(newline="", encoding="utf-8-sig")


def _count_known(names: Sequence[str]) -> int:
    return sum(_fold(name.strip('" \r\n')) in KNOWN for name in names)


def _read_rows(
    path: Path, file: Iterable[str], separator: str
) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield for each CSV row the number of the line it begins in, its fields (none: an empty line),
    and the lines of the file that it spans, a list that is emptied before the next row. Raises
    IncomeError where a quotation mark is stray, or a field too long."""
    lines_read: list[str] = []

    # csv.reader does not say which lines a row was in
    def note() -> Iterator[str]:
        for line in file:
            lines_read.append(line)
            yield line

    number = 1  # as editors count lines
    try:
        for row in csv.reader(note(), delimiter=separator, strict=True):
            yield number, row, lines_read
            number += len(lines_read)
            lines_read.clear()
    except csv.Error as error:
        if "field limit" in str(error) and len(lines_read) == 1:
            raise IncomeError(
                "{}, line {:,}: a field has more than {:,} characters (the line has "
                "{:,}): shorten it",
                path,
                number,
                LONGEST,
                len(lines_read[0]),
            ) from error
        raise _stray(path, number, str(error)) from error


def _collect(path: Path, rows: Iterator[tuple[int, list[str], list[str]]], separator: str) -> _Csv:
    """Collect the rows (number of the first line, fields, lines) of a CSV file below its head, each
    with the needed columns alone and its time rewritten. A row of the wrong width is refused, a
    stray quotation mark refuses the file (IncomeError).

    CSV has rows of several lines: a quotation mark opens a field, and everything up to the next one
    belongs to it, other orders too. A description with a line break is such a row. But where a mark
    is stray, the orders after it would be gone without a trace: then the field holds as many
    separators as a line has, or the row has not as many fields as the head.
    """
    columns: list[int] = []
    currencies: list[int] = []
    found = _Csv(rows=[], refused={}, places=[], total=0, note="")
    total = width = 0
    for number, row, lines in rows:
        total += len(lines)
        if not row:
            continue
        separators = sum(field.count(separator) for field in row) if len(lines) > 1 else 0
        if len(lines) > 1 and (len(row) != width or separators >= width - 1):
            raise _stray(path, number, GOES_ON(number + len(lines) - 1))
        if not columns:  # the first row is the head
            columns, width = list(find_columns(path, row).values()), len(row)
            currencies = _find_currencies(row)
        elif len(row) == width:
            _need_pounds(path, number, (row[index] for index in currencies))
            found.places.append(number)
            found.rows.append([row[index] for index in columns])
        else:
            found.places.append(number)
            found.refused[len(found.rows)] = _why(row, width), "".join(lines).rstrip("\r\n")
            found.rows.append([None] * len(columns))
    for column in NUMBERS:
        check_points(column, (row[COLUMNS.index(column)] for row in found.rows))
    note = _write_times_alike(found.rows)
    return found._replace(total=total, note=note)


def _why(row: list[str], width: int) -> str:
    return (TOO_MANY if len(row) > width else TOO_FEW)(len(row), width).en


def _write_times_alike(rows: list[list[str | None]]) -> str:
    """Rewrite all times in place; returns the `note` for the user. Raises IncomeError."""
    at = COLUMNS.index("InvoiceDate")
    texts = {text: "" for row in rows if (text := row[at]) is not None}
    normal, note = find_form(texts)
    for text in texts:
        texts[text] = normal(text)
    for row in rows:
        if (text := row[at]) is not None:
            row[at] = texts[text]
    return note


def _csv(path: Path) -> Reading:
    import pyarrow as pa

    found = _read_csv(path)
    columns = list(zip(*found.rows, strict=True)) if found.rows else [()] * len(COLUMNS)
    names = list(COLUMNS)
    if found.refused:
        nothing = (None, None)
        pairs = [found.refused.get(place, nothing) for place in range(len(found.rows))]
        columns += list(zip(*pairs, strict=True))
        names += [REJECTED, ROW]
    table = pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names)
    beside = found.total - len(found.rows) - 1
    return Reading(path.name, table, found.places, found.total, 1, beside, found.note)


def _stray(path: Path, line: int, why: str | Text) -> IncomeError:
    return IncomeError(
        "{}, line {:,}: a quotation mark is not closed at the end of its text, or closes "
        "within it ({}): delete it, or double it if it belongs to the text",
        path,
        line,
        why,
    )


def _parquet(path: Path) -> Reading:
    """Read a Parquet file as the same table of texts as a CSV file: the needed columns, with times
    rewritten like 2011-12-05 08:38:00. Raises IncomeError, which says what to do."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _need_file(path)
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            columns = find_columns(path, names)
            _need_readable(path, names)
            # columns that name a currency, where the file has any
            money = [names[index] for index in _find_currencies(names)]
            table = file.read([*(names[index] for index in columns.values()), *money])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise IncomeError(
            "{} cannot be read as Parquet ({}): copy or download it again", path, reason
        ) from error
    for name in money:
        for place, text in enumerate(_texts(path, table.column(name)).to_pylist(), 1):
            _need_pounds(path, place, (text,))
    for name in NUMBERS:
        column = table.column(names[columns[name]])
        # a number that has a type has no mark for thousands
        if not (pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
            check_points(name, _texts(path, column).unique().to_pylist())
    texts = [_texts(path, table.column(names[index])) for index in columns.values()]
    date = COLUMNS.index("InvoiceDate")
    # each distinct time is rewritten once
    dates = texts[date].combine_chunks().dictionary_encode()
    distinct = dates.dictionary.to_pylist()
    normalise, note = find_form(distinct)
    texts[date] = pa.chunked_array(
        [pa.array([normalise(text) for text in distinct], pa.large_string()).take(dates.indices)]
    )
    rows, named = table.num_rows, pa.Table.from_arrays(texts, list(columns))
    # a row is a line, counted from 1
    return Reading(path.name, named, places=range(1, rows + 1), total=rows, note=note)


def _need_readable(path: Path, names: Sequence[str]) -> None:
    """Raise IncomeError for what the second reading, by Spark, would not see: two columns whose
    names differ in case at most, and a file that it takes for a hidden one."""
    known: dict[str, str] = {}
    for name in names:
        if first := known.get(name.lower()):
            raise _twice(path, name, first, name)
        known[name.lower()] = name
    if path.name.startswith(("_", ".")) or ":" in path.name:
        raise IncomeError(
            "Spark passes over a file of the name {}: give it one that begins with a letter or a "
            "digit, and has no colon",
            path.name,
        )


def _texts(path: Path, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as texts: numbers and times as a CSV file would hold them, times in UTC and
    without parts of a second, null as an empty text. Raises IncomeError for what cannot be written
    as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_timestamp(column.type):
            # without its zone (the value is UTC), then without parts of a second
            column = column.cast(pa.timestamp(column.type.unit)).cast(pa.timestamp("s"), safe=False)
        elif pa.types.is_decimal(column.type):  # Arrow writes a nought of many decimals as 0E-12
            coded = column.combine_chunks().dictionary_encode()
            texts = [f"{value:f}" for value in coded.dictionary.to_pylist()]
            column = pa.chunked_array([pa.array(texts, pa.large_string()).take(coded.indices)])
        column = column.cast(pa.large_string())
        column.validate(full=True)  # a file may have bytes in a column of texts that are none
        return pc.fill_null(column, "")
    except pa.ArrowException as error:
        raise IncomeError(
            "{} has a column of type {}, which is not text, a number or a time ({}): "
            "write it as text",
            path,
            column.type,
            str(error).splitlines()[0],
        ) from error


# ---- What Spark has written down, read as text ---------------------------------------
#
# `offsets/N` is written before batch N runs (a write-ahead log: what the batch consists of), and
# `commits/N` after its sink is done. A driver that dies between the two leaves a batch in doubt:
# `offsets` is one ahead of `commits`, and the restarted query runs that batch again.
#
# Read with ordinary file calls, so the checkpoint is a folder the driver can see: a local one, or
# a shared mount where the executors are on other machines.

STATES = 2  # partitions of the state: `spark.sql.shuffle.partitions`


def cut_of(checkpoint: Path, batch: int) -> Cut:
    """Where batch `batch` ends. Raises IncomeError where Spark has not written it."""
    path = checkpoint / "offsets" / str(batch)
    try:
        _version, _metadata, offsets = path.read_text(encoding="utf-8").splitlines()
        return Cut.from_json(json.loads(offsets))
    except (OSError, ValueError, KeyError) as error:
        raise IncomeError(
            "cannot read {} ({}): the checkpoint must be a folder that the driver can "
            "see; if it is damaged, start with a fresh --checkpoint and fresh topics",
            path,
            error,
        ) from error


def check(folder: Path) -> None:
    """Check that the job can go on from its checkpoint `folder`, or begin in it, and raise
    IncomeError that names the missing or damaged part. Spark itself would start a query whose log
    of commits has gaps, and report other damage as a query plan.

    `planned` batches have a file in `offsets`, `committed` ones in `commits`: a job that was killed
    has committed at most one batch less than planned.
    """
    spark = folder / "income"  # Spark's own checkpoint of the query
    planned, committed = batches(spark), read_commits(spark)
    if spark.exists() and not spark.is_dir():
        raise _damaged(spark, tr("is a file, not a folder"))
    if not (planned or committed):
        return  # new, or killed before its first batch
    for note in (folder / "run.json", spark / "metadata"):
        _read_json(note, line=0)
    # Each batch but the last planned one has both files.
    for name, numbers in (("offsets", planned), ("commits", committed)):
        if gaps := sorted(set(range(max(len(planned) - 1, len(committed)))) - set(numbers)):
            raise _missing(spark / name / str(gaps[0]))
        for number in numbers:
            _read_json(spark / name / str(number), line=1)  # line 0 is the format's version, v1
    if len(committed) > len(planned):
        raise _missing(spark / "offsets" / str(len(planned)))
    for number in planned:
        cut_of(spark, number)
    # each commit has a file of what it changed in each partition of the query's state
    for version in range(1, len(committed) + 1):
        for partition in range(STATES):
            delta = spark / "state" / "0" / str(partition) / f"{version}.delta"
            if not delta.is_file():
                raise _missing(delta)


def _read_json(path: Path, line: int) -> None:
    try:
        json.loads(path.read_text(encoding="utf-8").splitlines()[line])
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (OSError, ValueError, IndexError, RecursionError) as error:
        raise _damaged(path, Words("is damaged ({})")(error)) from error


def _missing(path: Path) -> IncomeError:
    """Of a folder that is gone the folder is named."""
    return _damaged(
        next((part for part in (*reversed(path.parents), path) if not part.exists()), path),
        tr("is missing"),
    )


def _damaged(path: Path, how: Text) -> IncomeError:
    return IncomeError(
        "{} {}: restore it from a copy of the checkpoint, or begin again with a fresh "
        "--checkpoint, which gets its own topics",
        path,
        how,
    )


def batches(checkpoint: Path) -> list[int]:
    """The batches in `offsets`, in order."""
    return _numbers(checkpoint / "offsets")


def read_commits(checkpoint: Path) -> list[int]:
    """The batches in `commits`, in order."""
    return _numbers(checkpoint / "commits")


def _numbers(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    names = (path.name for path in folder.iterdir())
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())
