"""Breadth first with the finished levels on disk.

The level whose successors are looked at is read from the disk, a block at a time. What is found is
in memory, each row once, until there is too much of it; then it is put aside as a sorted
run (`runs.py`). When a level is complete, its runs are merged, a stretch of keys at a time: what
is there twice goes, and what an earlier level has already. For that the sorted keys are looked
up in the sorted keys of each earlier level, where neighbours are close, and the rows with equal
keys are compared in full. Those that remain get their numbers in the order in which they
were found; so the worlds, their numbers and what is found are those of a search in memory.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .budget import Full
from .described import Damaged
from .index import Index
from .known import Known
from .levels import SLICE, Levels
from .rows import Column, Layout, Narrow, Numbers, Rows, Words
from .runs import Run, find_firsts, merge, sort
from .shelf import Shelf

BLOCK = SLICE << 6  # worlds that are read from the disk together
MOST = 1 << 23  # rows of the next level that are in memory together

Make = Callable[[Any, Any], NDArray[Any]]  # an array of zeros: of this shape, of this type


class Shelved:
    """What is kept of every world, by the world's number."""

    def __init__(self, shelf: Shelf, name: str) -> None:
        self._shelf, self._name = shelf, name

    def __len__(self) -> int:
        last = self._shelf.levels[-1:]
        return sum(level["first"] + level["worlds"] for level in last)

    def __getitem__(self, world: int) -> int:
        firsts = [level["first"] for level in self._shelf.levels]
        level = bisect(firsts, world) - 1
        return int(self._shelf.array(level, self._name)[world - firsts[level]])


