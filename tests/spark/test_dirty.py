"""Dirty files, of the kinds that public reports of Spark, pandas and Excel name: what each does.

A file is read twice (files.py, truth.py); both must agree in lines, in what is rejected, in each
minute's money. Or it is refused, by a sentence. None of this needs a broker.
"""

from __future__ import annotations

import gzip
import zipfile
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

pytest.importorskip("confluent_kafka")

import pyarrow as pa
import pyarrow.parquet as pq

from mqlab.spark.columns import judge
from mqlab.spark.errors import IncomeError
from mqlab.spark.feeder import records_of
from mqlab.spark.files import DAY, need_same, read, version_of
from mqlab.spark.job import income
from mqlab.spark.orders import minute_text
from mqlab.spark.topics import ANY, Span
from mqlab.spark.truth import Account, Truth, judge_lines, take_account, truth_of

NAMES = ("InvoiceNo", "StockCode", "Description", "Quantity", "InvoiceDate", "UnitPrice",
         "CustomerID", "Country")  # fmt: skip
TURNS = 400
HEAD = ",".join(NAMES) + "\n"
A = "1,A,LANTERN,10,2011-12-05 08:38:00,3.39,17850,UK\n"  # £33.90
B = "2,B,CLOCK,2,2011-12-05 08:40:00,1.50,,UK\n"  # £3.00
C = "C3,B,CLOCK,-1,2011-12-05 09:00:00,1.50,17850,UK\n"  # a cancellation, -£1.50


class Read(NamedTuple):
    """Lines counted, cancelled, rejected and beside rows; pounds; words of the first rejection."""

    counted: int
    cancelled: int
    rejected: int
    beside: int
    pounds: str
    words: str = ""


def row(**fields: str) -> str:
    """A with other fields."""
    return ",".join((dict(zip(NAMES, A.strip().split(","), strict=True)) | fields).values()) + "\n"


def separated(mark: str) -> str:
    return (HEAD + A + B).replace(",", mark)


def dated(*dates: str) -> str:
    return HEAD + "".join(row(InvoiceDate=date) for date in dates)


def zipped() -> bytes:
    with zipfile.ZipFile(file := BytesIO(), "w") as archive:
        archive.writestr("orders.csv", HEAD + A)
    return file.getvalue()


II = "Invoice,StockCode,Description,Quantity,InvoiceDate,Price,Customer ID,Country\n"
GOOD = Read(2, 0, 0, 0, "36.90")
ONE = Read(1, 0, 0, 0, "33.90")


def less(words: str, rejected: int = 1, beside: int = 0) -> Read:
    """A is counted, the others are rejected."""
    return Read(1, 0, rejected, beside, "33.90", words)


