"""The outbox table of a service: rows that the service writes, a relay reads, and a mark ends.

    committed with its row → read (perhaps several times) → `sent`

It stands in the service's own database, which is all that makes it safe: whatever survives a power
cut of the row survives for its message too. An entry of the log `database` whose `more` names a
number (`#0`) carries a message; `sent` is its mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...kernel import Append, Caller, Disk, Effects, Flush, Reply, frozen
from ..records import Record, force, read_latest, read_records, write
from .messages import Marked, MarkSent, OutboxRow, ReadOutbox

LOG = "database"
SENT, MESSAGE = "sent", "message"
NUMBER, PLACE = "#", "@"


def read_mark(record: Record, sign: str) -> int | None:
    """The number behind a sign in `more`: `#` for the outbox row, `@` for the message's place in
    its topic."""
    marks = (word for word in record.more.split() if word.startswith(sign))
    return next((int(word[1:]) for word in marks), None)


def list_rows(disk: Disk, unsent: bool = True) -> Iterator[OutboxRow]:
    """The rows of the outbox in the order in which their transactions committed."""
    marked = {t for t, r in read_latest(disk, LOG).items() if r.what == SENT} if unsent else ()
    for record in read_records(disk, LOG):
        number = read_mark(record, NUMBER)
        if number is not None and record.txn not in marked:
            yield OutboxRow(record.txn, number)


def commit(disk: Disk, what: str, txn: str, number: int, together: bool, more: str = "") -> Effects:
    """One local transaction that writes a row and its message, or (`together` false) two writes
    with a gap between them: a *dual write*."""
    mark = f"{NUMBER}{number}"
    if together:
        return force(disk, LOG, what, txn, f"{more} {mark}".lstrip())
    return *force(disk, LOG, what, txn, more), *force(disk, LOG, MESSAGE, txn, mark, behind=1)


@frozen
class Table:
    """`waiting`: relays that have asked while there was nothing to read, with the number behind
    which they read."""

    waiting: tuple[tuple[Caller, int], ...] = ()

    def serve(self, caller: Caller, body: object, disk: Disk) -> tuple[Table, Effects]:
        """What a relay asks."""
        match body:
            case ReadOutbox(after):
                row = next((row for row in list_rows(disk) if row.number > after), None)
                if row is None:
                    return replace(self, waiting=(*self.waiting, (caller, after))), ()
                return self, (Reply(caller, row),)
            case MarkSent(txn):
                last = read_latest(disk, LOG).get(txn)
                new = last is not None and last.what != SENT
                mark = (write(disk, LOG, SENT, txn), Flush()) if new else ()
                return self, (*mark, Reply(caller, Marked()))
        return self, ()

    def wake(self, written: Effects) -> tuple[Table, Effects]:
        """Answer those who wait for a row that this step writes."""
        entries = (effect.entry for effect in written if isinstance(effect, Append))
        rows = tuple(
            OutboxRow(entry.txn, number)
            for entry in entries
            if (number := read_mark(entry, NUMBER)) is not None
        )
        served = tuple(
            (caller, row)
            for caller, after in self.waiting
            for row in rows[:1]
            if row.number > after
        )
        left = tuple(
            pair for pair in self.waiting if pair[0] not in {caller for caller, _ in served}
        )
        return replace(self, waiting=left), tuple(Reply(caller, row) for caller, row in served)
