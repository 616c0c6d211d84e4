"""Files of order lines: CSV and Parquet with the eight published columns, as text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from .errors import IncomeError, need
from .orders import COLUMNS, Line

DATASETS = Path(__file__).parents[2] / "datasets"
DAY = DATASETS / "orders-2011-12-05.csv"
YEAR = DATASETS / "orders-year.parquet"

Orders = str | Path | Sequence[Line]


def read_lines(orders: Orders) -> list[Line]:
    """All lines of a `.csv` or `.parquet` file, in the file's order, every value a text.

    Lines that are already in memory are given back as they are.
    Raises IncomeError where the file is missing, of another kind or lacks a column.
    """
    if not isinstance(orders, str | Path):
        return list(orders)
    path = Path(orders)
    if not path.is_file():
        raise IncomeError(f"there is no file {path}: give a .csv or .parquet file of order lines")
    match path.suffix:
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
    with path.open(newline="", encoding="utf-8") as file:
        # A row that is too short has no values at its end; "" then ends as a dead letter.
        rows = csv.DictReader(file, restval="")
        return [{name: row.get(name, "") for name in rows.fieldnames or ()} for row in rows]


def _parquet(path: Path) -> list[Line]:
    need((("pyarrow", "pyarrow"),))
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    text = pa.schema([(name, pa.large_string()) for name in table.column_names])
    return [
        {name: value or "" for name, value in row.items()} for row in table.cast(text).to_pylist()
    ]
