"""Files of order lines: CSV and Parquet with the eight published columns, as text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from .errors import IncomeError, need
from .orders import COLUMNS, Line

LONGEST = 1_000_000  # characters of one column; what is longer does not fit into a message either

DATASETS = Path(__file__).parents[2] / "datasets"
DAY = DATASETS / "orders-2011-12-05.csv"
YEAR = DATASETS / "orders-year.parquet"

Orders = str | Path | Sequence[Line]


def read_lines(orders: Orders) -> list[Line]:
    """All lines of a `.csv` or `.parquet` file, in the file's order, every value a text.

    Lines that are already in memory are given back as they are.
    Raises IncomeError where the file is missing, damaged, of another kind or lacks a column.
    """
    if not isinstance(orders, str | Path):
        return list(orders)
    path = Path(orders)
    if not path.is_file():
        raise IncomeError(f"there is no file {path}: give a .csv or .parquet file of order lines")
    match path.suffix.lower():
        case ".csv":
            lines = _csv(path)
        case ".parquet":
            lines = _parquet(path)
        case other:
            raise IncomeError(f"{path} is a {other or 'nameless'} file: give .csv or .parquet")
    if lines and (missing := [name for name in COLUMNS if name not in lines[0]]):
        raise IncomeError(f"{path} lacks the columns {', '.join(missing)}: see datasets/README.md")
    return lines


def _csv(path: Path) -> list[Line]:
    csv.field_size_limit(LONGEST)
    # Excel begins its "CSV UTF-8" with a byte order mark; utf-8-sig takes files with and without.
    with path.open(newline="", encoding="utf-8-sig") as file:
        # A row that is too short has no values at its end; "" then ends as a dead letter.
        rows = csv.DictReader(file, restval="")
        try:
            return [{name: row.get(name, "") for name in rows.fieldnames or ()} for row in rows]
        except UnicodeDecodeError as error:
            raise IncomeError(
                f"{path} is not UTF-8 (byte 0x{error.object[error.start]:02x} after line "
                f"{rows.line_num:,}): save it as UTF-8, in Excel as “CSV UTF-8”"
            ) from error
        except csv.Error as error:
            raise IncomeError(
                f"{path}, after line {rows.line_num:,}: {error}; is a quotation mark not closed?"
            ) from error


def _parquet(path: Path) -> list[Line]:
    need((("pyarrow", "pyarrow"),))
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise IncomeError(
            f"{path} cannot be read as Parquet ({said}): copy or download it again"
        ) from error
    text = pa.schema([(name, pa.large_string()) for name in table.column_names])
    return [
        {name: value or "" for name, value in row.items()} for row in table.cast(text).to_pylist()
    ]
