"""What pending acks are written with: everything that `pending_acks.py` imports.

In Pulsar a transaction may acknowledge messages. Until it ends they are neither acknowledged nor
free: no consumer gets them, and no other transaction may acknowledge them. A subscription keeps
them in memory, in `held`: a Map from a message's position to the transaction that has it, such as
Map([(0, "(0,3)")]). You write what becomes of it, in functions without a clock, chance or a file:

    may_acknowledge(held, acked, txn, messages)   →  True or False
    acknowledge(held, txn, messages)              →  held
    commit(held, txn)                             →  (held, messages)  for the cursor, for good
    abort(held, txn)                              →  (held, messages)  to be delivered again
    acknowledge_plain(held, messages)             →  held    without a transaction
    load(records, acked)                          →  (held, messages)  for the cursor

`acked` are the positions that are acknowledged for good, `messages` a tuple of positions, and `txn`
a text. A Map has `.get(key)`, `.set(key, value)`, `.remove(key)`, `.items()`, and `key in map`.

The subscription writes a log, and calls you when a record is safe there:

    Record("ACK", txn, messages)    then may_acknowledge, and acknowledge where it said True
    Record("COMMIT", txn, ())       then commit
    Record("ABORT", txn, ())        then abort

The record comes *before* the question, so what was refused is in the log, too. A crash
loses `held`; the cursor's row and the log stay. `load` gets all records of the log, oldest first.
A crash may come between the record of a commit and the cursor's row: then `load` gives its messages
again.

The rules are Pulsar 4.2's (PendingAckHandleImpl, MLPendingAckReplyCallBack). *Left out:*
cumulative acknowledgements, messages of a batch, and the low watermark.
"""

from __future__ import annotations

from ....kernel import Map, frozen

__all__ = ["Map", "Record"]


@frozen
class Record:
    """A record of the subscription's log. `op`: ACK, COMMIT or ABORT."""

    op: str
    txn: str
    messages: tuple[int, ...] = ()
