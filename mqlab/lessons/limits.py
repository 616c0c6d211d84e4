"""Stopping what a learner wrote when it takes too long.

What counts is the processor's time that the thread has used, so that a right answer passes on a
busy machine too; what waits and uses none is stopped after a while on the clock, `PATIENCE`
times as long.

A function with an endless loop is interrupted by the machine's own timer (`setitimer`), where
there is one and the call is made in the main thread, as a notebook's cells are. Elsewhere only
what comes to an end can be found to have taken too long.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

AGAIN_S = 0.05
PATIENCE = 10
MOST_FILE = 50_000_000  # bytes
#: a browser's Python cannot say what a thread has used
read_used = getattr(time, "thread_time", time.perf_counter)


class TooLong(BaseException):
    """The time is over; its text says how long it was. No `Exception`, so that an
    `except Exception` does not catch it."""


class Limit:
    """What a thread may use from now on; as the handler of a signal it raises `TooLong` in the
    main thread once that is used up."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.count_anew()

    def count_anew(self) -> None:
        self._used, self._began = read_used(), time.perf_counter()

    def start(self) -> None:
        """Count again, and let the timer ring from when it could first be used up."""
        self.count_anew()
        signal.setitimer(signal.ITIMER_REAL, self.seconds, AGAIN_S)

    def check(self) -> None:
        """Raises TooLong."""
        if read_used() - self._used >= self.seconds:
            raise TooLong(f"{self.seconds:.0f} s")
        if time.perf_counter() - self._began >= PATIENCE * self.seconds:
            raise TooLong(f"{PATIENCE * self.seconds:.0f} s")

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.check()


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in what runs inside when it has run for so many seconds, and again and
    again until it has ended, should it catch that."""
    limit = Limit(seconds)
    if not can_interrupt():
        yield
        limit.check()
        return
    before = signal.signal(signal.SIGALRM, limit)
    try:
        try:
            limit.start()
            yield
        finally:
            _disarm()
    finally:  # should it have rung on the way into the one above
        _disarm()
        signal.signal(signal.SIGALRM, before)


@contextmanager
def pause_limit() -> Iterator[None]:
    """Within `limit_time`: what happens here is not the learner's, whose time begins again at
    its end."""
    limit = signal.getsignal(signal.SIGALRM) if can_interrupt() else None
    if not isinstance(limit, Limit):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    limit.start()


def can_interrupt() -> bool:
    """Whether a call made here can be interrupted, not only measured."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _disarm() -> None:
    """Stop the timer, even if it rings while it is being stopped."""
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            return
        except TooLong:
            continue


def limit_resources(memory: int) -> None:
    """What this process may use from now on, in bytes, where this system can say so."""
    with suppress(ImportError):
        import resource

        for kind, most in (("RLIMIT_FSIZE", MOST_FILE), ("RLIMIT_AS", memory)):
            if hasattr(resource, kind):
                with suppress(ValueError, OSError):
                    resource.setrlimit(getattr(resource, kind), (most, most))
