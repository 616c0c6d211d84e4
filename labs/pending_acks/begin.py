"""My pending acks. Each acknowledgement is granted; what an end does is still to be written.

mqlab build check my-labs/pending_acks.py
"""

from __future__ import annotations

from mqlab.lessons.builder.pending_acks.api import Map, Record


def may_acknowledge(held: Map[int, str], acked, txn: str, messages) -> bool:
    """Whether `txn` may acknowledge all of these messages."""
    return True


def acknowledge(held: Map[int, str], txn: str, messages):
    """They are held by `txn` now."""
    for message in messages:
        held = held.set(message, txn)
    return held


def commit(held: Map[int, str], txn: str):
    """`txn` has committed: what is held afterwards, and what the cursor gets."""
    return held, ()


def abort(held: Map[int, str], txn: str):
    """`txn` has aborted: what is held afterwards, and what is delivered again."""
    return held, ()


def acknowledge_plain(held: Map[int, str], messages):
    """Somebody has acknowledged these messages without a transaction: it is not asked, it happens."""
    return held


def load(records: tuple[Record, ...], acked):
    """What is held after a load, by the log, and what the cursor gets once more."""
    return Map(), ()
