"""Who makes a picture of steps: a broker's home brings one, and `live.py` asks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...kernel import Caller, Fact
from .recorder import Step


class Observer(Protocol):
    """`facts`: how many there were so far; `held`: by who has asked, the number of the fact that
    tells of a request which waits at the door."""

    facts: int
    held: dict[Caller, int]

    def take(self, step: Step, listener: Callable[[Fact], None] | None = None) -> None:
        """The next step; `listener` is called with each of its facts, the picture being as it was
        just then."""

    def skip(self, step: Step) -> None:
        """A step that nobody will ever be told of: only what a later picture needs is noted.
        It counts as one fact, so that a follower sees by the numbers that it missed some."""

    def draw(self) -> Any:
        """The Snapshot as it is now, as plain JSON values. Parts that have not changed should
        stay the same objects: a comparison sees that at once."""
