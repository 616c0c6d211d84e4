"""A search whose finished levels are on disk: the same worlds, whatever ends it."""

import errno

import pytest

from mqlab.explore import Budget, Search
from mqlab.explore.described import LIST, Damaged, write_list
from mqlab.explore.shelf import Shelf
from mqlab.kernel import Property, Text
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from tests.kernel.toy import make_toy

TWO, RISKY = make_toy("keep a", "keep b"), make_toy("keep a", off=("once",))
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
def test_no_answer_rests_on_a_hash(tmp_path, monkeypatch):
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
@pytest.mark.parametrize("system", [FOUR, TWO], ids=["four", "two"])
def test_a_full_disk_ends_a_search_and_what_is_there_stays(system, tmp_path, monkeypatch):
    budget = Budget(breaks=1)
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
        with pytest.raises(Damaged, match="other bounds; take an empty folder"):
            Shelf(tmp_path / "one", system, budget)
    with pytest.raises(FileExistsError, match="is not empty"):
        Shelf(tmp_path, FOUR, Budget())


def test_what_an_unfinished_level_left_is_no_part_of_the_search(tmp_path):
    searched(FOUR, Budget(), tmp_path, depth=4)
    number = len(Shelf(tmp_path, FOUR, Budget()).levels)
    (tmp_path / f"{number:04}.level").write_bytes(b"half a level")
    (tmp_path / f"{LIST}.new").write_text("{", "utf-8")
    assert searched(FOUR, Budget(), tmp_path).verdict() == searched(FOUR, Budget()).verdict()
