"""A partition: one log, and what is known of it.

A partition is a sequence of *batches*, each at its offsets. Producers append data to it; the
transaction coordinators append *markers*, one control batch where a transaction ends. Nothing
is ever changed in place: what a transaction wrote is there from the first moment on, and
the marker decides afterwards what it was. Beside the log is an index of the transactions
that were aborted, so that a reader learns what to skip.

The leader of a partition also keeps in memory who has written here, whose transaction is
open, and therefore how far one may read. All of that can be rebuilt from the log. Two roles
lead partitions: the leader of a topic's partition (`kafka/leader`) and the group coordinator,
which leads one of `__consumer_offsets` (`kafka/group`). What they share is in this package, and
neither imports the other.

    here             what is written, the numbers in its header, the index of aborted transactions
    role.py          in memory: who writes, what is open, HW and LSO; from the disk back to memory,
                     and the snapshots that make it short; transaction markers; before a
                     transaction opens here its coordinator is asked; what both roles do alike: what
                     readers get, who waits for more, idle producers are forgotten, an administrator
                     asks about producers

This file holds only what a log holds: everything in Kafka may import it.
"""

from __future__ import annotations

from typing import Any

from ...kernel import Single, frozen, phrase, worded
from ...kernel.role import LogView

# ---- Record batches: the unit in which a partition log is written, checked and read --
#
# A leader looks at the header only. The records themselves stay what the client sent: a
# tuple of values in a lesson, opaque (perhaps compressed) bytes in the server.
#
# Source: DefaultRecordBatch, EndTransactionMarker (Kafka 4.3).

MAX_SEQUENCE = 2**31 - 1
COMMIT = "COMMIT"
ABORT = "ABORT"


def next_sequence(sequence: int, count: int = 1) -> int:
    """`sequence` advanced by `count`; after 2147483647 comes 0
    (DefaultRecordBatch#incrementSequence)."""
    return (sequence + count) % (MAX_SEQUENCE + 1)


@frozen
class Batch:
    """One batch at offsets `base` … `last`.

    `pid` and `epoch` name the producer (-1: not idempotent), `first_seq` its first
    sequence number. `control` is "COMMIT" or "ABORT" for a marker, which the leader
    writes and which takes exactly one offset; `coordinator_epoch` only then.
    `records`: values (lesson) or bytes (server). `at_ms`: max timestamp. `size`: bytes.
    """

    records: Any = ()
    count: int = 1
    base: int = -1
    pid: int = -1
    epoch: int = -1
    first_seq: int = -1
    transactional: bool = False
    control: str = ""
    coordinator_epoch: int = -1
    at_ms: int = 0
    size: int = 0

    @property
    def last(self) -> int:
        return self.base + self.count - 1

    @property
    def last_seq(self) -> int:
        return next_sequence(self.first_seq, self.count - 1) if self.first_seq >= 0 else -1

    @property
    def words(self) -> str:
        """The values of a lesson's records; a server's batch says how many it holds."""
        if isinstance(self.records, tuple):
            return ", ".join(map(str, self.records))
        return phrase("{} record" if self.count == 1 else "{} records", self.count)

    def __str__(self) -> str:
        if self.control:
            said = phrase("commit marker" if self.control == COMMIT else "abort marker")
            return f"{said} @{self.base}"
        at = f"@{self.base}" if self.count == 1 else f"@{self.base}-{self.last}"
        return f"{self.words} {at}"


def batch_at(log: LogView, offset: int) -> int:
    """The first offset of the batch that holds `offset`; `offset` itself at the log's end."""
    held = next(iter(log.read(offset, offset + 1)), None) if offset < log.end else None
    return held.base if held is not None else offset


# ---- the transaction index -----------------------------------------------------------


def index_of(partition: str) -> str:
    """The name of the log that stands for a partition's `.txnindex`."""
    return f"{partition}.txnindex"


@worded("aborted pid {pid}: {first_offset}…{last_offset}, LSO {lso}")
class AbortedTxn(Single):
    """The transaction index: one entry for each aborted, non-empty transaction of a partition.

    Source: AbortedTxn, TransactionIndex (Kafka 4.3). An entry takes 34 bytes on a real disk:
    version, producer id, first offset, last offset, last stable offset.

    `base` is the entry's own place in the index. `last_offset` is the ABORT marker's; `lso` the
    last stable offset as decided then, ignoring replication: the first offset of the oldest *other*
    open transaction, else the one after the marker.
    """

    base: int
    pid: int
    first_offset: int
    last_offset: int
    lso: int
