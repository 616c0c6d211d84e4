"""Worlds as columns of 64-bit words.

`packed.py` says what a world is: a sum of numbers, one for each of its parts. Python keeps that
sum as one integer, which is quick to write and slow to have millions of. Here the same numbers
are in words of 64 bits, as closely as their values need: a part of which five values are
known takes three bits. No part straddles two words, so adding a choice's words to a world's
words changes each part as adding the large integers would.

When a part has more values than its bits can say, all rows are *packed again*: shifts and masks
over whole columns. The bits that a word has to spare are given to its parts, so that this is
seldom. A million worlds of a word each are one array of 8 MB, and every step of the search is
one instruction over such arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .packed import WIDE, Field, Fields, NodeField

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
BITS = 64
MIX = 0x9E3779B97F4A7C15  # an odd number whose bits look like drawn ones: 2^64 / golden ratio
MASK = (1 << BITS) - 1


def draw(number: int) -> int:
    """An odd number of 64 bits, the same for the same `number` (Steele's SplitMix64, 2014)."""
    z = (number + 1) * MIX & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31 | 1


def mix(words: Sequence[Words]) -> Words:
    """A key for each row of a small table, by its words: it changes with the layout."""
    keys = np.zeros(len(words[0]), np.uint64)
    for number, word in enumerate(words):
        keys += word * np.uint64(draw(number))
    return keys


@dataclass(frozen=True, slots=True)
class Layout:
    """How the parts of a world are packed into words. `fields`: of each part its word, its lowest
    bit there, and how many bits it has; `words`: how many words a row has."""

    fields: tuple[tuple[int, int, int], ...]
    words: int

    @classmethod
    def fit(cls, counts: Sequence[int]) -> Layout:
        """Make a layout for parts that have so many values each: a part goes to the first word that
        has room for it, or else to a new word. Bits that are then left over are shared out in each
        word, the remainder to its widest parts, but no part gets more than WIDE bits."""
        needed = [(count - 1).bit_length() for count in counts]
        parts_by_word: list[list[int]] = [[]]
        for part, bits in enumerate(needed):
            # None: no word so far has room, so the part begins a new one
            with_room = (m for m in parts_by_word if sum(needed[i] for i in m) + bits <= BITS)
            parts = next(with_room, None)
            if parts is None:
                parts_by_word.append(parts := [])
            parts.append(part)
        fields = [(0, 0, 0)] * len(needed)  # of each part: its word, its lowest bit, its bits
        for word_number, parts in enumerate(parts_by_word):
            spare, remainder = divmod(BITS - sum(needed[i] for i in parts), max(1, len(parts)))
            widest = set(sorted(parts, key=lambda i: -needed[i])[:remainder])
            shift = 0
            for i in parts:
                bits = min(WIDE, needed[i] + spare + (i in widest))
                fields[i] = (word_number, shift, bits)
                shift += bits
        return cls(tuple(fields), len(parts_by_word))

    def fits(self, counts: Sequence[int]) -> bool:
        """Whether parts of so many values have room here."""
        known = len(self.fields) == len(counts)
        return known and all(c <= 1 << s[2] for c, s in zip(counts, self.fields, strict=True))

    def numbers(self, words: Sequence[Words], part: int) -> Words:
        """The number that a part has in each row."""
        word, shift, bits = self.fields[part]
        return words[word] >> np.uint64(shift) & np.uint64((1 << bits) - 1)

    def write(self, words: Sequence[Words], part: int, numbers: Words) -> None:
        """Adds a part's numbers to rows in which it is 0 (modulo 2^64, so that a difference
        may be added as well)."""
        word, shift, _ = self.fields[part]
        words[word] += numbers << shift

    def masks(self, parts: Iterable[int]) -> list[tuple[int, int]]:
        """(word, mask) of every word in which one of these parts has bits."""
        by_word: dict[int, int] = {}
        for part in parts:
            word, shift, bits = self.fields[part]
            if bits:
                by_word[word] = by_word.get(word, 0) | ((1 << bits) - 1) << shift
        return sorted(by_word.items())

    def repack(self, words: Sequence[Words], new: Layout) -> list[Words]:
        """The same rows in another layout, which has room for them. Parts that move together
        are moved together."""
        moves: dict[tuple[int, int, int], int] = {}
        for (word, shift, bits), (to, there, _) in zip(self.fields, new.fields, strict=False):
            if bits:
                move = (word, to, there - shift)
                moves[move] = moves.get(move, 0) | ((1 << bits) - 1) << shift
        out = [np.zeros(len(words[0]), np.uint64) for _ in range(new.words)]
        for (word, to, up), mask in moves.items():
            part = words[word] & mask
            out[to] |= part << up if up >= 0 else part >> -up
        return out


class Column:
    """An array that grows at its end, in place. `all` is what it holds, as a view: take a new
    one after it has grown."""

    __slots__ = ("_kept", "count")

    def __init__(self, dtype: Any) -> None:
        self._kept = np.zeros(64, dtype)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: int) -> int:
        return int(self._kept[at])

    def __iter__(self) -> Iterator[int]:
        return iter(self.all.tolist())

    @property
    def all(self) -> NDArray[Any]:
        return self._kept[: self.count]

    @property
    def whole(self) -> NDArray[Any]:
        """With the space that there is after the end."""
        return self._kept

    def reserve(self, more: int) -> NDArray[Any]:
        """Reserve space for `more` values after the end; returns it as a view, with anything in it.
        `count` stays as it is."""
        need = self.count + more
        if need > len(self._kept):
            self._kept.resize(need + need // 8, refcheck=False)
        return self._kept[self.count : need]

    def extend(self, values: Any) -> None:
        self.reserve(len(values))[:] = values
        self.count += len(values)


class Narrow(Column):
    """Numbers from 0 on in a type that is as small as the largest of them needs."""

    def __init__(self) -> None:
        super().__init__(np.uint8)

    def extend(self, values: Any) -> None:
        needed = np.min_scalar_type(int(np.max(values, initial=0)))
        if needed.itemsize > self._kept.itemsize:
            self._kept = self._kept.astype(needed)
        super().extend(values)


class Rows:
    """Rows in one layout, numbered in the order in which they came; a column for each word."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.columns = [Column(np.uint64) for _ in range(layout.words)]

    @property
    def count(self) -> int:
        return self.columns[0].count

    @property
    def words(self) -> list[Words]:
        return [column.all for column in self.columns]

    def reserve(self, more: int) -> list[Words]:
        return [column.reserve(more) for column in self.columns]

    def keep(self, places: Numbers) -> None:
        """Of the rows written after the end, keep those at these places, in this order."""
        for column in self.columns:
            tail = column.reserve(int(places[-1]) + 1 if len(places) else 0)
            tail[: len(places)] = tail[places]
            column.count += len(places)

    def extend(self, words: Sequence[Words]) -> None:
        for column, more in zip(self.columns, words, strict=True):
            column.extend(more)

    def repack(self, layout: Layout) -> None:
        """All rows in a new layout, a block at a time, so that little is in memory twice."""
        old = self.words
        new = Rows(layout)
        for start in range(0, self.count, 1 << 16):
            new.extend(self.layout.repack([w[start : start + (1 << 16)] for w in old], layout))
        self.layout, self.columns = layout, new.columns


class Parts:
    """The parts of a system's worlds in the order of the columns' layout: counters, nodes, then
    links as they are first used."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self._fixed: list[Field] = [*fields.counters.values(), *fields.nodes]
        self.draws = np.zeros(0, np.uint64)

    @property
    def all(self) -> list[Field]:
        return [*self._fixed, *self.fields.links.values()]

    @property
    def counts(self) -> list[int]:
        return [len(field.values) for field in self.all]

    def node(self, number: int) -> int:
        """The part that a node is."""
        return len(self.fields.counters) + number

    def under(self, mask: int) -> list[int]:
        """The parts that have bits in a mask of the large integers."""
        return [i for i, field in enumerate(self.all) if field.mask & mask]

    def read(self, worlds: Sequence[int], parts: Iterable[int]) -> list[tuple[int, Words]]:
        """Of large integers, the number of each of these parts. Every field of them begins and
        ends with a byte, so this needs no arithmetic on large integers."""
        size = self.fields.bytes
        flat = b"".join([world.to_bytes(size, "little") for world in worlds])
        table = np.frombuffer(flat, np.uint8).reshape(len(worlds), size)
        every, out = self.all, []
        for part in parts:
            at = every[part].shift // 8
            wide = (every[part].limit.bit_length() - 1) // 8
            number = np.zeros(len(worlds), np.uint64)
            for byte in range(wide):
                number |= table[:, at + byte].astype(np.uint64) << (8 * byte)
            out.append((part, number))
        return out

    def worlds(self, layout: Layout, words: Sequence[Words], parts: Iterable[int]) -> list[int]:
        """The other way: a large integer for each row, of these parts."""
        every, out = self.all, [0] * len(words[0])
        for part in parts:
            field = every[part]
            numbers = layout.numbers(words, part).tolist()
            if isinstance(field, NodeField):
                worths = list(field.values)
                out = [world + worths[n] for world, n in zip(out, numbers, strict=True)]
            else:
                shift = field.shift
                out = [world + (n << shift) for world, n in zip(out, numbers, strict=True)]
        return out

    def pack(
        self, layout: Layout, worlds: Sequence[int], parts: Sequence[int]
    ) -> tuple[list[Words], Words]:
        """Large integers as rows of these parts, and the key of each: the sum of every part's
        number times a number drawn for the part. A key does not depend on the layout, and the
        key of a sum is the sum of the keys."""
        words = [np.zeros(len(worlds), np.uint64) for _ in range(layout.words)]
        keys = np.zeros(len(worlds), np.uint64)
        for part, numbers in self.read(worlds, parts):
            layout.write(words, part, numbers)
            keys += numbers * self.draw(part)
        return words, keys

    def keys(self, layout: Layout, words: Sequence[Words]) -> Words:
        """The keys of rows."""
        keys = np.zeros(len(words[0]), np.uint64)
        for part in range(len(layout.fields)):
            keys += layout.numbers(words, part) * self.draw(part)
        return keys

    def draw(self, part: int) -> np.uint64:
        if part >= len(self.draws):
            self.draws = np.array([draw(i) for i in range(part + 64)], np.uint64)
        return self.draws[part]  # type: ignore[no-any-return]
