"""Looking for messages: by where they lie, by a key, by the id that the client gave them.

The real broker keeps an index of keys beside the log. Here the queues of the topic are read,
within the time that the question names; nothing but the log itself need be kept.

Source: QueryMessageProcessor, IndexService#queryOffset (5.5.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....kernel import Caller, Disk, Effects, Reply
from ....rocketmq.log import Stored, read_stored
from ....rocketmq.log.store import is_readable, list_queues
from ....rocketmq.messages import KEYS, UNIQ_KEY
from ....rocketmq.remoting import ResponseCode
from ..wire import asks
from ..wire.answers import FrontAnswer, Messages
from ..wire.asks import Ask
from .offsets import find_since

if TYPE_CHECKING:
    from . import Front

MOST = 64  # maxMsgsNumBatch
NONE_FOUND = "can not find message, maybe time range not correct"
NOT_THERE = "can not find message by the offset, {offset}"
Result = tuple["Front", Effects]


def query_messages(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: asks.QueryMessage = ask.body
    matches = sorted(find_messages(body, disk), key=lambda stored: stored.base)
    newest = tuple(matches[-max(0, min(body.most, MOST)) :]) if body.most > 0 else ()
    if not newest:
        return front, (Reply(caller, FrontAnswer(ResponseCode.QUERY_NOT_FOUND, NONE_FOUND)),)
    last = newest[-1]
    fields = (
        ("indexLastUpdateTimestamp", str(last.store_ms)),
        ("indexLastUpdatePhyoffset", str(last.base)),
    )
    return front, (Reply(caller, Messages(fields=fields, messages=newest)),)


def find_messages(body: asks.QueryMessage, disk: Disk) -> Iterator[Stored]:
    for queue in list_queues(disk, body.topic):
        for entry in disk.log(queue).read(find_since(disk, queue, body.begin_ms)):
            stored = read_stored(disk, entry.commit_log_offset)
            if stored is None or stored.store_ms > body.end_ms:
                break
            if has_key(body, stored) and is_readable(stored):
                yield stored


def has_key(body: asks.QueryMessage, stored: Stored) -> bool:
    """Both kinds of keys stand in one index, which has none that is empty."""
    message = stored.message
    return bool(body.key) and body.key in (
        message.get(UNIQ_KEY),
        *(message.get(KEYS) or "").split(" "),
    )


def view_message(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: asks.ViewMessageById = ask.body
    stored = read_stored(disk, body.commit_log_offset)
    if stored is None or not is_readable(stored):
        remark = NOT_THERE.format(offset=body.commit_log_offset)
        return front, (Reply(caller, FrontAnswer(ResponseCode.SYSTEM_ERROR, remark)),)
    return front, (Reply(caller, Messages(messages=(stored,))),)
