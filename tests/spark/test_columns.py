"""Columns judge as `orders.income_of` does, message by message, whatever comes."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from mqlab.spark.columns import encode_rows, judge
from mqlab.spark.files import DAY, read, read_lines
from mqlab.spark.orders import CLOSING, BadLine, encode, income_of, time_ms

GOOD = {"InvoiceNo": "1", "Quantity": "6", "InvoiceDate": "2010-12-01 08:26:00", "UnitPrice": "2"}
STAMP = time_ms(GOOD["InvoiceDate"])
NAN = json.dumps(GOOD | {"x": float("nan")}).encode()
ODD = [
    None, b"", b" ", b"{}", b"{}{}", b"[]", b"null", b"\xff", b"\n", b"{", encode(GOOD) * 2,
    encode(GOOD) + b"\n", b"\n" + encode(GOOD), b" " + encode(GOOD), NAN, CLOSING,
    encode(GOOD | {"Note": "[brackets]"}), encode(GOOD | {"Note": "{braces}"}),
    encode(GOOD | {"Note": "a\nb"}), encode(GOOD | {"Note": "£ 中文 \u2028"}),
    json.dumps(GOOD | {"Note": "£"}).encode(), json.dumps(GOOD | {"Note": "\ud800"}).encode(),
    json.dumps(GOOD | {"Quantity": 6}).encode(), json.dumps(GOOD | {"Quantity": None}).encode(),
    json.dumps(GOOD | {"InvoiceNo": 1}).encode(), json.dumps(GOOD, indent=1).encode(),
    json.dumps(GOOD | {"x": {"deep": 1}}).encode(), b"[" * 100_000, b'{"a":' * 100_000,
    encode(GOOD)[:-1] + b', "Quantity": "7"}', encode(GOOD)[:-1] + b', "x": 01}',
    encode(GOOD | {"Quantity": "999999999", "UnitPrice": "9999999999.999"}),
    encode(GOOD | {"Quantity": "-999999999", "UnitPrice": "9"}),
    encode(GOOD | {"Quantity": "6\n"}), encode(GOOD | {"UnitPrice": "1."}),
    encode(GOOD | {"UnitPrice": "-0.001"}), encode(GOOD | {"UnitPrice": "007.5"}),
    encode(GOOD | {"InvoiceDate": "2010-12-01 08:26:01"}), encode({"InvoiceNo": "1"}),
    json.dumps(GOOD).encode("utf-16"), b"\xef\xbb\xbf" + encode(GOOD),
    encode(GOOD).replace(b"6", b"\xc3\x28"), encode(GOOD).replace(b"6", b"\x00"),
]  # fmt: skip


def one_by_one(value: bytes | None, stamp: int) -> tuple[int, int, str | None]:
    """Tenths, lines, reason."""
    if value == CLOSING:
        return 0, 0, None
    try:
        return income_of(value, stamp), 1, None
    except BadLine as error:
        return 0, 0, str(error)


def in_columns(values: list[bytes | None], stamps: list[int]) -> list[tuple[int, int, str | None]]:
    found = judge(values, stamps)
    reasons = [found.reasons.get(place) for place in range(len(values))]
    return list(zip(found.tenths.to_pylist(), found.lines.to_pylist(), reasons, strict=True))


@pytest.mark.parametrize("place", range(len(ODD)))
@pytest.mark.parametrize("neighbours", [0, 2, 200])
def test_an_odd_message_is_judged_alike_among_good_ones(place: int, neighbours: int) -> None:
    values = [encode(GOOD)] * neighbours + [ODD[place]] + [encode(GOOD)] * neighbours
    stamps = [STAMP] * len(values)
    assert in_columns(values, stamps) == [one_by_one(v, STAMP) for v in values]


def test_odd_messages_do_not_hide_behind_each_other() -> None:
    """One that is two objects and one that is none would leave the count of rows right."""
    chance = random.Random(11)
    for _ in range(300):
        values = chance.choices([*ODD, *[encode(GOOD)] * len(ODD)], k=chance.randrange(1, 150))
        assert in_columns(values, [STAMP] * len(values)) == [one_by_one(v, STAMP) for v in values]


def test_the_real_day_is_encoded_and_judged_alike() -> None:
    lines = read_lines(DAY)
    values = encode_rows(read(DAY).table)
    assert values == [encode(line) for line in lines]
    stamps = [time_ms(line["InvoiceDate"]) for line in lines]
    assert in_columns(values, stamps) == [
        one_by_one(*pair) for pair in zip(values, stamps, strict=True)
    ]


def test_a_column_a_line_has_not_is_left_out() -> None:
    table = pa.table({"a": ["1", None], 'b "quoted"': [None, "£\n"]})
    assert encode_rows(table) == [b'{"a": "1"}', '{"b \\"quoted\\"": "£\\n"}'.encode()]
