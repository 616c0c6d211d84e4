"""Which rows were met before: a hash table whose every step is one over whole arrays.

A slot holds the upper half of a row's key and the row's number. A row that comes looks at the
slot its key points to, then one further, two further and so on, which keeps rows with neighbouring
slots out of each other's way, and at last at one after the other, until it finds itself or an
empty slot.
Where the halves of two keys are equal, the rows are compared in full: no answer rests on a hash.

Most rows are equal to one that comes in the same array, since two choices lead to one world in
either order. So nearly all equal rows are first found among each other, in a small table.

All rows that are left take such a step together. Several new rows may want one empty slot; then
the first of them has it. Equal rows go the same way at the same time, so of equal rows the
first is the one that stays, as if they had come one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .rows import Numbers, Rows, Words

HALF, LOW = np.uint64(32), np.uint64((1 << 32) - 1)
FULL = 0.5  # of the slots of a small table; with more, rows look at too many of them
LARGE, FULLER = 1 << 17, 0.7  # slots of a table that takes memory enough, and of those
WIDER = 32  # looks after which a row goes on by single slots, so that it comes to each of them
SLOTS = 1 << 18  # that are put into a larger table together


class Index:
    """The numbers of rows, found by the rows themselves."""

    def __init__(self) -> None:
        self.slots = np.zeros(1 << 8, np.uint64)

    def _point(self, half: Words) -> Numbers:
        """The slots that these halves of keys point to."""
        return (half * np.uint64(len(self.slots)) >> HALF).view(np.int64)

    def _go_on(self, at: Numbers, looks: int) -> Numbers:
        """The slots to look at after so many looks."""
        at = at + (looks if looks < WIDER else 1)
        at -= (at >= len(self.slots)) * len(self.slots)
        return at

    def add(self, rows: Rows, keys: Words) -> tuple[Numbers, Numbers]:
        """Add a batch of rows to the hash table, each distinct row once. The batch was written
        after the last row of `rows` before this call; only its new rows are kept there. `keys`: a
        64-bit hash of each row of the batch. Returns the number of each row of the batch, and the
        places in the batch of the new ones."""
        # `reserve` returns the space after the last row, which holds the batch
        batch, row_count = rows.reserve(len(keys)), rows.count
        # of each row of the batch the place of an equal one before it, or its own; equal rows that
        # are not found here are found by `_insert`
        first_equal = _firsts(batch, keys)
        distinct = np.flatnonzero(first_equal == np.arange(len(keys)))
        self._reserve(row_count + len(distinct))
        halves = keys[distinct] >> HALF
        # until they are kept, a new row has the number row_count + its place in the batch
        numbers, slots = self._insert(rows, distinct, halves)
        is_new = np.flatnonzero(numbers == distinct + row_count)
        new_places, final_number = distinct[is_new], np.zeros(len(keys), np.int64)
        final_number[new_places] = np.arange(row_count, row_count + len(new_places))
        among_new = np.flatnonzero(numbers >= row_count)
        # rows equal to a new row of this batch get that row's final number
        numbers[among_new] = final_number[numbers[among_new] - row_count]
        # slots hold number + 1: 0 is an empty slot
        self.slots[slots[is_new]] = halves[is_new] << HALF | (numbers[is_new] + 1).view(np.uint64)
        rows.keep(new_places)
        final_number[distinct] = numbers
        return final_number.take(first_equal), new_places

    def find(self, rows: Rows, keys: Words, words: Sequence[Words]) -> Numbers:
        """Look rows up in the hash table: returns each one's number among `rows`, those added
        before, or -1. The rows to look up are given by their columns (`words`) and their 64-bit
        hashes (`keys`). All look at one slot each in every round, until they find an equal row or
        an empty slot."""
        numbers = np.full(len(keys), -1, np.int64)
        searching: Numbers | None = None  # places of the rows that go on; None: all of them
        key_halves = keys >> HALF
        slots, rounds, stored = self._point(key_halves), 0, rows.words
        while len(slots):
            # an entry: the upper half of a key and a row's number + 1; 0: an empty slot
            entry = self.slots.take(slots)
            same_half = np.flatnonzero((entry >> HALF == key_halves) & (entry != 0))
            candidate = (entry[same_half] & LOW).view(np.int64) - 1
            places = same_half if searching is None else searching[same_half]
            equal = _equal(stored, candidate, words, places)
            if equal is not None:  # None: all of them are equal
                same_half, places, candidate = same_half[equal], places[equal], candidate[equal]
            numbers[places] = candidate
            unfinished = entry != 0
            unfinished[same_half] = False
            remaining = np.flatnonzero(unfinished)
            searching = remaining if searching is None else searching[remaining]
            rounds += 1
            key_halves, slots = key_halves[remaining], self._go_on(slots[remaining], rounds)
        return numbers

    def _insert(self, rows: Rows, todo: Numbers, half: Words) -> tuple[Numbers, Numbers]:
        """Insert rows, of which few are equal, into the hash table, all at once. `todo`: their
        places after the last row of `rows`; `half`: the upper halves of their keys. In each round
        every row that is left looks at one slot: it takes an empty one, is done where the slot has
        an equal row, and else goes on to its next slot. Returns for each row the number of the row
        that it equals (its own if it is new), and its slot."""
        row_count, rounds = rows.count, 0
        words = [column.whole for column in rows.columns]
        numbers = todo + row_count
        # what a row writes into a slot: the upper half of its key, its number + 1 (0 is empty)
        entries = half << HALF | (numbers + 1).view(np.uint64)
        # `slots`: of each row; `at`: of each row that is left, the slot it looks at in this round
        slots = at = self._point(half)
        remaining = np.arange(len(todo))
        while len(remaining):
            own = entries.take(remaining)
            occupants = self.slots.take(at)
            # 0: empty; reversed, so that of several rows for one slot the first is written last
            at_empty = np.flatnonzero(occupants == 0)[::-1]
            empty = at[at_empty]
            self.slots[empty] = own[at_empty]
            # read back: who has the slot now, where several wanted it
            occupants[at_empty] = self.slots.take(empty)
            # rows whose slot now has another entry than theirs: an equal row, or one of another key
            others = np.flatnonzero(occupants != own)
            occupants = occupants[others]
            alike = (occupants ^ own[others]) >> HALF == 0  # keys alike: equal rows, perhaps
            same_key = np.flatnonzero(alike)
            number = (occupants[same_key] & LOW).view(np.int64) - 1
            candidates = remaining[others[same_key]]
            equal = _equal(words, number, words, numbers[candidates])
            if equal is not None:  # None: all of them are equal
                alike[np.delete(same_key, equal)] = False
                candidates, number = candidates[equal], number[equal]
            numbers[candidates] = number
            going_on = others[np.logical_not(alike)]
            remaining, rounds = remaining[going_on], rounds + 1
            at = self._go_on(at[going_on], rounds)
            slots[remaining] = at
        return numbers, slots

    def _reserve(self, count: int) -> None:
        """Enough slots for so many rows."""
        size = len(self.slots)
        while count > (FULL if size < LARGE else FULLER) * size:
            size += size // 2
        if size > len(self.slots):
            old = self.slots
            self.slots = np.zeros(size, np.uint64)
            for start in range(0, len(old), SLOTS):
                some = old[start : start + SLOTS]
                self._refill(some[some != 0])

    def rebuild(self, keys: Words) -> None:
        """The rows 0, 1, 2 … have other keys now."""
        self.slots[:] = 0
        self._refill(keys >> HALF << HALF | np.arange(1, len(keys) + 1, dtype=np.uint64))

    def _refill(self, entries: Words) -> None:
        """Entries of different rows into slots: nothing has to be compared."""
        at, looks = self._point(entries >> HALF), 0
        while len(entries):
            free = np.flatnonzero(self.slots.take(at) == 0)
            self.slots[at[free]] = entries[free]
            rest = np.flatnonzero(self.slots.take(at) != entries)
            looks += 1
            entries, at = entries[rest], self._go_on(at[rest], looks)


def _firsts(words: Sequence[Words], keys: Words) -> Numbers:
    """For each row the place of an earlier one that is equal to it, or its own. Of rows whose
    keys begin alike only those that are equal to the first of them are found."""
    numbers, bits = np.arange(len(keys)), len(keys).bit_length() + 1
    at = (keys >> np.uint64(64 - bits)).view(np.int64)
    table = np.empty(1 << bits, np.int64)
    table[at[::-1]] = numbers[::-1]  # of several the first is written last
    first = table.take(at)
    same = np.ones(len(keys), np.bool_)
    for word in words:
        same &= word.take(first) == word
    return np.where(same, first, numbers)


def _equal(
    left: Sequence[Words], at: Numbers, right: Sequence[Words], there: Numbers
) -> Numbers | None:
    """Which of the pairs of rows `left[at]` and `right[there]` are equal; None: all."""
    same = left[0].take(at) == right[0].take(there)
    for one, other in zip(left[1:], right[1:], strict=True):
        same &= one.take(at) == other.take(there)
    return None if same.all() else np.flatnonzero(same)
