"""The journal's entries of Pulsar: an entry of a topic with its message as it came, anything else
as JSON.

body     "M" length of the head 4 · head, a row of JSON · the message
         "J" JSON of any other effect    (`serve/entries.py`)
"""

from __future__ import annotations

import json
import struct
from mmap import mmap
from typing import Any

from ...kernel import Append, Put, replace
from ...pulsar.ledger import Cursor, Stretch, join
from ...pulsar.messages import (
    AckPosition,
    BufferSnapshot,
    LedgerEntry,
    PendingAckEntry,
    TransactionMetadataEntry,
    TxnID,
)
from ...pulsar.states import AckType, MarkerType, TxnStatus
from ..entries import JSON_MARK, Effect, Entries, JsonForm, ends_as_json
from .front.topics import TopicRow
from .wire.commands import Batched, Payload

HEAD = struct.Struct(">cI")
FORM = JsonForm(
    (
        AckPosition, BufferSnapshot, Cursor, LedgerEntry, PendingAckEntry,
        TopicRow, TransactionMetadataEntry, TxnID,
    ),
    {
        (LedgerEntry, "marker"): MarkerType,
        (PendingAckEntry, "ack_type"): AckType,
        (TransactionMetadataEntry, "status"): TxnStatus,
        (TransactionMetadataEntry, "expected"): TxnStatus,
    },
)  # fmt: skip


def encode_effect(effect: Effect) -> bytes:
    match effect:
        case Append(log=log, entry=LedgerEntry(values=Batched(payload=payload)) as entry):
            return _write_message(log, entry, payload)
    return FORM.encode(effect)


def decode_effect(body: bytes) -> Effect:
    """Raises what `Entries` says, for a body that no version wrote."""
    if body[:1] == b"M":
        return _read_message(body)
    effect = FORM.decode(body)
    match effect:
        case Put(table=table, key=key, value=Cursor() as cursor):
            return Put(table, key, _read_cursor(cursor))
    return effect


def _read_cursor(read: Cursor) -> Cursor:
    """Older versions wrote each position, and each index of a batch, by itself where there are
    stretches now."""
    batches = tuple((at, _read_stretches(done)) for at, done in read.batches)
    written: tuple[Any, ...] = read.individual
    if _read_stretches(written) != written:  # the mark may touch what was written singly
        return Cursor(read.mark_delete, batches=batches).delete(written)
    return replace(read, batches=batches)


def _read_stretches(written: tuple[Any, ...]) -> tuple[Stretch, ...]:
    if all(type(one) is int for one in written):
        return join(written)
    for first, last in written:
        if type(first) is not int or type(last) is not int:
            raise ValueError("a cursor whose positions are no numbers")
    return written


def _write_message(log: str, entry: LedgerEntry, payload: Payload) -> bytes:
    txn = None if entry.txn is None else [entry.txn.most, entry.txn.least]
    row = (
        log, entry.base, entry.producer, entry.sequence, txn,
        payload.count, payload.is_batch, payload.text,
    )  # fmt: skip
    head = json.dumps(row, separators=(",", ":")).encode()
    return HEAD.pack(b"M", len(head)) + head + payload.data


def _read_message(data: bytes) -> Append:
    _, size = HEAD.unpack_from(data)
    end = HEAD.size + size
    row: list[Any] = json.loads(data[HEAD.size : end])
    log, base, producer, sequence, txn, count, is_batch, text = row
    values = Batched(Payload(data[end:], count, is_batch, text))
    named = None if txn is None else TxnID(*txn)
    return Append(log, LedgerEntry(base, values, producer, sequence, named))


def looks_whole(data: mmap, start: int, size: int) -> bool:
    """Whether these bytes look like a body."""
    if data[start : start + 1] == b"J":
        return ends_as_json(data, start, size)
    if size < HEAD.size:
        return False
    head = HEAD.unpack_from(data, start)[1]
    end = start + HEAD.size + head
    return HEAD.size + head <= size and data[start + HEAD.size : end][-1:] == b"]"


ENTRIES = Entries(encode_effect, decode_effect, (b"M", JSON_MARK), looks_whole)
