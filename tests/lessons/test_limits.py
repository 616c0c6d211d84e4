"""What a learner wrote is stopped by the processor's time, and by the clock where it waits."""

from __future__ import annotations

import signal
import threading
import time
from types import SimpleNamespace

import pytest

from mqlab.lessons import check
from mqlab.lessons.check import TooLong, limit_time, pause_limit

SECONDS = 0.1


def use_processor(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_what_computes_without_end_is_stopped() -> None:
    with pytest.raises(TooLong), limit_time(SECONDS):
        while True:
            pass


def test_what_waits_without_end_is_stopped() -> None:
    with pytest.raises(TooLong, match="1 s"), limit_time(SECONDS):
        while True:
            time.sleep(0.01)


def test_a_timer_that_rings_at_the_end_is_off_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    def ring_and_set(timer: int, seconds: float, again: float = 0) -> None:
        if not seconds:
            signal.raise_signal(signal.SIGALRM)
        signal.setitimer(timer, seconds, again)

    rings = SimpleNamespace(**vars(signal) | {"setitimer": ring_and_set})
    monkeypatch.setattr(check, "signal", rings)
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TooLong), limit_time(SECONDS):
        while True:
            pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is handler


def test_time_that_others_use_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PATIENCE", 10_000)
    with limit_time(SECONDS):
        time.sleep(4 * SECONDS)


def test_what_is_not_counted_may_take_long_and_what_follows_is_counted() -> None:
    with pytest.raises(TooLong), limit_time(SECONDS):
        with pause_limit():
            use_processor(4 * SECONDS)
        told = "it went on"
        while True:
            pass
    assert told == "it went on"


def test_beside_the_main_thread_it_is_found_at_the_end() -> None:
    found: list[str] = []

    def work(used: float) -> None:
        try:
            with limit_time(SECONDS):
                use_processor(used)
            found.append("in time")
        except TooLong:
            found.append("too long")

    for used in (0.0, 2 * SECONDS):
        thread = threading.Thread(target=work, args=(used,))
        thread.start()
        thread.join()
    assert found == ["in time", "too long"]
