"""The same answer without Spark, without a broker, in decimal arithmetic: what must come out.

Which lines are orders is the shop's rule and is shared with the job (`orders.income_of`); the
minute and the money are computed here in another way, so that a slip in the job's integers or
windows cannot hide in its own check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from .orders import TENTHS_PER_POUND, BadLine, Line, encode, income_of, time_ms


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


def truth(lines: Iterable[Line]) -> Truth:
    """Income per minute of the lines, as it must come out when no line comes late."""
    found = Truth()
    for line in lines:
        try:
            income_of(encode(line), time_ms(line["InvoiceDate"]))
        except (BadLine, KeyError):
            found.dead += 1
            continue
        minute = line["InvoiceDate"][:16]
        amount = Decimal(line["Quantity"]) * Decimal(line["UnitPrice"])
        found.pounds[minute] = found.pounds.get(minute, Decimal(0)) + amount
        found.lines[minute] = found.lines.get(minute, 0) + 1
    return found
