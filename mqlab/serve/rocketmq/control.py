"""A hand on `mqlab serve rocketmq` that fires its timers too."""

from __future__ import annotations

from ..adapter import OurControl


class OurClocks(OurControl):
    """A timer that has nothing to do is not set, and then nothing happens, as in a real broker."""

    __slots__ = ()

    def round(self, timeout_ms: int = 0, check_max: int = 3) -> None:
        self.server.fire("broker", "check")

    def write_ops(self) -> None:
        self.server.fire("broker", "op batch")

    def persist(self) -> None:
        self.server.fire("broker", "persist offsets")

    def end_delay(self, level: int) -> None:
        self.server.fire("broker", f"delay level {level}")
