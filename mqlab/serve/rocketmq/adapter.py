"""RocketMQ's adapter in the server: see `serve/adapter.py` for what each part is.

One role plays name server and broker: the front, which holds the engine's broker. All its logs
keep everything: the commit log and, for each queue, the entries that point into it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial
from mmap import mmap
from typing import Any

from ...kernel import Append, Effects, Map, Reply
from ...rocketmq.log import COMMIT_LOG, QueueEntry, Stored
from ...rocketmq.messages import Message, name_queue
from ..adapter import NO_CHANGE, Adapter, Change, Nobody, Start
from ..disk import (
    JSON_MARK,
    Effect,
    Entries,
    JsonForm,
    ServerDisk,
    looks_headed,
    read_headed,
    write_headed,
)
from .frames import RocketMQFrames, push_command
from .front import FRONT, Front, FrontConfig
from .front.topics import TOPICS, Topic
from .trace.observer import Observer
from .wire.answers import Messages

# The journal's entries of RocketMQ: a message with its body as it came, a queue's entry in a
# few bytes, anything else as JSON.
#
# body     "D" length of the head 4 · head, a row of JSON · the message's body
#          "Q" base 8 · offset in the commit log 8 · the queue's name
#          "J" JSON of any other effect    (`serve/disk.py`)

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
    return write_headed(b"D", row, bytes(m.body.encode() if text else m.body))


def _read_message(data: bytes) -> Stored:
    row, payload = read_headed(data)
    base, queue_offset, store_ms, topic, queue_id, properties, *rest, text = row
    body = payload.decode() if text else payload
    message = Message(topic, queue_id, body, Map(properties.items()), *rest)
    return Stored(base, message, queue_offset, store_ms)


def looks_whole(data: mmap, start: int, size: int) -> bool:
    """Whether these bytes look like a body."""
    if data[start : start + 1] == b"Q":
        return ENTRY.size < size <= ENTRY.size + LONGEST
    return looks_headed(data, start, size)


ENTRIES = Entries(encode_effect, decode_effect, (b"D", b"Q", JSON_MARK), looks_whole)


def make_adapter(config: FrontConfig | None = None) -> Adapter:
    config = config if config is not None else FrontConfig()
    return Adapter(
        name="rocketmq",
        system=f"rocketmq release={config.rocketmq.release}",
        frames=RocketMQFrames,
        push=push_command,
        front=FRONT,
        starting=partial(start_roles, config),
        gone=Nobody(),
        entries=ENTRIES,
        observe=Observer,
        weigh=weigh_messages,
        change=drop_queues,
    )


def start_roles(config: FrontConfig, disk: ServerDisk) -> Iterator[Start]:
    yield Start(FRONT, partial(Front.recover, config))


def drop_queues(table: str, key: str, old: Any, new: Any) -> Change:
    """The queues of a topic that is deleted; what is in the commit log stays."""
    if table != TOPICS or old is None or new is not None:
        return NO_CHANGE
    return Change(drop=tuple(name_queue(key, number) for number in range(old.queues)))


def weigh_messages(effects: Effects) -> int:
    """The bytes of messages that answers refer to."""
    answers = (e.body for e in effects if isinstance(e, Reply) and isinstance(e.body, Messages))
    return sum(len(stored.message.body) for answer in answers for stored in answer.messages)
