"""A cursor: up to where everything was acknowledged, and what was acknowledged beyond.

`mark_delete` moves over an entry when it and all before it are acknowledged; those beyond it
that are, wait in `individual` (ManagedCursorImpl#individualDeletedMessages). Both are durable
together, as one value.

What waits is kept as stretches without a gap, as the real cursor keeps it (LongPairRangeSet): one
message that nobody acknowledges may have a million acknowledged ones behind it, and they are one
stretch. To find a position costs the logarithm of the number of stretches.

*Left out:* ManagedCursorImpl writes at most once a second, so that after a kill some plain
acknowledgements are forgotten.
Read on in ManagedCursorImpl#asyncDelete, #setAcknowledgedPosition (4.2).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ...kernel import frozen, replace

#: (first, last) of a stretch of positions
Stretch = tuple[int, int]
#: so many positions of a stretch are written one by one
SHORT = 8


@frozen
class Cursor:
    """`individual`: stretches (first, last) of acknowledged positions beyond `mark_delete`, sorted,
    with a gap before each. `batches`: (position, indexes of a batch that were acknowledged), for
    entries that are not done with, sorted."""

    mark_delete: int = -1
    individual: tuple[Stretch, ...] = ()
    batches: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def is_deleted(self, position: int) -> bool:
        """Whether this entry was acknowledged as a whole."""
        if position <= self.mark_delete:
            return True
        at = bisect_right(self.individual, position, key=_first) - 1
        return at >= 0 and position <= self.individual[at][1]

    def list_individual(self) -> Iterator[int]:
        """Every acknowledged position beyond `mark_delete`."""
        for first, last in self.individual:
            yield from range(first, last + 1)

    def count_individual(self) -> int:
        return sum(last - first + 1 for first, last in self.individual)

    def acked_indexes(self, position: int) -> tuple[int, ...]:
        """The indexes of a batch that were acknowledged one by one."""
        at = bisect_left(self.batches, position, key=_first)
        found = at < len(self.batches) and self.batches[at][0] == position
        return self.batches[at][1] if found else ()

    def delete(self, positions: tuple[int, ...]) -> Cursor:
        """Acknowledge these entries; the mark moves over all that now lies without a gap."""
        stretches = list(self.individual)
        for position in positions:
            if position > self.mark_delete:
                _add(stretches, position)
        return self._settle(self.mark_delete, stretches, positions)

    def delete_up_to(self, position: int) -> Cursor:
        """Acknowledge every entry up to this one (asyncMarkDelete)."""
        if position <= self.mark_delete:
            return self
        return self._settle(position, list(self.individual), ())

    def _settle(self, mark: int, stretches: list[Stretch], acked: tuple[int, ...]) -> Cursor:
        """The mark moves over what touches it; what is done with forgets its indexes."""
        reached = bisect_right(stretches, mark + 1, key=_first)
        if reached:
            mark = max(mark, stretches[reached - 1][1])
        batches = self.batches
        if batches:
            gone = frozenset(acked)
            batches = tuple(b for b in batches if b[0] > mark and b[0] not in gone)
        return Cursor(mark, tuple(stretches[reached:]), batches)

    def ack_indexes(self, position: int, indexes: tuple[int, ...], size: int) -> Cursor:
        """Acknowledge some messages of a batch of `size`; the entry, once they are all done."""
        if self.is_deleted(position):
            return self
        done = tuple(sorted({*self.acked_indexes(position), *indexes}))
        if len(done) >= size:
            return self.delete((position,))
        start = bisect_left(self.batches, position, key=_first)
        end = bisect_right(self.batches, position, key=_first)
        batches = (*self.batches[:start], (position, done), *self.batches[end:])
        return replace(self, batches=batches)

    def __str__(self) -> str:
        beyond = "".join(f" {words}" for words in map(_name, self.individual))
        parts = "".join(f" {at}:{','.join(map(str, done))}" for at, done in self.batches)
        more = f", acked{beyond}{parts}" if beyond or parts else ""
        return f"mark-delete {self.mark_delete}{more}"


def _first(row: tuple[int, object]) -> int:
    return row[0]


def _add(stretches: list[Stretch], position: int) -> None:
    """One more position: in a stretch, at the end of one or two, or by itself."""
    at = bisect_right(stretches, position, key=_first)
    first = last = position
    start = end = at
    if at and stretches[at - 1][1] >= position - 1:
        start, first = at - 1, stretches[at - 1][0]
        last = max(last, stretches[at - 1][1])
    if at < len(stretches) and stretches[at][0] == position + 1:
        end, last = at + 1, stretches[at][1]
    stretches[start:end] = [(first, last)]


def _name(stretch: Stretch) -> str:
    first, last = stretch
    if last - first >= SHORT:
        return f"{first}–{last}"
    return " ".join(map(str, range(first, last + 1)))
