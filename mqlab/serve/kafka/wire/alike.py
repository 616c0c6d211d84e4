"""Records that follow each other in one shape, checked many at a time.

Producers often send records of one length. The lengths and widths of their fields are then the
same, so each field is at the same distance from that of the record before: they form
*columns*, as in a table. A slice with a step takes a column out, and whether its bytes are those
of a record that was found good is one comparison of C, where a walk makes some in Python for
each record.

    size  attr  stamp  delta    key  value …       headers
    e2 01  00    00    80 01    01   c8 01  v v …  00         this one was walked over
    e2 01  00    00    82 01    01   c8 01  v v …  00         as long in every field, so good too
    e2 01  00    02    84 01    01   c8 01  v v …  00

Lengths must be equal; stamp and delta may be anything of the same width.
"""

from __future__ import annotations

from .varints import LONGEST_STAMP, read_number

TOGETHER = 1024  # records compared at most, so that a short run costs little
LAST = bytes(range(0x80))  # what the last byte of a number may be
MORE = bytes(range(0x80, 0x100))  # … and the others


class Shape:
    """Of the record in [start, end), which is known to be good, and has no headers if `plain`.
    `columns`: where within the record which bytes may be; `stamp`: where its stamp does."""

    def __init__(self, body: bytes, start: int, end: int) -> None:
        self.columns: list[tuple[int, bytes]] = []
        size_end = self._number(body, start, start)[1]
        stamp_at = size_end + 1  # after the attributes
        delta_at = self._number(body, start, stamp_at, free=True)[1]
        self.stamp = range(stamp_at - start, delta_at - start)
        key_at = self._number(body, start, delta_at, free=True)[1]
        key, at = self._number(body, start, key_at)
        value, at = self._number(body, start, at + max(key, 0))
        _, at = self._number(body, start, at + max(value, 0))
        self.keyless = key < 0
        self.plain = at == end

    def _number(self, body: bytes, start: int, at: int, free: bool = False) -> tuple[int, int]:
        value, end = read_number(body, at, LONGEST_STAMP)
        for place in range(at, end):
            allowed = MORE if place + 1 < end else LAST
            self.columns.append((place - start, allowed if free else body[place : place + 1]))
        return value, end


def count_alike(body: bytes, shape: Shape, start: int, stride: int, most: int) -> int:
    """How many of at most `most` records of `stride` bytes from `start` on have this shape."""
    count = min(most, TOGETHER, (len(body) - start) // stride)
    for place, allowed in shape.columns:
        column = body[start + place : start + count * stride : stride]
        count = len(column) - len(column.lstrip(allowed))
    return count


def read_stamps(body: bytes, shape: Shape, start: int, stride: int, count: int) -> list[int]:
    """The stamps of `count` records that have this shape, still zigzag."""
    end = start + count * stride
    *lower, highest = (body[start + place : end : stride] for place in shape.stamp)
    stamps = list(highest)
    for column in reversed(lower):
        stamps = [high << 7 | low & 0x7F for high, low in zip(stamps, column, strict=True)]
    return stamps
