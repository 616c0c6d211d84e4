"""The search by arrays: the same worlds, in the same order, as the search world by world."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqlab.explore import Budget, Search, levels, rows
from mqlab.explore.index import Index
from mqlab.explore.rows import Layout, Narrow, Rows
from mqlab.kernel import Property, Text
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from tests.kernel.toy import make_toy
from tests.models.both import find_same_search

TWO, RISKY = make_toy("keep a", "keep b"), make_toy("keep a", off=("once",))
SYSTEMS = [
    (TwoPhaseSet(managers=1), Budget()),
    (TwoPhaseSet(managers=4), Budget()),
    (TWO, Budget(breaks=1, timers=1, retries=1)),
    (TWO, Budget(kills=1, breaks=1, killable=("store",))),
    (TWO, Budget(power_cuts=1, kills=1, killable=("mirror", "app"), restartable=("app",))),
    (RISKY, Budget(breaks=1, retries=1)),
    *((TwoPhaseSet(managers=3), Budget(states=states)) for states in (1, 2, 77, 287, 288)),
]


@pytest.mark.parametrize(("system", "budget"), SYSTEMS, ids=str)
def test_both_searches_find_the_same_in_the_same_order(system, budget):
    find_same_search(system, budget)


@pytest.mark.parametrize("size", [1, 7])
def test_how_worlds_are_cut_into_slices_changes_nothing(size, monkeypatch):
    monkeypatch.setattr(levels, "SLICE", size)
    find_same_search(TWO, Budget(breaks=1, kills=1, killable=("store",)))
    find_same_search(TwoPhaseSet(managers=3), Budget(states=200))


def test_no_answer_rests_on_a_hash(monkeypatch):
    """With keys of which nearly all are equal the same worlds are found."""
    monkeypatch.setattr(rows, "draw", lambda number: 1 << 31)
    find_same_search(TwoPhaseSet(managers=3), Budget())
    find_same_search(RISKY, Budget(breaks=1, retries=1))


def test_where_arrays_take_over_changes_nothing():
    for many in (2, 30, 250):
        find_same_search(TwoPhaseSet(managers=3), Budget(), many=many)


def test_what_must_stay_reachable_is_found_to_be_stuck_in_the_same_world():
    def calm(world):
        return not any(n for node in world.nodes.values() for _, n in node.conns.items())

    def kept(world):
        return not world.nodes["app"].conns

    claims = [Property(f.__name__, Text("x"), f, "can_always") for f in (calm, kept)]
    found = find_same_search(RISKY, Budget(breaks=1, retries=1), tuple(claims))
    assert len(found.counterexamples["calm"].schedule) == 2
    assert len(found.counterexamples["kept"].schedule) == 1


def test_an_error_in_a_claim_tells_the_schedule_it_was_raised_after():
    def odd(world):
        if world.role("rm0").state == "aborted":
            raise RuntimeError("no idea")
        return True

    notes = []
    for many in (None, 1):
        claim = Property("odd", Text("odd"), odd)
        search = Search(TwoPhaseSet(managers=2), Budget(), (claim,), many=many)
        with pytest.raises(RuntimeError) as raised:
            while search.advance():
                pass
        notes.append(raised.value.__notes__)
    assert notes[0] == notes[1] and "the start" in notes[0][0]


counts = st.lists(st.integers(1, 1 << 24), min_size=1, max_size=12)


@given(counts, st.data())
def test_rows_packed_again_hold_the_same_numbers(before, data):
    grow = st.integers(0, 1 << 10)
    after = [min(1 << 24, n + data.draw(grow)) for n in before] + [2, 1, 300]
    old, new = Layout.fit(before), Layout.fit(after)
    assert old.fits(before) and new.fits(after)
    assert old.words == 1 or sum((n - 1).bit_length() for n in before) > 64
    some = [[0, n - 1, data.draw(st.integers(0, n - 1))] for n in before]
    words = [np.zeros(3, np.uint64) for _ in range(old.words)]
    for part, numbers in enumerate(some):
        old.write(words, part, np.array(numbers, np.uint64))
    moved = old.repack(words, new)
    assert [new.numbers(moved, part).tolist() for part in range(len(some))] == some
    assert not any(new.numbers(moved, part).any() for part in range(len(some), len(after)))


@given(st.lists(st.lists(st.integers(0, 40), max_size=60), max_size=6), st.booleans())
def test_rows_get_numbers_in_the_order_in_which_they_first_come(slices, alike):
    table, index, known = Rows(Layout.fit([1 << 24])), Index(), {}
    for values in slices:
        row = np.array(values, np.uint64)
        table.room(len(row))[0][:] = row
        before = set(known)
        expected = [known.setdefault(value, len(known)) for value in values]
        keys = np.zeros_like(row) if alike else row * np.uint64(rows.draw(1))
        numbers, fresh = index.add(table, keys)
        assert numbers.tolist() == expected
        first = [i for i, v in enumerate(values) if v not in before and v not in values[:i]]
        assert fresh.tolist() == first
        assert table.words[0].tolist() == list(known)


def test_rows_with_equal_keys_are_found_in_a_table_that_grows():
    table, index = Rows(Layout.fit([1 << 24])), Index()
    for first in (0, 300, 600):
        table.room(400)[0][:] = np.arange(first, first + 400, dtype=np.uint64)
        numbers, _ = index.add(table, np.full(400, 7 << 60, np.uint64))
        assert numbers.tolist() == list(range(first, first + 400))
    assert table.count == 1_000 < len(index.slots)


def test_numbers_are_kept_in_as_few_bytes_as_the_largest_needs():
    column = Narrow()
    for more, each in (([], 1), ([255], 1), ([0, 256], 2), ([1 << 40, 5], 8), ([3], 8)):
        column.extend(np.array(more, np.uint64))
        assert column.all.itemsize == each
    assert list(column) == [255, 0, 256, 1 << 40, 5, 3]


def test_without_numpy_the_search_goes_on_world_by_world():
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "from mqlab.explore import Budget, Search\n"
        "from mqlab.patterns.two_phase.oracle import TwoPhaseSet\n"
        "search = Search(TwoPhaseSet(managers=3), many=1)\n"
        "while search.advance(): pass\n"
        "print(search.verdict(), search.by_arrays)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        done.stdout
        == "complete within 288 states, 3,528 transitions (no faults, no timers) False\n"
    )
