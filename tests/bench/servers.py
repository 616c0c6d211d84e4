"""Measuring servers side by side: they take turns, so that what else the machine does meets them
alike. Figures depend on the machine; compare medians of one execution, not executions."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from statistics import median
from typing import Any

#: name → what measures it at an address
Figures = Mapping[str, Callable[[str], float]]
UNDER_WAY = 64  # messages of which a raw client has not got the answer


class RawConnection:
    """A client of nothing but a socket, so that what is measured is the server. `address`: host and
    port. `cut_frame`: takes the first whole frame out of a buffer, None while there is none."""

    def __init__(self, address: str, cut_frame: Callable[[bytearray], bytes | None]) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._cut_frame, self._buffer = cut_frame, bytearray()

    def close(self) -> None:
        self.socket.close()

    def read_frame(self) -> bytes:
        """The next one. Raises ConnectionError where the server has gone."""
        while (frame := self._cut_frame(self._buffer)) is None:
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the server has closed the connection")
            self._buffer += data
        return frame


def count_per_second(transact: Callable[[], object], seconds: float) -> float:
    """How often it can be done, one after the other; once at least."""
    done, start = 0, time.perf_counter()
    while not done or (passed := time.perf_counter() - start) < seconds:
        transact()
        done += 1
    return done / passed


def pipeline_per_second(
    send: Callable[[int], object], hear: Callable[[], object], messages: int
) -> float:
    """How many are sent, `UNDER_WAY` of them without an answer, until all are answered."""
    start = time.perf_counter()
    for sent in range(messages):
        send(sent)
        if sent >= UNDER_WAY:
            hear()
    for _ in range(min(messages, UNDER_WAY)):
        hear()
    return messages / (time.perf_counter() - start)


def measure_in_turns(figures: Figures, *addresses: str, rounds: int = 3) -> dict[str, list[float]]:
    """Each figure at each address, medians of `rounds`."""
    medians = {}
    for name, figure in figures.items():
        rows = [[figure(address) for address in addresses] for _ in range(rounds)]
        medians[name] = [median(row) for row in zip(*rows, strict=True)]
    return medians


def measure_cold_start(
    start: Callable[[], AbstractContextManager[Any]],
    transact: Callable[[str, float], float],
    rounds: int = 3,
) -> tuple[float, float]:
    """Measure how fast and how large a broker starts: (seconds, MiB), medians of `rounds`. The
    seconds are those from nothing to a client's first committed transaction; the MiB are what the
    broker's processes hold then. `start` begins a broker that has an `address`, in processes of its
    own; `transact(address, seconds)` commits transactions for so long, at least one."""
    seconds, memory = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        with start() as broker:
            transact(broker.address, 0)  # no time at all: one transaction
            seconds.append(time.perf_counter() - started)
            memory.append(_measure_children_mib())
    return median(seconds), median(memory)


def _measure_children_mib() -> float:
    """Return the resident memory in MiB of all processes that this one has started, and those of
    theirs (`ps` itself is left out)."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss=,comm="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    family, size = {os.getpid()}, 0
    # children, then their children, until a round finds no more
    while new := {int(pid) for pid, parent, *_ in rows if int(parent) in family} - family:
        family |= new
    for pid, _, kib, command in rows:
        if int(pid) in family and int(pid) != os.getpid() and command != "ps":
            size += int(kib)
    return size / 1024
