"""This project's own server in the hands of programs that stop and start the broker they ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OurControl:
    """`server`: a `RunningBroker`; it has one node."""

    server: Any

    def kill(self, node: int = 1) -> None:
        self.server.kill()

    def stop(self, node: int = 1) -> None:
        self.server.stop()

    def start(self, node: int = 1) -> None:
        self.server.restart()
