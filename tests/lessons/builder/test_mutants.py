"""The judge is judged: what a mutant of a right file hears."""

from __future__ import annotations

import ast

import pytest

from tests.lessons.builder.mutants import mutate
from tests.lessons.builder.wrong import LABS

RULE = """
def may(held, messages, txn):
    for message in messages:
        held = held.set(message, txn)
    if not messages and txn.pid == 0:
        return held, (1, 2)
    return held.remove(txn), ()
"""


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


@pytest.mark.parametrize("path", sorted(LABS.glob("*/sitting-*.py")), ids=lambda one: one.stem)
def test_mutants_are_python_and_no_two_are_the_same(path):
    source = path.read_text("utf-8")
    mutants = mutate(source)
    assert mutants == mutate(source) and len({text for _, text in mutants}) == len(mutants) > 20
    assert source not in dict(mutants).values()
    for _, text in mutants:
        ast.parse(text)
