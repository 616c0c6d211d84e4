"""Effects as JSON: what a home gets that brings no form of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from mqlab.kernel import Append, Put, Truncate
from mqlab.serve.entries import json_entries


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Lamp:
    name: str
    colour: Colour = Colour.RED
    parts: tuple[Any, ...] = ()
    dark: bool = False


@dataclass(frozen=True)
class One:
    value: int


ENTRIES = json_entries([Lamp, One], {(Lamp, "colour"): Colour})


@pytest.mark.parametrize(
    "effect",
    [
        Append("log", Lamp("ü", Colour.RED, (One(1), b"\0\xff", None, ("a", 2), ()))),
        Put("table", "key", One(7)),
        Put("table", "key", None),
        Truncate("log", 3),
    ],
)
def test_an_effect_comes_back_as_it_was(effect: Any) -> None:
    body: Any = ENTRIES.encode(effect)
    found = ENTRIES.decode(body)
    assert found == effect and type(found) is type(effect)
    assert body.startswith(ENTRIES.marks[0]) and ENTRIES.looks_whole(body, 0, len(body))
    assert not ENTRIES.looks_whole(body, 0, len(body) - 1)


def test_an_enum_comes_back_as_one() -> None:
    found = ENTRIES.decode(ENTRIES.encode(Put("t", "k", Lamp("a"))))
    assert isinstance(found, Put) and found.value.colour is Colour.RED


def test_what_an_older_version_did_not_know_has_its_default() -> None:
    assert ENTRIES.decode(b'J["put","t","k",{"Lamp":["a"]}]') == Put("t", "k", Lamp("a"))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'J["put","t","k",{"One":[1,2]}]', ValueError),
        (b'J["put","t","k",{"Other":[1]}]', KeyError),
        (b'J["fold","t"]', ValueError),
        (b'J["put"', ValueError),
        (b'J["put","t","k",{"Lamp":["a","blue"]}]', ValueError),
    ],
)
def test_what_this_version_did_not_write_is_no_effect(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        ENTRIES.decode(body)


def test_a_value_of_no_listed_kind_cannot_be_kept() -> None:
    with pytest.raises(TypeError, match="the journal has no form for a set"):
        ENTRIES.encode(Put("t", "k", set()))
