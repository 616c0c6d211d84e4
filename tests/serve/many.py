"""What a request costs for each of the things that it names, for the servers of all brokers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

Next = Callable[[], object]
#: (case, how many things it names) → the request, all that it is about being there
Prepare = Callable[[str, int], Next]

#: things that are named: with fewer, what each costs alone is more than any loop over all of them
FEW, MORE, MANY = 110, 220, 330  # up to 100, Kafka's CreateTopics answers with all configs
#: the work of the third part by that of the second; a small loop over all of them makes it 1.3
ALIKE = 1.15
#: where the keys of maps are texts: how deep a map is depends on their hashes too
HASHED = 1.25
#: where a request does little else than walk a map: how deep it is depends on hashes and number,
#: so the third part is six times as large; work that grows with the square makes it 3.3
WALK, FAR = 1.9, 880


def count_work(what: Callable[[], object]) -> int:
    """Instructions of Python, of the very code that runs: no clock is asked."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        what()
    finally:
        sys.settrace(before)
    return count


def check_growth(prepare: Prepare, name: str, alike: float = ALIKE) -> None:
    """AssertionError where each further thing takes more work than the one before."""
    prepare(name, 2)()
    most = FAR if alike == WALK else MANY
    few, more, many = (count_work(prepare(name, n)) for n in (FEW, MORE, most))
    rise, first = (many - more) / (most - MORE), (more - few) / (MORE - FEW)
    assert rise < alike * first, (few, more, many)


def measure_all(
    prepare: Prepare, names: Iterable[str], sizes: list[int], most: int = 1_000
) -> dict[str, str]:
    """Of each case, microseconds of CPU for one thing, by how many are named. `most`: members of
    a group, since each that joins is told to all others."""
    figures = {}
    for name in names:
        members = name.endswith(", members")
        measured = [n for n in sizes if n <= most or not members]
        prepare(name, 2)()  # what is loaded once
        costs = [f"{_measure(prepare, name, n) * 1e6:,.0f}" for n in measured]
        said = ", ".join(f"{n:,}" for n in measured)
        figures[f"{name}: µs each of {said}"] = " / ".join(costs)
    return figures


def _measure(prepare: Prepare, name: str, n: int) -> float:
    """Seconds of CPU that one thing takes in a request that names `n`."""
    request = prepare(name, n)
    started = time.process_time()
    request()
    return (time.process_time() - started) / n
