"""What a learner's function may not use is found before it is run, and named."""

from __future__ import annotations

import json
import math
import random
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from random import random as draw
from time import time as now
from typing import Any

import pytest

from mqlab.lessons.foreign import find_foreign

LIMIT = 3
NAMES = ("a", "b")
SEEN: dict[str, int] = {}
total = 0


def shorten(order: str) -> str:
    return order[:LIMIT]


def stamp(order: str) -> str:
    return f"{order} {now()}"


def uses_its_arguments(order: str, db: Any) -> Any:
    found = [name for name in NAMES if name in order]
    return json.dumps({"order": shorten(order), "half": math.floor(LIMIT / 2), "found": found})


def calls_itself(order: str) -> str:
    return order if not order else calls_itself(order[1:])


def uses_a_function_inside(order: str) -> Any:
    kept: list[str] = []

    def keep(word: str) -> None:
        kept.append(word)

    keep(order)
    return kept


def imports_what_repeats(order: str) -> Any:
    import re

    return re.sub("a", "b", order)


@pytest.mark.parametrize(
    "function", [uses_its_arguments, calls_itself, uses_a_function_inside, imports_what_repeats]
)
def test_what_repeats_itself_may_be_used(function: Callable[..., Any]) -> None:
    assert find_foreign(function) is None


def reads_time() -> Any:
    return time.time()


def reads_a_date() -> Any:
    return datetime.now()


def reads_time_by_another() -> Any:
    return stamp("a")


def imports_a_clock() -> Any:
    from time import monotonic

    return monotonic()


def throws_dice() -> Any:
    return random.random()


def throws_imported_dice() -> Any:
    return draw()


def makes_a_name() -> Any:
    return str(uuid.uuid4())


def keeps_in_a_global(order: str) -> None:
    SEEN[order] = 1


def counts_in_a_global() -> int:
    global total
    total += 1
    return total


def keeps_in_a_default(order: str, kept: list[str] = []) -> None:  # noqa: B006
    kept.append(order)


def opens_a_file() -> Any:
    return open("orders.db")


def imports_what_reaches_out() -> Any:
    import subprocess

    return subprocess.run(["true"], check=False)


def make_counter() -> Callable[[], int]:
    count = 0

    def counts_around() -> int:
        nonlocal count
        count += 1
        return count

    return counts_around


def make_keeper() -> Callable[[str], None]:
    kept: list[str] = []

    def keeps_around(order: str) -> None:
        kept.append(order)

    return keeps_around


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (reads_time, "`reads_time` asks a clock (`time`)"),
        (reads_a_date, "`reads_a_date` asks a clock (`datetime`)"),
        (reads_time_by_another, "`stamp` asks a clock (`now`)"),
        (imports_a_clock, "`imports_a_clock` asks a clock (`time`)"),
        (throws_dice, "`throws_dice` depends on chance (`random`)"),
        (throws_imported_dice, "`throws_imported_dice` depends on chance (`draw`)"),
        (makes_a_name, "`makes_a_name` depends on chance (`uuid`)"),
        (keeps_in_a_global, "`keeps_in_a_global` keeps something in `SEEN`"),
        (counts_in_a_global, "`counts_in_a_global` keeps something in `total`"),
        (keeps_in_a_default, "`keeps_in_a_default` keeps something in `kept`"),
        (opens_a_file, "`opens_a_file` uses `open`, which reaches out"),
        (imports_what_reaches_out, "uses `subprocess`, which reaches out"),
        (make_counter(), "`counts_around` keeps something in `count`"),
        (make_keeper(), "`keeps_around` keeps something in `kept`"),
        (3, "`3` is no function"),
        (str.upper, "is no function"),
    ],
)
def test_what_does_not_is_named(function: Any, told: str) -> None:
    found = find_foreign(function)
    assert found is not None and told in found.en and found.zh
