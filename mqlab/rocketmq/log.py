"""The store: one commit log for everything, and a queue for each topic that only points into it.

Every message of every topic is appended to one file, the **commit log**. What consumers read are
**consume queues**: one for each queue of a topic, whose entries say no more than where in the
commit log the message is. An entry is written right after its message (`ReputMessageService`
does that, a millisecond later), so a stop can come in between; a restart then writes the entries
that are missing. Nothing is ever changed in place, a message cannot be moved from one topic to
another, and whatever is "moved" in RocketMQ is written once more.

What survives a stop:

    the commit log              a crash; of a power cut, what was flushed
    consume queues              nothing needs to: they follow from the commit log
    consumer offsets            a table, written every 5 s: a crash takes what came after
    op records not yet written  memory only, since 5.1
    who is connected            memory only

*Left out:* files of fixed size and their expiry, the index by key, the index of times.
Read on in CommitLog, ConsumeQueue, DefaultMessageStore#recover, ConsumerOffsetManager (5.5.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..kernel import (
    Append,
    Disk,
    Effect,
    Effects,
    Map,
    Put,
    Single,
    frozen,
    phrase,
    phrase_word,
    worded,
)
from .config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC, TRANS_GROUP
from .messages import Message, name_queue
from .states import TransactionType

# Records of the commit log, the queue entries that point to them, writing and reading
#
# Sources: CommitLog#asyncPutMessage, ConsumeQueue, DefaultMessageStore#getMessage,
# #lookMessageByOffset, #recoverTopicQueueTable, MessageExtEncoder#encode,
# HookUtils#checkBeforePutMessage (5.5.0).

COMMIT_LOG = "commitlog"
LONGEST_PROPERTIES = 32_767  # bytes: their length has two (Short.MAX_VALUE)
LONGEST_TOPIC, LONGEST_RETRY = 127, 255  # bytes; a retry topic's name may be longer
RECORD = 91  # bytes of a record besides its body, its topic, its properties
#: PutMessageStatus of what a store does not take
TOO_MANY_PROPERTIES, ILLEGAL = "PROPERTIES_SIZE_EXCEEDED", "MESSAGE_ILLEGAL"
#: how a record is called in a narration, and in `kill … when=half#1`
KINDS = {HALF_TOPIC: "half", OP_TOPIC: "op", DISCARD_TOPIC: "discard", SCHEDULE_TOPIC: "delayed"}


@frozen
class Stored(Single):
    """A message in the commit log, at offset `base`; `queue_offset` is its number in its queue."""

    base: int
    message: Message
    queue_offset: int
    store_ms: int = 0

    @property
    def kind(self) -> str:
        return KINDS.get(self.message.topic, "message")

    def __str__(self) -> str:
        times = f" ({self.message.check_times})" if self.message.check_times else ""
        said = f"{phrase_word(self.kind)} {self.message.words}{times} @{self.queue_offset}"
        if self.kind in ("half", "op", "discard"):
            return said
        return phrase("{} in {}", said, self.message.queue)


@worded("entry @{base} points to {commit_log_offset}")
class QueueEntry(Single):
    """An entry of a consume queue: where in the commit log the message is."""

    base: int
    commit_log_offset: int


def find_misfit(message: Message, release: str) -> str:
    """Why a store does not take this message (PutMessageStatus), "" where it does. **A step that
    writes a message once more asks first**, for a copy has more properties than what it is made
    from, and a record that cannot be written out would hide all those after it."""
    longer = message.topic.startswith(RETRY_PREFIX) and release != "4.9"
    if len(message.topic.encode(errors="replace")) > (LONGEST_RETRY if longer else LONGEST_TOPIC):
        return ILLEGAL
    return TOO_MANY_PROPERTIES if _has_too_many(message, release == "4.9") else ""


def _has_too_many(message: Message, older: bool) -> bool:
    """4.9 leaves the last separator off."""
    pairs = message.properties.items()
    # a character has four bytes at most
    if sum(len(name) + len(value) + 2 for name, value in pairs) <= LONGEST_PROPERTIES // 4:
        return False
    return _measure(message) - older > LONGEST_PROPERTIES


def _measure(message: Message) -> int:
    """Bytes of its properties, each with its two separators."""
    text = "".join(f"{name} {value} " for name, value in message.properties.items())
    return len(text.encode(errors="replace"))


def measure(stored: Stored) -> int:
    """Bytes of a record (MessageExtEncoder#calMsgLength), with addresses of IPv4."""
    message = stored.message
    return RECORD + len(message.body) + len(message.topic) + _measure(message)


def is_readable(stored: Stored) -> bool:
    """Whether it can be given away as a record. Data folders from before the limits were kept may
    hold others, and readers pass them over."""
    topic = len(stored.message.topic.encode(errors="replace"))
    return topic <= LONGEST_PROPERTIES and not _has_too_many(stored.message, older=True)


class Writer:
    """What one step appends: it gives each message the next offset of the commit log and of its
    queue, as the store does under its lock. A step makes one and takes its `effects`."""

    def __init__(self, disk: Disk, at_ms: int, *, notify: bool = False) -> None:
        """`notify`: a step follows when the records are written, and flushes them."""
        self._disk, self._at_ms, self._notify = disk, at_ms, notify
        self._ends: dict[str, int] = {}
        self._effects: list[Effect] = []
        self.written: list[Stored] = []

    def put(self, message: Message) -> Stored:
        """Append a message and its queue entry, where it has one."""
        offset = self._take_end(message.queue) if is_dispatched(message) else 0
        stored = Stored(self._take_end(COMMIT_LOG), message, offset, self._at_ms)
        self.written.append(stored)
        self._effects.append(Append(COMMIT_LOG, stored, notify=self._notify))
        if is_dispatched(message):
            self._effects.append(build_entry(stored))
        return stored

    def add(self, *effects: Effect) -> None:
        """Something else that this step does, after what was written so far."""
        self._effects += effects

    @property
    def effects(self) -> Effects:
        return tuple(self._effects)

    def end_of(self, log: str) -> int:
        """Where a log ends after what this step has written."""
        end = self._ends.get(log)
        return self._disk.log(log).end if end is None else end

    def _take_end(self, log: str) -> int:
        end = self.end_of(log)
        self._ends[log] = end + 1
        return end


def is_dispatched(message: Message) -> bool:
    """Whether it gets an entry in its queue. **What is stored with the bits of PREPARED or ROLLBACK
    no consumer ever sees**; a raw client may send such a one that is no half message
    (CommitLogDispatcherBuildConsumeQueue)."""
    return message.transaction_type in (TransactionType.NOT_TYPE, TransactionType.COMMIT_TYPE)


def build_entry(stored: Stored) -> Append:
    """Writing the queue entry of a record."""
    return Append(stored.message.queue, QueueEntry(stored.queue_offset, stored.base), notify=False)


def read_stored(disk: Disk, commit_log_offset: int) -> Stored | None:
    """The record at an offset of the commit log (lookMessageByOffset)."""
    if commit_log_offset < 0:
        return None
    return next(disk.log(COMMIT_LOG).read(commit_log_offset, commit_log_offset + 1), None)


def walk_queue(disk: Disk, queue: str, start: int = 0) -> Iterator[Stored]:
    """The messages of a queue from offset `start` on, read as they are asked for."""
    for entry in disk.log(queue).read(start):
        stored = read_stored(disk, entry.commit_log_offset)
        if stored is not None:
            yield stored


def read_queue(disk: Disk, queue: str, start: int = 0, most: int | None = None) -> list[Stored]:
    """The messages of a queue from offset `start` on, at most so many (getMessage)."""
    return list(islice(walk_queue(disk, queue, start), most))


def list_queues(disk: Disk, topic: str) -> tuple[str, ...]:
    """The queues of a topic that hold something."""
    return tuple(q for q in disk.logs(f"{topic}-") if q.rpartition("-")[0] == topic)


#: how far all queues were written when a topic was deleted: what its queues held is not missing
DISPATCHED = "dispatched"


def find_undispatched(disk: Disk) -> Effects:
    """The queue entries that a stop has cut off: their messages are in the commit log after
    whatever the queues point to, and after where it was when a topic went with its queues."""
    queues = [disk.log(name) for name in disk.logs() if name != COMMIT_LOG]
    lasts = [entry.commit_log_offset for q in queues if q.end for entry in q.read(q.end - 1)]
    first = max(max(lasts, default=-1) + 1, disk.table(DISPATCHED).get(COMMIT_LOG, 0))
    missing = disk.log(COMMIT_LOG).read(first)
    return tuple(build_entry(stored) for stored in missing if is_dispatched(stored.message))


def name_system_queue(topic: str) -> str:
    """Half, op and discard topic have one queue each."""
    return name_queue(topic, 0)


HALF_QUEUE = name_system_queue(HALF_TOPIC)
OP_QUEUE = name_system_queue(OP_TOPIC)
DISCARD_QUEUE = name_system_queue(DISCARD_TOPIC)


# ---- Committed offsets, how far each group has come in each queue: ConsumerOffsetManager
#
# In memory the offsets are always current. On the disk they are a table (`consumerOffset.json`)
# that is written every 5 s and on a graceful stop, so that **a crash turns them back**: what was
# consumed since then is delivered again. The check service is a consumer like any other
# (`CID_RMQ_SYS_TRANS`), and its two offsets share that fate.

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
