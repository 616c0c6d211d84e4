"""Breadth first by arrays: a slice of worlds at a time.

    neighbourhoods   every world's row, masked, is looked up at each place        (steps.py)
    handlers         run once for each neighbourhood that is new, in Python       (moves.py)
    successors       the worlds' rows, taken as often as each has steps, plus the steps' rows
    met before?      looked up in one hash table and compared in full             (index.py)
    judged           what the properties read of the new ones is looked up        (news.py)

Nothing but the handlers and the properties runs once a neighbourhood or once a reading, in
Python; all else is a handful of array operations for some hundred thousand successors.

Worlds get the numbers that `search.py` would give them: slices are taken in the order of the
frontier, the successors of a world are in the order of its places and their steps, and of
equal rows the first is kept. So both searches find the same counterexample, and each of them
can be checked by the other.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from .budget import Full
from .index import Index
from .known import Known
from .news import News
from .rows import Column, Layout, Narrow, Numbers, Parts, Rows, Words
from .steps import Steps, spread

Noticed = tuple[Numbers, int, Words]  # which successors, a part of them, what is added to it
SLICE = 1 << 14  # worlds whose successors are looked at together


class Levels:
    """Goes on with a search that has come to the end of a level."""

    def __init__(self, search: Known) -> None:
        """Go on by arrays with a search that was made in Python so far."""
        self.search = search
        worlds = list(search.worlds())
        self.parts = Parts(search.fields)
        layout = Layout.fit(self.parts.counts)
        self.rows, self.index = Rows(layout), Index()
        self.base = 0  # the number of the first world in `rows`
        words, keys = self.parts.pack(layout, worlds, range(len(self.parts.all)))
        for column, word in zip(self.rows.reserve(len(worlds)), words, strict=True):
            column[:] = word
        self.index.add(self.rows, keys)
        self.keys = keys[search.starts[-1] :]  # of the frontier
        self.steps = Steps(search.moves, self.parts, layout)
        self._judged = News(search.judge, self.parts)
        self._take_over()

    def _take_over(self) -> None:
        """Copy what the search in Python has kept of its worlds so far into arrays, and free its
        own structures."""
        search = self.search
        # `_good`: a bit for each property that must stay reachable
        lasting = [prop.kind == "can_always" for prop in search.properties]
        self._good = sum(1 << place for place, is_lasting in enumerate(lasting) if is_lasting)
        self.degrees = Narrow()  # of each world: how many of `edges` begin there
        self.degrees.extend(np.diff(np.frombuffer(search.ends, np.uint64), prepend=np.uint64(0)))
        columns = {
            "parents": Column(np.uint32),
            "edges": Column(np.uint32),
            "chosen": Narrow(),
            "news": Narrow(),
        }
        for name, column in columns.items():
            found = getattr(search, name)
            column.extend(np.frombuffer(found, found.typecode))
            setattr(search, name, column)
        # (all its worlds are in `self.rows` by now)
        search.index, search.ends, search.frontier = {}, array("Q"), []

    def level(self) -> Iterator[None]:
        """All worlds one choice further."""
        first, _ = self.search.starts[-2:]
        keys, self.keys = self.keys, np.zeros(0, np.uint64)
        new: list[Words] = []
        for at in range(0, len(keys), SLICE):
            new.append(self._slice(first + at, keys[at : at + SLICE]))
            yield
        self.keys = np.concatenate(new)

    def _slice(self, first: int, keys: Words) -> Words:
        """Find the successors of the worlds from number `first` on, which have these `keys` (hashes
        of their rows), and keep the new ones; `level` does so slice by slice. Returns the keys of
        the new ones; raises Full where the bound on states cuts some of them off. The arrays below
        run over the successors, in the sequence in which a search world by world finds them, unless
        a comment says otherwise."""
        search, steps = self.search, self.steps
        words = self._read(first, len(keys))  # the rows of these worlds, by columns
        # `groups`: of each world at each place (node) the number of its group of steps there
        groups = self._find_groups(np.arange(first, first + len(keys)), words)
        steps_taken, ends = spread(steps.counts.all, steps.starts.all, groups)
        successor_count, places = len(steps_taken), len(steps.places)
        # for each successor its parent's place in the slice; each world has a group at each place,
        # so every `places`-th end is that of a world's successors
        parent = np.repeat(np.arange(len(keys)), np.diff(ends[places - 1 :: places], prepend=0))
        # which successors change further, since a node has noticed that another one stopped;
        # `part`: a node, connection or counter of the world, some bits of a row
        link_breaks = list(self._break_links(words, steps_taken, parent))
        if not self.rows.layout.fits(self.parts.counts):  # the handlers made new values
            self._repack()
            words = self._read(first, len(keys))
        steps.settle()
        # a successor's row is its parent's row plus its step's row
        tail = self.rows.reserve(successor_count)
        for column, word, added in zip(tail, words, steps.words, strict=True):
            np.take(word, parent, out=column, mode="clip")
            column += added.all[steps_taken]
        # a key is a sum over the parts, each part's number times a factor drawn for the part
        keys = keys[parent] + steps.keys.all[steps_taken]
        for successors, part, change in link_breaks:
            place, shift, _ = self.rows.layout.fields[part]
            tail[place][successors] += change << np.uint64(shift)
            keys[successors] += change * self.parts.draw(part)
        numbers, new = self.index.add(self.rows, keys)
        is_full = len(new) > (remaining := self._remaining())
        if is_full:
            # Counted are the groups up to that of the first world that does not fit any more: a
            # search world by world has tried that choice before it stops.
            last_group = int(np.searchsorted(ends, new[remaining], "right"))
            groups, new = groups[: last_group + 1], new[:remaining]
        # `sums`: how many choices a group has, also those that change nothing
        search.transitions += int(steps.sums.all[groups].sum())
        self._keep(first + parent[new], steps.choices.all[steps_taken[new]])
        if is_full:
            raise Full
        if search.lasting:
            # worlds in which everything that must stay reachable is already good need no edges
            doubtful = self._news(first, len(words[0])) & self._good != self._good
            search.edges.extend(numbers[doubtful[parent]] + self.base)
            self.degrees.extend(np.diff(ends[places - 1 :: places], prepend=0) * doubtful)
        return keys[new]

    def _remaining(self) -> int:
        """How many more worlds may be looked at."""
        return self.search.budget.states - self.search.states

    def _read(self, first: int, count: int) -> list[Words]:
        """The rows of some worlds, as copies: the rows move when there are more of them."""
        first -= self.base
        return [word[first : first + count].copy() for word in self.rows.words]

    def _find_groups(self, numbers: Numbers, words: list[Words]) -> Numbers:
        """The groups of each of these worlds, those of a world one after the other. The handlers of
        new neighbourhoods run in the order in which a search world by world comes to them."""
        neighbourhoods, fresh = self.steps.find(words)
        if fresh:
            integers = self.steps.integers(fresh)
            for (at, place, _), world in zip(fresh, integers, strict=True):
                self.search.at = int(numbers[at])
                self.steps.work_out(place, world)
            self.steps.register()
        return self.steps.groups(neighbourhoods).ravel()

    def _break_links(self, words: list[Words], step: Numbers, parent: Numbers) -> Iterator[Noticed]:
        """What is added to successors besides, where clients notice that a node has stopped."""
        if not self.steps.sets:
            return
        stops = self.steps.stops.all[step]
        for number, breaks in enumerate(self.steps.sets, 1):
            at = np.flatnonzero(stops == number)
            if not len(at):
                continue
            for peer in breaks:
                numbers = self.rows.layout.numbers(words, peer.part)[parent[at]]
                peer.learn(numbers)
                yield at, peer.part, peer.added(numbers)

    def _repack(self) -> None:
        layout = Layout.fit(self.parts.counts)
        self.rows.repack(layout)
        self.steps.repack(layout)

    def _keep(self, parents: Numbers, choices: Numbers) -> None:
        """The newest rows are worlds: where they come from, and what properties they show."""
        search, first = self.search, self.search.states
        words = [word[first : first + len(parents)] for word in self.rows.words]
        news = self._judge(words, parents)
        search.chosen.extend(choices)
        search.parents.extend(parents)
        if search.lasting:
            search.news.extend(news & self._good)
        self._tell(first, news)

    def _judge(self, words: list[Words], parents: Numbers) -> Words:
        """What properties these new worlds show."""

        def look(place: int) -> None:
            self.search.at = int(parents[place])

        return self._judged.of(self.rows.layout, words, look)

    def _tell(self, first: int, news: Words) -> None:
        for i in range(len(self.search.properties)):
            if self.search.awaited & 1 << i:
                where = np.flatnonzero(news & (1 << i))
                if len(where):
                    self.search.tell(i, first + int(where[0]))

    def worlds(self) -> Iterator[int]:
        """The worlds as large integers, in the order of their numbers."""
        every = range(len(self.parts.all))
        for first in range(0, self.search.states, SLICE):
            words = self._read(first, SLICE)
            yield from self.parts.worlds(self.rows.layout, words, every)

    def stuck(self, bit: int) -> int | None:
        """Find the counterexample to a *can always* property: the first world from which no good
        world (one with this `bit` of news) can be reached; None: there is none. Good worlds are
        spread backwards level by level, again and again until nothing changes."""
        good = self._all_news() & bit != 0
        while True:
            good_before = int(good.sum())
            for depth in reversed(range(self.search.depth)):
                first, last = self.search.starts[depth : depth + 2]
                edges, ends = self._edges(depth)
                starts = np.concatenate([[0], ends[:-1]])
                with_edges = np.flatnonzero(ends > starts)  # `reduceat` needs one edge or more
                if len(with_edges):
                    reaches_good = np.logical_or.reduceat(good[edges], starts[with_edges])
                    good[first:last][with_edges] |= reaches_good
            if int(good.sum()) == good_before:
                bad = np.flatnonzero(np.logical_not(good))
                return int(bad[0]) if len(bad) else None

    def _all_news(self) -> Words:
        news: Words = self.search.news.all
        return news

    def _news(self, first: int, count: int) -> Words:
        """Those of the worlds from number `first` on, which are looked at now."""
        return self._all_news()[first : first + count]

    def _edges(self, depth: int) -> tuple[Numbers, Numbers]:
        """Where the worlds of a depth lead to, and where in this each world's end. Of a world
        in which all is good already no question remains, and nothing was kept."""
        first, last = self.search.starts[depth : depth + 2]
        begin = int(self.degrees.all[:first].sum())
        ends = np.cumsum(self.degrees.all[first:last], dtype=np.int64)
        return self.search.edges.all[begin : begin + int(ends[-1])], ends
