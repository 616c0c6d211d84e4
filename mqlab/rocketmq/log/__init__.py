"""The store: one commit log for everything, and a queue for each topic that only points into it.

Every message of every topic is appended to one file, the **commit log**. What consumers read are
**consume queues**: one for each queue of a topic, whose entries say no more than where in the
commit log the message lies. An entry is written right after its message (`ReputMessageService`
does that, a millisecond later), so a stop can come in between; a restart then writes the entries
that are missing. Nothing is ever changed in place, a message cannot be moved from one topic to
another, and whatever is "moved" in RocketMQ is written once more.

What survives a stop:

    the commit log              a kill; of a power cut, what was flushed
    consume queues              nothing needs to: they follow from the commit log
    consumer offsets            a table, written every 5 s: a kill takes what came after
    op records not yet written  memory only, since 5.1
    who is connected            memory only

    store.py    records, the entries that point to them, writing and reading
    offsets.py  how far each consumer group has come; the check is one of them

*Left out:* files of fixed size and their expiry, the index by key, the index of times.
Read on in CommitLog, ConsumeQueue, DefaultMessageStore#recover, ConsumerOffsetManager (5.5.0).
"""

from .store import (
    COMMIT_LOG,
    QueueEntry,
    Stored,
    Writer,
    find_misfit,
    read_queue,
    read_stored,
)

__all__ = [
    "COMMIT_LOG",
    "QueueEntry",
    "Stored",
    "Writer",
    "find_misfit",
    "read_queue",
    "read_stored",
]
