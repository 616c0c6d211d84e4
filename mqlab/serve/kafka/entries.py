"""The journal's entries of Kafka: a client's batch as it came, any other effect as JSON.

body     "D" log · base · the batch      (the common case: nothing is encoded again)
         "J" JSON of any other effect    (`serve/disk.py`)
"""

from __future__ import annotations

import struct
from mmap import mmap

from ...kafka.coordinator.entry import Entry, StateRecord
from ...kafka.group import GroupTombstone, OffsetTombstones
from ...kafka.group.commits import Offsets
from ...kafka.group.members import GroupMetadata, Member
from ...kafka.log import AbortedTxn, Batch
from ...kafka.messages import Position
from ...kafka.states import TxnState
from ...kernel import Append
from ..disk import JSON_MARK, Effect, Entries, JsonForm, ends_as_json
from .front.topic import Topic
from .wire.validation import Records, parse_batch

DATA = struct.Struct(">cHq")  # kind "D", length of the log's name, base offset
BATCH_LENGTH = struct.Struct(">i")  # at byte 8 of a record batch: its bytes after these 12

KINDS = (
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
)
FORM = JsonForm(KINDS, {(Entry, "state"): TxnState})


def encode_effect(effect: Effect) -> bytes:
    match effect:
        case Append(log=name, entry=Batch(records=Records(data=data), base=base)):
            where = name.encode()
            return DATA.pack(b"D", len(where), base) + where + data
    return FORM.encode(effect)


def decode_effect(body: bytes) -> Effect:
    if body[:1] != b"D":
        return FORM.decode(body)
    _, size, base = DATA.unpack_from(body)
    name = body[DATA.size : DATA.size + size].decode()
    batch = parse_batch(body[DATA.size + size :])
    assert isinstance(batch, Batch), "only what was parsed is ever appended"
    return Append(name, _at(batch, base))


def _at(batch: Batch, base: int) -> Batch:
    return Batch(
        batch.records, batch.count, base, batch.pid, batch.epoch, batch.first_seq,
        batch.transactional, at_ms=batch.at_ms, size=batch.size,
    )  # fmt: skip


def looks_whole(data: mmap, start: int, size: int) -> bool:
    """Whether these bytes look like a body."""
    if data[start : start + 1] == b"J":
        return ends_as_json(data, start, size)
    if size < DATA.size:
        return False
    batch = start + DATA.size + DATA.unpack_from(data, start)[1]
    if batch + 12 > start + size:
        return False
    return bool(batch + 12 + BATCH_LENGTH.unpack_from(data, batch + 8)[0] == start + size)


ENTRIES = Entries(encode_effect, decode_effect, (b"D", JSON_MARK), looks_whole)
