"""A cursor: up to where everything was acknowledged, and what was acknowledged beyond.

`mark_delete` moves over an entry when it and all before it are acknowledged; those beyond it
that are, wait in `individual` (ManagedCursorImpl#individualDeletedMessages). Both are durable
together, as one value.

*Left out:* ManagedCursorImpl writes at most once a second, so that after a kill some plain
acknowledgements are forgotten; ranges instead of single positions.
Read on in ManagedCursorImpl#asyncDelete, #setAcknowledgedPosition (4.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...kernel import replace


@dataclass(frozen=True, slots=True)
class Cursor:
    """`individual`: acknowledged positions beyond `mark_delete`, sorted. `batches`: (position,
    indexes of a batch that were acknowledged), for entries that are not done with, sorted."""

    mark_delete: int = -1
    individual: tuple[int, ...] = ()
    batches: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def is_deleted(self, position: int) -> bool:
        """Whether this entry was acknowledged as a whole."""
        return position <= self.mark_delete or position in self.individual

    def acked_indexes(self, position: int) -> tuple[int, ...]:
        """The indexes of a batch that were acknowledged one by one."""
        return next((indexes for at, indexes in self.batches if at == position), ())

    def delete(self, positions: tuple[int, ...]) -> Cursor:
        """Acknowledge these entries; the mark moves over all that now lies without a gap."""
        acked = sorted(p for p in {*self.individual, *positions} if p > self.mark_delete)
        mark = self.mark_delete
        while acked and acked[0] == mark + 1:
            mark = acked.pop(0)
        batches = tuple(b for b in self.batches if b[0] > mark and b[0] not in acked)
        return Cursor(mark, tuple(acked), batches)

    def delete_up_to(self, position: int) -> Cursor:
        """Acknowledge every entry up to this one (asyncMarkDelete)."""
        if position <= self.mark_delete:
            return self
        return replace(self, mark_delete=position).delete(())

    def ack_indexes(self, position: int, indexes: tuple[int, ...], size: int) -> Cursor:
        """Acknowledge some messages of a batch of `size`; the entry, once they are all done."""
        if self.is_deleted(position):
            return self
        done = tuple(sorted({*self.acked_indexes(position), *indexes}))
        if len(done) >= size:
            return self.delete((position,))
        others = (b for b in self.batches if b[0] != position)
        return replace(self, batches=tuple(sorted((*others, (position, done)))))

    def __str__(self) -> str:
        beyond = "".join(f" {position}" for position in self.individual)
        parts = "".join(f" {at}:{','.join(map(str, done))}" for at, done in self.batches)
        more = f", acked{beyond}{parts}" if beyond or parts else ""
        return f"mark-delete {self.mark_delete}{more}"
