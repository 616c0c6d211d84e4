"""A journal's entries: effects as bytes, and bytes as effects.

    body     "J" JSON of an effect
             any other letter: a form of the broker's own, for what it writes most

Nothing in a journal is executed: an effect is rebuilt from the kinds of values that the
broker's adapter lists (`JsonForm`). An adapter without a form of its own uses `json_entries`.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import Enum
from mmap import mmap
from operator import attrgetter
from typing import Any

from ..kernel import Append, Put, Truncate, frozen

BYTES = "bytes"
JSON_MARK = b'J["'  # how a JSON body begins
Effect = Append | Put | Truncate
#: fields of these types, as they are annotated, are read back as such or not at all
PLAIN = {"str": str, "int": int, "bool": bool}


def ends_as_json(data: mmap, start: int, size: int) -> bool:
    return data[start + size - 1 : start + size] == b"]"


@frozen
class Entries:
    """`encode` an effect; `decode` a body (raises ValueError, KeyError, TypeError,
    AssertionError or struct.error for one that this version did not write). To find whole
    entries behind a damaged one: `marks`, how a body may begin, and `looks_whole(data, start,
    size)`, whether these bytes look like a body, which is quicker than a checksum of them."""

    encode: Callable[[Effect], bytes]
    decode: Callable[[bytes], Effect]
    marks: tuple[bytes, ...] = (JSON_MARK,)
    looks_whole: Callable[[mmap, int, int], bool] = ends_as_json


class JsonForm:
    """Effects as JSON. `kinds`: the dataclasses that values may be of; a field that holds an
    enum is found by its default. A field of a kind may be added with a default: an older
    journal lacks it."""

    def __init__(self, kinds: Iterable[type], enums: dict[tuple[type, str], type[Enum]]) -> None:
        self._kinds = {kind.__name__: kind for kind in kinds}
        self._names = {kind: tuple(f.name for f in fields(kind)) for kind in self._kinds.values()}
        self._values = {kind: attrgetter(*names) for kind, names in self._names.items()}
        self._single = frozenset(kind for kind, names in self._names.items() if len(names) == 1)
        self._flat = frozenset({str, int, bool, type(None), *enums.values()})
        self._enums = enums
        self._plains = {
            kind: {f.name: PLAIN[f.type] for f in fields(kind) if f.type in PLAIN}
            for kind in self._kinds.values()
        }

    def encode(self, effect: Effect) -> bytes:
        match effect:
            case Append(log=name, entry=entry):
                plain: list[Any] = ["append", name, self._plain(entry)]
            case Put(table=table, key=key, value=value):
                plain = ["put", table, key, self._plain(value)]
            case Truncate(log=name, end=end):
                plain = ["truncate", name, end]
        return b"J" + json.dumps(plain, separators=(",", ":")).encode()

    def decode(self, body: bytes) -> Effect:
        match json.loads(body[1:]):
            case ["append", name, entry]:
                return Append(name, self._value(entry))
            case ["put", table, key, value]:
                return Put(table, key, self._value(value))
            case ["truncate", name, end]:
                return Truncate(name, end)
        raise ValueError("an entry of no kind there is")

    def _plain(self, value: Any) -> Any:
        """{"Entry": [its fields]}; tuples are lists."""
        kind = type(value)
        if kind in self._flat:
            return value
        if kind in self._single:  # of one field an attrgetter gives the value, not a tuple of it
            return {kind.__name__: [self._plain(self._values[kind](value))]}
        if kind in self._values:
            return {kind.__name__: [self._plain(v) for v in self._values[kind](value)]}
        if kind is tuple:
            return [self._plain(v) for v in value]
        if kind is bytes:
            return {BYTES: b64encode(value).decode()}
        raise TypeError(f"the journal has no form for a {kind.__name__}")

    def _value(self, plain: Any) -> Any:
        """The inverse of the JSON form: lists become tuples, and a named row an instance of its
        class."""
        if isinstance(plain, list):
            return tuple(self._value(v) for v in plain)
        if not isinstance(plain, dict):
            return plain
        ((name, values),) = plain.items()
        if name == BYTES:
            return b64decode(values)
        kind = self._kinds[name]
        names = self._names[kind]
        if len(values) > len(names):
            raise ValueError(f"a {name} of a newer version of mqlab")
        # An older journal may lack the newest fields, which then have their defaults.
        given = dict(zip(names, map(self._value, values), strict=False))
        for field in names:
            if (kind, field) in self._enums and given.get(field) is not None:
                given[field] = self._enums[kind, field](given[field])
        for field, plain_type in self._plains[kind].items():
            if field in given and not isinstance(given[field], plain_type):
                raise ValueError(f"{field} of a {name} is no {plain_type.__name__}")
        return kind(**given)


def json_entries(
    kinds: Iterable[type], enums: dict[tuple[type, str], type[Enum]] | None = None
) -> Entries:
    """All effects as JSON. `enums`: of a kind and the name of one of its fields, the enum."""
    form = JsonForm(kinds, enums or {})
    return Entries(form.encode, form.decode)
