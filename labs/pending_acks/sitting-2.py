"""Pending acks after Part 2: what a load finds, and what needs no transaction.

mqlab build check my-labs/pending_acks.py --part 2
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
    for message in messages:
        held = held.remove(message)
    return held


def load(records: tuple[Record, ...], acked):
    """What is held after a load, by the log, and what the cursor gets once more."""
    held, again = Map(), ()
    for record in records:
        match record.op:
            case "ACK":
                if may_acknowledge(held, (*acked, *again), record.txn, record.messages):
                    held = acknowledge(held, record.txn, record.messages)
            case "COMMIT":
                held, done = commit(held, record.txn)
                again = (*again, *done)
            case "ABORT":
                held, _ = abort(held, record.txn)
    return held, again


def let_go(held: Map[int, str], txn: str):
    """What is held without this transaction, and what it had."""
    mine = tuple(message for message, holder in held.items() if holder == txn)
    return Map((message, holder) for message, holder in held.items() if holder != txn), mine
