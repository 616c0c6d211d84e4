"""Files of order lines: CSV and Parquet with the eight published columns, as columns of text."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..places import DATASETS
from .errors import IncomeError, need
from .orders import COLUMNS, Line

if TYPE_CHECKING:
    import pyarrow as pa

DAY = DATASETS / "orders-2011-12-05.csv"
YEAR = DATASETS / "orders-year.parquet"
LONGEST = 1_000_000  # characters of one column; what is longer does not fit into a message either

Orders = str | Path | Sequence[Line]


def read_table(orders: Orders) -> pa.Table:
    """All lines of a `.csv` or `.parquet` file, in the file's order, every column a text.

    Lines in memory may lack columns: those are null.
    Raises IncomeError where the file is missing, damaged, of another kind or lacks a column.
    """
    need((("pyarrow", "pyarrow"),))
    if not isinstance(orders, str | Path):
        return _of_lines(orders)
    path = Path(orders)
    match path.suffix.lower():
        case ".csv":
            return _csv(path)
        case ".parquet":
            return _parquet(path)
        case other:
            _need_file(path)
            raise IncomeError(f"{path} is a {other or 'nameless'} file: give .csv or .parquet")


def _need_file(path: Path) -> None:
    if not path.is_file():
        raise IncomeError(f"there is no file {path}: give a .csv or .parquet file of order lines")


def _check_columns(path: Path, names: Sequence[str]) -> None:
    times = Counter(names)
    if missing := [name for name in COLUMNS if name not in times]:
        raise IncomeError(f"{path} lacks the columns {', '.join(missing)}: see datasets/README.md")
    if doubled := [name for name, count in times.items() if count > 1]:
        raise IncomeError(f"{path} has the column {doubled[0]} twice: rename one of the two")


def read_lines(orders: Orders) -> list[Line]:
    """The same lines as dicts of texts; a `.csv` file needs no package. Raises IncomeError."""
    if isinstance(orders, str | Path) and Path(orders).suffix.lower() == ".csv":
        names, rows = _read_csv(Path(orders))
        return [dict(zip(names, row, strict=True)) for row in rows]
    return [
        {name: text for name, text in row.items() if text is not None}
        for row in read_table(orders).to_pylist()
    ]


def _of_lines(lines: Sequence[Line]) -> pa.Table:
    import pyarrow as pa

    names = list(dict.fromkeys(name for line in lines for name in line)) or list(COLUMNS)
    try:
        return pa.table(
            {name: pa.array([line.get(name) for line in lines], pa.string()) for name in names}
        )
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise IncomeError(f"a column of these order lines is not text: {error}") from error


def _read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the rows, each as wide as these."""
    _need_file(path)
    csv.field_size_limit(LONGEST)
    # Excel begins its "CSV UTF-8" with a byte order mark; utf-8-sig takes files with and without.
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = _rows(path, file)
        names = next(rows, [])
        width = len(names)
        # A row that is too short has no values at its end; "" then ends as a dead letter.
        filled = [(row + [""] * (width - len(row)))[:width] for row in rows if row]
    _check_columns(path, names)
    return names, filled


def _csv(path: Path) -> pa.Table:
    import pyarrow as pa

    names, filled = _read_csv(path)
    columns = zip(*filled, strict=True) if filled else [()] * len(names)
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names)


def _rows(path: Path, file: Iterable[str]) -> Iterator[list[str]]:
    """Every line of the file as one row, an empty line as an empty one.

    CSV also knows rows of several lines: a quotation mark opens a field, and everything up to the
    next one belongs to it, other orders too. In these files that is always a stray mark, and the
    orders behind it would be gone without a trace. So such a row is refused, and so is a mark
    that closes a field in its middle (`strict`).
    """
    rows = csv.reader(file, strict=True)
    line = 1
    try:
        for row in rows:
            if rows.line_num != line:
                raise _stray(path, line, f"the text goes on to line {rows.line_num:,}")
            yield row
            line += 1
    except UnicodeDecodeError as error:
        raise IncomeError(
            f"{path} is not UTF-8 (byte 0x{error.object[error.start]:02x} after line "
            f"{rows.line_num:,}): save it as UTF-8, in Excel as “CSV UTF-8”"
        ) from error
    except csv.Error as error:
        raise _stray(path, line, str(error)) from error


def _stray(path: Path, line: int, why: str) -> IncomeError:
    return IncomeError(
        f"{path}, line {line:,}: a quotation mark is not closed in its line, or closes in the "
        f"middle of a text ({why}): delete the stray mark"
    )


def _parquet(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    _need_file(path)
    try:
        table = pq.read_table(path)
        _check_columns(path, table.column_names)
        return pa.Table.from_arrays(
            [pc.fill_null(column.cast(pa.large_string()), "") for column in table.columns],
            table.column_names,
        )
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise IncomeError(
            f"{path} cannot be read as Parquet ({reason}): copy or download it again"
        ) from error
