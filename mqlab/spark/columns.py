"""Many order lines at once: the rules of orders.py, applied to columns.

A rule in Python costs microseconds a line, which is more than everything else the job does. But
half a million order lines have 1,600 different prices, 700 quantities and 23,000 times. So each
*different* text is judged once, by the very functions of orders.py, and the verdict is looked up
for every line: the rules stay in one place, and a column is as quick as Arrow.

The quick way only says *this is an order, and this is its money*. Whatever it is not sure of
(broken JSON, a missing column, an amount beyond a limit) is handed, message by message, to
`orders.income_of`, which knows the reason. So both ways cannot differ in what they accept: the
quick one has no opinion of its own about what is no order.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from .orders import (
    CLOSING,
    LIMIT_TENTHS,
    NEEDED,
    BadLine,
    income_of,
    parse_price,
    parse_quantity,
    time_ms,
)

FEW = 64  # a piece of so many messages with an odd one among them is judged one by one
SCHEMA = pa.schema([(name, pa.string()) for name in NEEDED])


@dataclass(frozen=True, slots=True)
class Judged:
    """One entry a message. `tenths`: tenths of a penny, 0 where it is no order; `lines`: 1 for an
    order, else 0; `reasons`: position → why it is no order. A closing record has none."""

    tenths: pa.Int64Array
    lines: pa.Int32Array
    reasons: dict[int, str]


def judge(values: Sequence[bytes | None], stamps: Sequence[int]) -> Judged:
    """What each message is worth; `stamps` are the records' own times, ms since 1970 UTC."""
    if not values:
        return Judged(pa.array([], pa.int64()), pa.array([], pa.int32()), {})
    columns = _parse(values)
    if columns is None and len(values) > FEW:  # the odd one is in one of the halves
        half = len(values) // 2
        return _join(judge(values[:half], stamps[:half]), judge(values[half:], stamps[half:]))
    tenths, sure = money(columns, stamps) if columns is not None else _nothing(len(values))
    return _judge_undecided(tenths, sure, values, stamps)


def _parse(values: Sequence[bytes | None]) -> pa.Table | None:
    """Parse the JSON of all messages (None counts as empty) at once into a table of the needed
    columns, a row per message; None unless every message is certainly one flat JSON object.

    Arrow reads one object a line and skips empty lines, so messages and rows could get out of step.
    They cannot where each line begins with a brace and there are as many braces as lines; and
    without brackets nothing is nested deep enough to exhaust a stack.
    """
    count = len(values)
    text = b"\n".join(value or b"" for value in values)
    flat = text.count(b"{") == text.count(b"}") == count and b"[" not in text
    if not (flat and text[:1] == b"{" and text.count(b"\n{") == text.count(b"\n") == count - 1):
        return None
    try:
        text.decode()
        return arrow_json.read_json(
            io.BytesIO(text),
            arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            arrow_json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore"),
        )
    except (UnicodeDecodeError, pa.ArrowException):
        return None


def money(columns: pa.Table, stamps: Sequence[int]) -> tuple[pa.Int64Array, pa.BooleanArray]:
    """Tenths of a penny, and where they are certain, of columns of text named as the orders'."""
    quantity = look_up(columns.column("Quantity"), parse_quantity)
    price = look_up(columns.column("UnitPrice"), parse_price)
    time = look_up(columns.column("InvoiceDate"), time_ms)
    named = pc.is_valid(columns.column("InvoiceNo").combine_chunks())
    try:
        tenths = pc.multiply_checked(quantity, price)
    except pa.ArrowInvalid:  # beyond 64 bits, and so beyond the limit
        return _nothing(len(stamps))
    in_time = pc.equal(time, pa.array(stamps, pa.int64()))
    sure = pc.and_(pc.and_(named, in_time), pc.less_equal(pc.abs(tenths), LIMIT_TENTHS))
    sure = pc.fill_null(sure, False)
    return pc.if_else(sure, tenths, 0), sure


def _nothing(count: int) -> tuple[pa.Int64Array, pa.BooleanArray]:
    return pa.array([0] * count, pa.int64()), pa.array([False] * count)


def look_up(column: pa.ChunkedArray, parse: Callable[[str], int]) -> pa.Int64Array:
    """Each text of the column parsed; null where there is none or `parse` raises BadLine."""
    coded = column.combine_chunks().dictionary_encode()
    parsed = [_or_none(parse, text) for text in coded.dictionary.to_pylist()]
    return pa.array(parsed, pa.int64()).take(coded.indices)


def _or_none(parse: Callable[[str], int], text: str) -> int | None:
    try:
        return parse(text)
    except BadLine:
        return None


def _judge_undecided(
    tenths: pa.Int64Array,
    sure: pa.BooleanArray,
    values: Sequence[bytes | None],
    stamps: Sequence[int],
) -> Judged:
    """Complete what the columns have found (`tenths` of a penny, where `sure`): the other messages
    are parsed one by one, and become orders or have a reason why they are none; closing records are
    neither. `values`: the messages; `stamps`: the records' own times in ms."""
    undecided = pc.indices_nonzero(pc.invert(sure)).to_pylist()
    lines = sure.cast(pa.int32())  # 1 for an order line, else 0
    reasons: dict[int, str] = {}
    incomes: dict[int, int] = {}
    for position in undecided:
        if values[position] == CLOSING:
            continue  # the end of a partition: no order, and no error
        try:
            incomes[position] = income_of(values[position], stamps[position])
        except BadLine as error:
            reasons[position] = str(error)
    if incomes:
        tenths = pa.array(_patch(tenths.to_pylist(), incomes), pa.int64())
        lines = pa.array(_patch(lines.to_pylist(), dict.fromkeys(incomes, 1)), pa.int32())
    return Judged(tenths, lines, reasons)


def _patch(column: list[int], places: dict[int, int]) -> list[int]:
    for place, value in places.items():
        column[place] = value
    return column


def _join(first: Judged, second: Judged) -> Judged:
    shift = len(first.tenths)
    return Judged(
        pa.concat_arrays([first.tenths, second.tenths]),
        pa.concat_arrays([first.lines, second.lines]),
        first.reasons | {place + shift: why for place, why in second.reasons.items()},
    )


def encode_rows(table: pa.Table) -> list[bytes]:
    """`orders.encode` of every row: a JSON object a line, without the columns it has not."""
    parts = []
    for name in table.column_names:
        coded = table.column(name).combine_chunks().dictionary_encode()
        texts = coded.dictionary.to_pylist()
        fields = [
            f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(text, ensure_ascii=False)}"
            for text in texts
        ]
        parts.append([None if at is None else fields[at] for at in coded.indices.to_pylist()])
    return [_object(row).encode() for row in zip(*parts, strict=True)]


def _object(fields: Iterable[str | None]) -> str:
    return f"{{{', '.join(field for field in fields if field is not None)}}}"
