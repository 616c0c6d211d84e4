"""What every process needs of the search: which neighbourhoods there are, what each choice adds,
and what the claims have been asked. Plain arrays, sent to all of them before each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...explore.index import Index
from ...explore.levels import Levels
from ...explore.news import News
from ...explore.rows import Layout, Numbers, Rows, Words, mix
from ...explore.steps import Neighbourhoods, mix_masked


@dataclass(frozen=True)
class Met:
    """Rows that were met, as the driver knows them."""

    rows: Rows
    index: Index

    def find(self, words: Sequence[Words], keys: Words) -> Numbers:
        return self.index.find(self.rows, keys, words)


@dataclass(frozen=True)
class Place:
    """The neighbourhoods of one place: `groups` by their number."""

    met: Met
    masks: list[tuple[int, int]]
    groups: Numbers

    def find(self, words: Sequence[Words]) -> tuple[Numbers, list[Words], Words]:
        """The number of each world's neighbourhood, -1 where it is new; then the neighbourhoods
        themselves and their keys."""
        own = [np.zeros(len(words[0]), np.uint64) for _ in words]
        for word, mask in self.masks:
            np.bitwise_and(words[word], np.uint64(mask), out=own[word])
        keys = mix_masked(self.masks, own)
        return self.met.find(own, keys), own, keys


@dataclass(frozen=True)
class Readings:
    """What the claims have been asked: `read` has what they read of each node, by its number."""

    met: Met
    read: list[tuple[int, Words]]  # the node's part, and by its number what is read

    def find(self, layout: Layout, words: Sequence[Words]) -> tuple[Numbers, list[Words], Words]:
        """As `Place.find`."""
        own = [np.zeros(len(words[0]), np.uint64) for _ in self.met.rows.columns]
        for number, (part, read) in enumerate(self.read):
            if len(read):
                value = read[layout.numbers(words, part).view(np.int64)]
                self.met.rows.layout.write(own, number, value)
        keys = mix(own)
        return self.met.find(own, keys), own, keys


@dataclass(frozen=True)
class Table:
    """`heard`: of each step, 1 + the place of its hearers in `hearers`, each of which is a part
    and, by its number, the number that it then has (-1: not worked out)."""

    layout: Layout
    draws: Words
    places: list[Place]
    readings: Readings
    counts: Numbers
    starts: Numbers
    sums: Numbers
    choices: NDArray[np.uint32]
    heard: Numbers
    hearers: list[list[tuple[int, Numbers]]]
    words: list[Words]
    keys: Words

    def groups(self, words: Sequence[Words]) -> Numbers:
        """Those of each world, behind each other. Every neighbourhood is known by now."""
        out = np.empty((len(words[0]), len(self.places)), np.int64)
        for number, place in enumerate(self.places):
            out[:, number] = place.groups[place.find(words)[0]]
        return out.ravel()

    def find_new(self, words: Sequence[Words]) -> Numbers:
        """Where the worlds stand in which a neighbourhood or a reading is met for the first
        time."""
        looks = [(place.find(words), self.layout) for place in self.places]
        looks.append((self.readings.find(self.layout, words), self.readings.met.rows.layout))
        firsts = [find_first(numbers < 0, own, keys, at) for (numbers, own, keys), at in looks]
        return np.unique(np.concatenate(firsts))


def find_first(
    new: NDArray[np.bool_], words: Sequence[Words], keys: Words, layout: Layout
) -> Numbers:
    """Of the rows that are new, where the first of each of several equals stands."""
    at = np.flatnonzero(new)
    rows = Rows(layout)
    for column, word in zip(rows.room(len(at)), words, strict=True):
        column[:] = word[at]
    return at[Index().add(rows, keys[at])[1]]


def make_table(levels: Levels, judged: News) -> Table:
    steps, parts = levels.steps, levels.parts
    judged.grow()
    parts.draw(len(levels.rows.layout.spots))  # so that there is one for each
    nodes = parts.fields.nodes
    read = [column.all if len(nodes[i].part.values) > 1 else column.all[:0]
            for i, column in enumerate(judged.read)]  # fmt: skip
    return Table(
        levels.rows.layout,
        parts.draws,
        [_place(own) for own in steps.places],
        Readings(Met(judged.rows, judged.index), [(parts.node(i), r) for i, r in enumerate(read)]),
        steps.counts.all,
        steps.starts.all,
        steps.sums.all,
        steps.choices.all,
        steps.heard.all,
        [[(hearing.part, hearing.after) for hearing in hearings] for hearings in steps.sets],
        [column.all for column in steps.words],
        steps.keys.all,
    )


def _place(own: Neighbourhoods) -> Place:
    return Place(Met(own.rows, own.index), own.masks, own.groups.all)
