"""Events, effects, records and disks as plain values, for the wire to a learner's process and back.

A class travels as its name and its fields. What comes back is built from the names in `KINDS` only,
and each number and text is looked at: nothing that the engine would stumble over comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_type_hints

from ...kafka.coordinator.entry import DescribeTransactions, ListTransactions, StateRecord
from ...kafka.messages import AddOffsetsToTxn
from ...kernel import AppendFailed
from ...kernel.disk import MemoryDisk, MemoryLog
from ...kernel.text import WordedError
from . import api
from .check_round import api as check_round
from .pending_acks import api as pending_acks

#: what files are written with; in all of them a name means one class
PAGES = (api, check_round, pending_acks)
TO_LEARNER = (DescribeTransactions, ListTransactions, AddOffsetsToTxn, AppendFailed)
KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(getattr(page, name) for page in PAGES for name in page.__all__),
        *(*TO_LEARNER, MemoryDisk, MemoryLog, StateRecord),
    )
    if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum))
}


class SpeechError(WordedError):
    """A value that cannot travel, or that the engine cannot take; the message says which."""


def pack(value: Any) -> Any:
    """Make of a value what the wire between the two processes carries: texts, numbers, None,
    tuples, and dictionaries of one pair, type → content. SpeechError for other types."""
    if type(value) in (str, int, bool, type(None)):  # most are: a search packs many
        return value
    if isinstance(value, Enum):
        return {type(value).__name__: value.name}
    if isinstance(value, api.Map):
        return {"Map": tuple([(pack(key), pack(one)) for key, one in value.items()])}
    if isinstance(value, tuple | list):
        return tuple([pack(one) for one in value])
    if isinstance(value, frozenset):
        return {"frozenset": tuple(sorted(value))}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        if KINDS.get(kind) is not type(value):
            raise SpeechError("{} is nothing that such a file says", kind)
        return {kind: tuple([pack(getattr(value, name)) for name, _ in _plain_fields(kind)])}
    raise SpeechError("{!r} is a {}, which no message holds", value, type(value).__name__)


def unpack(packed: Any) -> Any:
    """Return the value that was packed (`pack`) into what the wire carried. SpeechError for unknown
    types and for fields of another type; KeyError, TypeError or ValueError for what `pack` does not
    make."""
    if isinstance(packed, tuple):
        return tuple(map(unpack, packed))
    if not isinstance(packed, dict):
        return packed
    ((name, content),) = packed.items()
    if name == "Map":
        return api.Map((unpack(key), unpack(one)) for key, one in content)
    if name == "frozenset":
        return frozenset(content)
    kind = KINDS.get(name)
    if kind is None:
        raise SpeechError("{} is nothing that such a file says", name)
    if issubclass(kind, Enum):
        return kind[content]
    values = tuple(map(unpack, content))
    for (field, field_type), one in zip(_plain_fields(name), values, strict=True):
        if field_type is not None and not isinstance(one, field_type):
            wanted = field_type.__name__
            raise SpeechError("`{}` of {} is {!r}, and must be {}", field, name, one, wanted)
    return kind(*values)


@cache
def _plain_fields(name: str) -> tuple[tuple[str, type | None], ...]:
    """The fields of a class, each with its type where that is one class."""
    kind: Any = KINDS[name]
    hints = {} if kind in (MemoryDisk, MemoryLog, api.KafkaConfig) else get_type_hints(kind)
    wanted = ((one.name, hints.get(one.name)) for one in fields(kind))
    return tuple(
        (name, hint if isinstance(hint, type) and hint is not Any else None)
        for name, hint in wanted
    )
