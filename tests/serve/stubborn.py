"""Clients that never give up, and a server that is killed while they work."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence

from mqlab.serve import RunningBroker

KILLS = 20
PATIENCE_S = 600


class Stubborn(threading.Thread):
    """A client that comes back and goes on when its server has died. `over`: it is to end;
    `failure`: what it was told and should not have been."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__(name=name)
        self.address = address
        self.over = threading.Event()
        self.failure = ""

    def run(self) -> None:
        try:
            while not self.over.is_set():
                try:
                    self.work()
                except (OSError, EOFError):  # it was killed
                    time.sleep(0.02)
        except AssertionError as error:
            self.failure = repr(error)

    def count_done(self) -> int:
        """How many pieces of its work were answered."""
        raise NotImplementedError

    def wait_for(self, count: int) -> None:
        """Until so many pieces are done, or it has failed."""
        until = time.monotonic() + PATIENCE_S
        while self.is_alive() and self.count_done() < count:
            assert time.monotonic() < until, f"{self.name} gets no piece done"
            time.sleep(0.01)

    def work(self) -> None:
        """On a connection of its own, until it is over; raises OSError or EOFError where that
        breaks, AssertionError for a wrong answer."""
        raise NotImplementedError


def kill_under_load(
    broker: RunningBroker,
    clients: Sequence[Stubborn],
    seed: int,
    pause_s: tuple[float, float] = (0.03, 0.3),
) -> None:
    """Kills the server again and again while these work, with pauses in between, and asserts that
    nobody failed. Each client has done at least as many pieces as there were kills; a quick
    machine's have done many more, so that a kill may also meet them while they connect."""
    moments = random.Random(seed)
    for client in clients:
        client.start()
    try:
        for number in range(KILLS):
            time.sleep(moments.uniform(*pause_s))
            for client in clients:
                client.wait_for(number)
            broker.kill()
            broker.restart()
        time.sleep(0.2)
        for client in clients:
            client.wait_for(KILLS + 1)
    finally:
        for client in clients:
            client.over.set()
        for client in clients:
            client.join(PATIENCE_S)
    assert not any(client.is_alive() for client in clients)
    assert [client.failure for client in clients] == [""] * len(clients)
