"""What the properties say of whole arrays of worlds, remembered as in `judge.py`: by what they
read of every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from .index import Index
from .judge import Judge
from .rows import Column, Layout, Parts, Rows, Words, mix


class News:
    """One row for each combination of what is read of the nodes, and a bit for each property
    that is news there."""

    def __init__(self, judge: Judge, parts: Parts) -> None:
        self._judge, self._parts = judge, parts
        self._nodes = parts.fields.nodes
        self.read = [Column(np.uint64) for _ in self._nodes]  # what is read, by node's number
        self.rows, self.index = Rows(Layout.fit(self._counts)), Index()
        self._bits = Column(np.uint64)

    @property
    def _counts(self) -> list[int]:
        return [len(node.part.values) for node in self._nodes]

    def of(self, layout: Layout, words: Sequence[Words], look: Callable[[int], None]) -> Words:
        """Judge an array of worlds: returns for each world one bit for each property that is news
        in it (an *always* property that it breaks, another one that holds). What is read of the
        nodes makes a row of a small table, so each combination is judged once; before that, `look`
        is called with the world's place in the array, so that an error of a property can name the
        world. `words`: the worlds' rows, by columns."""
        self.grow()  # nodes may have had new states since the last call
        batch, table_layout = self.rows.reserve(len(words[0])), self.rows.layout
        for column in batch:
            column[:] = 0
        for number, read_numbers in enumerate(self.read):
            if len(self._nodes[number].part.values) > 1:  # else its number is always 0
                states = layout.numbers(words, self._parts.node(number)).view(np.int64)
                table_layout.write(batch, number, read_numbers.all[states])
        # of the batch, which was written after the table's last row, only new rows are kept
        numbers, new_places = self.index.add(self.rows, mix(batch))
        bits = []
        # `part`: a new row of the table as the judge has it, one integer
        for place, part in zip(new_places.tolist(), self._new_parts(), strict=True):
            look(place)
            bits.append(self._judge[part])
            del self._judge[part]  # it is kept in `_bits`, so the cache of the judge need not
        self._bits.extend(bits)
        return self._bits.all[numbers]

    def grow(self) -> None:
        """Nodes may have new values, and of these something new may be read."""
        for node, read in zip(self._nodes, self.read, strict=True):
            if len(node.values) > read.count:
                new = islice(node.values, read.count, None)
                read.extend([node.part.number(worth) for worth in new])
        if not self.rows.layout.fits(self._counts):
            self.rows.repack(Layout.fit(self._counts))
            self.index.rebuild(mix(self.rows.words))

    def _new_parts(self) -> list[int]:
        """The rows that were not judged yet, as `world & fields.parts` would be."""
        rows = [word[self._bits.count :] for word in self.rows.words]
        out = [0] * len(rows[0])
        for number, node in enumerate(self._nodes):
            values = self.rows.layout.numbers(rows, number).tolist()
            out = [key + (n << node.part.shift) for key, n in zip(out, values, strict=True)]
        return out
