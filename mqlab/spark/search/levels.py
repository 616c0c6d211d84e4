"""Breadth first with a job of Spark for each level.

    the driver     runs handlers and claims, sends what is known of them to all (table.py)
    a job          successors, those that are new, their numbers (table.py)
    the driver     is handed the worlds in which something is met for the first time

So Python's part of the search is done once, here, and in the sequence of a search in memory: the
worlds get the same numbers, and what is found is the same. Which machine did what, and whether
one of them died, changes nothing. As on disk, the bound on states is looked at between two levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...explore.budget import Full
from ...explore.index import Index
from ...explore.levels import Levels
from ...explore.rows import MIX, Layout, Numbers, Rows, Words
from . import store
from .store import PLACES, Store, find_parent
from .table import Level, Part, Run, make_table

if TYPE_CHECKING:
    from pyspark import SparkContext

    from ...explore import Search

LARGEST = 1 << 17  # worlds of one task
LEAST = 1 << 10  # for which a task of their own is worth while


class Stored:
    """What is kept of every world, by its number: its parent or the choice that led to it."""

    def __init__(self, levels: SparkLevels, name: str) -> None:
        self._levels, self._name = levels, name

    def __len__(self) -> int:
        return self._levels.count

    def __getitem__(self, world: int) -> int:
        level, part, at = self._levels.find(world)
        path = self._levels.store.worlds(level, part)
        (column,), _ = store.read(path, "order" if self._name == "parents" else "choice")
        return int(find_parent(column)[at] if self._name == "parents" else column[at])


class SparkLevels(Levels):
    """Goes on with a search; `folder` is one that every process of Spark sees."""

    def __init__(self, search: Search, spark: SparkContext, folder: Path, buckets: int) -> None:
        super().__init__(search)
        self.spark, self.store = spark, Store(str(folder.resolve()))
        cores = spark.defaultParallelism
        self.buckets, self.cores = buckets * cores, cores
        self.layouts: list[Layout] = []
        self.parts_of: list[list[int]] = []  # by level of the store: how many worlds each part has
        self.count, self._depth = 0, search.depth
        self._before = self._put_first()
        search.parents, search.chosen = Stored(self, "parents"), Stored(self, "choices")
        self.rows, self.index = Rows(self.rows.layout), Index()

    def _put_first(self) -> tuple[Numbers, Numbers]:
        """Hand a search that began on this machine to the cluster: write the worlds (states of the
        system) that it has found as level 0 on disk, and return its edges: the successors of all
        worlds, and where those of each world end.

        A world is a row of 64-bit words with a hash, its key, which puts it in a bucket. Worlds are
        numbered by `order`: the parent's number in the high bits, then, in PLACES bits, the
        position among the parent's successors.
        """
        # of each world, by its number: `parents` has its parent, `chosen` the choice that led to it
        search = self.search
        parents = search.parents.all.astype(np.int64)
        # `parents` ascends, so its first place of a parent is that of its first successor. From 1:
        # the first world, which has no parent, is stored as a successor of itself.
        nth = np.arange(len(parents)) - np.searchsorted(parents, parents) + (parents > 0)
        order = (parents << PLACES | nth).view(np.uint64)
        words, layout = self.rows.words, self.rows.layout
        keys = self.parts.keys(layout, words)
        # the bucket by the high bits of the mixed key, as in Level.expand
        bucket = (keys * np.uint64(MIX) >> np.uint64(32)) % np.uint64(self.buckets)
        for target in range(self.buckets):
            chosen = np.flatnonzero(bucket == target)
            columns = {"key": keys[chosen], "order": order[chosen]}
            store.write(self.store.known(0, target), columns, [word[chosen] for word in words])
        columns = {"order": order, "key": keys, "choice": search.chosen.all}
        store.write(self.store.worlds(0, 0), columns, words)
        self.layouts.append(layout)
        self.parts_of.append([len(parents)])
        self.count = len(parents)
        first = search.starts[-1]  # of the deepest level, which is expanded next
        self._find_groups(np.arange(first, self.count), [word[first:] for word in words])
        return search.edges.all.astype(np.int64), np.cumsum(self.degrees.all, dtype=np.int64)

    # -- one level ----------------------------------------------------------------------------

    def level(self) -> Iterator[None]:
        """Expand the deepest level on the cluster, in two jobs: first, where nodes can stop, which
        states their peers have that were not seen at a stop before; then the successors, of which
        the new ones are the next level. It yields once, between the two, so that the caller can
        stop there. Raises Full where the budget's states are used up."""
        # `starts`: by level, the number of its first world; the last one is of the level to come
        search = self.search
        # (`count`: of all worlds so far)
        first_expanded, first_new = search.starts[-2], self.count
        job = self._prepare(self._divide(first_expanded))
        if self.steps.sets:
            self._learn_missing(job)
            job.table.destroy()
            job = self._prepare(job.runs)
        yield  # nothing: here, before the job that takes long, the caller may stop the search
        parts = self._run(job)
        job.table.destroy()
        self.layouts.append(self.rows.layout)
        self.parts_of.append([part.worlds for part in parts])
        self.count += sum(part.worlds for part in parts)
        search.transitions += sum(part.counted for part in parts)
        self._take_in(first_new, parts)
        if self.count > first_new and self.count >= search.budget.states:
            raise Full

    def _divide(self, first: int) -> list[Run]:
        """Divide the worlds (states of the system) from number `first` on, all of the last level,
        into runs of one size, a task each. A run's pieces are (part of that level, from, to), with
        places in the part. The first level holds worlds before `first` too, which were expanded
        already."""
        level = len(self.parts_of) - 1
        # the number of worlds in each part, and the number of the part's first world
        sizes, part_first = self.parts_of[level], self.count - sum(self.parts_of[level])
        # an equal share for each core, rounded up
        run_size = min(LARGEST, max(LEAST, -(-(self.count - first) // self.cores)))
        runs, free = [], 0  # `free`: how many worlds the last run has still room for
        for part, size in enumerate(sizes):
            low = max(0, first - part_first)
            while low < size:
                if not free:
                    runs.append(Run(part_first + low, []))
                    free = run_size
                high = min(size, low + free)
                runs[-1].pieces.append((part, low, high))
                free -= high - low
                low = high
            part_first += size
        return runs

    def _prepare(self, runs: list[Run]) -> Level:
        """Everything that is known by now, sent to all."""
        if not self.rows.layout.fits(self.parts.counts):
            self._repack()
        self.steps.settle()
        table = self.spark.broadcast(make_table(self, self._judged))
        lasting, level = self.search.lasting, len(self.layouts)
        return Level(self.store, level, self.layouts, runs, self.buckets, lasting, table)

    def _learn_missing(self, job: Level) -> None:
        """Work out what peers of stopped nodes become, where that is new."""
        missing: dict[tuple[int, int], set[int]] = {}
        several = self.spark.parallelize(range(len(job.runs)), len(job.runs))
        for some in several.map(lambda number: job.find_missing(job.runs[number])).collect():
            for which, numbers in some.items():
                missing.setdefault(which, set()).update(numbers)
        for (at, place), states in sorted(missing.items()):
            self.steps.sets[at][place].learn(np.array(sorted(states), np.uint64))

    def _run(self, job: Level) -> list[Part]:
        count = len(job.runs)
        rows = self.spark.parallelize(range(count), count).mapPartitions(job.expand)
        settled = rows.partitionBy(job.buckets, int).mapPartitionsWithIndex(job.settle)
        parts = settled.partitionBy(count, int).mapPartitionsWithIndex(job.number_worlds)
        return sorted(parts.collect(), key=lambda part: part.part)

    def _take_in(self, first: int, parts: list[Part]) -> None:
        """Run the claims and handlers on the worlds in which something was met for the first time,
        in the sequence of their numbers, and report claims that they decide. `first`: the number of
        the level's first world; `parts`: what was found, by run of parents.
        """
        # `new` counts within a part: its worlds begin at `end - part.worlds`
        ends = first + np.cumsum([part.worlds for part in parts])
        numbers = np.concatenate(
            [part.new + end - part.worlds for part, end in zip(parts, ends, strict=True)]
        )
        if not len(numbers):
            return
        count = self.rows.layout.words
        words = [np.concatenate([part.words[word] for part in parts]) for word in range(count)]
        # a bit for each claim, set where the world decides it; `awaited`: those not decided yet
        news = self._judge(words, numbers)
        for claim in range(len(self.search.properties)):
            deciding = np.flatnonzero(news & (1 << claim))
            if self.search.awaited & 1 << claim and len(deciding):
                self.search.tell(claim, int(numbers[deciding[0]]))
        self._find_groups(numbers, words)

    # -- what was found -----------------------------------------------------------------------

    def find(self, world: int) -> tuple[int, int, int]:
        """The level of the store, the part and the place in it of a world."""
        for level, sizes in enumerate(self.parts_of):
            for part, size in enumerate(sizes):
                if world < size:
                    return level, part, world
                world -= size
        raise IndexError(world)

    def _read_worlds(self) -> Iterator[list[Words]]:
        """All of them in today's layout, a file at a time, in the sequence of their numbers."""
        for level, (sizes, layout) in enumerate(zip(self.parts_of, self.layouts, strict=True)):
            for part in range(len(sizes)):
                _, words = store.read(self.store.worlds(level, part), words=layout.words)
                yield layout.repack(words, self.rows.layout)

    def worlds(self) -> Iterator[int]:
        every = range(len(self.parts.all))
        for words in self._read_worlds():
            yield from self.parts.worlds(self.rows.layout, words, every)

    def _all_news(self) -> Words:
        news = [self._judge(words, np.arange(len(words[0]))) for words in self._read_worlds()]
        return np.concatenate(news)

    @cached_property
    def _orders(self) -> Words:
        """Those of all worlds: their places are the worlds' numbers."""
        files = [(level, part) for level, sizes in enumerate(self.parts_of)
                 for part in range(len(sizes))]  # fmt: skip
        return np.concatenate([store.read(self.store.worlds(*f), "order")[0][0] for f in files])

    def _edges(self, depth: int) -> tuple[Numbers, Numbers]:
        first, last = self.search.starts[depth : depth + 2]
        edges, ends = self._before
        if last <= len(ends):
            begin = int(ends[first - 1]) if first else 0
            return edges[begin : int(ends[last - 1])], ends[first:last] - begin
        level = depth - self._depth + 1
        files = [self.store.edges(level, bucket) for bucket in range(self.buckets)]
        columns = [store.read(path, "parent", "to")[0] for path in files]
        parent = np.concatenate([column[0] for column in columns])
        to = np.concatenate([column[1] for column in columns])[np.argsort(parent)]
        ends = np.searchsorted(np.sort(parent), np.arange(first, last), "right")
        return np.searchsorted(self._orders, to), ends
