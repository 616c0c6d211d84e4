"""Pending acks after Part 1: who may have a message, and until when.

mqlab build check my-labs/pending_acks.py
"""

from __future__ import annotations

from mqlab.lessons.builder.pending_acks.api import Map, Record


def may_acknowledge(held: Map[int, str], acked, txn: str, messages) -> bool:
    """Whether `txn` may acknowledge all of these messages."""
    return not any(message in held or message in acked for message in messages)


def acknowledge(held: Map[int, str], txn: str, messages):
    """They are held by `txn` now."""
    for message in messages:
        held = held.set(message, txn)
    return held


def commit(held: Map[int, str], txn: str):
    """`txn` has committed: what is held afterwards, and what the cursor gets."""
    return let_go(held, txn)


def abort(held: Map[int, str], txn: str):
    """`txn` has aborted: what is held afterwards, and what is delivered again."""
    return let_go(held, txn)


def acknowledge_plain(held: Map[int, str], messages):
    """Somebody has acknowledged these messages without a transaction: it is not asked, it happens."""
    return held


def load(records: tuple[Record, ...], acked):
    """What is held after a load, by the log, and what the cursor gets once more."""
    held = Map()
    for record in records:
        if record.op == "ACK":
            held = acknowledge(held, record.txn, record.messages)
        else:
            held, _ = let_go(held, record.txn)
    return held, ()


def let_go(held: Map[int, str], txn: str):
    """What is held without this transaction, and what it had."""
    mine = tuple(message for message, holder in held.items() if holder == txn)
    return Map((message, holder) for message, holder in held.items() if holder != txn), mine
