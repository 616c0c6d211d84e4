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


def watched(watchers: Watchers, caller: Caller, ask: Watch, limit: int) -> tuple[Watchers, Effects]:
    """`limit`: the offset that this reader may not reach just now."""
    if ask.offset < limit:
        return watchers, (Reply(caller, Watched()),)
    return (*watchers, (caller, ask)), ()


def unwatched(watchers: Watchers, caller: Caller, corr: int) -> Watchers:
    """Without the question that `caller` asked under this number."""
    gone = (caller.name, corr)
    return tuple(w for w in watchers if (w[0].name, w[0].corr) != gone)


def woken(watchers: Watchers, limit: Callable[[str], int]) -> tuple[Watchers, Effects]:
    """After the log has grown; `limit`: of an isolation level, what it may not reach."""
    ready = [w for w in watchers if w[1].offset < limit(w[1].isolation)]
    left = tuple(w for w in watchers if w not in ready) if ready else watchers
    return left, tuple(Reply(caller, Watched()) for caller, _ in ready)
