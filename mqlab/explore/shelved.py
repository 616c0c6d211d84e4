"""Breadth first with the finished levels on disk.

In memory are the level whose successors are looked at and the one that is being found. A world
that an earlier level has already is noticed when a level is complete: the keys of its worlds,
sorted, are looked up in the sorted keys of each earlier level, where neighbours stand close, and
the rows behind equal keys are compared in full. Those that remain get their numbers in the order
in which they came; so the worlds, their numbers and what is found are those of a search in
memory.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .budget import Full
from .described import Damaged
from .index import Index
from .levels import Levels
from .rows import Column, Layout, Narrow, Numbers, Rows, Words
from .shelf import Shelf

if TYPE_CHECKING:
    from .search import Search


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

    def __init__(self, search: Search, shelf: Shelf) -> None:
        self.shelf = shelf
        super().__init__(search)
        self.steps.logged = True
        self._clear()
        if shelf.levels:
            self._restore()
        else:
            self._put(self.rows.words, search.parents.all, search.chosen.all)
        search.parents, search.chosen = Shelved(shelf, "parents"), Shelved(shelf, "choices")

    def _clear(self) -> None:
        """Nothing is known of the next level yet."""
        self._parents, self._choices = Column(np.uint32), Column(np.uint32)
        self.search.edges, self.degrees = Column(np.uint32), Narrow()
        self.search.news = Column(np.uint64)

    # -- one level ------------------------------------------------------------------------

    def level(self) -> Iterator[None]:
        search, size = self.search, len(self.keys)
        yield from super().level()
        words = [word[size:] for word in self.rows.words]
        numbers = self._find_earlier(words)
        fresh = np.flatnonzero(numbers < 0)
        first = search.states
        numbers[fresh] = first + np.arange(len(fresh))
        edges = search.edges.all
        late = np.flatnonzero(edges >= first)
        edges[late] = numbers[edges[late] - first]
        self._begin(first, self.rows.layout, [word[fresh] for word in words], self.keys[fresh])
        self._put(self.rows.words, self._parents.all[fresh], self._choices.all[fresh])
        self._clear()
        if len(fresh) and search.states >= search.budget.states:
            raise Full

    def _room(self) -> int:
        """As many as there are: the bound on states is looked at between two levels."""
        return self.rows.count

    def _keep(self, parents: Numbers, choices: Numbers) -> None:
        """They are no worlds yet: an earlier level may have them."""
        self._parents.extend(parents)
        self._choices.extend(choices)

    def _begin(self, first: int, layout: Layout, words: list[Words], keys: Words) -> None:
        """The worlds from number `first` on are those whose successors are looked at next."""
        self.rows, self.index, self.base, self.keys = Rows(layout), Index(), first, keys
        for column, word in zip(self.rows.room(len(keys)), words, strict=True):
            column[:] = word
        self.index.add(self.rows, keys)

    def _find_earlier(self, words: list[Words]) -> Numbers:
        """For each row that was found, the number that it has in an earlier level, or -1. The
        latest level is in memory, where it was looked up before."""
        out = np.full(len(self.keys), -1, np.int64)
        order = np.argsort(self.keys)
        keys = self.keys[order]
        for level in range(len(self.shelf.levels) - 1):
            known = self.shelf.array(level, "keys")
            at = np.searchsorted(known, keys)
            mine = np.flatnonzero(known.take(at, mode="clip") == keys) if len(known) else order[:0]
            at = at[mine]
            while len(mine):
                number = self.shelf.array(level, "order")[at].astype(np.int64)
                same = self._equal(level, number, [word[order[mine]] for word in words])
                out[order[mine[same]]] = number[same] + self.shelf.levels[level]["first"]
                other = np.logical_not(same)
                at, mine = at[other] + 1, mine[other]
                more = (at < len(known)) & (known.take(at, mode="clip") == keys[mine])
                at, mine = at[more], mine[more]
        return out

    def _equal(self, level: int, numbers: Numbers, words: list[Words]) -> NDArray[np.bool_]:
        """Whether the worlds with these numbers in a level are these rows."""
        same = np.ones(len(numbers), np.bool_)
        for old, new in zip(self._open(level, numbers), words, strict=True):
            same &= old == new
        return same

    def _open(self, level: int, numbers: Numbers | slice) -> list[Words]:
        """Worlds of a level as rows of today's layout."""
        stored = self.shelf.levels[level]
        layout = Layout(tuple(tuple(spot) for spot in stored["layout"]), stored["words"])
        flat = self.shelf.array(level, "rows").reshape(layout.words, -1)
        return layout.repack([np.asarray(word[numbers]) for word in flat], self.rows.layout)

    # -- the folder -----------------------------------------------------------------------

    def _put(self, words: list[Words], parents: Words, choices: Words) -> None:
        """A level is complete: what it has to tell, and all of it to the disk."""
        search, order = self.search, np.argsort(self.keys)
        news = self._judge(words, parents.astype(np.int64))
        self._tell(self.base, news)
        layout, log = self.rows.layout, self.steps.log
        self.steps.log = []
        parts: dict[str, NDArray[Any] | bytes] = {
            "rows": np.concatenate(words),
            "keys": self.keys[order],
            "order": order.astype(np.uint32),
            "parents": parents,
            "choices": choices,
            "log": "".join(f"{' '.join(f'{n:x}' for n in line)}\n" for line in log).encode(),
        }
        if search.lasting:
            parts |= {"news": news, "edges": search.edges.all, "degrees": self.degrees.all}
        facts = {
            "first": self.base,
            "worlds": len(self.keys),
            "transitions": search.transitions,
            "found": sorted(search.found.items()),
            "layout": layout.spots,
            "words": layout.words,
            "values": self.parts.counts,
        }
        self.shelf.put(parts, facts)

    def _restore(self) -> None:
        """Everything as it was when the last level was complete."""
        search, levels = self.search, self.shelf.levels
        for number, level in enumerate(levels):
            lines = self.shelf.text(number, "log").splitlines()
            log = [tuple(int(n, 16) for n in line.split()) for line in lines]
            self.steps.work_out_again(log)
            if self.parts.counts != level["values"]:
                raise Damaged(f"{self.shelf.folder}: level {number} does not come out as it did")
        last = levels[-1]
        layout = Layout.fit(self.parts.counts)
        self.rows = Rows(layout)
        self.steps.repack(layout)
        words = self._open(len(levels) - 1, slice(None))
        self._begin(last["first"], layout, words, self.parts.keys(layout, words))
        search.levels = [level["worlds"] for level in levels[:-1]]
        search.starts = [level["first"] for level in levels]
        search.transitions = last["transitions"]
        search.found = {}
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
        first -= self.base
        news: Words = self.shelf.array(len(self.shelf.levels) - 1, "news")[first : first + count]
        return news

    def _edges(self, depth: int) -> tuple[Numbers, Numbers]:
        """They were found with the level that they lead to."""
        degrees = self.shelf.array(depth + 1, "degrees")
        return self.shelf.array(depth + 1, "edges"), np.cumsum(degrees, dtype=np.int64)
