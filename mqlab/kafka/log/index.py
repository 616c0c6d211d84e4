"""The transaction index: one entry for each aborted, non-empty transaction of a partition.

Source: AbortedTxn, TransactionIndex (Kafka 4.3). An entry takes 34 bytes on a real disk:
version, producer id, first offset, last offset, last stable offset.
"""

from __future__ import annotations

from ...kernel import Single, worded


def index_of(partition: str) -> str:
    """The name of the log that stands for a partition's `.txnindex`."""
    return f"{partition}.txnindex"


@worded("aborted pid {pid}: {first_offset}…{last_offset}, LSO {lso}")
class AbortedTxn(Single):
    """`base` is the entry's own place in the index. `last_offset` is the ABORT marker's;
    `lso` the last stable offset as decided then, ignoring replication: the first offset
    of the oldest *other* open transaction, else the one after the marker."""

    base: int
    pid: int
    first_offset: int
    last_offset: int
    lso: int
