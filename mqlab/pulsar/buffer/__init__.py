"""A partition's transaction buffer: which transactions are open here, and how far one may read.

It buffers nothing. Messages of open transactions lie in the partition's own ledger, between all
others; the buffer knows where each open transaction *begins* here, and which ones were aborted.
From that follows one number:

    maxReadPosition = the entry before the first message of the oldest open transaction,
                      or the last entry, when none is open

Nobody is sent what lies above it, a plain message neither. "Oldest" is by the first message in this
partition: a transaction that commits earlier stays invisible until all that began here before it
have ended. Committed transactions are not remembered at all.

**Durable** is the topic itself and, now and then, a snapshot: maxReadPosition and the aborted
transactions. Until the first transactional message there is none (NoSnapshot); that message waits
until the first one is safe. Recovery loads the last one and reads the topic from there on
(`recovery.py`), so it knows again what was open.

*What can go wrong.* A message of a transaction that ended long ago arrives: it begins an open
transaction that nobody will end, and **blocks the partition**. The low watermark, which comes with
every end, refuses such messages, and aborts what slipped through before. But it is in memory only:
after a restart it is empty. And the aborted are known by their id alone: aborting a stale message
of a *committed* transaction hides what that transaction had committed here from anyone who reads it
later.

*Invariant:* no message of an open transaction lies at or below maxReadPosition.
*Left out:* segmented snapshots (PIP-196), and forgetting an aborted transaction once retention has
deleted its marker.
Read on in TopicTransactionBuffer, SingleSnapshotAbortedTxnProcessorImpl (4.2).
"""

from .open import Buffer
from .recovery import recover_buffer

__all__ = ["Buffer", "recover_buffer"]
