"""A sample of a search: a tree that grows, thins, and never loses what was found."""

from functools import cache

import pytest

from mqlab.explore import Budget, Search, take_sample
from mqlab.explore.swarm import WIDEST
from mqlab.kernel import Run
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from tests.kernel.toy import make_toy

RISKY, BREAK = make_toy("keep a", off=("once",)), Budget(breaks=1, retries=1)


def searched(system, budget=Budget()):
    search = Search(system, budget)
    while search.advance(0):
        yield search
    yield search


@cache
def end_of(system, budget=Budget()):
    *_, search = searched(system, budget)
    return search


def test_every_world_of_a_sample_has_its_parent_in_it_and_a_schedule_that_leads_there():
    search = end_of(RISKY, BREAK)
    sample = take_sample(search)
    worlds = list(search.worlds())
    for number, drawn in sample.worlds.items():
        assert drawn.parent in sample.worlds
        assert drawn.depth == len(sample.schedule(number)) == len(search.schedule(number))
        run = Run(RISKY)
        for choice in sample.schedule(number):
            run.do(choice)
        assert run.world == search.fields.unpack(worlds[number])


@pytest.mark.parametrize("most", [1, 40, 300])
def test_a_sample_is_bounded_and_spread_and_says_how_many_there_are(most):
    search = end_of(TwoPhaseSet(managers=5))
    sample = take_sample(search, most)
    depth = len(sample.sizes)
    assert sum(sample.sizes) == search.states == 8_832
    assert list(sample.sizes) == search.levels
    ways = sum(len(search.schedule(number)) + 1 for number in sample.found.values())
    assert len(sample.worlds) <= most + depth + ways
    assert {drawn.depth for drawn in sample.worlds.values()} == set(range(depth))
    if most == 300:
        wide = max(range(depth), key=lambda d: sample.sizes[d])
        ranks = [drawn.rank for drawn in sample.worlds.values() if drawn.depth == wide]
        assert len(ranks) >= 10
        assert max(ranks) - min(ranks) > sample.sizes[wide] / 2


def test_small_levels_are_drawn_whole():
    search = end_of(TwoPhaseSet(managers=1))
    assert max(search.levels) <= WIDEST
    assert len(take_sample(search).worlds) == search.states


def test_edges_do_not_cross():
    """Drawn by rank, children stand in the order of their parents."""
    worlds = take_sample(end_of(TwoPhaseSet(managers=5))).worlds
    by_depth = {}
    for drawn in worlds.values():
        by_depth.setdefault(drawn.depth, []).append(drawn)
    for level in by_depth.values():
        parents = [worlds[drawn.parent].rank for drawn in sorted(level, key=lambda d: d.rank)]
        assert parents == sorted(parents)


def test_what_refutes_a_claim_is_always_in_it():
    search = end_of(RISKY, BREAK)
    sample = take_sample(search, 1)
    at = sample.found["kept once"]
    assert sample.schedule(at) == search.verdict().counterexamples["kept once"].schedule
    assert sample.worlds[at].depth == 6


def test_it_grows_while_the_search_runs(monkeypatch):
    monkeypatch.setattr("mqlab.explore.search.EVERY", 50)
    depths, sizes = [], []
    for search in searched(TwoPhaseSet(managers=3)):
        sample = take_sample(search)
        assert sum(sample.sizes) == search.states
        assert len(sample.sizes) - len(search.levels) in (0, 1, 2), "the frontier is in it"
        depths.append(max(drawn.depth for drawn in sample.worlds.values()) if sample.worlds else 0)
        sizes.append(len(sample.worlds))
    assert depths == sorted(depths)
    assert depths[0] < depths[-1]
    assert sizes[0] < sizes[-1]


def test_nothing_was_searched_yet():
    sample = take_sample(Search(TwoPhaseSet(managers=1)))
    assert (sample.sizes, sample.worlds, sample.found) == ((), {}, {})
