"""A journal's entries: effects as bytes, and bytes as effects.

    body     "D" log · base · a client's batch as it came        (the common case)
             "J" JSON of any other effect

Nothing in a journal is executed: an effect is rebuilt from the kinds listed here.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import fields
from operator import attrgetter
from typing import Any

from ...kafka.coordinator import Entry, StateRecord
from ...kafka.group import GroupMetadata, GroupTombstone, Member, Offsets, OffsetTombstones
from ...kafka.group.consumer.values import (
    ConsumerGroupTombstones,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    MemberMetadata,
    MemberState,
    MemberTombstones,
    TargetAssignment,
    TargetEpoch,
)
from ...kafka.log import AbortedTxn, Batch
from ...kafka.messages import Position
from ...kafka.states import TxnState
from ...kernel import Append, Put, Truncate
from ..frames import DATA
from .front.topic import Topic
from .wire.records import Records, parsed

BYTES = "bytes"
Effect = Append | Put | Truncate

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Batch,
        Entry,
        StateRecord,
        AbortedTxn,
        Offsets,
        Position,
        Topic,
        GroupMetadata,
        Member,
        OffsetTombstones,
        GroupTombstone,
        ConsumerMember,
        MemberMetadata,
        GroupEpoch,
        TargetAssignment,
        TargetEpoch,
        CurrentAssignment,
        MemberTombstones,
        ConsumerGroupTombstones,
    )
}


def encoded(effect: Effect) -> bytes:
    match effect:
        case Append(log=name, entry=Batch(records=Records(data=data), base=base)):
            where = name.encode()
            return DATA.pack(b"D", len(where), base) + where + data
        case Append(log=name, entry=entry):
            plain: list[Any] = ["append", name, _plain(entry)]
        case Put(table=table, key=key, value=value):
            plain = ["put", table, key, _plain(value)]
        case Truncate(log=name, end=end):
            plain = ["truncate", name, end]
    return b"J" + json.dumps(plain, separators=(",", ":")).encode()


def decoded(body: bytes) -> Effect:
    if body[:1] == b"D":
        _, size, base = DATA.unpack_from(body)
        name = body[DATA.size : DATA.size + size].decode()
        batch = parsed(body[DATA.size + size :])
        assert isinstance(batch, Batch), "only what was parsed is ever appended"
        return Append(name, _at(batch, base))
    match json.loads(body[1:]):
        case ["append", name, entry]:
            return Append(name, _value(entry))
        case ["put", table, key, value]:
            return Put(table, key, _value(value))
        case ["truncate", name, end]:
            return Truncate(name, end)
    raise ValueError("an entry of no kind there is")


def _at(batch: Batch, base: int) -> Batch:
    return Batch(
        batch.records, batch.count, base, batch.pid, batch.epoch, batch.first_seq,
        batch.transactional, at_ms=batch.at_ms, size=batch.size,
    )  # fmt: skip


#: how the fields of a kind are taken out of it, in order
FIELDS = {kind: attrgetter(*(f.name for f in fields(kind))) for kind in KINDS.values()}
SINGLE = frozenset(kind for kind in KINDS.values() if len(fields(kind)) == 1)
FLAT = frozenset({str, int, bool, TxnState, MemberState, type(None)})


def _plain(value: Any) -> Any:
    """{"Entry": [its fields]}; tuples are lists."""
    kind = type(value)
    if kind in FLAT:
        return value
    if kind in SINGLE:  # of one field an attrgetter gives the value, not a tuple of it
        return {kind.__name__: [_plain(FIELDS[kind](value))]}
    if kind in FIELDS:
        return {kind.__name__: [_plain(v) for v in FIELDS[kind](value)]}
    if kind is tuple:
        return [_plain(v) for v in value]
    if kind is bytes:
        return {BYTES: b64encode(value).decode()}
    raise TypeError(f"the journal has no form for a {kind.__name__}")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_value(v) for v in plain)
    if not isinstance(plain, dict):
        return plain
    ((name, values),) = plain.items()
    if name == BYTES:
        return b64decode(values)
    kind = KINDS[name]
    names = [f.name for f in fields(kind)]
    if len(values) > len(names):
        raise ValueError(f"a {name} of a newer version of mqlab")
    # An older journal may lack the newest fields, which then have their defaults.
    given = dict(zip(names, map(_value, values), strict=False))
    if kind is Entry:
        given["state"] = TxnState(given["state"])
    if kind is ConsumerMember:
        given["state"] = MemberState(given["state"])
    return kind(**given)
