"""This project's own server in the hands of a program that stops and starts the broker it asks.

The recorded programs of `mqlab.real` bring no broker: they are handed one, with such a hand on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .process import RunningBroker


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
