"""How Kafka writes fields down: lengths in two ways, arrays, tags.

The older way gives each length two or four bytes. The newer, *flexible* one (KIP-482) gives
it a varint of the length plus one, 0 for null, and ends each structure with tagged fields.

Source: the generated classes of `clients/src/main/resources/common/message` (Kafka 4.3).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from uuid import UUID

from .validation import uvarint

#: key and value of one record; None for no value
Pair = tuple[bytes, bytes | None]
#: a topic's id, where the topic is known
TopicId = Callable[[str], UUID | None]
NO_TAGS = b"\0"


def by_topic(partitions: Iterable[str]) -> dict[str, list[int]]:
    """Partitions as most messages list them: topic → its partitions' numbers, in their order."""
    topics: dict[str, list[int]] = {}
    for name in partitions:
        topic, _, index = name.rpartition("-")
        topics.setdefault(topic, []).append(int(index))
    return topics


def string(text: str | None) -> bytes:
    """Two bytes of length; -1 for null."""
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def compact(text: str | None) -> bytes:
    """A flexible string: its length plus one as a varint; 0 for null."""
    if text is None:
        return b"\0"
    data = text.encode()
    return uvarint(len(data) + 1) + data


def array(items: Iterable[bytes]) -> bytes:
    """A flexible array of what is encoded already."""
    rows = list(items)
    return uvarint(len(rows) + 1) + b"".join(rows)


def ints(numbers: Iterable[int]) -> bytes:
    return array(struct.pack(">i", n) for n in numbers)


def tags(*fields: tuple[int, bytes]) -> bytes:
    """Tagged fields, by ascending number."""
    rows = (uvarint(number) + uvarint(len(data)) + data for number, data in fields)
    return uvarint(len(fields)) + b"".join(rows)