CSV: dict[str, tuple[str | bytes, Read | str]] = {
    # separators and the number of fields
    "as published": (HEAD + A + B + C, Read(2, 1, 0, 0, "35.40")),
    "decimal comma": (HEAD + A + row(UnitPrice="3,39"), less("line 3: 9 fields, the head has 8")),
    "thousands comma": (HEAD + A + row(UnitPrice="1,234.50"), less("line 3: 9 fields")),
    "two commas more": (HEAD + A + row(UnitPrice="1,234,567.50"), less("line 3: 10 fields")),
    "comma in a text": (HEAD + A + row(Description="RED, BIG"), less("in quotation marks")),
    "a field too few": (HEAD + A + "1,A,LANTERN,10,2011-12-05 08:38:00,3.39,UK\n",
                        less("line 3: 7 fields, the head has 8")),
    "cut off in the last line": (HEAD + A + A[:20], less("line 3: 5 fields")),
    "semicolons": (separated(";"), GOOD),
    "tabs": (separated("\t"), GOOD),
    "bars": (separated("|"), GOOD),
    "semicolons, decimal commas": (
        separated(";").replace(".39", ",39").replace(".50", ",50"), "none of them .* '3,39'"),
    "semicolons, one decimal comma": (
        separated(";").replace("1.50", "1,50"), less("line 3: UnitPrice '1,50' is not a price")),
    "colons": (separated(":"), "lacks the columns InvoiceNo"),
    "two separators": ((HEAD + A).replace("\n1,A,", "\n1;A;"), "none of .*: 6 fields, the head"),
    "Excel's sep= line": ("sep=;\n" + separated(";"), "it has 'sep=', ''|it has 'sep="),
    "trailing commas everywhere": ((HEAD + A + B).replace("\n", ",\n"), GOOD),
    "trailing comma in rows": (HEAD + A + B.replace("\n", ",\n"), less("line 3: 9 fields")),
    "trailing comma in all rows": (HEAD + (A + B).replace("\n", ",\n"), "none of .* 9 fields"),
    "pandas' index": ((HEAD + A + B).replace("\n", "\n0,").join((",", ""))[:-2], GOOD),
    # quotation marks
    "all quoted": ("\n".join('"' + '","'.join(line.split(",")) + '"' for line in
                             (HEAD + A + B).splitlines()), GOOD),
    "doubled marks": (HEAD + row(Description='"6"" PLATE, RED"'), ONE),
    "a mark in a text": (HEAD + row(Description='6" PLATE'), ONE),
    "a stray mark": (HEAD + row(Description='"PLATE') + B, "line 2: a quotation mark is not"),
    "a mark closed in a text": (HEAD + row(Description='"6"x'), "line 2: a quotation mark"),
    "marks escaped by backslashes": (HEAD + row(Description='"6\\" PLATE"'), "line 2: .*double it"),
    "single marks": (HEAD + A + row(Description="'RED, BIG'"), less("9 fields")),
    "line break in a text": (HEAD + row(Description='"RED\nBIG"') + B, GOOD._replace(beside=1)),
    "three line breaks": (HEAD + row(Description='"R\r\nE\n\nD"') + B, GOOD._replace(beside=3)),
    "two stray marks": (HEAD + row(Description='"RED') + row(Description='BIG"') + B,
                        "line 2: .* goes on to line 3"),
    "marks that swallow three lines": (
        HEAD + row(Description='"RED') + A + B + row(Description='BIG"'), "on to line 5"),
    "line break and a field too many": (HEAD + row(Description='"RED\nBIG"', UnitPrice="3,39"),
                                        "line 2: .* goes on to line 3"),
    "stray mark in the head": ('"' + HEAD + A, "line 1: a quotation mark"),
    "a long field": (HEAD + row(Description="x" * 2_000_000),
                     r"line 2: a field has more than 1,000,000 characters \(the line has 2,000,0"),
    "a long line of many fields": (HEAD + A + "x," * 300_000 + "\n", less("300001 fields")),
    # encodings, marks of order, line ends
    "UTF-8 with its mark": (b"\xef\xbb\xbf" + (HEAD + A + B).encode(), GOOD),
    "the mark and quotation marks": (b'\xef\xbb\xbf"InvoiceNo"' + (HEAD + A)[9:].encode(), ONE),
    "UTF-16": ((HEAD + A).encode("utf-16"), "is not UTF-8 .byte 0xff.: save it as UTF-8"),
    "UTF-16 without its mark": ((HEAD + A).encode("utf-16-le"), "lacks .*it has 'I.x00n"),
    "Latin-1": ((HEAD + row(Description="CAFÉ £")).encode("latin-1"), "is not UTF-8 .byte 0xc9"),
    "Windows 1252": ((HEAD + row(Description="“RED”")).encode("cp1252"), "not UTF-8 .byte 0x93"),
    "GBK": ((HEAD + row(Description="灯笼")).encode("gbk"), "is not UTF-8"),
    "UTF-8 beyond ASCII": (HEAD + row(Description="灯笼 £ \u2028 \x85 \x0c x"), ONE),
    "carriage returns": ((HEAD + A + B).replace("\n", "\r"), GOOD),
    "Windows' line ends": ((HEAD + A + B).replace("\n", "\r\n"), GOOD),
    "mixed line ends": (HEAD + A.replace("\n", "\r\n") + B.replace("\n", "\r"), GOOD),
    "no line end at the end": ((HEAD + A + B).rstrip(), GOOD),
    "empty lines": ("\n" + HEAD + "\n" + A + "\r\n\n" + B + "\n\n", GOOD._replace(beside=6)),
    "a NUL in a text": (HEAD + row(Description="A\0B"), ONE),
    # heads, ends, joined files
    "empty file": (b"", "is empty: its first line must name the columns"),
    "nothing but line ends": ("\n\n\n", "is empty"),
    "head only": (HEAD, "no order lines"),
    "no head": (A + B, "lacks the columns .*it has '1', 'A', 'LANTERN'"),
    "a comment before the head": ("# export of 2011\n" + HEAD + A, "it has '# export of 2011'"),
    "a title before the head": ("Sales,,,,,,,\n" + HEAD + A, "it has 'Sales', ''"),
    "a comment in the middle": (HEAD + A + "# page 2\n", less("line 3: 1 field")),
    "a head in the middle": (HEAD + A + HEAD, less("line 3: Quantity 'Quantity' is not a whole")),
    "files joined": (HEAD + A + HEAD + B, Read(2, 0, 1, 0, "36.90", "line 3")),
    "joined with the mark": (HEAD + A + "\ufeff" + HEAD + B, Read(2, 0, 1, 0, "36.90", "line 3")),
    "joined within a line": (HEAD + A + B.rstrip() + HEAD + B,
                             Read(2, 0, 1, 0, "36.90", "line 3: 15 fields")),
    "a total at the end": (HEAD + A + "Total,,,10,,33.90,,\n", less("InvoiceDate '' is not a")),
    "a total without its fields": (HEAD + A + "Total 33.90\n", less("line 3: 1 field")),
    "rows of commas": (HEAD + A + ",,,,,,,\n" * 3, less("Quantity '' is not", 3)),
    "blanks only": (HEAD + A + "   \n", less("line 3: 1 field")),
    "zip": (zipped(), "is a zip archive, as Excel's .xlsx is: unpack it"),
    "gzip": (gzip.compress((HEAD + A).encode()), "is packed with gzip: unpack it"),
    "old Excel": (b"\xd0\xcf\x11\xe0" + b"\0" * 99, "is an Excel file: save it as"),
    "Parquet by another name": (b"PAR1" + b"\0" * 99, "is a Parquet file: name it .parquet"),
    # names of columns
    "Online Retail II": (II + A + B, GOOD),
    "other letters": (HEAD.lower() + A + B, GOOD),
    "underscores and blanks": (HEAD.replace("UnitPrice", " unit_price ") + A, ONE),
    "another order": (
        "Country,UnitPrice,InvoiceDate,Quantity,CustomerID,Description,StockCode,InvoiceNo\n"
        "UK,3.39,2011-12-05 08:38:00,10,1,LANTERN,A,1\n", ONE),
    "a column more": ((HEAD + A + B).replace("\n", ",x\n"), GOOD),
    "a column twice": (HEAD.replace("Country", "Quantity") + A, "the column Quantity twice"),
    "two names of one column": (HEAD.replace("Country", "Price") + A,
                                "UnitPrice twice .“UnitPrice” and “Price”"),
    "a column missing": (HEAD.replace(",UnitPrice", "") + A, "lacks the columns UnitPrice"),
    "a mark in another name": (
        (HEAD + A + B).replace("\n", ",x\n").replace("x", '"a, b"', 1), GOOD),
    "more marks in another name than columns": (
        separated(";").replace("\n", ";x\n").replace("x", '"a,b,c,d,e,f,g,h,i,j"', 1), GOOD),
    "pandas' index with tabs": (
        separated("\t").replace("\n", "\n0\t").join(("\t", ""))[:-2], GOOD),
    "an empty line after the mark": ("\ufeff\n" + HEAD + A, ONE._replace(beside=1)),
    # numbers
    "thousands of pieces": (HEAD + A + row(Quantity="1.000"),
                            "Quantity '1.000' may have three decimals .* write 1000 or 1.0000"),
    "thousands of pounds": (
        (HEAD + row(UnitPrice="3,39") + row(UnitPrice="1.234")).replace("3,39", '"3,39"'),
        "UnitPrice '1.234' may have three decimals"),
    "thousands of pounds and pence": (
        (HEAD + row(UnitPrice='"1.234,50"') + row(UnitPrice="1.234")), "may have three decimals"),
    "what is no number tells nothing": (HEAD + row(UnitPrice="1.234") + row(UnitPrice="x.5"),
                                        "UnitPrice '1.234' may have three decimals"),
    "three decimals": (HEAD + A + row(UnitPrice="1.234", Quantity="1"), Read(2, 0, 0, 0, "35.134")),
    "a price below a pound": (HEAD + row(UnitPrice="0.001"), Read(1, 0, 0, 0, "0.010")),
    "three decimals of pieces": (
        HEAD + row(Quantity="10.000") + row(Quantity="1200.000"), Read(2, 0, 0, 0, "4101.90")),
    "pounds": ((HEAD + A + B).replace("\n", ",GBP\n").replace("GBP", "Currency", 1), GOOD),
    "euros": ((HEAD + A + B).replace("\n", ",EUR\n").replace("EUR", "Currency_Code", 1),
              "line 2: the currency is 'EUR', and the job adds up pounds"),
    "pence": ((HEAD + A + B).replace("\n", ",GBp\n").replace("GBp", "currency", 1), "is 'GBp'"),
    "noughts behind": (HEAD + row(UnitPrice="3.3900") + row(Quantity="10.0"),
                       Read(2, 0, 0, 0, "67.80")),
    "noughts before": (HEAD + row(UnitPrice="003.39", Quantity="0000000000010"), ONE),
    "four decimals": (HEAD + A + row(UnitPrice="3.3901"), less("UnitPrice '3.3901'")),
    "a binary remainder": (HEAD + A + row(UnitPrice="0.30000000000000004"), less("UnitPrice '0.3")),
    "a remainder beyond 28 digits": (HEAD + A + row(UnitPrice=f"3.39{'0' * 30}1")
                                     + row(Quantity=f"1.{'0' * 30}1"), less("'3.39", 2)),
    "exponents": (HEAD + A + row(UnitPrice="1e3") + row(Quantity="1E1"), less("'1e3'", 2)),
    "NaN and infinity": (HEAD + A + row(UnitPrice="NaN") + row(UnitPrice="inf")
                         + row(Quantity="NULL"), less("'NaN'", 3)),
    "signs": (HEAD + A + row(UnitPrice="£3.39") + row(UnitPrice="(3.39)") + row(UnitPrice="+3.39")
              + row(Quantity="3.39-") + row(Quantity="--3"), less("'£3.39'", 5)),
    "blanks around": (HEAD + A + row(UnitPrice=" 3.39") + row(Quantity="10 "), less("' 3.39'", 2)),
    "a price of points": (HEAD + A + row(UnitPrice=".") + row(UnitPrice=".5") + row(UnitPrice="5.")
                          + row(UnitPrice="1.2.3") + row(UnitPrice="1_0"), less("'.'", 5)),
    "another script's digits": (HEAD + A + row(Quantity="٣") + row(UnitPrice="１"), less("٣", 2)),
    "half a piece": (HEAD + A + row(Quantity="1.5"), less("Quantity '1.5' is not a whole number")),
    "thousands in quotation marks": (HEAD + A + row(UnitPrice='"1,234.50"'), less("'1,234.50'")),
    "below zero": (HEAD + A + row(UnitPrice="-11062.06", Quantity="1"),
                   Read(2, 0, 0, 0, "-11028.16")),
    "a price of nothing": (HEAD + A + row(UnitPrice="0") + row(UnitPrice="-0.000", Quantity="-0"),
                           Read(3, 0, 0, 0, "33.90")),
    "an amount beyond all": (HEAD + A + row(UnitPrice="9999999999", Quantity="999999999"),
                             less("is beyond £1,000,000,000")),
    "ten digits of pieces": (HEAD + A + row(Quantity="1000000000"), less("at most 9 digits")),
    "eleven digits of pounds": (HEAD + A + row(UnitPrice="10000000000"), less("UnitPrice")),
    "C without a minus": (HEAD + A + row(InvoiceNo="C9") + row(InvoiceNo="C9", Quantity="-0"),
                          Read(3, 0, 0, 0, "67.80")),
    "no invoice, no customer": (HEAD + row(InvoiceNo="", CustomerID="17850.0"), ONE),
    "a column shifted": (HEAD + A + "1,A,RED,BIG,10,2011-12-05 08:38:00,3.39,UK\n",
                         less("Quantity 'BIG'")),
    # times
    "month first": (dated("12/5/2011 8:38", "12/13/2011 8:38"), Read(2, 0, 0, 0, "67.80")),
    "day first": (dated("5/12/2011 8:38", "13/12/2011 8:38:59"), Read(2, 0, 0, 0, "67.80")),
    "points": (dated("05.12.2011 08:38", "13.12.2011 08:38"), Read(2, 0, 0, 0, "67.80")),
    "day or month": (dated("5/12/2011 8:38", "6/12/2011 8:38"), "may begin with the day or"),
    "day and month": (dated("13/12/2011 8:38", "12/13/2011 8:38"), "with the day and .* month"),
    "another shop's points": (dated("12/13/2011 8:38", "5.12.2011 8:38"), "'5.12.2011 8:38' may"),
    "a day that is none tells nothing": (
        dated("12/5/2011 8:38", "45/2/2011 8:38"), "'12/5/2011 8:38' may begin"),
    "a day that is none contradicts nothing": (
        dated("12/5/2011 8:38", "12/13/2011 8:38", "45/2/2011 8:38"),
        Read(2, 0, 1, 0, "67.80", "'45/2/2011 8:38' is not a time")),
    "day is month": (dated("5/5/2011 8:38"), ONE),
    "neither day nor month": (HEAD + A + row(InvoiceDate="13/13/2011 8:38"), less("13/13/2011")),
    "two digits of a year": (HEAD + A + row(InvoiceDate="12/13/11 8:38"), less("'12/13/11 8:38'")),
    "half days": (HEAD + A + row(InvoiceDate="12/13/2011 8:38 PM"), less("PM")),
    "zones": (dated("2011-12-05T08:38Z", "2011-12-05 17:38:00+09:00", "2011/12/5 8:38",
                    "2011-12-05 03:38:00.999-0500"), Read(4, 0, 0, 0, "135.60")),
    "parts of a second": (dated("2011-12-05 08:38:59.9999999", "2011-12-05 08:38:00.1Z"),
                          Read(2, 0, 0, 0, "67.80")),
    "minutes and seconds of one digit": (
        HEAD + A + row(InvoiceDate="2011-12-05 8:3") + row(InvoiceDate="2011-12-05 08:38:0")
        + row(InvoiceDate="2011-12-05T08:38:0Z"), less("08:3", 3)),
    "a zone that is none": (HEAD + A + row(InvoiceDate="2011-12-05 08:38:00+25:00"), less("25:00")),
    "a small t, a small z": (HEAD + A + row(InvoiceDate="2011-12-05t08:38:00")
                             + row(InvoiceDate="2011-12-05T08:38:00z"), less("05t08", 2)),
    "zones with seconds": (HEAD + A + row(InvoiceDate="2011-12-05 08:38:00+09:00:30")
                           + row(InvoiceDate="2011-12-05 08:38:00+090030.5"), less("0:30", 2)),
    "zones beyond the calendar": (HEAD + A + row(InvoiceDate="9999-12-31 23:59:00-05:00")
                                  + row(InvoiceDate="0001-01-01 00:00:00+09:00"), less("999", 2)),
    "no time of day": (HEAD + A + row(InvoiceDate="2011-12-05"), less("'2011-12-05' is not a")),
    "Excel's number": (HEAD + A + row(InvoiceDate="40882.36"), less("'40882.36' is not a time")),
    "seconds since 1970": (HEAD + A + row(InvoiceDate="1323074280"), less("1323074280")),
    "no such day": (HEAD + A + row(InvoiceDate="2011-02-30 08:38:00"), less("2011-02-30")),
    "a second too many": (HEAD + A + row(InvoiceDate="2011-12-05 08:38:60")
                          + row(InvoiceDate="2011-12-05 24:00:00"), less(":60", 2)),
    "out of the calendar": (HEAD + A + row(InvoiceDate="0001-01-01 00:00:00")
                            + row(InvoiceDate="9999-12-31 00:00:00")
                            + row(InvoiceDate="1970-12-31 23:59:00"), less("outside the years", 3)),
    "blanks around a time": (HEAD + A + row(InvoiceDate=" 2011-12-05 08:38:00")
                             + row(InvoiceDate="2011-12-05  08:38:00"), less("' 2011", 2)),
    "another script's time": (HEAD + A + row(InvoiceDate="٢011-12-05 08:38:00"), less("٢")),
}  # fmt: skip


