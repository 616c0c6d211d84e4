"""The search by arrays: the same worlds, in the same order, as the search world by world."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqlab.explore import Budget, Search, explore, levels, rows
from mqlab.explore.described import LIST, Damaged, write_list
from mqlab.explore.index import Index
from mqlab.explore.rows import Layout, Narrow, Rows
from mqlab.explore.shelf import Shelf
from mqlab.explore.swarm import Walker, shrink, swarm
from mqlab.explore.symmetry import Quotient, Renaming, Unequal, explore_equal
from mqlab.kernel import Map, Property, Run, Text
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
        table.reserve(len(row))[0][:] = row
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
        table.reserve(400)[0][:] = np.arange(first, first + 400, dtype=np.uint64)
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


# ---- A search whose finished levels are on disk: the same worlds, whatever ends it

FOUR = TwoPhaseSet(managers=4)


def calm(world):
    return not any(n for node in world.nodes.values() for _, n in node.conns.items())


CALM = (Property("calm", Text("calm"), calm, "can_always"),)


@pytest.fixture(params=["in memory", "in runs"])
def width(request, monkeypatch):
    """Whether the next level is put aside, in runs of a few rows, while it is being found."""
    if request.param == "in runs":
        for name, rows in (("SLICE", 32), ("BLOCK", 96), ("MOST", 100)):
            monkeypatch.setattr(f"mqlab.explore.shelved.{name}", rows)


def searched(system, budget, folder=None, depth=1 << 30, claims=None):
    shelf = None if folder is None else Shelf(folder, system, budget)
    search = Search(system, budget, claims, many=None, shelf=shelf)
    while search.depth < depth and search.advance(0):
        pass
    return search


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("depth", [0, 1, 5, 1 << 30])
@pytest.mark.parametrize(
    ("system", "budget", "claims"),
    [
        (FOUR, Budget(), None),
        (TWO, Budget(breaks=1, kills=1, retries=1), None),
        (RISKY, Budget(breaks=1, retries=1), None),
        (RISKY, Budget(breaks=1, retries=1), CALM),
        (TWO, Budget(breaks=1, kills=1), CALM),
    ],
    ids=["four", "two", "risky", "calm", "two calm"],
)
def test_a_search_that_goes_on_from_disk_finds_what_one_in_memory_finds(
    system, budget, claims, depth, tmp_path
):
    plain = searched(system, budget, claims=claims)
    searched(system, budget, tmp_path, depth, claims)
    again = searched(system, budget, tmp_path, claims=claims)
    assert again.complete and again.verdict() == plain.verdict()
    assert (again.levels, again.starts, again.found) == (plain.levels, plain.starts, plain.found)
    assert [again.parents[n] for n in range(again.states)] == list(plain.parents)
    assert not [path for path in tmp_path.iterdir() if path.suffix not in (".json", ".level")]
    if system is not FOUR:
        worlds = zip(again.worlds(), plain.worlds(), strict=True)
        assert all(again.fields.unpack(a) == plain.fields.unpack(b) for a, b in worlds)


@pytest.mark.usefixtures("width")
def test_shelf_no_answer_rests_on_a_hash(tmp_path, monkeypatch):
    """With keys of which nearly all are equal the same worlds are found."""
    monkeypatch.setattr("mqlab.explore.rows.draw", lambda number: 1 << 31)
    budget = Budget(kills=1)
    assert searched(TWO, budget, tmp_path).verdict() == searched(TWO, budget).verdict()


def test_the_bound_on_states_is_looked_at_between_levels_and_may_be_raised(tmp_path):
    some = searched(FOUR, Budget(states=1_000), tmp_path)
    assert not some.complete and some.states >= 1_000 and "1,000 states" in some.ended
    assert searched(FOUR, Budget(), tmp_path).verdict() == searched(FOUR, Budget()).verdict()


def fill(monkeypatch, levels):
    """The disk is full after so many levels."""
    written = []

    def write(folder, head, listed):
        if len(listed) > levels:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(write_list(folder, head, listed))

    monkeypatch.setattr("mqlab.explore.shelf.write_list", write)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(("system", "budget"), [(FOUR, Budget()), (TWO, Budget(breaks=1))])
def test_a_full_disk_ends_a_search_and_what_is_there_stays(system, budget, tmp_path, monkeypatch):
    with monkeypatch.context() as full:
        fill(full, 7)
        some = searched(system, budget, tmp_path)
        assert some.ended == f"{tmp_path}: No space left on device"
        assert not some.complete and not list(tmp_path.glob("*.aside"))
        assert some.states == sum(
            level["worlds"] for level in Shelf(tmp_path, system, budget).levels
        )
        assert all(world < some.states for world in some.tell_worlds().values())
    assert searched(system, budget, tmp_path).verdict() == searched(system, budget).verdict()


@pytest.mark.parametrize("name", ["0000.level", "0003.level", LIST])
def test_a_damaged_file_is_refused(name, tmp_path):
    searched(FOUR, Budget(), tmp_path, depth=6)
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(Damaged, match=f"{name} is damaged.*begin the search again"):
        Shelf(tmp_path, FOUR, Budget())
    path.unlink()
    if name != LIST:
        with pytest.raises(Damaged, match=f"{name} is damaged"):
            Shelf(tmp_path, FOUR, Budget())


def test_another_search_is_refused_and_so_is_a_folder_of_other_things(tmp_path):
    searched(FOUR, Budget(), tmp_path / "one", depth=3)
    for system, budget in ((FOUR, Budget(kills=1)), (TwoPhaseSet(managers=3), Budget())):
        with pytest.raises(Damaged, match="other bounds; name an empty folder"):
            Shelf(tmp_path / "one", system, budget)
    with pytest.raises(FileExistsError, match="is not empty"):
        Shelf(tmp_path, FOUR, Budget())


def test_what_an_unfinished_level_left_is_no_part_of_the_search(tmp_path):
    searched(FOUR, Budget(), tmp_path, depth=4)
    number = len(Shelf(tmp_path, FOUR, Budget()).levels)
    (tmp_path / f"{number:04}.level").write_bytes(b"half a level")
    (tmp_path / f"{LIST}.new").write_text("{", "utf-8")
    assert searched(FOUR, Budget(), tmp_path).verdict() == searched(FOUR, Budget()).verdict()


# ---- Random schedules: decided by their seeds, and shrunk to what matters ------------

SWARM_RISKY = make_toy("keep a", "keep b", off=("once",))
FAULTS = Budget(breaks=2, kills=1, retries=2, killable=("mirror",))


def test_a_walk_depends_on_its_seed_alone():
    one, other = Walker(SWARM_RISKY, FAULTS), Walker(SWARM_RISKY, FAULTS)
    forth = {seed: one.walk(seed) for seed in range(40)}
    back = {seed: other.walk(seed) for seed in reversed(range(40))}
    assert forth == back
    assert len({schedule for schedule, _ in forth.values()}) > 20
    assert {choice.split()[0] for schedule, _ in forth.values() for choice in schedule} >= {
        "break", "kill", "restart", "fire",
    }  # fmt: skip


def test_every_walk_is_a_run_within_the_budget_up_to_where_no_choice_is_left():
    walker = Walker(make_toy("keep a"), FAULTS)
    for seed in range(20):
        schedule, news = walker.walk(seed)
        run = Run(make_toy("keep a"))
        for choice in schedule:
            run.do(choice)
        assert not news
        assert sum(choice.startswith("break") for choice in schedule) <= 2
        assert sum("kill" in choice for choice in schedule) <= 1


def test_what_breaks_a_claim_is_shrunk_until_no_choice_can_be_left_out():
    told = swarm(SWARM_RISKY, FAULTS, range(200))
    found = told.counterexamples["kept once"]
    claim = found.claim
    assert told.seeds["kept once"] == min(
        s for s in range(200) if Walker(SWARM_RISKY, FAULTS).walk(s)[1]
    )
    whole, _ = Walker(SWARM_RISKY, FAULTS).walk(told.seeds["kept once"])
    assert len(found.schedule) <= len(whole)
    assert not claim.holds(run_of(found.schedule).world)
    assert shrink(SWARM_RISKY, claim, found.schedule) == found.schedule
    fewest = len(explore(SWARM_RISKY, FAULTS).counterexamples["kept once"].schedule)
    assert fewest <= len(found.schedule)
    assert f"violated: kept once, in {len(found.schedule)} choices (seed " in str(told)


def run_of(schedule):
    run = Run(SWARM_RISKY)
    for choice in schedule:
        run.do(choice)
    return run


def test_with_its_safeguard_on_nothing_is_found():
    told = swarm(make_toy("keep a", "keep b"), FAULTS, range(100))
    assert not told.counterexamples and told.walks == 100 and told.steps > 500


def test_messages_that_are_a_set_are_refused():
    with pytest.raises(ValueError, match="--swarm needs a system with queues"):
        swarm(TwoPhaseSet(), Budget(), range(1))


# ---- Equal nodes that change their names: fewer states, and the same is found --------


def searched_symmetry(kind, system, budget=Budget()):
    search = kind(system, budget)
    while search.advance():
        pass
    return search


@pytest.mark.parametrize("managers", [2, 3, 4])
def test_fewer_states_and_each_of_the_others_is_an_image_of_one(managers):
    system = TwoPhaseSet(managers=managers)
    plain, few = searched_symmetry(Search, system), searched_symmetry(Quotient, system)
    assert few.complete and few.states < plain.states
    assert few.verdict().missing == plain.verdict().missing == ()
    assert few.verdict().counterexamples == {}
    kept = {few.fields.unpack(world) for world in few.worlds()}
    orbits = {few.fields.unpack(images.of(world, -1))
              for images in few.images for world in few.worlds()}  # fmt: skip
    every = {plain.fields.unpack(world) for world in plain.worlds()}
    assert kept | orbits <= every


def test_the_way_to_what_is_found_is_one_of_the_system_itself():
    few = searched_symmetry(Quotient, TwoPhaseSet(managers=3))
    commits = next(i for i, p in enumerate(few.properties) if p.name == "commits")
    plain = searched_symmetry(Search, TwoPhaseSet(managers=3))
    assert few.choices(commits) == plain.choices(commits)
    run = Run(few.system)
    world = few.fields.pack(few.first_world())
    for choice in few.schedule(few.found[commits]):
        world = next(new for new, c in few.successors(world) if str(few.moves.choices[c]) == choice)
    assert few.properties[commits].holds(few.fields.unpack(world)) and run.system == few.system


class Unlike(TwoPhaseSet):
    """Calls the transaction manager equal to a resource manager."""

    @property
    def symmetric(self):
        return ("tm", "rm0")


def test_nodes_that_are_not_equal_are_refused():
    with pytest.raises(
        Unequal, match="tm and rm0 are not interchangeable: they differ at the start"
    ):
        explore_equal(Unlike())
    with pytest.raises(Unequal, match="declares no interchangeable nodes"):
        explore_equal(make_toy("keep a"))


def test_a_claim_that_tells_them_apart_is_refused():
    claims = TwoPhaseSet(managers=3).properties()
    told = claims[0].__class__(
        "first", claims[0].sentence, lambda world: world.role("rm0").state == "working"
    )
    with pytest.raises(Unequal, match="a claim tells them apart"):
        explore_equal(TwoPhaseSet(managers=3), Budget(), (told,))


def test_names_change_places_in_any_value():
    swap = Renaming(("a", "b"))
    assert swap.of(("retry a", "ab", 3, "a-b")) == ("retry b", "ab", 3, "a-b")
    assert swap.of(Map({"a": frozenset({"b"})}.items())) == Map({"b": frozenset({"a"})}.items())
    assert swap.of(("a", "b")) == ("a", "b") and swap.of(("a", "c")) == ("b", "c")
    with pytest.raises(Unequal, match="depends on their order"):
        swap.of(("b", "a"))
