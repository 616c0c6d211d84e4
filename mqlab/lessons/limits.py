"""Stopping what a learner wrote when it takes too long.

A function with an endless loop is interrupted by the machine's own timer (`setitimer`), where
there is one and the call is made in the main thread, as a notebook's cells are. Elsewhere only
what comes to an end can be found to have taken too long.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_S = 0.05


class TooLong(BaseException):
    """The time is over. No `Exception`, so that an `except Exception` does not catch it."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in what runs inside when it has run for so many seconds, and again and
    again until it has ended, should it catch that."""
    if not can_interrupt():
        started = time.perf_counter()
        yield
        if time.perf_counter() - started > seconds:
            raise TooLong
        return
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
            yield
        finally:
            _disarm()
    finally:  # should it have rung on the way into the one above
        _disarm()
        signal.signal(signal.SIGALRM, before)


@contextmanager
def not_counted(seconds: float) -> Iterator[None]:
    """Within `limit_time`: what happens here is not the learner's, who has `seconds` from
    its end."""
    if not can_interrupt():
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)


def can_interrupt() -> bool:
    """Whether a call made here can be interrupted, not only measured."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise TooLong


def _disarm() -> None:
    """Stop the timer, even if it rings while it is being stopped."""
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            return
        except TooLong:
            continue
