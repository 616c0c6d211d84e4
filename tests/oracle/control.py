"""This project's own servers in the hands of a recorded program, which stops, starts and winds
up the broker that it asks as it does a real one."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mqlab.serve import RunningBroker


@dataclass(frozen=True, slots=True)
class OurControl:
    """`server`: it has one node, whatever the node's number."""

    server: RunningBroker

    def kill(self, node: int = 1) -> None:
        self.server.kill()

    def stop(self, node: int = 1) -> None:
        self.server.stop()

    def start(self, node: int = 1) -> None:
        self.server.restart()

    def pause(self, seconds: float) -> None:
        """Our server's time is everybody's."""
        time.sleep(seconds)


class OurClocks(OurControl):
    """RocketMQ's timers too. One that has nothing to do is not set, and then nothing happens, as
    in a real broker."""

    __slots__ = ()

    def round(self, timeout_ms: int = 0, check_max: int = 3) -> None:
        self.server.fire("broker", "check")

    def write_ops(self) -> None:
        self.server.fire("broker", "op batch")

    def persist(self) -> None:
        self.server.fire("broker", "persist offsets")

    def end_delay(self, level: int) -> None:
        self.server.fire("broker", f"delay level {level}")
