"""Tasks of a search, and the table that each needs: which neighbourhoods there are, what each
choice adds, what the claims have been asked. Plain arrays, sent to all before each level. A world
is a state of the system that is searched; a level has those that as many choices lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark import Broadcast

from ...explore.index import Index
from ...explore.levels import Levels
from ...explore.news import News
from ...explore.rows import MIX, Layout, Numbers, Rows, Words, mix
from ...explore.steps import Neighbourhoods, mix_masked, spread
from . import store
from .store import PLACES, Store, find_parent


@dataclass(frozen=True)
class Met:
    """Rows that were met, as the driver knows them."""

    rows: Rows
    index: Index

    def find(self, words: Sequence[Words], keys: Words) -> Numbers:
        return self.index.find(self.rows, keys, words)


@dataclass(frozen=True)
class Place:
    """The neighbourhoods of one place: `groups` by their number. `met`: the neighbourhoods that are
    known; `masks`: (word, mask) of the bits that belong to one."""

    met: Met
    masks: list[tuple[int, int]]
    groups: Numbers

    def find(self, words: Sequence[Words]) -> tuple[Numbers, list[Words], Words]:
        """The number of each world's neighbourhood, -1 where it is new; then the neighbourhoods
        themselves and their keys."""
        masked = [np.zeros(len(words[0]), np.uint64) for _ in words]
        for word, mask in self.masks:
            np.bitwise_and(words[word], np.uint64(mask), out=masked[word])
        keys = mix_masked(self.masks, masked)
        return self.met.find(masked, keys), masked, keys


@dataclass(frozen=True)
class Readings:
    """What the claims have been asked: `read` has what they read of each node, by its number.
    `met`: what was read before, by number."""

    met: Met
    read: list[tuple[int, Words]]  # the node's part, and by its number what is read

    def find(self, layout: Layout, words: Sequence[Words]) -> tuple[Numbers, list[Words], Words]:
        """As `Place.find`."""
        masked = [np.zeros(len(words[0]), np.uint64) for _ in self.met.rows.columns]
        for number, (part, read) in enumerate(self.read):
            if len(read):
                value = read[layout.numbers(words, part).view(np.int64)]
                self.met.rows.layout.write(masked, number, value)
        keys = mix(masked)
        return self.met.find(masked, keys), masked, keys


@dataclass(frozen=True)
class Table:
    """`stops`: of each step, 1 + the place of its peers in `peers`, each of which is a part and, by
    its number, the number that it then has (-1: not worked out). `layout`: of the worlds; `draws`:
    the random factor of each part, for keys; `places`: the neighbourhoods by place; `readings`:
    what claims read; `counts`, `starts`: the steps of each group; `sums`: its choices; `choices`,
    `words`, `keys`: of each step the choice and what it adds to the words and the key of a
    world."""

    layout: Layout
    draws: Words
    places: list[Place]
    readings: Readings
    counts: Numbers
    starts: Numbers
    sums: Numbers
    choices: NDArray[np.uint32]
    stops: Numbers
    peers: list[list[tuple[int, Numbers]]]
    words: list[Words]
    keys: Words

    def groups(self, words: Sequence[Words]) -> Numbers:
        """Those of each world, one after the other. Every neighbourhood is known by now."""
        out = np.empty((len(words[0]), len(self.places)), np.int64)
        for number, place in enumerate(self.places):
            out[:, number] = place.groups[place.find(words)[0]]
        return out.ravel()

    def find_new(self, words: Sequence[Words]) -> Numbers:
        """Where the worlds are in which a neighbourhood or a reading is met for the first
        time."""
        looks = [(place.find(words), self.layout) for place in self.places]
        looks.append((self.readings.find(self.layout, words), self.readings.met.rows.layout))
        firsts = [find_first(found < 0, rows, keys, at) for (found, rows, keys), at in looks]
        return np.unique(np.concatenate(firsts))


def find_first(
    new: NDArray[np.bool_], words: Sequence[Words], keys: Words, layout: Layout
) -> Numbers:
    """Of the rows that are new, where the first of each of several equals is."""
    at = np.flatnonzero(new)
    rows = Rows(layout)
    for column, word in zip(rows.reserve(len(at)), words, strict=True):
        column[:] = word[at]
    return at[Index().add(rows, keys[at])[1]]


def make_table(levels: Levels, judged: News) -> Table:
    """Make the table that workers need to find the successors of worlds without running handlers:
    all steps met so far, as arrays (`Table` says what each is). `levels`: the search so far;
    `judged`: what the claims have read so far."""
    steps, parts = levels.steps, levels.parts
    judged.grow()  # to the values that nodes have by now
    parts.draw(len(levels.rows.layout.fields))  # so that there is one for each
    nodes = parts.fields.nodes
    # empty for a node with one value only: what claims read of it never differs
    read = [column.all if len(nodes[i].part.values) > 1 else column.all[:0]
            for i, column in enumerate(judged.read)]  # fmt: skip
    return Table(
        levels.rows.layout,
        parts.draws,
        [_place(known) for known in steps.places],
        Readings(Met(judged.rows, judged.index), [(parts.node(i), r) for i, r in enumerate(read)]),
        steps.counts.all,
        steps.starts.all,
        steps.sums.all,
        steps.choices.all,
        steps.stops.all,
        [[(peer.part, peer.after) for peer in peers] for peers in steps.sets],
        [column.all for column in steps.words],
        steps.keys.all,
    )


def _place(known: Neighbourhoods) -> Place:
    return Place(Met(known.rows, known.index), known.masks, known.groups.all)


# ---- What a process does with some worlds of a level ---------------------------------
#
#     expand   the successors of a run of worlds, each to the bucket of its key
#     settle   of the rows in a bucket, those that no level has yet: the first of equals stays
#     number   the new worlds of a run of parents, in their order, to the disk
#
# Nothing is decided by when a task runs, where, or how often: settling compares orders, and a
# task that is done again writes the same file.

SLICE = 1 << 14  # worlds whose successors are looked at together


class Block(NamedTuple):
    """Some rows on their way. `counted`: transitions, in one block of each run of worlds."""

    counted: int
    order: Words
    keys: Words
    choices: NDArray[np.uint32]
    words: list[Words]

    def take(self, places: Any, counted: int = 0) -> Block:
        words = [word[places] for word in self.words]
        return Block(counted, self.order[places], self.keys[places], self.choices[places], words)


def join(blocks: Iterable[tuple[int, Block]], words: int) -> Block:
    """All rows of some blocks by their order."""
    every = [block for _, block in blocks]
    if not every:
        none = np.zeros(0, np.uint64)
        return Block(0, none, none, none.astype(np.uint32), [none] * words)
    order = np.concatenate([block.order for block in every])
    by = np.argsort(order)
    columns = [np.concatenate([block.words[w] for block in every])[by] for w in range(words)]
    keys = np.concatenate([block.keys for block in every])[by]
    choices = np.concatenate([block.choices for block in every])[by]
    return Block(sum(block.counted for block in every), order[by], keys, choices, columns)


class Run(NamedTuple):
    """Worlds with consecutive numbers from `first` on: pieces of files of the last level."""

    first: int
    pieces: list[tuple[int, int, int]]  # part, from, to


@dataclass(frozen=True)
class Level:
    """One job. `layouts`: of the files of each earlier level; `runs`: the worlds whose successors
    are found. `lasting`: every edge is kept as well. `store`: the files; `buckets`: parts of a
    level; `table`: what all workers need."""

    store: Store
    number: int
    layouts: list[Layout]
    runs: list[Run]
    buckets: int
    lasting: bool
    table: Broadcast[Table]

    # -- the worlds of a run ----------------------------------------------------------------

    def slices(self, run: Run) -> Iterator[tuple[Numbers, Words, list[Words]]]:
        """Numbers, keys and rows in today's layout."""
        first, layout = run.first, self.layouts[-1]
        for part, low, high in run.pieces:
            path = self.store.worlds(self.number - 1, part)
            (keys,), words = store.read(path, "key", words=layout.words)
            for at in range(low, high, SLICE):
                end = min(at + SLICE, high)
                rows = layout.repack([word[at:end] for word in words], self.table.value.layout)
                yield np.arange(first, first + end - at), keys[at:end], rows
                first += end - at

    def find_missing(self, run: Run) -> dict[tuple[int, int], set[int]]:
        """For each peer of a node that stops, its states whose break was not worked out yet."""
        table = self.table.value
        out: dict[tuple[int, int], set[int]] = {}
        for numbers, _, words in self.slices(run):
            step, parent = _steps(table, table.groups(words), len(numbers))
            stops = table.stops[step]
            for which, peers in enumerate(table.peers):
                at = parent[stops == which + 1]
                for place, (part, after) in enumerate(peers):
                    value = table.layout.numbers(words, part)[at].view(np.int64)
                    new = np.unique(value[after[value] < 0]).tolist()
                    out.setdefault((which, place), set()).update(new)
        return out

    # -- the three steps of a level -----------------------------------------------------------

    def expand(self, runs: Iterable[int]) -> Iterator[tuple[int, Block]]:
        for number in runs:
            for numbers, keys, words in self.slices(self.runs[number]):
                whole = self._successors(numbers, keys, words)
                bucket = (whole.keys * np.uint64(MIX) >> np.uint64(32)) % np.uint64(self.buckets)
                for target in range(self.buckets):
                    mine = np.flatnonzero(bucket == target)
                    counted = 0 if target else whole.counted
                    if len(mine) or counted:
                        yield target, whole.take(mine, counted)

    def _successors(self, numbers: Numbers, keys: Words, words: list[Words]) -> Block:
        """The successors of some worlds, as a block of rows: each world's words plus what each of
        its steps adds, and for the stop of a node what its peers add besides; unless edges are kept
        (`lasting`), the first of equal ones. `numbers`, `keys`, `words`: of the worlds. The block's
        `order` has the parent's number, then the position among its successors."""
        table = self.table.value
        groups = table.groups(words)
        step, parent = _steps(table, groups, len(numbers))
        rows = [w[parent] + added[step] for w, added in zip(words, table.words, strict=True)]
        keys = keys[parent] + table.keys[step]
        stops = table.stops[step]
        # `stops` has 0 for a step that stops no node; `after`: by a peer's number before the stop,
        # its number after it; the differences are unsigned and wrap round, as the sums do
        for peer_set, peers in enumerate(table.peers, 1):
            stopped = np.flatnonzero(stops == peer_set)
            for part, after in peers:
                before = table.layout.numbers(words, part)[parent[stopped]]
                change = after[before.view(np.int64)].view(np.uint64) - before
                place, shift, _ = table.layout.fields[part]
                rows[place][stopped] += change << np.uint64(shift)
                keys[stopped] += change * table.draws[part]
        # the successor's place among those of its parent, from 1
        nth = np.arange(len(parent)) - np.searchsorted(parent, parent) + 1
        order = (numbers[parent] << PLACES | nth).view(np.uint64)
        counted = int(table.sums[groups].sum())  # transitions: the choices of all groups
        block = Block(counted, order, keys, table.choices[step], rows)
        return block if self.lasting else block.take(Distinct(table.layout, block).firsts, counted)

    def settle(
        self, bucket: int, blocks: Iterable[tuple[int, Block]]
    ) -> Iterator[tuple[int, Block]]:
        """Find the next level: yield the successors (`blocks`, each with the bucket's number) in
        one bucket that no level has had before, of equal ones the first, as (number of the run that
        their parents are in, rows). Writes them and, where edges are kept (`lasting`), the
        edges."""
        layout = self.table.value.layout
        block = join(blocks, layout.words)
        distinct = Distinct(layout, block)
        order = self._find_earlier(bucket, distinct, block)
        if self.lasting:
            path, parent = self.store.edges(self.number, bucket), find_parent(block.order)
            store.write(path, {"parent": parent, "to": order[distinct.numbers]})
        firsts = distinct.firsts
        # A row keeps its own order where no earlier world equals it.
        new = block.take(firsts[order == block.order[firsts]], block.counted)
        path = self.store.known(self.number, bucket)
        store.write(path, {"key": new.keys, "order": new.order}, new.words)
        # a row's order begins with its parent's number, so each run's rows are one stretch
        parents = find_parent(new.order)
        for run_number, run in enumerate(self.runs):
            end = run.first + sum(high - low for _, low, high in run.pieces)
            low, high = np.searchsorted(parents, [run.first, end])
            if high > low or not run_number:  # the first has the bucket's number of transitions
                yield run_number, new.take(slice(low, high), 0 if run_number else new.counted)

    def _find_earlier(self, bucket: int, distinct: Distinct, block: Block) -> Words:
        """The order of each distinct row of the block: that of the earlier level's world that it
        equals, or its own where it is new. Keys are looked up first, level by level; rows with
        equal keys are compared in full."""
        order = block.order[distinct.firsts]
        keys = np.sort(block.keys[distinct.firsts])
        for level, layout in enumerate(self.layouts if len(keys) else []):
            path = self.store.known(level, bucket)
            (known,), _ = store.read(path, "key")
            # earlier worlds whose key a row has too
            possible = np.flatnonzero(keys.take(np.searchsorted(keys, known), mode="clip") == known)
            if len(possible):
                (orders,), words = store.read(path, "order", words=layout.words)
                rows = layout.repack([word[possible] for word in words], distinct.rows.layout)
                matches = distinct.index.find(distinct.rows, known[possible], rows)
                same = np.flatnonzero(matches >= 0)
                order[matches[same]] = orders[possible[same]]
        return order

    def number_worlds(self, part: int, blocks: Iterable[tuple[int, Block]]) -> Iterator[Part]:
        """The worlds that a run of parents leads to, in their order."""
        table = self.table.value
        whole = join(blocks, table.layout.words)
        path = self.store.worlds(self.number, part)
        columns: dict[str, NDArray[Any]] = {
            "order": whole.order,
            "key": whole.keys,
            "choice": whole.choices,
        }
        store.write(path, columns, whole.words)
        at = table.find_new(whole.words)
        yield Part(part, len(whole.order), whole.counted, at, [word[at] for word in whole.words])


class Part(NamedTuple):
    """What is reported of some new worlds: how many, the transitions counted, and those in which
    something is met for the first time."""

    part: int
    worlds: int
    counted: int
    new: Numbers
    words: list[Words]


class Distinct:
    """The distinct rows of a block, in its order. `numbers`: which of them each row is; `firsts`:
    where they are."""

    def __init__(self, layout: Layout, block: Block) -> None:
        self.rows, self.index = Rows(layout), Index()
        for column, word in zip(self.rows.reserve(len(block.keys)), block.words, strict=True):
            column[:] = word
        self.numbers, self.firsts = self.index.add(self.rows, block.keys)


def _steps(table: Table, groups: Numbers, worlds: int) -> tuple[Numbers, Numbers]:
    """The steps of some worlds, and whose each is."""
    step, ends = spread(table.counts, table.starts, groups)
    each = len(table.places)
    return step, np.repeat(np.arange(worlds), np.diff(ends[each - 1 :: each], prepend=0))
