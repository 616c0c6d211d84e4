"""A recovery that somebody else has written: a function of plain values in the buffer's place.

    rule(0, ("(0,3)",), ((1, "message", "(0,4)"), (2, "plain", ""), (3, "abort", "(0,4)")))
    → ({}, ["(0,3)", "(0,4)"])      what is open, with its first position; what is aborted

How far may be read follows from what is open, as it does in the buffer's own recovery.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...kernel import Map
from ..messages import BufferSnapshot, LedgerEntry, TxnID
from ..states import MarkerType
from .open import Buffer

ID = re.compile(r"\((\d+),(\d+)\)")
KINDS = {MarkerType.TXN_COMMIT: "commit", MarkerType.TXN_ABORT: "abort"}

#: what a rule says: the open transactions with their first position, and the aborted ones
Said = tuple[dict[str, int], list[str]]


def ask_rule(
    rule: Callable[..., Said], snapshot: BufferSnapshot, entries: Sequence[LedgerEntry]
) -> Buffer:
    """The buffer that a rule makes of a snapshot and of the entries behind it."""
    was_aborted = tuple(str(txn) for txn, _ in snapshot.aborts)
    found, aborted = rule(snapshot.max_read_position, was_aborted, tuple(map(describe, entries)))
    ongoing = tuple(sorted(((parse(txn), at) for txn, at in found.items()), key=lambda p: p[1]))
    at = {**dict(snapshot.aborts), **{e.txn: e.base for e in entries if e.txn is not None}}
    aborts = Map((parse(txn), at.get(parse(txn), -1)) for txn in aborted)
    readable = ongoing[0][1] - 1 if ongoing else snapshot.max_read_position
    return Buffer(ongoing=ongoing, aborts=aborts, max_read_position=readable)


def describe(entry: LedgerEntry) -> tuple[int, str, str]:
    """An entry in plain values: its position, what it is, and of which transaction."""
    if entry.txn is None:
        return entry.base, "plain", ""
    kind = "message" if entry.marker is None else KINDS[entry.marker]
    return entry.base, kind, str(entry.txn)


def parse(txn: str) -> TxnID:
    """A transaction's id as it is printed."""
    found = ID.fullmatch(txn)
    if found is None:
        raise ValueError(f"{txn!r} is no transaction; one is written (0,3)")
    return TxnID(int(found[1]), int(found[2]))
