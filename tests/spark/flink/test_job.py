"""What a run has computed: right where each minute is there once, with its sum and its lines."""

from __future__ import annotations

from pathlib import Path

from mqlab.spark import job
from mqlab.spark.feeder import records_of
from mqlab.spark.files import read
from mqlab.spark.flink.job import Result, Seconds
from mqlab.spark.truth import Truth, judge_lines, take_account, truth_of

LINE = {
    "InvoiceNo": "1", "StockCode": "A", "Description": "", "Quantity": "2",
    "InvoiceDate": "2011-12-05 08:00:00", "UnitPrice": "1.50", "CustomerID": "", "Country": "",
}  # fmt: skip


def line(time: str, quantity: str = "2") -> dict[str, str]:
    return {
        **LINE, "InvoiceDate": f"2011-12-05 {time}:00", "Quantity": quantity,
    }  # fmt: skip


LINES = [line("08:00"), line("08:00"), line("08:05", quantity="many")]


def result(folder: Path, true: Truth, *rows: job.Row) -> Result:
    reading = read(LINES)
    rejected = judge_lines(reading, records_of(reading))
    summed = sum(row.lines for row in rows)
    account = take_account(reading, true, summed, rejected, folder / "run")
    return Result(list(rows), true, account, Seconds(9.0, 2.5))


def test_a_result_is_right_when_each_minute_is_there_once_with_its_lines(tmp_path: Path) -> None:
    true = truth_of(LINES)
    assert (true.total_tenths, true.dead) == (6000, 1)
    row = job.Row("2011-12-05 08:00", 6000, 2)
    right = result(tmp_path, true, row)
    assert right.right and "counted 2 + cancelled 0 + rejected 1 + header 0\n" in str(right)
    assert "rejected line 3: Quantity 'many' is not" in str(right)
    kept = (tmp_path / "run.rejected.csv").read_text("utf-8")
    assert kept.startswith("line,reason,text\n3,\"Quantity 'many' is not")
    assert "total £6.00, without Flink £6.00 → equal" in str(right)
    assert "Flink ran for 9.0 s, 2.5 s of them the job" in str(right)
    doubled = result(tmp_path, true, row, row)
    assert not doubled.right and "→ NOT EQUAL" in str(doubled) and "NOT BALANCED" in str(doubled)
    halves = result(tmp_path, true, job.Row(row.minute, 3000, 1), job.Row(row.minute, 3000, 1))
    assert not halves.right and "→ equal, but minutes are WRONG" in str(halves)
