"""What stands on BookKeeper: positions that were read and can be forgotten, and how far to read.

A *managed ledger* is a log of entries with cursors on it. All three logs of a transaction are one:
the topic itself, the coordinator's log and a subscription's pending acks. The entries lie on the
node's disk (`kernel/disk.py`); here is what is kept beside them, and what both a buffer and a
subscription know of the transactions that have ended.
"""

from .cursor import Cursor, Stretch, join
from .marks import Marks
from .view import TopicView

__all__ = ["Cursor", "Marks", "Stretch", "TopicView", "join"]
