"""The ring of the last steps: light enough to be kept always, rich enough for a picture.

A step is kept as it came: when, which role, the role afterwards, the event, the effects. All
of these are values that nobody changes, so keeping them is keeping references; what they
mean is worked out only when somebody asks.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ...kernel import Effects, Event

KEPT = 10_000

Step = tuple[int, str, Any, Event | None, Effects]


class Recorder:
    """`first` is the number of the oldest step kept, `next` that of the next one."""

    def __init__(self, started_ms: int) -> None:
        self.started_ms = started_ms
        self.steps: deque[Step] = deque()
        self.first = 0

    @property
    def next(self) -> int:
        return self.first + len(self.steps)

    def stepped(self, at_ms: int, name: str, new: Any, event: Event, effects: Effects) -> None:
        self.steps.append((at_ms, name, new, event, effects))
        if len(self.steps) > KEPT:
            self.steps.popleft()
            self.first += 1

    def recovered(self, at_ms: int, name: str, role: Any, effects: Effects) -> None:
        self.steps.append((at_ms, name, role, None, effects))
