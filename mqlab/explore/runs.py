"""Rows that do not fit into memory together, as sorted runs.

A level may be wider than memory. What is found of it is then put aside from time to time as a
*run*: rows sorted by their keys, in a file. Equal rows have equal keys; so all of them are in
the same stretch of keys of each run, and one stretch after the other can be read, sorted and
rid of what is there twice, as an external merge sort does (Knuth, volume 3, 5.4). A row's
*place* says which one of the level it was when it was found. Of equal rows the first is kept,
as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rows import MASK, Layout, Numbers, Words


@dataclass(frozen=True, slots=True)
class Run:
    """Rows in the order of their keys, and of equal keys in the order of their places. `layout`,
    `words`: the worlds; `parents`, `choices`: from which world, by which choice."""

    layout: Layout
    keys: Words
    places: NDArray[np.uint32]
    words: list[Words]
    parents: NDArray[np.uint32]
    choices: NDArray[np.uint32]

    def take(self, at: Any) -> Run:
        """Some of its rows."""
        words = [word[at] for word in self.words]
        rest = self.keys[at], self.places[at], words, self.parents[at], self.choices[at]
        return Run(self.layout, *rest)

    def repack(self, layout: Layout) -> Run:
        """The same rows in a layout that has room for them."""
        words = self.layout.repack(self.words, layout)
        return Run(layout, self.keys, self.places, words, self.parents, self.choices)


def sort(run: Run) -> Run:
    return run.take(np.argsort(run.keys, kind="stable"))


def merge(runs: Sequence[Run], layout: Layout, most: int) -> Iterator[Run]:
    """The rows of all runs, which are in the order of their places: a stretch of keys at a
    time, each of about `most` rows, since keys are spread evenly."""
    pieces = 1 + sum(len(run.keys) for run in runs) // most
    ends = [piece * (MASK + 1) // pieces for piece in range(pieces + 1)]
    for low, end in pairwise(ends):
        parts = []
        for run in runs:
            first = np.searchsorted(run.keys, np.uint64(low))
            last = np.searchsorted(run.keys, np.uint64(end - 1), "right")
            parts.append(run.take(slice(first, last)).repack(layout))
        yield sort(_join(parts))


def _join(runs: Sequence[Run]) -> Run:
    words = [np.concatenate(several) for several in zip(*(r.words for r in runs), strict=True)]
    return Run(
        runs[0].layout,
        np.concatenate([run.keys for run in runs]),
        np.concatenate([run.places for run in runs]),
        words,
        np.concatenate([run.parents for run in runs]),
        np.concatenate([run.choices for run in runs]),
    )


def find_firsts(run: Run) -> Numbers:
    """For each row of a sorted run, find the place of the first row that is equal to it. Rows with
    the same key are compared in full, with the first of them; those that differ from it are
    compared again among themselves."""
    firsts = np.arange(len(run.keys))
    # only rows whose neighbour has the same key need a comparison
    repeated = np.flatnonzero(run.keys[1:] == run.keys[:-1])
    undecided = np.union1d(repeated, repeated + 1)
    while len(undecided):
        keys = run.keys[undecided]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        candidates = undecided[np.repeat(starts, np.diff(np.append(starts, len(undecided))))]
        # a candidate is equal to itself, so each round decides at least the first row of each key
        same = np.ones(len(undecided), np.bool_)
        for word in run.words:
            same &= word[undecided] == word[candidates]
        firsts[undecided[same]] = candidates[same]
        undecided = undecided[np.logical_not(same)]
    return firsts
