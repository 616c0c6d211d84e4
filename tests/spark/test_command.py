"""`mqlab income` over files of one's own: what it prints, and its exit codes."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqlab.cli import main
from mqlab.cli.incidents import Incident, list_incidents
from mqlab.places import ROOT, SCENARIOS
from mqlab.scenario.language import read_typed
from tests.spark.test_dirty import HEAD, A, B, C, row, table

pytestmark = pytest.mark.needs("java")


class Shop:
    """One file of orders after the other, against one broker."""

    def __init__(self, address: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.address, self.folder, self.capsys = address, folder, capsys

    def run(self, file: str, text: str = "", *words: str) -> tuple[int, str]:
        path = self.folder / file
        if text:
            path.write_text(text, encoding="utf-8")
        self.capsys.readouterr()
        code = main(
            ["income", "--orders", str(path), "--bootstrap-server", self.address,
             "--checkpoint", str(self.folder / "run"), *words]
        )  # fmt: skip
        said = self.capsys.readouterr()
        return code, said.out + said.err


@pytest.fixture
def shop(
    broker_address: str, spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Shop:
    return Shop(broker_address, tmp_path, capsys)


def test_lines_that_fit_no_head_are_named_and_the_exit_code_is_3(shop: Shop) -> None:
    late = f"{datetime.now() + timedelta(days=2):%Y-%m-%d %H:%M}:00"
    ahead = row(InvoiceDate=late)
    text = HEAD + A + C + row(UnitPrice="3,39") + ahead + row(Quantity="many") * 9
    code, said = shop.run("orders.csv", text)
    assert code == 3
    sums = "lines 14 = counted 1 + cancelled 1 + rejected 11 + header 1"
    assert f"orders.csv: {sums}\nread again by other code: {sums} → balanced\n" in said
    assert "rejected line 4: 9 fields, the head has 8" in said and A.strip()[:20] in said
    assert f"rejected line 5: InvoiceDate '{late}' is after " in said
    assert "(message.timestamp.after.max.ms=3600000)" in said
    assert "line 13" in said and "line 14" not in said, "the first ten"
    file = shop.folder / "run.rejected.csv"
    assert f"1 more; all of them are in {file}" in said
    lines = list(csv.DictReader(file.open(encoding="utf-8", newline="")))
    assert [line["line"] for line in lines] == [str(n) for n in range(4, 15)]
    assert lines[0]["text"] == row(UnitPrice="3,39").strip()
    assert "total £32.40, without Spark £32.40 → equal" in said
    assert shop.run("orders.csv", "", "--allow-rejected", "11")[0] == 0
    assert shop.run("orders.csv", "", "--allow-rejected", "10")[0] == 3
    (shop.folder / "run" / "income" / "metadata").unlink()
    code, said = shop.run("orders.csv")
    assert (code, said.count("\n")) == (2, 1) and "income/metadata is missing: restore" in said
    (shop.folder / "run" / "income" / "metadata").write_text("{}", encoding="utf-8")
    code, said = shop.run("orders.csv")
    assert code == 2 and "the Spark query failed: " in said and "Traceback" not in said


def test_a_long_line_that_is_no_order_fits_as_a_dead_letter(shop: Shop) -> None:
    text = HEAD + A + row(Quantity="灯" * 200_000) + row(Description="RED, " * 90_000)
    code, said = shop.run("orders.csv", text, "--minutes-per-batch", "9" * 30)
    assert code == 3 and "rejected 2" in said and len(said) < 5_000


@pytest.mark.parametrize("one", [a for a in list_incidents() if a.typed], ids=lambda a: a.name)
def test_an_incident_that_is_typed_shows_what_it_says(
    one: Incident, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    helped = (SCENARIOS / one.name).with_name(f"{one.script.head['helped']}.run")
    typed = (one.typed, read_typed(helped.read_text("utf-8"))[1])
    for command, there in zip(typed, (True, False), strict=True):
        checkpoint = str(shop.folder / str(there))
        main([*command.split()[1:], "--bootstrap-server", shop.address, "--checkpoint", checkpoint])
        said = shop.capsys.readouterr().out
        assert "without Spark" in said and (one.script.head["shown"] in said) is there


def test_a_parquet_file_of_decimals_and_times_is_exact(shop: Shop) -> None:
    at = datetime(2011, 12, 5, 8, 38)
    prices = pa.array([Decimal("3.39"), Decimal("1.5")], pa.decimal128(10, 4))
    times = pa.array([at, at + timedelta(minutes=2)], pa.timestamp("ns"))
    pq.write_table(table(UnitPrice=prices, InvoiceDate=times), shop.folder / "orders.parquet")
    code, said = shop.run("orders.parquet")
    assert code == 0 and "total £36.90, without Spark £36.90 → equal" in said
    assert "lines 2 = counted 2 + cancelled 0 + rejected 0 + header 0 → balanced" in said


def test_a_reading_that_counts_more_than_the_other_is_not_equal(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old fault: a row that is too long was cut by the one reader that both counts stood on."""
    from mqlab.spark import files

    records = files._read_rows

    def cut(*given: object) -> object:
        for at, fields, lines in records(*given):  # type: ignore[arg-type]
            yield at, fields[:8], lines

    monkeypatch.setattr(files, "_read_rows", cut)
    code, said = shop.run("orders.csv", HEAD + A + row(UnitPrice="3,39"))
    assert code == 1 and "→ NOT BALANCED" in said and "without Spark £33.90 → NOT EQUAL" in said


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("orders.csv", HEAD + row(UnitPrice="free"), "none of them is an order; line 2: UnitPrice"),
        ("orders.csv", HEAD, "the file has no order lines"),
        ("orders.csv", HEAD + row(Description='"RED') + B, "line 2: a quotation mark is not"),
        ("orders.csv", HEAD + row(InvoiceDate="1/2/2011 8:00"), "with the day or with the month"),
        ("orders.csv", HEAD + row(InvoiceNo="x" * 600_000), "line 2 of orders.csv is 1,200,1"),
        ("orders.csv", HEAD + row(Description='"' * 800_002), "line 2 of orders.csv is 1,600,"),
        ("orders.parquet", HEAD, "cannot be read as Parquet"),
        ("orders.xlsx", HEAD, "is a .xlsx file: give .csv or .parquet"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(shop: Shop, file: str, text: str, words: str) -> None:
    code, said = shop.run(file, text)
    assert code == 2 and words in said
    assert [line for line in said.splitlines() if line.startswith("mqlab: ")] != []
    assert "Traceback" not in said


@pytest.mark.parametrize("wrong", ["-1", "x"])
def test_how_many_may_be_rejected_is_a_number(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["income", "--allow-rejected", wrong])
    assert "expected a whole number, 0 or more" in capsys.readouterr().err
    for action, option in (("chaos", "allow-rejected"), ("chaos", "orders-per-batch")):
        assert main(["income", action, f"--{option}", "1"]) == 2
        assert f"--{option} applies to a single job" in capsys.readouterr().err
    assert main(["income", "run", "--soft"]) == 2
