"""Lab 07, markers and the last stable offset: its exercise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..explore import Budget
from ..kafka import KafkaSystem
from ..kernel import System, Text
from .check import Belief, Exercise
from .systems import system

ONE = "kafka partitions=1 'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
TWO = (
    "kafka partitions=1 producers=app,billing "
    "'app=init; begin; send orders-0 a; commit' 'billing=init; begin; send orders-0 x; abort'"
)
PLAIN = (
    "kafka partitions=1 producers=n:plain,app "
    "'n=send orders-0 n' 'app=init; begin; send orders-0 a; commit'"
)


def _systems(rule: Callable[..., Any]) -> tuple[tuple[System, Budget], ...]:
    from dataclasses import replace

    tried = []
    for line in (ONE, TWO, PLAIN):
        found = system(line)
        assert isinstance(found, KafkaSystem)
        tried.append((replace(found, rules=(("lso", rule),)), Budget()))
    return tuple(tried)


def _offset(answer: Any) -> str:
    """What is wrong with an answer that is no offset."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return "an offset is a whole number"
    return "" if answer >= 0 else "an offset is never negative"


LSO = Exercise(
    name="lso",
    systems=_systems,
    samples=(((), 4), ((2,), 4), ((1, 3), 5), ((5,), 3), ((0,), 0)),
    beliefs=(
        Belief(
            "h",
            Text(
                "the high watermark says what is replicated, not what is decided: an open "
                "transaction below it would be read",
                "高水位只说明什么已复制，并不说明什么已决定：它之下未结束的事务会被读到",
            ),
            lambda firsts, hw: hw,
        ),
        Belief(
            "5",
            Text(
                "the *oldest* undecided transaction decides, not the newest: everything behind "
                "its first record waits, whoever wrote it",
                "起决定作用的是*最早*的未决事务，而不是最新的：它第一条记录之后的一切都要等待",
            ),
            lambda firsts, hw: min(max(firsts, default=hw), hw),
        ),
        Belief(
            "lso above hw",
            Text(
                "a first offset may lie above the high watermark: then the high watermark is "
                "the lower of the two, and what lies above it is not replicated yet",
                "首个位移可能高于高水位：这时较低的是高水位，而其上的记录还没有复制",
            ),
            lambda firsts, hw: min(firsts, default=hw),
        ),
        Belief(
            "nothing is ever read",
            Text(
                "it is safe to show nothing, and useless: somebody must read something once "
                "all is decided",
                "什么都不给读当然安全，但毫无用处：一切决定之后总得有人能读到",
            ),
            lambda firsts, hw: 0,
        ),
    ),
    hints=(
        Text(
            "Two things can hold a reader back: a record that is not replicated, and a "
            "transaction that is not decided. Which of the two lies lower?",
            "有两样东西会挡住读者：尚未复制的记录，以及尚未决定的事务。哪一个更低？",
        ),
        Text(
            "`min(...)` of the first offsets and the high watermark together; it must also "
            "work when there is no first offset at all.",
            "把各个首位移与高水位放在一起取 `min(...)`；没有首位移时也要能用。",
        ),
    ),
    expects=_offset,
)
