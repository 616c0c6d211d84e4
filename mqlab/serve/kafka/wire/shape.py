"""A walk over a frame before it is decoded: every length in it must fit into it.

kio's decoder makes room for as many elements as an array says it has before it looks at the
first of them. A frame of thirty bytes that announces two billion elements would end the
whole process, and with it the broker of all clients. So a schema is turned into a list of moves
once, and each frame is walked through by them: fixed fields are stepped over, lengths are
read and compared with what is left. What fits is at most as large as the frame, and that is
limited.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin

FIXED = {
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float64": 8,
    "bool": 1,
    "uuid": 16,
    "error_code": 2,
    "timedelta_i32": 4,
    "timedelta_i64": 8,
    "datetime_i64": 8,
}
LONGEST_TEXT, LONGEST = (1 << 15) - 1, (1 << 31) - 1  # bytes, in every version of a request
SHORT, LONG = struct.Struct(">h"), struct.Struct(">i")

Move = Callable[[bytes, int], int]  # frame, where → where the next field begins


class Misfit(Exception):
    """A length that leads out of the frame, or is none."""


def walker(schema: Any) -> Move:
    """Return a function (frame, start) → end that walks over one object of this kio schema,
    compares each length with the frame's end, and builds nothing. Fixed fields that follow each
    other are skipped at once. Raises TypeError for a schema with something that no request offered
    here has."""
    flexible: bool = schema.__flexible__
    walks: list[Move] = []
    tags: dict[int, Move] = {}
    fixed_size = 0  # bytes of fixed fields that follow each other
    for field in fields(schema):
        if "tag" in field.metadata:
            tags[field.metadata["tag"]] = _field_walk(field, flexible)
            continue
        field_size = FIXED.get(field.metadata.get("kafka_type", ""), 0)
        if field_size and not _is_array(field.type):
            fixed_size += field_size
            continue
        if fixed_size:
            walks.append(_skip_bytes(fixed_size))
            fixed_size = 0
        # The client id of a header never became a compact string.
        is_header = schema.__name__ == "RequestHeader"
        walks.append(_field_walk(field, flexible and not is_header))
    if fixed_size:
        walks.append(_skip_bytes(fixed_size))
    if flexible:
        walks.append(_skip_tagged(tags))
    return walks[0] if len(walks) == 1 else _in_sequence(tuple(walks))


def _field_walk(field: Any, flexible: bool) -> Move:
    """Return the walk over one field of a message, which checks its length before kio decodes it.
    `flexible`: whether lengths are compact (varints), as newer versions of a request have them.
    Raises TypeError for a field of another kind than the requests offered here have."""
    wire_type = field.metadata.get("kafka_type", "")
    kind = _without_none(field.type)
    # -1 stands for null, where the field may be null
    least_length = -1 if kind is not field.type else 0
    array = get_origin(kind) is tuple
    if array:
        kind = get_args(kind)[0]
    # size: the fewest bytes of one value, which bound the length of an array
    if wire_type in FIXED:
        walk, size = _skip_bytes(FIXED[wire_type]), FIXED[wire_type]
    elif wire_type:
        length = _compact if flexible else LONG_OR_SHORT[wire_type]
        longest = LONGEST_TEXT if wire_type == "string" else LONGEST
        walk, size = _sized(length, 0 if array else least_length, longest), 1
    # A nullable struct would have a byte that says whether it is there: no request here has one.
    # A tagged one is null by being absent.
    elif is_dataclass(kind) and (array or "tag" in field.metadata or kind is field.type):
        walk, size = walker(kind), 1
    else:
        raise TypeError(f"no walk over the field {field.name}")
    return _array(walk, size, flexible, least_length) if array else walk


def _without_none(kind: Any) -> Any:
    """A type without its `| None`."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(arg for arg in get_args(kind) if arg is not type(None))
    return kind


def _is_array(kind: Any) -> bool:
    return get_origin(_without_none(kind)) is tuple


# ---- moves -------------------------------------------------------------------------------


def _skip_bytes(size: int) -> Move:
    def move(frame: bytes, at: int) -> int:
        at += size
        if at > len(frame):
            raise Misfit("it ends inside a number")
        return at

    return move


def _in_sequence(moves: tuple[Move, ...]) -> Move:
    def move(frame: bytes, at: int) -> int:
        for step in moves:
            at = step(frame, at)
        return at

    return move


def _sized(length: Callable[[bytes, int], tuple[int, int]], shortest: int, longest: int) -> Move:
    """Over a string or bytes; -1 is none, where there may be none."""

    def move(frame: bytes, at: int) -> int:
        size, at = length(frame, at)
        if not shortest <= size <= longest or at + size > len(frame):
            raise Misfit(f"a text of {size} bytes")
        return at + max(size, 0)

    return move


def _array(one: Move, size: int, flexible: bool, shortest: int) -> Move:
    """Over an array whose elements have `size` bytes each, or more."""
    length = _compact if flexible else _long

    def move(frame: bytes, at: int) -> int:
        count, at = length(frame, at)
        if count < shortest or at + count * size > len(frame):
            raise Misfit(f"an array of {count}")
        for _ in range(count):
            at = one(frame, at)
        return at

    return move


def _skip_tagged(known: dict[int, Move]) -> Move:
    def move(frame: bytes, at: int) -> int:
        count, at = _unsigned(frame, at)
        for _ in range(count):
            tag, at = _unsigned(frame, at)
            size, at = _unsigned(frame, at)
            end = at + size
            if end > len(frame):
                raise Misfit(f"a tagged field of {size} bytes")
            if tag in known and known[tag](frame, at) != end:
                raise Misfit("a tagged field of another size than it says")
            at = end
        return at

    return move


# ---- lengths -----------------------------------------------------------------------------


def _unsigned(frame: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(frame) or shift > 28:
            raise Misfit("a length without an end")
        byte = frame[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _compact(frame: bytes, at: int) -> tuple[int, int]:
    """One more than the length; 0 is none."""
    value, at = _unsigned(frame, at)
    return value - 1, at


def _short(frame: bytes, at: int) -> tuple[int, int]:
    if at + 2 > len(frame):
        raise Misfit("it ends inside a length")
    return SHORT.unpack_from(frame, at)[0], at + 2


def _long(frame: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(frame):
        raise Misfit("it ends inside a length")
    return LONG.unpack_from(frame, at)[0], at + 4


LONG_OR_SHORT = {"string": _short, "bytes": _long, "records": _long}
