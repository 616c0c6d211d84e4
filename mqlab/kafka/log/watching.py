"""Who waits for a log to grow: long polls, and acknowledgements (`acks`) of appends not yet safe.

A reader that found too little asks to be told when there is more than it was given; the
answer comes with the append that makes it so, or at once if it has happened meanwhile. The
reader gives up by the number of its question.

Many may wait for one log at once, so none of these functions looks at all of them for one
that comes, leaves or is answered; only an append asks every reader.

Source: DelayedFetch, DelayedProduce, ReplicaManager#fetchMessages (Kafka 4.3).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import TypeVar

from ...kernel import Caller, Effects, Map, Reply
from ..messages import Watch, Watched

#: readers, by who asks and under which number
Watchers = Map[tuple[str, int], tuple[Caller, Watch]]
#: something that is safe once the log is replicated up to the offset at its place 0
At = TypeVar("At", bound=tuple[int, *tuple[object, ...]])
_end_of = itemgetter(0)


def add_ack(waiting: tuple[At, ...], new: At) -> tuple[At, ...]:
    """With one more, in the order of the offsets; behind those with the same one."""
    at = bisect_right(waiting, new[0], key=_end_of)
    return (*waiting[:at], new, *waiting[at:])


def take_safe(waiting: tuple[At, ...], end: int) -> tuple[tuple[At, ...], tuple[At, ...]]:
    """(those that are safe now that the log is replicated up to `end`, the others)."""
    at = bisect_right(waiting, end, key=_end_of)
    return waiting[:at], waiting[at:]


def add_watcher(
    watchers: Watchers, caller: Caller, ask: Watch, end: int
) -> tuple[Watchers, Effects]:
    """`end`: the offset that this reader may not reach just now."""
    if ask.offset < end:
        return watchers, (Reply(caller, Watched()),)
    return watchers.set((caller.name, caller.corr), (caller, ask)), ()


def remove_watcher(watchers: Watchers, caller: Caller, corr: int) -> Watchers:
    """Without the question that `caller` asked under this number."""
    return watchers.remove((caller.name, corr))


def wake_watchers(watchers: Watchers, end: Callable[[str], int]) -> tuple[Watchers, Effects]:
    """After the log has grown; `end`: what may not be reached, by isolation level."""
    ready = [
        (key, caller) for key, (caller, ask) in watchers.items() if ask.offset < end(ask.isolation)
    ]
    for key, _ in ready:
        watchers = watchers.remove(key)
    return watchers, tuple(Reply(caller, Watched()) for _, caller in ready)
