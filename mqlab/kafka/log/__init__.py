"""A partition: one log, and what is known of it.

A partition is a sequence of *batches*, each at its offsets. Producers append data to it; the
transaction coordinators append *markers*, one control batch where a transaction ends. Nothing
is ever changed in place: what a transaction wrote lies there from the first moment on, and
the marker decides afterwards what it was. Beside the log lies an index of the transactions
that were aborted, so that a reader can be told what to skip.

The leader of a partition also keeps in memory who has written here, whose transaction is
open, and therefore how far one may read. All of that can be rebuilt from the log. Two roles
lead partitions: the leader of a topic's partition (`kafka/leader`) and the group coordinator,
which leads one of `__consumer_offsets` (`kafka/group`). What they share is in this room, and
neither imports the other.

    batch.py         what is written, the numbers in its header, the index of aborted transactions
    partition.py     in memory: who writes, what is open, HW and LSO
    verification.py  before a transaction opens here its coordinator is asked
    markers.py       a transaction ends here
    fetch.py         what readers get, and where the log begins and ends for them
    watching.py      who waits for more
    recovery.py      from the disk back to memory, and the snapshots that make it short
    role.py          what both roles do alike: they answer readers, and forget idle producers
    messages.py      what an administrator asks about a partition's producers

This module gives only what a log holds: everything in Kafka may import it.
"""

from .batch import ABORT, COMMIT, MAX_SEQUENCE, AbortedTxn, Batch, next_sequence

__all__ = ["ABORT", "COMMIT", "MAX_SEQUENCE", "AbortedTxn", "Batch", "next_sequence"]
