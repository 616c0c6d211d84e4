"""Lesson systems that call nodes equal: searched with and without, the same is found."""

from dataclasses import replace

import pytest

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.explore import explore
from mqlab.explore.symmetry import Unequal, explore_equal
from mqlab.registry import system
from mqlab.registry.searches import searches_of

STATES = 20_000


def declared():
    """(line, budget) of each lesson system that says of some nodes that they are equal."""
    for name in list_brokers("searches"):
        found = searches_of(name)
        for one in (found.lesson, *found.systems, *found.models.values()):
            if len(system(one.line).symmetric) > 1:
                yield one.line, one.budget
        for case in found.cases:
            if len(system(case.system).symmetric) > 1:
                yield case.system, case.budget


def told(verdict):
    lengths = {name: len(one.schedule) for name, one in verdict.counterexamples.items()}
    return verdict.complete, lengths, verdict.missing


def test_both_tell_the_same_or_it_is_refused():
    compared = refused = 0
    for line, budget in dict.fromkeys(declared()):
        found, bounds = system(line), replace(budget, states=STATES)
        try:
            few = explore_equal(found, bounds)
        except Unequal as error:
            assert "are not equal within these bounds" in str(error) or "at the start" in str(error)
            refused += 1
            continue
        plain = explore(found, bounds)
        if plain.complete:
            assert told(few) == told(plain), line
            assert few.states < plain.states or few.states < 3
            compared += 1
    assert compared >= 4 and refused >= 1, (compared, refused)


def test_both_counts_are_printed(capsys):
    assert main(["explore", "two_phase_set", "managers=3", "--symmetry"]) == 0
    said = capsys.readouterr().out
    assert "rm0, rm1, rm2 equal:\ncomplete within 80 states" in said
    assert "each node by itself:\ncomplete within 288 states" in said
    assert "both tell the same" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["two_phase", "--symmetry"], "not equal within these bounds: what tm does next"),
        (["kafka", "--symmetry"], "says of no nodes that they are equal"),
        (["two_phase_set", "--symmetry", "--spark", "local[2]"], "leave out --disk and --spark"),
    ],
)
def test_where_it_cannot_be_done_one_sentence_says_why(words, says, capsys):
    assert main(["explore", *words]) == 2
    assert says in capsys.readouterr().err
