"""What passes between the judge and the process with a student's answers: one JSON value a line.

The judge trusts nothing that comes through. A line becomes numbers, texts, tuples and dictionaries
of them, each of exactly that type, or it is refused: no object with manners of its own (an `__eq__`
that always agrees, say) can come into the judge's process, and no code.
"""

from __future__ import annotations

import json
import os
import select
import time
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 1_000_000  # of a line
PLAIN = (int, str, bool, type(None))
Message = tuple[Any, ...]


class WireError(Exception):
    """The other side has ended, has said nothing for too long, or has said what is no value."""


@dataclass(frozen=True)
class Odd:
    """A value that is none of those an answer can be; equal to nothing but itself."""

    text: str

    def __repr__(self) -> str:
        return self.text


class Wire:
    """One end. Both sides take turns, so a line that was read too early is the other's mistake."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._read = b""

    def say(self, *message: Any) -> None:
        """Raises WireError where the other side is closed."""
        line = json.dumps(encode(message)).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._target, line) :]
        except OSError as error:
            raise WireError("it has ended") from error

    def hear(self, seconds: float | None = None) -> Message:
        """The next line; WireError after so many seconds without one."""
        until = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._read:
            self._wait(until)
            more = os.read(self._source, 65_536)
            if not more:
                raise WireError("it has ended")
            self._read += more
            if len(self._read) > MOST_BYTES:
                raise WireError(f"it said more than {MOST_BYTES:,} bytes at once")
        line, _, self._read = self._read.partition(b"\n")
        return decode_line(line)

    def _wait(self, until: float | None) -> None:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([self._source], [], [], left)[0]:
            raise WireError("it has not answered in time")


def encode(value: Any) -> Any:
    """A value as JSON can write it; `decode` is the way back."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Odd):
        return {"odd": value.text}
    if type(value) is dict:
        return {"pairs": [[encode(key), encode(one)] for key, one in value.items()]}
    if type(value) in (tuple, list):
        return [encode(one) for one in value]
    raise TypeError(f"{value!r} cannot be sent")


def decode_line(line: bytes) -> Message:
    """A line that `Wire.say` wrote, or that pretends to be written by it; WireError."""
    try:
        message = decode(json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError("it said what is no value") from error
    if type(message) is not tuple:
        raise WireError("it said what is no value")
    return message


def decode(value: Any) -> Any:
    """Raises TypeError or ValueError for what `encode` does not write."""
    if type(value) is str:
        return value.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return tuple(decode(one) for one in value)
    if type(value) is dict:
        ((kind, inside),) = value.items()
        if kind == "pairs":
            return {decode(key): decode(one) for key, one in inside}
        if kind == "odd" and type(inside) is str:
            return Odd(decode(inside))
    raise TypeError("what is no value")