def check(path: Path, expected: Read | str, span: Span = ANY) -> None:
    """Both readings, one against the other and against what is expected."""
    if isinstance(expected, str):
        with pytest.raises(IncomeError, match=expected) as refusal:
            if not records_of(read(path), span):
                raise IncomeError("no order lines")
        assert "\n" not in str(refusal.value)
        return
    account, true = compare(path, span)
    numbers = account.counted, account.cancelled, len(account.rejected), account.reading.beside
    assert (*numbers, true.sum) == (*expected[:4], Decimal(expected.pounds)), str(account)
    assert expected.words in str(account)


def compare(path: Path, span: Span = ANY) -> tuple[Account, Truth]:
    """Both readings, which must agree; the first one judged as the job does."""
    reading = read(path)
    records = records_of(reading, span)
    judged = judge([record.value for record in records], [record.stamp_ms for record in records])
    money: Counter[str] = Counter()
    for record, tenths, line in zip(records, judged.tenths, judged.lines, strict=True):
        if line.as_py():
            money[minute_text(record.stamp_ms)] += tenths.as_py()
    true = truth_of(path, span)
    summed = sum(judged.lines.to_pylist())
    account = take_account(reading, true, summed, judge_lines(reading, records), path.parent)
    assert account.balanced, str(account)
    assert dict(money) == true.tenths()
    return account, true


