"""The journal's entries of RocketMQ: a message with its body as it came, a queue's entry in a
few bytes, anything else as JSON.

body     "D" length of the head 4 · head, a row of JSON · the message's body
         "Q" base 8 · offset in the commit log 8 · the queue's name
         "J" JSON of any other effect    (`serve/entries.py`)
"""

from __future__ import annotations

import json
import struct
from mmap import mmap
from typing import Any

from ...kernel import Append, Map
from ...rocketmq.log import COMMIT_LOG, QueueEntry, Stored
from ...rocketmq.messages import Message
from ..entries import JSON_MARK, Effect, Entries, JsonForm, ends_as_json
from .front.topic import Topic

MESSAGE = struct.Struct(">cI")
ENTRY = struct.Struct(">cqq")
LONGEST = 512  # bytes of a queue's name
FORM = JsonForm((Topic,), {})


def encode_effect(effect: Effect) -> bytes:
    match effect:
        case Append(log=log, entry=Stored() as stored) if log == COMMIT_LOG:
            return _write_message(stored)
        case Append(log=log, entry=QueueEntry(base=base, commit_log_offset=offset)):
            return ENTRY.pack(b"Q", base, offset) + log.encode()
    return FORM.encode(effect)


def decode_effect(body: bytes) -> Effect:
    match body[:1]:
        case b"D":
            return Append(COMMIT_LOG, _read_message(body))
        case b"Q":
            _, base, offset = ENTRY.unpack_from(body)
            return Append(body[ENTRY.size :].decode(), QueueEntry(base, offset), notify=False)
    return FORM.decode(body)


def _write_message(stored: Stored) -> bytes:
    """What the broker itself writes has a text for a body; the row's last field says so."""
    m = stored.message
    text = isinstance(m.body, str)
    row = (
        stored.base, stored.queue_offset, stored.store_ms, m.topic, m.queue_id,
        dict(m.properties.items()), m.born_ms, m.born_host, int(m.sys_flag), m.prepared_offset,
        m.reconsume_times, m.flag, text,
    )  # fmt: skip
    head = json.dumps(row, separators=(",", ":")).encode()
    return MESSAGE.pack(b"D", len(head)) + head + bytes(m.body.encode() if text else m.body)


def _read_message(data: bytes) -> Stored:
    _, size = MESSAGE.unpack_from(data)
    end = MESSAGE.size + size
    row: list[Any] = json.loads(data[MESSAGE.size : end])
    base, queue_offset, store_ms, topic, queue_id, properties, *rest, text = row
    body = data[end:].decode() if text else data[end:]
    message = Message(topic, queue_id, body, Map(properties.items()), *rest)
    return Stored(base, message, queue_offset, store_ms)


def looks_whole(data: mmap, start: int, size: int) -> bool:
    """Whether these bytes look like a body."""
    match data[start : start + 1]:
        case b"J":
            return ends_as_json(data, start, size)
        case b"Q":
            return ENTRY.size < size <= ENTRY.size + LONGEST
    if size < MESSAGE.size:
        return False
    head = MESSAGE.unpack_from(data, start)[1]
    end = start + MESSAGE.size + head
    return MESSAGE.size + head <= size and data[start + MESSAGE.size : end][-1:] == b"]"


ENTRIES = Entries(encode_effect, decode_effect, (b"D", b"Q", JSON_MARK), looks_whole)
