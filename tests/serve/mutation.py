"""Frames that are nearly right: a byte or a number changed, some bytes more or fewer."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

NUMBERS = (-1, -2, 2**31 - 1, -(2**31), 0, 1 << 20)


def change_bytes(mischief: random.Random, frame: bytes, times: Sequence[int]) -> bytes:
    """The frame with a length that is right. `times`: how often it is changed, one of them."""
    body = bytearray(frame[4:])
    for _ in range(mischief.choice(times)):
        at = mischief.randrange(len(body))
        match mischief.randrange(5):
            case 0 | 1:
                body[at] = mischief.randrange(256)
            case 2:
                body[at : at + 4] = struct.pack(">i", mischief.choice(NUMBERS))
            case 3:
                del body[at : at + mischief.randrange(1, 8)]
            case 4:
                body[at:at] = mischief.randbytes(mischief.randrange(1, 8))
        body = body if len(body) > 8 else body + bytes(9)
    return struct.pack(">i", len(body)) + bytes(body)