@pytest.mark.parametrize("name", CSV)
def test_a_dirty_csv_file(name: str, tmp_path: Path) -> None:
    content, expected = CSV[name]
    path = tmp_path / "orders.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    check(path, expected)


EDITS = (*',;"\n\r 0.-Ceé\t/', "12/5/2011 8:38", ",,")


def test_however_a_file_is_damaged_both_readings_agree_or_it_is_refused(tmp_path: Path) -> None:
    text = "".join(DAY.read_text("utf-8").splitlines(keepends=True)[:12])
    chance, path, refused, rejected = Random(37), tmp_path / "orders.csv", 0, 0
    for _ in range(TURNS):
        damaged = text
        for _ in range(chance.randrange(1, 4)):
            place, cut = chance.randrange(len(damaged)), chance.choice((0, 0, 1, 1, 30))
            put = chance.choice(("", *EDITS))
            damaged = damaged[:place] + put + damaged[place + cut :]
        path.write_text(damaged, encoding="utf-8")
        try:
            account, _ = compare(path)
            rejected += bool(account.rejected)
        except IncomeError:
            refused += 1
    assert refused > TURNS / 10 and rejected > TURNS / 10


def test_a_folder_of_files_as_spark_writes_it_is_no_file(tmp_path: Path) -> None:
    (path := tmp_path / "orders.parquet").mkdir()
    with pytest.raises(IncomeError, match="is a folder: give one"):
        read(path)


