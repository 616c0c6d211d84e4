"""The same answer without Spark, without a broker, in decimal arithmetic: what must come out.

Which lines are orders is the shop's rule and is shared with the job (columns.py); the minute and
the money are computed here in another way, so that a slip in the job's integers or windows cannot
hide in its own check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from .orders import NEEDED, TENTHS_PER_POUND, BadLine, time_ms

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Truth:
    """Pounds and lines per minute (`2011-12-05 08:38`), and the number of dead letters."""

    pounds: dict[str, Decimal] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    dead: int = 0

    @property
    def total(self) -> Decimal:
        """Pounds, exact."""
        return sum(self.pounds.values(), Decimal(0))

    @property
    def total_tenths(self) -> int:
        """The total in tenths of a penny; exact, as no price has a fourth decimal."""
        return int(self.total * TENTHS_PER_POUND)

    def tenths(self) -> dict[str, int]:
        """Minute → income in tenths of a penny, in order of time."""
        return {at: int(self.pounds[at] * TENTHS_PER_POUND) for at in sorted(self.pounds)}


def truth_of(table: pa.Table) -> Truth:
    """Income per minute of the lines, as it must come out when no line comes late."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from .columns import encode_rows, judge

    if not set(NEEDED) <= set(table.column_names):
        return Truth(dead=table.num_rows)
    stamps = [_stamp(text) for text in table.column("InvoiceDate").to_pylist()]
    judged = judge(encode_rows(table.select(NEEDED)), stamps)
    good = table.filter(pc.equal(judged.lines, 1))
    amounts = pc.multiply(
        good.column("Quantity").cast(pa.decimal128(10, 0)),
        good.column("UnitPrice").cast(pa.decimal128(14, 3)),
    )
    minutes = pc.utf8_slice_codeunits(good.column("InvoiceDate"), 0, 16)
    groups = pa.table({"minute": minutes, "pounds": amounts}).group_by("minute")
    sums = groups.aggregate([("pounds", "sum"), ("pounds", "count")])
    names = sums.column("minute").to_pylist()
    return Truth(
        dict(zip(names, sums.column("pounds_sum").to_pylist(), strict=True)),
        dict(zip(names, sums.column("pounds_count").to_pylist(), strict=True)),
        table.num_rows - good.num_rows,
    )


def _stamp(text: str | None) -> int:
    try:
        return time_ms(text or "")
    except BadLine:
        return 0
