"""What a run has computed: right where each minute is there once, with its sum and its lines."""

from __future__ import annotations

from mqlab.spark import job
from mqlab.spark.files import read_table
from mqlab.spark.flink.job import Result, Seconds
from mqlab.spark.truth import Truth, truth_of

LINE = {
    "InvoiceNo": "1", "StockCode": "A", "Description": "", "Quantity": "2",
    "InvoiceDate": "2011-12-05 08:00:00", "UnitPrice": "1.50", "CustomerID": "", "Country": "",
}  # fmt: skip


def line(time: str, quantity: str = "2") -> dict[str, str]:
    return {
        **LINE, "InvoiceDate": f"2011-12-05 {time}:00", "Quantity": quantity,
    }  # fmt: skip


def result(true: Truth, *rows: job.Row) -> Result:
    return Result(list(rows), true, 3, Seconds(9.0, 2.5))


def test_a_result_is_right_when_each_minute_is_there_once_with_its_lines() -> None:
    lines = [line("08:00"), line("08:00"), line("08:05", quantity="many")]
    true = truth_of(read_table(lines))
    assert (true.total_tenths, true.dead) == (6000, 1)
    row = job.Row("2011-12-05 08:00", 6000, 2)
    right = result(true, row)
    assert right.right and "counted 2 + no orders 1\n" in str(right)
    assert "total £6.00, without Flink £6.00 → equal" in str(right)
    assert "Flink ran for 9.0 s, 2.5 s of them the job" in str(right)
    doubled = result(true, row, row)
    assert not doubled.right and "→ NOT EQUAL" in str(doubled) and "NOT BALANCED" in str(doubled)
    halves = result(true, job.Row(row.minute, 3000, 1), job.Row(row.minute, 3000, 1))
    assert not halves.right and "→ minutes are WRONG" in str(halves)
