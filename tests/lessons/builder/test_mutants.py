"""The judge is judged: what a mutant of a right file hears."""

from __future__ import annotations

import ast

import pytest

from mqlab.lessons.builder.checking import check_source
from mqlab.lessons.builder.host import BuildError
from mqlab.lessons.builder.right import read_right
from tests.lessons.builder.mutants import EQUAL, MISSED, mutate
from tests.lessons.builder.wrong import FILES, LABS

RULE = """
def may(held, messages, txn):
    for message in messages:
        held = held.set(message, txn)
    if not messages and txn.pid == 0:
        return held, (1, 2)
    return held.remove(txn), ()
"""

SITTINGS = (1, 2, 3, 4, 5)
MANY = 18  # mutants of each sitting's file that are judged


def choose() -> list[tuple[int, str, str]]:
    """The sitting, what was done to its file, and the text: as far from each other as the list of
    all allows, so that they are of every part and of every kind; in each file others."""
    chosen = []
    for sitting in SITTINGS:
        mutants = mutate(read_right(FILES, sitting))
        first = (sitting - 1) / len(SITTINGS)
        places = [int((first + at) * len(mutants) / MANY) for at in range(MANY)]
        chosen += [(sitting, *mutants[place]) for place in places]
    return chosen


CHOSEN = choose()


@pytest.mark.spread("mqlab/lessons/builder", "tests/lessons/builder")
@pytest.mark.parametrize(
    ("sitting", "says", "source"), CHOSEN, ids=[f"{one[0]} {one[1]}" for one in CHOSEN]
)
def test_a_coordinators_mutant_is_refuted_unless_it_does_the_same(
    sitting: int, says: str, source: str
):
    """By its own part's trials or those of an earlier one. One that nobody can tell from the right
    file is searched to the end, so by its own part's alone."""
    passes = (f"coordinator {sitting}", says) in EQUAL | MISSED
    parts = (sitting,) if passes else range(sitting, 0, -1)
    try:
        refuted = any(not check_source(source, part, alone=True).ok for part in parts)
    except BuildError:
        refuted = True
    assert refuted is not passes


def test_nearly_all_that_do_something_else_are_refuted():
    equal = {one for one in EQUAL if one[0].startswith("coordinator ")}
    others = {(f"coordinator {sitting}", says) for sitting, says, _ in CHOSEN} - equal
    assert len(CHOSEN) == len(others) + len(equal) and len(others) >= 60
    assert others > MISSED and len(MISSED) <= 0.05 * len(others)


def test_a_mutant_has_one_fault_and_says_where():
    mutants = dict(mutate(RULE))
    for says, changed in (
        ("line 3: `messages` → `(tuple(messages)[:1])`", "in (tuple(messages)[:1]):"),
        ("line 4: `held.set(message, txn)` → `(held)`", "held = (held)"),
        ("line 5: `not messages and txn.pid == 0` → `True`", "if True:"),
        ("line 5: `txn.pid` → `(txn.epoch)`", "(txn.epoch) == 0"),
        ("line 6: `(1, 2)` → `()`", "return held, ()"),
        ("one key of `held` for all", 'held.set("", txn)'),
    ):
        assert changed in mutants[says], (says, mutants)
    assert all(says[:7] == "line 5:" for says, _ in mutate(RULE, frozenset({5})))


@pytest.mark.parametrize("folder", ["check_round", "coordinator", "pending_acks"])
@pytest.mark.parametrize("sitting", [1, 2])
def test_mutants_are_python_and_no_two_are_the_same(folder, sitting):
    source = read_right(LABS / folder, sitting)
    mutants = mutate(source)
    assert mutants == mutate(source) and len({text for _, text in mutants}) == len(mutants) > 20
    assert source not in dict(mutants).values()
    for _, text in mutants:
        ast.parse(text)
