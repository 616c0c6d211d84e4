"""Two futures side by side: from where they part, and what each has that the other has not."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from mqlab.kernel.trace import Trace


@dataclass(frozen=True, slots=True)
class Compared:
    """`parts`: the number of facts that both begin with; `rows`: the facts of the first, and of
    the second, that the other has not, by number."""

    parts: int
    rows: tuple[tuple[int, ...], tuple[int, ...]]


def compare(first: Trace, second: Trace) -> Compared:
    """What is told the same, in the same order, is no difference: a later row that both have is
    found again wherever it stands."""
    lines = [[fact.line() for fact in trace.facts] for trace in (first, second)]
    parts = 0
    for a, b in zip(*lines, strict=False):
        if a != b:
            break
        parts += 1
    rest = [narration[parts:] for narration in lines]
    same = SequenceMatcher(None, rest[0], rest[1], autojunk=False).get_matching_blocks()
    kept = [
        {place + i for block in same for place in [block[side]] for i in range(block.size)}
        for side in (0, 1)
    ]
    rows = [
        tuple(parts + i + 1 for i in range(len(rest[side])) if i not in kept[side])
        for side in (0, 1)
    ]
    return Compared(parts, (rows[0], rows[1]))


def find_fork(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many choices two runs begin with."""
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
