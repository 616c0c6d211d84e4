"""Applications: what a client's owner wrote, as data.

A *client role* is the real client's state machine. The *application* beside it is either
a tuple of calls with a program counter, or a Python function that is run again from its
first line against the recorded results of its earlier calls. Both ways its state is just
the list of results: hashable, and a crash starts it from line one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .values import frozen


class _Asked(BaseException):
    """Raised inside a learner's function at the first call that has no result yet."""

    def __init__(self, call: Any) -> None:
        self.call = call


class Asking:
    """What a function application is given: `client(call)` returns the call's result."""

    def __init__(self, results: tuple[Any, ...]) -> None:
        self._results = results
        self._next = 0

    def __call__(self, call: Any) -> Any:
        if self._next == len(self._results):
            raise _Asked(call)
        self._next += 1
        return self._results[self._next - 1]


Program = tuple[Any, ...] | Callable[[Asking], None]


@frozen
class AppState:
    """A program, the results so far, and whether a call is out."""

    program: Program = ()
    results: tuple[Any, ...] = ()
    waiting: bool = False

    def next_call(self) -> Any | None:
        """The call the application makes now; None while it waits and when it is done."""
        if self.waiting:
            return None
        if isinstance(self.program, tuple):
            done = len(self.results)
            return self.program[done] if done < len(self.program) else None
        try:
            self.program(Asking(self.results))
        except _Asked as asked:
            return asked.call
        return None
