"""Numbers of seven bits a byte, the lowest first, as records have them.

The highest bit of a byte says that another follows. They are *zigzag* numbers: 0, -1, 1, -2 …
are written 0, 1, 2, 3 …, so that small ones are short whatever their sign; an odd one is negative.

Source: ByteUtils#readVarint, #readVarlong (clients, Kafka 4.3).
"""

from __future__ import annotations

from .compression import Unreadable

LONGEST = 28  # bits before the last byte of a number of 32 bits
LONGEST_STAMP = 63


class Endless(Unreadable):
    """A number that is longer than a number can be."""


def read_rest(body: bytes, at: int, first: int, longest: int = LONGEST) -> tuple[int, int]:
    """A number whose first byte, `first`, says that there is more, still zigzag; and where
    the next field begins."""
    value, shift = first & 0x7F, 7
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > longest:
            raise Endless("a number without an end")


def read_number(body: bytes, at: int, longest: int = LONGEST) -> tuple[int, int]:
    """The number at `at`, and where the next field begins."""
    value = body[at]
    at += 1
    if value > 0x7F:
        value, at = read_rest(body, at, value, longest)
    return value >> 1 ^ -(value & 1), at
