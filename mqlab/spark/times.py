"""Where the time of a run goes: one line a step, printed at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Times:
    """Steps in the order they began, each with its seconds."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}

    def add(self, step: str, seconds: float) -> None:
        self.steps[step] = self.steps.get(step, 0.0) + seconds

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(step, time.perf_counter() - started)

    def __str__(self) -> str:
        lines = [f"{step:36}{seconds:7.1f} s" for step, seconds in self.steps.items()]
        return "\n".join([*lines, f"{'all':36}{sum(self.steps.values()):7.1f} s"])
