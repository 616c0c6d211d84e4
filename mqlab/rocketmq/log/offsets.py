"""Committed offsets, how far each group has come in each queue: ConsumerOffsetManager.

In memory the offsets are always current. On the disk they are a table (`consumerOffset.json`)
that is written every 5 s and on a graceful stop, so that **a kill turns them back**: what was
consumed since then is delivered again. The check service is a consumer like any other
(`CID_RMQ_SYS_TRANS`), and its two offsets share that fate.
"""

from __future__ import annotations

from ...kernel import Disk, Effects, Map, Put
from ..config import TRANS_GROUP
from .store import HALF_QUEUE, OP_QUEUE

TABLE = "consumerOffset.json"
PERSIST = "persist offsets"

#: "orders-0@group" → the next offset to be read
Offsets = Map[str, int]


def offset_key(group: str, queue: str) -> str:
    return f"{queue}@{group}"


HALF_KEY = offset_key(TRANS_GROUP, HALF_QUEUE)
OP_KEY = offset_key(TRANS_GROUP, OP_QUEUE)


def read_offsets(disk: Disk) -> Offsets:
    """The offsets as the last write of the table left them."""
    return disk.table(TABLE)


def write_offsets(offsets: Offsets, disk: Disk) -> Effects:
    """Write what differs from the table."""
    kept = disk.table(TABLE)
    return tuple(Put(TABLE, key, at) for key, at in offsets.items() if kept.get(key) != at)
