"""Long polls: who waits for a log to grow.

A reader that found too little asks to be told when there is more than it was given; the
answer comes with the append that makes it so, or at once if it has happened meanwhile. The
reader gives up by the number of its question.

Source: DelayedFetch, ReplicaManager#fetchMessages (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Callable

from ...kernel import Caller, Effects, Reply
from ..messages import Watch, Watched

Watchers = tuple[tuple[Caller, Watch], ...]


def add_watcher(
    watchers: Watchers, caller: Caller, ask: Watch, end: int
) -> tuple[Watchers, Effects]:
    """`end`: the offset that this reader may not reach just now."""
    if ask.offset < end:
        return watchers, (Reply(caller, Watched()),)
    return (*watchers, (caller, ask)), ()


def remove_watcher(watchers: Watchers, caller: Caller, corr: int) -> Watchers:
    """Without the question that `caller` asked under this number."""
    gone = (caller.name, corr)
    return tuple(w for w in watchers if (w[0].name, w[0].corr) != gone)


def wake_watchers(watchers: Watchers, end: Callable[[str], int]) -> tuple[Watchers, Effects]:
    """After the log has grown; `end`: what may not be reached, by isolation level."""
    ready = [w for w in watchers if w[1].offset < end(w[1].isolation)]
    left = tuple(w for w in watchers if w not in ready) if ready else watchers
    return left, tuple(Reply(caller, Watched()) for caller, _ in ready)
