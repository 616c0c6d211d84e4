"""Order lines: money, reasons for dead letters, the truth."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest

from mqlab.kernel import speaking
from mqlab.spark.errors import IncomeError
from mqlab.spark.files import DAY, read, read_lines
from mqlab.spark.orders import (
    LIMIT_TENTHS,
    BadLine,
    encode,
    floor_minute,
    income_of,
    minute_ms,
    minute_text,
    pounds,
    say_reason,
    time_ms,
)  # fmt: skip
from mqlab.spark.truth import truth_of
from tests.project.chinese import CJK

GOOD = {
    "InvoiceNo": "536365", "StockCode": "71053", "Description": "LANTERN £", "Quantity": "6",
    "InvoiceDate": "2010-12-01 08:26:00", "UnitPrice": "3.39", "CustomerID": "", "Country": "UK",
}  # fmt: skip
STAMP = time_ms(GOOD["InvoiceDate"])


@pytest.mark.parametrize(
    ("quantity", "price", "tenths"),
    [("6", "3.39", 20_340), ("-1", "0.001", -1), ("1", "-11062.06", -11_062_060), ("5", "0", 0),
     ("0", "1.5", 0), ("80995", "2.08", 168_469_600), ("-0", "7", 0)],
)  # fmt: skip
def test_money_is_exact(quantity: str, price: str, tenths: int) -> None:
    assert income_of(encode(GOOD | {"Quantity": quantity, "UnitPrice": price}), STAMP) == tenths


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "not JSON"),
        (None, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (encode({k: v for k, v in GOOD.items() if k != "Quantity"}), "Quantity is missing"),
        (json.dumps(GOOD | {"UnitPrice": 3.39}).encode(), "UnitPrice is missing or not text"),
        (encode(GOOD | {"Quantity": "six"}), "Quantity 'six' is not a whole number"),
        (encode(GOOD | {"Quantity": "٣"}), "Quantity '٣' is not a whole number"),
        (encode(GOOD | {"Quantity": ""}), "Quantity '' is not a whole number"),
        (encode(GOOD | {"UnitPrice": "3.3901"}), "UnitPrice '3.3901' is not a price"),
        (encode(GOOD | {"UnitPrice": "1e3"}), "UnitPrice '1e3' is not a price"),
        (encode(GOOD | {"UnitPrice": "nan"}), "UnitPrice 'nan' is not a price"),
        (encode(GOOD | {"Quantity": "999999999", "UnitPrice": "9999999999"}), "is beyond"),
        (encode(GOOD | {"InvoiceDate": "2011-02-30 08:26:00"}), "is not a time like"),
        (encode(GOOD | {"InvoiceDate": "01/12/2010 08:26"}), "is not a time like"),
        (encode(GOOD | {"InvoiceDate": "2010-12-01 08:27:00"}), "is not the record's stamp"),
        (encode(GOOD | {"InvoiceDate": "9999-12-31 23:59:00"}), "is outside the years 1971"),
        (encode(GOOD | {"InvoiceDate": "0001-01-01 00:00:00"}), "is outside the years 1971"),
        (encode(GOOD | {"InvoiceDate": "1969-12-31 23:59:00"}), "is outside the years 1971"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_order_says_why(value: bytes | None, reason: str) -> None:
    with speaking("zh"), pytest.raises(BadLine, match=reason) as bad:
        income_of(value, STAMP)
    with speaking("zh"):  # a message keeps English, and a report finds its own words
        assert re.search(f"[{CJK}]", say_reason(str(bad.value)))


def test_the_largest_amount_cannot_overflow_a_sum() -> None:
    assert LIMIT_TENTHS * 9_000_000 < 2**63


def test_a_line_travels_unchanged() -> None:
    assert json.loads(encode(GOOD)) == GOOD
    assert list(json.loads(encode(GOOD))) == list(GOOD)


@pytest.mark.parametrize(
    ("tenths", "text"),
    [(57_751_320, "£57,751.32"), (9_747_747_934, "£9,747,747.934"), (-5, "-£0.005"),
     (-11_062_060, "-£11,062.06"), (0, "£0.00")],
)  # fmt: skip
def test_pounds(tenths: int, text: str) -> None:
    assert pounds(tenths) == text


def test_minutes_go_there_and_back() -> None:
    assert minute_text(STAMP) == "2010-12-01 08:26"
    assert minute_ms("2010-12-01 08:26") == STAMP
    assert floor_minute(STAMP + 59_999) == STAMP


def test_truth_counts_repeats_cancellations_and_dead_lines() -> None:
    cancelled = GOOD | {"InvoiceNo": "C1", "Quantity": "-1"}
    bad = [GOOD | {"Quantity": "x"}, GOOD | {"InvoiceDate": "never"}, {"InvoiceNo": "1"}]
    found = truth_of([GOOD, GOOD, cancelled, *bad])
    assert found.pounds == {"2010-12-01 08:26": Decimal("37.29")}
    assert found.lines == {"2010-12-01 08:26": 3}
    assert found.dead == 3
    assert found.tenths() == {"2010-12-01 08:26": 37_290}


def test_a_file_that_cannot_be_read_says_what_to_do(tmp_path) -> None:
    with pytest.raises(IncomeError, match=r"no file .* give a \.csv or \.parquet"):
        read_lines(tmp_path / "none.csv")
    (tmp_path / "orders.txt").write_text("")
    with pytest.raises(IncomeError, match=r"give \.csv or \.parquet"):
        read_lines(tmp_path / "orders.txt")
    (tmp_path / "orders.csv").write_text("InvoiceNo,Quantity\n1,2\n")
    with pytest.raises(IncomeError, match="lacks the columns StockCode"):
        read_lines(tmp_path / "orders.csv")


@pytest.mark.parametrize("encoding", ["gbk", "latin-1", "utf-16"])
def test_a_file_in_another_encoding_says_so(tmp_path, encoding: str) -> None:
    line = GOOD | {"Description": "CAFÉ" if encoding == "latin-1" else "中文"}
    text = f"{','.join(line)}\n{','.join(line.values())}\n"
    (tmp_path / "orders.csv").write_bytes(text.encode(encoding))
    with pytest.raises(IncomeError, match=r"is not UTF-8 \(byte 0x.*save it as UTF-8"):
        read_lines(tmp_path / "orders.csv")


def test_excels_byte_order_mark_and_capital_endings_are_taken(tmp_path) -> None:
    text = f"{','.join(GOOD)}\n{','.join(GOOD.values())}\n"
    (tmp_path / "ORDERS.CSV").write_bytes(text.encode("utf-8-sig"))
    assert read_lines(tmp_path / "ORDERS.CSV") == [GOOD]


def test_a_long_field_is_read_and_one_without_end_is_named(tmp_path) -> None:
    long = GOOD | {"Description": "x" * 200_000}
    (tmp_path / "orders.csv").write_text(f"{','.join(long)}\n{','.join(long.values())}\n")
    assert read_lines(tmp_path / "orders.csv") == [long]
    (tmp_path / "orders.csv").write_text(f'{",".join(GOOD)}\n1,"' + "x\n" * 600_000)
    with pytest.raises(IncomeError, match=r"line 2: .*mark is not closed.*field limit"):
        read_lines(tmp_path / "orders.csv")


def test_a_stray_quotation_mark_is_named_and_loses_no_order(tmp_path) -> None:
    lines = DAY.read_text("utf-8").split("\n")
    number, code, rest = lines[3].split(",", 2)
    for damaged, why in (
        (f'{number},{code},"{rest}', "expected after"),
        (f'"{lines[3]}', "the text goes on to line|expected after"),
        (f'{number},"{code}"x,{rest}', "expected after"),
    ):
        text = "\n".join([*lines[:3], damaged, *lines[4:]])
        (tmp_path / "orders.csv").write_text(text, encoding="utf-8")
        with pytest.raises(IncomeError, match=rf"orders\.csv, line 4: .*({why}).*delete"):
            read_lines(tmp_path / "orders.csv")


def test_wherever_a_quotation_mark_falls_every_line_is_read_or_the_file_refused(tmp_path) -> None:
    lines = DAY.read_text("utf-8").split("\n")[:40]
    text, path, refused = "\n".join(lines), tmp_path / "orders.csv", 0
    for place in range(0, len(text), 7):
        path.write_text(f'{text[:place]}"{text[place:]}', encoding="utf-8")
        try:
            assert len(read(path).places) == len(lines) - 1
        except IncomeError:
            refused += 1
    assert 0 < refused < len(text) // 7


def test_a_quotation_mark_in_the_last_line_or_the_head_is_named(tmp_path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(",".join(GOOD) + '\n1,2\n3,"4\n')
    with pytest.raises(IncomeError, match=r"line 3: .*unexpected end of data"):
        read_lines(path)
    path.write_text('"' + ",".join(GOOD) + '\n1,2\n3,"4\n')
    with pytest.raises(IncomeError, match=r"orders\.csv, line 1: "):
        read_lines(path)


def test_a_broken_parquet_file_says_what_to_do(tmp_path) -> None:
    (tmp_path / "orders.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(IncomeError, match=r"cannot be read as Parquet .* download it again"):
        read_lines(tmp_path / "orders.parquet")


def test_a_row_of_other_width_is_its_text_and_its_reason(tmp_path) -> None:
    (tmp_path / "orders.csv").write_text(",".join(GOOD) + "\n1,2\n")
    (line,) = read_lines(tmp_path / "orders.csv")
    assert line == {"Rejected": "2 fields, the head has 8", "Row": "1,2"}
    with pytest.raises(BadLine, match=r"^2 fields, the head has 8$"):
        income_of(encode(line), STAMP)
