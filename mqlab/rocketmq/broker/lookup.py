"""Where a queue begins and ends, what was stored at a time, and a message by its id or a key.

Sources: AdminBrokerProcessor#getMinOffset, #getMaxOffset, #searchOffsetByTimestamp,
QueryMessageProcessor (5.5.0). The real broker keeps an index by key; here the topic is read.
"""

from __future__ import annotations

from ...kernel import Disk
from ..errors import ResponseCode
from ..group.messages import (
    FoundMessages,
    GetMaxOffset,
    GetMinOffset,
    OffsetResponse,
    QueryMessage,
    SearchOffset,
    ViewMessageById,
)
from ..log.store import Stored, list_queues, read_queue, read_stored
from ..messages import KEYS, UNIQ_KEY

LookUp = GetMinOffset | GetMaxOffset | SearchOffset | ViewMessageById | QueryMessage


def answer_lookup(ask: LookUp, disk: Disk) -> OffsetResponse | FoundMessages:
    match ask:
        case GetMinOffset(queue=queue):
            return OffsetResponse(queue=queue, offset=disk.log(queue).start)
        case GetMaxOffset(queue=queue):
            return OffsetResponse(queue=queue, offset=disk.log(queue).end)
        case SearchOffset(queue=queue, at_ms=at_ms):
            return OffsetResponse(queue=queue, offset=_search(queue, at_ms, disk))
        case ViewMessageById(commit_log_offset=offset):
            found = read_stored(disk, offset)
            if found is None:
                return FoundMessages(ResponseCode.SYSTEM_ERROR, f"can not find message by {offset}")
            return FoundMessages(messages=(found,))
        case QueryMessage(topic=topic, key=key, most=most):
            many = tuple(_with_key(topic, key, disk))[-most:]
            code = ResponseCode.SUCCESS if many else ResponseCode.QUERY_NOT_FOUND
            return FoundMessages(code, messages=many)


def _search(queue: str, at_ms: int, disk: Disk) -> int:
    """By halves, since messages of a queue are stored one after the other in time."""
    low, high = disk.log(queue).start, disk.log(queue).end
    while low < high:
        middle = (low + high) // 2
        (stored,) = read_queue(disk, queue, middle, 1)
        low, high = (low, middle) if stored.store_ms >= at_ms else (middle + 1, high)
    return low


def _with_key(topic: str, key: str, disk: Disk) -> list[Stored]:
    every = (s for queue in list_queues(disk, topic) for s in read_queue(disk, queue))
    return [
        s for s in every
        if s.message.get(UNIQ_KEY) == key or key in (s.message.get(KEYS) or "").split(" ")
    ]  # fmt: skip