def test_a_file_that_cannot_be_read_leaves_no_folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for checkpoint in (None, tmp_path / "new"):
        with pytest.raises(IncomeError, match=r"^no file [^(]*$"):
            income("127.0.0.1:1", tmp_path / "none.csv", checkpoint=checkpoint)
    for checkpoint in ("s3://orders/run", "x" * 300):
        (tmp_path / "orders.csv").write_text(HEAD + A, encoding="utf-8")
        with pytest.raises(IncomeError, match=r"local folder|name too long"):
            income("127.0.0.1:1", tmp_path / "orders.csv", checkpoint=checkpoint)
    with pytest.raises(IncomeError, match=r"^the broker at \S+ does not answer.* it stopped$"):
        income("127.0.0.1:1", tmp_path / "orders.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["orders.csv"]


MINUTE = datetime(2011, 12, 5, 8, 38)


def table(**columns: object) -> pa.Table:
    """A and B with other columns: an Arrow array, or a list of two values."""
    lines = [line.strip().split(",") for line in (A, B)]
    given = dict(zip(NAMES, map(list, zip(*lines, strict=True)), strict=True)) | columns
    return pa.table(given)


def decimals(digits: int, scale: int) -> pa.Array:
    return pa.array([Decimal("3.39"), Decimal("1.5")], pa.decimal128(digits, scale))


def times(kind: pa.DataType) -> dict[str, pa.Array]:
    return {"InvoiceDate": pa.array([MINUTE, MINUTE + timedelta(minutes=2)], kind)}


NO_TEXT = pa.array([b"\xff", b"1"]).buffers()
FLOATS = pa.array([3.39, 1.5], pa.float64())
PARQUET: dict[str, tuple[dict[str, object], Read | str]] = {
    "texts": ({}, GOOD),
    "whole numbers": ({"Quantity": pa.array([10, 2], pa.int64())}, GOOD),
    "small whole numbers": ({"Quantity": pa.array([10, 2], pa.uint8())}, GOOD),
    "large unsigned numbers": ({"Quantity": pa.array([10, 2], pa.uint64())}, GOOD),
    "pieces as floats": ({"Quantity": [10.0, 2.0]}, GOOD),
    "pieces with a null": ({"Quantity": pa.array([10, None], pa.float64())}, less("Quantity ''")),
    "half a piece": ({"Quantity": [10.0, 2.5]}, less("Quantity '2.5'")),
    "floats": ({"UnitPrice": FLOATS}, GOOD),
    "small floats": ({"UnitPrice": FLOATS.cast(pa.float32())}, GOOD),
    "floats of no penny": ({"UnitPrice": [3.39, 0.1 + 0.2]}, less("'0.30000000000000004'")),
    "a large float": ({"UnitPrice": [3.39, 1e8], "Quantity": ["10", "1"]},
                      Read(2, 0, 0, 0, "100000033.90")),
    "an endless float": ({"UnitPrice": [3.39, float("inf")]}, less("UnitPrice 'inf'")),
    "no number": ({"UnitPrice": [3.39, float("nan")]}, less("UnitPrice 'nan'")),
    "no number at all": ({"UnitPrice": [float("nan")] * 2}, "none of them .* UnitPrice 'nan'"),
    "decimals(10, 4)": ({"UnitPrice": decimals(10, 4)}, GOOD),
    "decimals(38, 10)": ({"UnitPrice": decimals(38, 10)}, GOOD),
    "a nought of many decimals": (
        {"UnitPrice": pa.array([Decimal("3.39"), Decimal(0)], pa.decimal128(38, 12))},
        Read(2, 0, 0, 0, "33.90")),
    "decimals beyond a penny": (
        {"UnitPrice": pa.array([Decimal("3.39"), Decimal("1.50001")], pa.decimal128(10, 5))},
        less("UnitPrice '1.50001'")),
    "decimals of pieces": ({"Quantity": pa.array([Decimal(10), Decimal(2)])}, GOOD),
    "seconds": (times(pa.timestamp("s")), GOOD),
    "milliseconds": (times(pa.timestamp("ms")), GOOD),
    "microseconds": (times(pa.timestamp("us")), GOOD),
    "nanoseconds, as pandas has them": (times(pa.timestamp("ns")), GOOD),
    "milliseconds UTC": (times(pa.timestamp("ms", "UTC")), GOOD),
    "microseconds UTC, as Spark has them": (times(pa.timestamp("us", "UTC")), GOOD),
    "other currencies": ({"currency": ["GBP", "USD"]}, "line 2: the currency is 'USD'"),
    "thousands of pieces": ({"Quantity": ["1.000", "2"]}, "Quantity '1.000' may have three"),
    "three decimals that have a type": (
        {"Quantity": pa.array([Decimal("10.000"), Decimal("2.000")])}, GOOD),
    "nanoseconds in Tokyo": (times(pa.timestamp("ns", "Asia/Tokyo")), GOOD),
    "parts of a second": (
        {"InvoiceDate": pa.array([MINUTE, MINUTE + timedelta(seconds=59, microseconds=999_999)])},
        GOOD),
    "a time that is null": ({"InvoiceDate": pa.array([MINUTE, None])}, less("InvoiceDate ''")),
    "days": ({"InvoiceDate": pa.array([MINUTE.date()] * 2)}, "none of them .* '2011-12-05'"),
    "times of day": ({"InvoiceDate": pa.array([MINUTE.time()] * 2)}, "none of them .* '08:38:00"),
    "whole numbers for times": ({"InvoiceDate": [1323074280000] * 2}, "none .* '1323074280000'"),
    "month first": ({"InvoiceDate": ["12/5/2011 8:38", "12/13/2011 8:38"]}, GOOD),
    "day or month": ({"InvoiceDate": ["12/5/2011 8:38"] * 2}, "may begin with the day or"),
    "before the calendar": (
        {"InvoiceDate": pa.array([MINUTE, datetime(1900, 1, 1)])}, less("outside the years")),
    "dictionaries": ({name: pa.array(["1", "2"]).dictionary_encode()
                      for name in ("InvoiceNo", "StockCode", "Country")}, GOOD),
    "a dictionary of prices": ({"UnitPrice": pa.array(["3.39", "1.50"]).dictionary_encode()}, GOOD),
    "bytes": ({"InvoiceNo": [b"1", b"2"]}, GOOD),
    "bytes that are no text": ({"Country": [b"\xff", b"\xfe"]}, "of type binary, which is not"),
    "texts that are no UTF-8": (
        {"Country": pa.StringArray.from_buffers(2, *NO_TEXT[1:])}, "string, .*Invalid UTF8"),
    "a column twice that is not needed": ({"a": [1, 2], "A": [1, 2]}, "the column A twice .“a”"),
    "currencies twice": ({"currency": ["GBP"] * 2, "Currency": ["GBP"] * 2}, "Currency twice"),
    "large texts": ({"Quantity": pa.array(["10", "2"], pa.large_string())}, GOOD),
    "customers as floats": ({"CustomerID": [17850.0, None]}, GOOD),
    "invoices as numbers": ({"InvoiceNo": [536365, 536366]}, GOOD),
    "nulls": ({"Description": [None, None], "Country": pa.nulls(2)}, GOOD),
    "a null price": ({"UnitPrice": ["3.39", None]}, less("UnitPrice ''")),
    "truth for pieces": ({"Quantity": [True, False]}, "none of them .* Quantity 'true'"),
    "lists": ({"Quantity": [[10], [2]]}, "a column of type list<.*>, which is not text"),
    "structures": ({"UnitPrice": [{"GBP": 3.39}] * 2}, "a column of type struct<.*write it as"),
    "other columns": ({"Tags": [["a"], []], "__index_level_0__": [0, 1]}, GOOD),
    "a name with a point": ({"a.b": ["x", "y"]}, GOOD),
    "two names of one column": ({"Price": ["1", "2"]}, "UnitPrice twice"),
}  # fmt: skip


@pytest.mark.needs("java")
@pytest.mark.parametrize("name", PARQUET)
def test_a_parquet_file_of_other_types(name: str, spark: object, tmp_path: Path) -> None:
    columns, expected = PARQUET[name]
    pq.write_table(table(**columns), path := tmp_path / "orders.parquet")
    check(path, expected)


def with_names(*names: str) -> pa.Table:
    return table().rename_columns(names)


FILES: dict[str, tuple[pa.Table | bytes, Read | str]] = {
    "Online Retail II": (with_names(*II.strip().split(",")), GOOD),
    "another order": (table().select(NAMES[::-1]), GOOD),
    "a column twice": (with_names(*NAMES[:7], "Quantity"), "Quantity twice"),
    "a column missing": (table().drop_columns(["UnitPrice"]), "lacks the columns UnitPrice"),
    "no row": (table().slice(0, 0), "no order lines"),
    "times of Hive and of older Spark": (table(**times(pa.timestamp("us"))), GOOD),
    "rows in many groups": (pa.concat_tables([table()] * 500), Read(1000, 0, 0, 0, "18450.00")),
    "nothing": (b"", "cannot be read as Parquet"),
    "CSV by another name": ((HEAD + A).encode(), "cannot be read as Parquet"),
    "cut off": (b"PAR1 and then nothing", "cannot be read as Parquet .* download it again"),
}


@pytest.mark.needs("java")
@pytest.mark.parametrize("name", FILES)
def test_a_dirty_parquet_file(name: str, spark: object, tmp_path: Path) -> None:
    content, expected = FILES[name]
    path = tmp_path / "orders.PARQUET"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        hive = name.startswith("times of Hive")
        pq.write_table(content, path, row_group_size=300, use_deprecated_int96_timestamps=hive)
    check(path, expected)


@pytest.mark.needs("java")
@pytest.mark.parametrize(
    "name", ["订单", "o[1]", "*", "o {a,b}", "50%20", "a+b&c#d", 'Quantity=5/o"', "_o", ".o", "a:b"]
)
def test_a_parquet_file_of_any_name(name: str, spark: object, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table(), path)
    hidden = name in ("_o", ".o", "a:b")
    check(path, "Spark passes over a file of the name" if hidden else GOOD)


@pytest.mark.needs("java")
@pytest.mark.parametrize(
    ("columns", "compression", "word"),
    [({"Half": pa.array([1.0, 2.0], pa.float16())}, "snappy", "FLOAT16"), ({}, "brotli", "rotli")],
)
def test_what_only_spark_cannot_read_is_one_sentence(
    columns: dict[str, object], compression: str, word: str, spark: object, tmp_path: Path
) -> None:
    pq.write_table(table(**columns), path := tmp_path / "orders.parquet", compression=compression)
    with pytest.raises(IncomeError, match=f"^Spark cannot read .*{word}.* Spark supports$"):
        compare(path)


def test_a_file_that_changes_meanwhile_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(HEAD + A, encoding="utf-8")
    need_same(path, version := version_of(path))
    path.write_text(HEAD + A + B, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(IncomeError, match=r"has changed while .* fresh --checkpoint"):
            need_same(path, version)
        path.unlink(missing_ok=True)
    need_same([], version_of([]))


def test_a_name_that_is_too_long_is_one_sentence() -> None:
    with pytest.raises(IncomeError, match=r"cannot read x.*too long"):
        read(f"{'x' * 300}.csv")
