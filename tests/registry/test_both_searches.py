"""Every system of the lessons, searched world by world and by arrays: the same worlds."""

from dataclasses import replace

import pytest

from mqlab.brokers import list_brokers
from mqlab.explore import Search, explore
from mqlab.explore.shelf import Shelf
from mqlab.registry import system
from mqlab.registry.searches import searches_of
from tests.models.both import find_same_search

BROKERS = list_brokers("searches")
STATES = 300  # of each: where one search would leave the other, it does so early


def systems_of(name):
    """(line, budget) of everything that is searched of a broker, each once."""
    found = searches_of(name)
    plain = (found.lesson, *found.systems, *found.quick, *found.models.values())
    lines = [(one.line, one.budget) for one in plain]
    lines += [(line, case.budget) for case in found.cases for line in (case.line, case.system)]
    return list(dict.fromkeys(lines))


@pytest.mark.parametrize("name", BROKERS)
def test_both_searches_agree_on_every_system(name):
    every = systems_of(name)
    assert len(every) > 20
    for line, budget in every:
        find_same_search(system(line), replace(budget, states=STATES))


@pytest.mark.parametrize("name", BROKERS)
def test_both_searches_agree_on_a_large_one(name):
    lesson = searches_of(name).lesson
    find_same_search(system(lesson.line), replace(lesson.budget, states=12_000), many=5_000)


@pytest.mark.parametrize("name", BROKERS)
def test_on_disk_the_cases_come_out_as_in_memory(name, tmp_path):
    """Stopped after some levels, and gone on with."""
    for number, case in enumerate(searches_of(name).cases[:6]):
        found, folder = system(case.system), tmp_path / str(number)
        begun = Search(found, case.budget, shelf=Shelf(folder, found, case.budget))
        while begun.depth < 4 and begun.advance(0):
            pass
        again = explore(found, case.budget, shelf=Shelf(folder, found, case.budget))
        assert again == explore(found, case.budget)
