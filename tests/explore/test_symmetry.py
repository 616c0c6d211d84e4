"""Equal nodes that change their names: fewer states, and the same is found."""

import pytest

from mqlab.explore import Budget, Search
from mqlab.explore.symmetry import Quotient, Renaming, Unequal, explore_equal
from mqlab.kernel import Map, Run
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from tests.kernel.toy import make_toy


def searched(kind, system, budget=Budget()):
    search = kind(system, budget)
    while search.advance():
        pass
    return search


@pytest.mark.parametrize("managers", [2, 3, 4])
def test_fewer_states_and_each_of_the_others_is_an_image_of_one(managers):
    system = TwoPhaseSet(managers=managers)
    plain, few = searched(Search, system), searched(Quotient, system)
    assert few.complete and few.states < plain.states
    assert few.verdict().missing == plain.verdict().missing == ()
    assert few.verdict().counterexamples == {}
    kept = {few.fields.unpack(world) for world in few.worlds()}
    orbits = {few.fields.unpack(images.of(world, -1))
              for images in few.images for world in few.worlds()}  # fmt: skip
    every = {plain.fields.unpack(world) for world in plain.worlds()}
    assert kept | orbits <= every


def test_the_way_to_what_is_found_is_one_of_the_system_itself():
    few = searched(Quotient, TwoPhaseSet(managers=3))
    commits = next(i for i, p in enumerate(few.properties) if p.name == "commits")
    plain = searched(Search, TwoPhaseSet(managers=3))
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
    with pytest.raises(Unequal, match="tm and rm0 are not equal at the start"):
        explore_equal(Unlike())
    with pytest.raises(Unequal, match="says of no nodes that they are equal"):
        explore_equal(make_toy("keep a"))


def test_a_claim_that_tells_them_apart_is_refused():
    claims = TwoPhaseSet(managers=3).properties()
    told = claims[0].__class__(
        "first", claims[0].sentence, lambda world: world.role("rm0").state == "working"
    )
    with pytest.raises(Unequal, match="a claim tells rm0 from rm1"):
        explore_equal(TwoPhaseSet(managers=3), Budget(), (told,))


def test_names_change_places_in_any_value():
    swap = Renaming(("a", "b"))
    assert swap.of(("retry a", "ab", 3, "a-b")) == ("retry b", "ab", 3, "a-b")
    assert swap.of(Map({"a": frozenset({"b"})}.items())) == Map({"b": frozenset({"a"})}.items())
    assert swap.of(("a", "b")) == ("a", "b") and swap.of(("a", "c")) == ("b", "c")
    with pytest.raises(Unequal, match="told apart by an order"):
        swap.of(("b", "a"))
