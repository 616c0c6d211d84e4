"""The ring of the last steps: light enough to be kept always, rich enough for a picture.

A step is kept as it came: when, which role, the role afterwards, the event, the effects. All
of these are values that nobody changes, so keeping them is keeping references; what they
mean is worked out only when somebody asks, or when a step leaves the ring.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ...kernel import ConnectionLost, Effects, Event

KEPT = 10_000
TOGETHER = 500  # steps that leave the ring at once: cheaper than one by one

Step = tuple[int, str, Any, Event | None, Effects]


class Recorder:
    """`forget` is called with each step that nobody has asked about and that must go."""

    def __init__(self, forget: Callable[[Step], None]) -> None:
        self.steps: deque[Step] = deque()
        self.forget = forget

    def stepped(self, at_ms: int, name: str, new: Any, event: Event, effects: Effects) -> None:
        self._keep((at_ms, name, new, event, effects))

    def recovered(self, at_ms: int, name: str, role: Any, effects: Effects) -> None:
        """A role has started. Its appends are among what it found: they are not told."""
        self._keep((at_ms, name, role, None, effects))

    def left(self, at_ms: int, client: str) -> None:
        """A client's connection has closed."""
        self._keep((at_ms, client, None, ConnectionLost(client, at_ms), ()))

    def _keep(self, step: Step) -> None:
        steps = self.steps
        steps.append(step)
        if len(steps) > KEPT + TOGETHER:
            for _ in range(TOGETHER):
                self.forget(steps.popleft())