class ShelvedLevels(Levels):
    """Goes on with a search whose levels are in a folder; at its beginning there are none."""

    def __init__(self, search: Known, shelf: Shelf) -> None:
        self.shelf = shelf
        super().__init__(search)
        self.steps.logged = True
        search.parents, search.chosen = Shelved(shelf, "parents"), Shelved(shelf, "choices")
        zero = np.zeros(1, np.uint32)
        first = Run(self.rows.layout, self.keys, zero, self.rows.words, zero, zero)
        self._clear()
        if shelf.levels:
            self._restore()
        else:
            for _ in self._finish(first):
                pass

    def _clear(self) -> None:
        """Nothing is known of the next level yet."""
        self._runs: list[Run] = []
        self._aside: list[NDArray[np.uint32]] = []  # edges found with these runs
        self._block: list[Words] = []  # worlds of the last level, from number `_block_at` on
        self._block_at = 0
        self.base = 0  # the place in the next level of the first row that is in memory
        self.degrees = Narrow()
        self._clear_rows()
        self.shelf.sweep()

    def _clear_rows(self) -> None:
        self.rows, self.index = Rows(self.rows.layout), Index()
        self._keys, self._parents = Column(np.uint64), Column(np.uint32)
        self._choices, self.search.edges = Column(np.uint32), Column(np.uint32)

    # -- one level ------------------------------------------------------------------------

    def level(self) -> Iterator[None]:
        search = self.search
        before = search.found.copy(), search.awaited, search.transitions
        try:
            yield from self._find_level()
        except OSError as error:  # a full disk: the levels before it stay as they are
            search.found, search.awaited, search.transitions = before
            self.shelf.sweep()
            raise Full(f"{self.shelf.folder}: {error.strerror}") from error

    def _find_level(self) -> Iterator[None]:
        first, last = self.search.starts[-2:]
        for at in range(first, last, BLOCK):
            level = len(self.shelf.levels) - 1
            self._block = self._open(level, slice(at - first, min(at + BLOCK, last) - first))
            self._block_at = at
            keys = self.parts.keys(self.rows.layout, self._block)
            for begin in range(0, len(keys), SLICE):
                self._keys.extend(self._slice(at + begin, keys[begin : begin + SLICE]))
                if self.rows.count >= MOST:
                    self._set_aside()
                yield
        yield from self._finish(self._sort())

    def _remaining(self) -> int:
        """As many as there are: the bound on states is looked at between two levels."""
        return self.rows.count

    def _read(self, first: int, count: int) -> list[Words]:
        first -= self._block_at
        return [word[first : first + count] for word in self._block]

    def _repack(self) -> None:
        before = self.rows.layout
        super()._repack()
        self._block = before.repack(self._block, self.rows.layout)

    def _keep(self, parents: Numbers, choices: Numbers) -> None:
        """They are no worlds yet: an earlier level may have them."""
        self._parents.extend(parents)
        self._choices.extend(choices)

    def _sort(self) -> Run:
        """The rows in memory as a run."""
        places = np.arange(self.base, self.base + self.rows.count, dtype=np.uint32)
        rest = self.rows.words, self._parents.all, self._choices.all
        return sort(Run(self.rows.layout, self._keys.all, places, *rest))

    def _set_aside(self) -> None:
        """There are too many rows in memory: they go to the disk until the level is complete."""
        run, write = self._sort(), self.shelf.write
        places, words = write(run.places), [write(word) for word in run.words]
        rest = write(run.parents), write(run.choices)
        self._runs.append(Run(run.layout, write(run.keys), places, words, *rest))
        self._aside.append(write(self.search.edges.all))
        self.base += self.rows.count
        self._clear_rows()

    def _finish(self, last: Run) -> Iterator[None]:
        """Finish a level: merge its sorted runs twice and store the result. The first pass finds
        which rows are new worlds, known to no earlier level; the second puts them in the sequence
        in which they were found. A row is a world that a choice led to (several may be equal); its
        place is its number in that sequence, over all runs.
        `last`: the run that is in memory; the others are on disk. Raises Full, after the level is
        stored, where the bound on states is reached."""
        search, runs, layout = self.search, [*self._runs, last], self.rows.layout
        # arrays of zeros: on disk where runs are there too
        make: Make = self.shelf.space if self._runs else np.zeros
        # by place: whether it is a new world; `base`: how many rows the runs on disk have
        is_new = np.zeros(self.base + len(last.keys), np.bool_)
        earlier_or_place = make(len(is_new) if search.lasting else 0, np.int64)
        for run in merge(runs, layout, MOST):  # sorted, a stretch of keys at a time
            firsts = find_firsts(run)  # of each row: where in the run the first equal one is
            first_rows = np.flatnonzero(firsts == np.arange(len(firsts)))
            distinct = run.take(first_rows)
            earlier = self._find_earlier(distinct)
            is_new[distinct.places[earlier < 0]] = True
            if search.lasting:
                by_row = np.zeros(len(firsts), np.int64)
                places = distinct.places.astype(np.int64)
                # below 0: a new world, by its place; else the number it has in an earlier level
                by_row[first_rows] = np.where(earlier < 0, -1 - places, earlier)
                earlier_or_place[run.places] = by_row[firsts]
            yield
        # the number of a new world in this level: how many new ones were found before it, so the
        # sum up to its place less one for itself
        ranks = np.cumsum(is_new, dtype=np.uint32, out=make(len(is_new), np.uint32))
        count = int(np.count_nonzero(is_new))
        ranks -= 1
        rows = make((layout.words, count), np.uint64)
        parents, choices, keys, order = (
            make(count, kind) for kind in (np.uint32, np.uint32, np.uint64, np.uint32)
        )
        done = 0  # `keys` is sorted, `order` has the number of the world of each key
        for run in merge(runs, layout, MOST):
            worlds = run.take(np.flatnonzero(is_new[run.places]))
            number = ranks[worlds.places]
            for row, word in zip(rows, worlds.words, strict=True):
                row[number] = word
            parents[number], choices[number] = worlds.parents, worlds.choices
            end = done + len(number)
            keys[done:end], order[done:end], done = worlds.keys, number, end
            yield
        parts = {"keys": keys, "order": order, "parents": parents, "choices": choices}
        if search.lasting:
            parts["edges"] = self._number_edges(make, earlier_or_place, ranks)
            parts["degrees"] = self.degrees.all
        self._put(make, rows, parts)
        self._clear()
        if count and search.states >= search.budget.states:
            raise Full

    def _number_edges(self, make: Make, numbers: Numbers, ranks: NDArray[np.uint32]) -> Any:
        """The edges by the worlds' numbers. They were kept by the places of rows, of which
        `numbers` says which world an earlier level has or, as `-1 - place`, which row came first.
        """
        first, several = self.search.states, [*self._aside, self.search.edges.all]
        out, done = make(sum(len(edges) for edges in several), np.uint32), 0
        for edges in several:
            for at in range(0, len(edges), BLOCK):
                to = numbers[edges[at : at + BLOCK]]
                late = np.flatnonzero(to < 0)
                to[late] = first + ranks[-1 - to[late]].astype(np.int64)
                out[done : done + len(to)] = to
                done += len(to)
        return out

    def _find_earlier(self, run: Run) -> Numbers:
        """Find for each row of a sorted run its number in an earlier level on disk, or -1. Keys are
        hashes: where two are equal the rows are compared, and if they differ the next equal key is
        tried."""
        numbers = np.full(len(run.keys), -1, np.int64)
        for level in range(len(self.shelf.levels)):
            keys = self.shelf.array(level, "keys")
            at = np.searchsorted(keys, run.keys)
            # `rows`: those not decided yet; `at`: for each of them the place in the level to
            # compare it with
            rows = np.flatnonzero(keys.take(at, mode="clip") == run.keys) if len(keys) else at[:0]
            at = at[rows]
            while len(rows):
                # "order": of each sorted key the place of its row among the level's worlds
                candidates = self.shelf.array(level, "order")[at].astype(np.int64)
                is_same = self._equal(level, candidates, [word[rows] for word in run.words])
                numbers[rows[is_same]] = candidates[is_same] + self.shelf.levels[level]["first"]
                differs = np.logical_not(is_same)
                at, rows = at[differs] + 1, rows[differs]
                has_next = (at < len(keys)) & (keys.take(at, mode="clip") == run.keys[rows])
                at, rows = at[has_next], rows[has_next]
        return numbers

    def _equal(self, level: int, numbers: Numbers, words: list[Words]) -> NDArray[np.bool_]:
        """Whether the worlds with these numbers in a level are these rows."""
        same = np.ones(len(numbers), np.bool_)
        for old, new in zip(self._open(level, numbers), words, strict=True):
            same &= old == new
        return same

    def _open(self, level: int, numbers: Numbers | slice) -> list[Words]:
        """Worlds of a level as rows of today's layout."""
        stored = self.shelf.levels[level]
        layout = Layout(tuple(tuple(field) for field in stored["layout"]), stored["words"])
        flat = self.shelf.array(level, "rows").reshape(layout.words, -1)
        return layout.repack([np.asarray(word[numbers]) for word in flat], self.rows.layout)

    # -- the folder -----------------------------------------------------------------------

    def _put(self, make: Make, rows: Words, parts: dict[str, NDArray[Any]]) -> None:
        """Store a complete level on disk: judge its worlds block by block, and write rows, news
        (where claims need them again: `search.lasting`), the log of what was worked out in Python,
        and the search's counts. `make` makes an array of zeros; `rows`: the level's worlds, by
        columns; `parts`: what else is stored of them, by name."""
        search, first, count = self.search, self.search.states, rows.shape[1]
        news = make(count, np.uint64)
        for begin in range(0, count, BLOCK):
            parents = parts["parents"][begin : begin + BLOCK].astype(np.int64)
            block_news = self._judge([row[begin : begin + BLOCK] for row in rows], parents)
            self._tell(first + begin, block_news)  # notes each property's first world with news
            news[begin : begin + BLOCK] = block_news
        # a line of the log: the numbers of one thing worked out, to be worked out again from them
        layout, log = self.rows.layout, self.steps.log
        self.steps.log = []
        lines = "".join(f"{' '.join(f'{n:x}' for n in line)}\n" for line in log).encode()
        parts = {"rows": rows, **parts, **({"news": news} if search.lasting else {})}
        facts = {
            "first": first,
            "worlds": count,
            "transitions": search.transitions,
            "found": sorted(search.found.items()),
            "layout": layout.fields,
            "words": layout.words,
            "values": self.parts.counts,  # how many each part has had: compared when it is resumed
        }
        self.shelf.put({**parts, "log": lines}, facts)

    def _restore(self) -> None:
        """Restore the search as it was when the last stored level was complete: work out again,
        from the logs, what was worked out in Python, and take over the counts. Raises Damaged where
        the result differs from what was stored."""
        search, levels = self.search, self.shelf.levels
        for number, level in enumerate(levels):
            lines = self.shelf.text(number, "log").splitlines()
            log = [tuple(int(n, 16) for n in line.split()) for line in lines]
            self.steps.work_out_again(log)
            # `counts`: how many values each part of a world (a node, a link) has had
            if self.parts.counts != level["values"]:
                raise Damaged(
                    "{}: level {} differs from what was kept; begin the search again in an "
                    "empty folder",
                    self.shelf.folder,
                    number,
                )
        last = levels[-1]
        layout = Layout.fit(self.parts.counts)
        self.rows = Rows(layout)
        self.steps.repack(layout)
        # without the last one: its worlds are the frontier, whose choices were not looked at yet
        search.levels = [level["worlds"] for level in levels[:-1]]
        search.starts = [level["first"] for level in levels]
        search.transitions = last["transitions"]
        search.found = {}
        # a bit for each property; `tell` clears those that are news in a world
        search.awaited = (1 << len(search.properties)) - 1
        for place, world in last["found"]:
            search.tell(place, world)

    def worlds(self) -> Iterator[int]:
        every = range(len(self.parts.all))
        for level in range(len(self.shelf.levels)):
            words = self._open(level, slice(None))
            yield from self.parts.worlds(self.rows.layout, words, every)

    def _all_news(self) -> Words:
        several = [self.shelf.array(level, "news") for level in range(len(self.shelf.levels))]
        return np.concatenate(several)

    def _news(self, first: int, count: int) -> Words:
        level = len(self.shelf.levels) - 1
        first -= self.shelf.levels[level]["first"]
        news: Words = self.shelf.array(level, "news")[first : first + count]
        return news

    def _edges(self, depth: int) -> tuple[Numbers, Numbers]:
        """They were found with the level that they lead to."""
        degrees = self.shelf.array(depth + 1, "degrees")
        return self.shelf.array(depth + 1, "edges"), np.cumsum(degrees, dtype=np.int64)
