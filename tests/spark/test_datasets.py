"""The committed orders are what datasets/README.md says, to the byte and the tenth of a penny."""

from __future__ import annotations

import csv
import hashlib
from decimal import Decimal

import pytest

from mqlab.places import DATASETS
from mqlab.spark.files import DAY, YEAR, read_lines
from mqlab.spark.orders import COLUMNS


def test_checksums_hold() -> None:
    for line in (DATASETS / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((DATASETS / name).read_bytes()).hexdigest() == digest, name
        assert digest in (DATASETS / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def year() -> list:
    return read_lines(YEAR)


def total(lines: list) -> Decimal:
    amounts = (Decimal(line["Quantity"]) * Decimal(line["UnitPrice"]) for line in lines)
    return sum(amounts, Decimal())


def test_day_is_exact() -> None:
    day = read_lines(DAY)
    assert len(day) == 5_331
    assert total(day) == Decimal("57751.32")


def test_year_is_exact(year: list) -> None:
    assert len(year) == 541_909
    assert total(year) == Decimal("9747747.934")


def test_day_is_cut_out_of_the_year_unchanged(year: list) -> None:
    day = [line for line in year if line["InvoiceDate"].startswith("2011-12-05")]
    assert day == read_lines(DAY)
    with DAY.open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(COLUMNS)


def test_what_the_readme_calls_dirty_is_there(year: list) -> None:
    assert sum(line["InvoiceNo"].startswith("C") for line in year) == 9_288
    assert sum(line["InvoiceNo"].startswith("A") for line in year) == 3
    assert sum(Decimal(line["UnitPrice"]) == 0 for line in year) == 2_515
    assert sum(int(line["Quantity"]) < 0 for line in year) == 10_624
    assert sum(not line["CustomerID"] for line in year) == 135_080
    assert sum(not line["Description"] for line in year) == 1_454
    assert sum(len(line["UnitPrice"].partition(".")[2]) == 3 for line in year) == 4
    assert len(year) - len({tuple(line.values()) for line in year}) == 5_268
