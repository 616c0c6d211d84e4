"""The ring of the last steps: light enough to be kept always, rich enough for a picture.

A step is kept as it came: when, which role, the role afterwards, the event, the effects. All
of these are values that nobody changes, so keeping them is keeping references; what they
mean is worked out only when somebody asks, or when a step leaves the ring.

What is referred to may be large, and nobody else may hold it any more: a batch that was
refused, records of a topic that was deleted. So the ring is bounded by bytes too: a step
weighs what its request took on the wire, and what its effects hand out (`weigh`, which the
broker's home says: batches to a reader).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ...kernel import ConnectionLost, Effects, Event
from .outside import Outside

KEPT = 10_000
BYTES = 64 << 20  # that may be referred to by steps in the ring
TOGETHER = 500  # steps that leave the ring at once: cheaper than one by one

Step = tuple[int, str, Any, Event | None, Effects]


class Recorder:
    """`forget` is called with each step that nobody has asked about and that must go;
    `weigh(effects)` says how many bytes they keep alive."""

    def __init__(self, forget: Callable[[Step], None], weigh: Callable[[Effects], int]) -> None:
        self.steps: deque[Step] = deque()
        self.bytes = 0
        self.forget = forget
        self.weigh = weigh
        self._weights: deque[int] = deque()

    def record_step(
        self, at_ms: int, name: str, new: Any, event: Event, effects: Effects, size: int = 0
    ) -> None:
        """`size`: of the client's request that this step handles, in bytes."""
        self._keep((at_ms, name, new, event, effects), size + self.weigh(effects))

    def record_start(self, at_ms: int, name: str, role: Any, effects: Effects) -> None:
        """A role has started. Its appends are among what it found: they are not told."""
        self._keep((at_ms, name, role, None, effects))

    def record_end(self, at_ms: int, client: str) -> None:
        """A client's connection has closed."""
        self._keep((at_ms, client, None, ConnectionLost(client, at_ms), ()))

    def record_outside(self, at_ms: int, name: str, what: Outside) -> None:
        """What somebody did at the door: to a client's request, or to the node of a role."""
        self._keep((at_ms, name, what, None, ()))

    def take(self) -> Step:
        """The oldest step, which leaves the ring."""
        self.bytes -= self._weights.popleft()
        return self.steps.popleft()

    def clear(self) -> None:
        """Forget everything: what the steps refer to is to be freed."""
        while self.steps:
            self.forget(self.take())

    def _keep(self, step: Step, weight: int = 0) -> None:
        self.steps.append(step)
        self._weights.append(weight)
        self.bytes += weight
        if len(self.steps) > KEPT + TOGETHER:
            for _ in range(TOGETHER):
                self.forget(self.take())
        while self.bytes > BYTES:
            self.forget(self.take())
