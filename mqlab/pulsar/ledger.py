"""What is stored in BookKeeper: positions that were read and can be forgotten, and how far to read.

A *managed ledger* is a log of entries with cursors on it. All three logs of a transaction are one:
the topic itself, the coordinator's log and a subscription's pending acks. The entries are on the
node's disk (`kernel/disk.py`); here is what is kept beside them, and what both a buffer and a
subscription know of the transactions that have ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ..kernel import Map, frozen, phrase, replace
from ..kernel.role import LogView
from .messages import TxnID

#: (first, last) of a stretch of positions
Stretch = tuple[int, int]
#: so many positions of a stretch are written one by one
SHORT = 8


@frozen
class Cursor:
    """A cursor, Pulsar's committed offset: up to where all was acknowledged, and what beyond.

    `mark_delete` moves over an entry when it and all before it are acknowledged; those beyond it
    that are, wait in `individual` (ManagedCursorImpl#individualDeletedMessages). Both are durable
    together, as one value.

    What waits is kept as stretches without a gap, as the real cursor keeps it (LongPairRangeSet):
    one unacknowledged message may have a million acknowledged ones after it, and they
    are one stretch. To find a position costs the logarithm of the number of stretches.

    *Left out:* ManagedCursorImpl writes at most once a second, so that after a crash some plain
    acknowledgements are forgotten. Read on in ManagedCursorImpl#asyncDelete,
    #setAcknowledgedPosition (4.2).

    `individual`: stretches (first, last) of acknowledged positions beyond `mark_delete`, sorted,
    with a gap before each (after `hold_mark` there is none before the first). `batches`: (position,
    stretches of the indexes of its batch that were acknowledged), for entries that are not done
    with, sorted.
    """

    mark_delete: int = -1
    individual: tuple[Stretch, ...] = ()
    batches: tuple[tuple[int, tuple[Stretch, ...]], ...] = ()

    def is_deleted(self, position: int) -> bool:
        """Whether this entry was acknowledged as a whole."""
        return position <= self.mark_delete or _has(self.individual, position)

    def list_individual(self) -> Iterator[int]:
        """Every acknowledged position beyond `mark_delete`."""
        return _list(self.individual)

    def count_individual(self) -> int:
        return _count(self.individual)

    def acked_indexes(self, position: int) -> tuple[int, ...]:
        """The indexes of a batch that were acknowledged one by one."""
        return tuple(_list(self._of_batch(position)))

    def has_acked(self, position: int, index: int) -> bool:
        """Whether this message of a batch was acknowledged by itself."""
        return _has(self._of_batch(position), index)

    def _of_batch(self, position: int) -> tuple[Stretch, ...]:
        at = bisect_left(self.batches, position, key=_first)
        known = at < len(self.batches) and self.batches[at][0] == position
        return self.batches[at][1] if known else ()

    def delete(self, positions: tuple[int, ...]) -> Cursor:
        """Acknowledge these entries; mark_delete moves over all that is now without a gap."""
        stretches = list(self.individual)
        for position in positions:
            if position > self.mark_delete:
                _add(stretches, position, position)
        return self._settle(self.mark_delete, stretches, positions)

    def delete_up_to(self, position: int) -> Cursor:
        """Acknowledge every entry up to this one (asyncMarkDelete)."""
        if position <= self.mark_delete:
            return self
        return self._settle(position, list(self.individual), ())

    def hold_mark(self, mark_delete: int) -> Cursor:
        """The same entries are acknowledged, and mark_delete has stayed there."""
        if mark_delete == self.mark_delete:
            return self
        passed = (mark_delete + 1, self.mark_delete)
        return replace(self, mark_delete=mark_delete, individual=(passed, *self.individual))

    def _settle(self, mark: int, stretches: list[Stretch], acked: tuple[int, ...]) -> Cursor:
        """The mark-delete position moves over what touches it; acknowledged batches lose their
        indexes."""
        reached = bisect_right(stretches, mark + 1, key=_first)
        if reached:
            mark = max(mark, stretches[reached - 1][1])
        batches = self.batches
        if batches:
            gone = frozenset(acked)
            batches = tuple(b for b in batches if b[0] > mark and b[0] not in gone)
        return Cursor(mark, tuple(stretches[reached:]), batches)

    def ack_indexes(self, position: int, indexes: Iterable[Stretch], size: int) -> Cursor:
        """Acknowledge stretches of the messages of a batch of `size`; the entry, once all of them
        are done. A batch whose messages come one after the other is one stretch that grows."""
        if self.is_deleted(position):
            return self
        done = list(self._of_batch(position))
        for first, last in indexes:
            _add(done, first, last)
        if _count(done) >= size:
            return self.delete((position,))
        start = bisect_left(self.batches, position, key=_first)
        end = bisect_right(self.batches, position, key=_first)
        batches = (*self.batches[:start], (position, tuple(done)), *self.batches[end:])
        return replace(self, batches=batches)

    def __str__(self) -> str:
        beyond = "".join(f" {words}" for words in map(_name, self.individual))
        parts = "".join(f" {at}:{','.join(map(str, _list(done)))}" for at, done in self.batches)
        more = phrase(", acked{}", beyond + parts) if beyond or parts else ""
        return f"mark-delete {self.mark_delete}{more}"


def join(numbers: Iterable[int]) -> tuple[Stretch, ...]:
    """The stretches that these numbers make."""
    stretches: list[Stretch] = []
    for number in numbers:
        _add(stretches, number, number)
    return tuple(stretches)


def _first(row: tuple[int, object]) -> int:
    return row[0]


def _last(stretch: Stretch) -> int:
    return stretch[1]


def _has(stretches: Sequence[Stretch], number: int) -> bool:
    at = bisect_right(stretches, number, key=_first) - 1
    return at >= 0 and number <= stretches[at][1]


def _list(stretches: Iterable[Stretch]) -> Iterator[int]:
    return (number for first, last in stretches for number in range(first, last + 1))


def _count(stretches: Iterable[Stretch]) -> int:
    return sum(last - first + 1 for first, last in stretches)


def _add(stretches: list[Stretch], first: int, last: int) -> None:
    """One more stretch: it takes up those that it touches."""
    start = bisect_left(stretches, first - 1, key=_last)
    end = bisect_right(stretches, last + 1, key=_first)
    if start < end:
        first, last = min(first, stretches[start][0]), max(last, stretches[end - 1][1])
    stretches[start:end] = [(first, last)]


def _name(stretch: Stretch) -> str:
    first, last = stretch
    if last - first >= SHORT:
        return f"{first}–{last}"
    return " ".join(map(str, range(first, last + 1)))


@frozen
class Marks:
    """Low watermarks: up to which transaction of each coordinator everything has ended.

    Source: TopicTransactionBuffer#handleLowWaterMark, PendingAckHandleImpl#handleLowWaterMark
    (4.2).

    The highest mark heard of each coordinator. In memory only: after a restart there is none.
    """

    by_coordinator: Map[int, int] = Map()

    def covers(self, txn: TxnID) -> bool:
        """Whether this transaction has certainly ended."""
        mark: int | None = self.by_coordinator.get(txn.most)
        return mark is not None and txn.least <= mark

    def hear(self, tc_id: int, mark: int) -> Marks:
        old: int | None = self.by_coordinator.get(tc_id)
        if old is not None and old >= mark:
            return self
        return replace(self, by_coordinator=self.by_coordinator.set(tc_id, mark))


@frozen
class TopicView:
    """What a dispatcher sees of its topic at one moment (PersistentTopic, TransactionBuffer).

    `max_read`: dispatchers read up to here and no further (TransactionBuffer# getMaxReadPosition);
    `lac`: the last confirmed entry; `aborts`: the transactions of which the buffer knows that they
    were aborted (TransactionBuffer#isTxnAborted asks by the id alone, wherever the message is).
    Given for one step, never kept.
    """

    partition: str
    log: LogView
    lac: int
    max_read: int
    aborts: Map[TxnID, int]
    at_ms: int = 0

    def is_aborted(self, txn: TxnID) -> bool:
        return txn in self.aborts
