"""Calls by their usages: what fits, what is missing, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel.usages import Usages, bare, number, one_of


def keep(*arguments: Any, **options: Any) -> tuple[Any, ...]:
    return (*arguments, options)


USAGES = Usages(
    {
        "stop": keep,
        "turn [by=QUARTERS]": keep,
        "name WORD [by=QUARTERS]": keep,
        "put BOX VALUE … [wait=MS to=BOX] [note=TEXT]": keep,
        "open [BOX] [wide | narrow]": keep,
        "give left|right LEVEL": keep,
        "list [BOX …], each of them once": keep,
    }
)
READERS = {"BOX": one_of("box", ("red", "blue")), "VALUE": bare("a value"), "QUARTERS": number}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("stop", ({},)),
        ("turn by=1", ({"by": 1},)),
        ("name 12=3 by=1", ("12=3", {"by": 1})),
        ("name to=red", ("to=red", {})),
        ("put red a b", ("red", ("a", "b"), {})),
        ("put to=blue red wait=5 a note=", ("red", ("a",), {"to": "blue", "wait": 5, "note": ""})),
        ("turn by=2", ({"by": 2},)),
        ("open", ("", "", {})),
        ("open narrow", ("", "narrow", {})),
        ("open red wide", ("red", "wide", {})),
        ("give left 3", ("left", 3, {})),
        ("list", ((), {})),
        ("list red blue", (("red", "blue"), {})),
    ],
)
def test_the_words_of_a_line_are_arguments_and_options(line: str, given: tuple[Any, ...]) -> None:
    assert USAGES.read(tuple(line.split()), READERS) == given


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("dance", "no call 'dance'; there are: stop, turn, name, put, open, give, list"),
        ("trun by=2", "no call 'trun'; did you mean turn?"),
        ("put bleu a", "no box 'bleu'; did you mean blue?"),
        (f"put red a wait={'9' * 16}", "wait=9999999999999999: expected a whole number"),
        ("put red a wait=²", "wait=²: expected a whole number"),
        ("stop now", "'stop now' is no call; expected stop"),
        ("put red", "expected put BOX VALUE … [wait=MS to=BOX] [note=TEXT]"),
        ("put red a colour=x", "is no call; expected put BOX"),
        ("put red a wait=soon", "wait=soon: expected a whole number"),
        ("put red a to=green", "no box 'green'; there are: red, blue"),
        ("put red {a}", "'{a}': a value here is a word without"),
        ("open red tall", "expected open [BOX] [wide | narrow]"),
        ("turn by=half", "is no call; expected turn [by=QUARTERS]"),
        ("give up 3", "expected give left|right LEVEL"),
        ("give left three", "expected give left|right LEVEL"),
        ("give wide=1 3", "expected give left|right LEVEL"),
        ("list red note=x", "no box 'note=x'"),
    ],
)
def test_what_does_not_fit_is_told_what_would(line: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        USAGES.read(tuple(line.split()), READERS)
    assert why in str(refused.value)


def test_no_word_is_no_call() -> None:
    with pytest.raises(ValueError, match=r"^no call ''; there are: stop$"):
        Usages({"stop": keep}).read((), {})
