"""What each consumer has made of what it got: the orders it applied, and what is odd about it."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Map, Reader, Text
from ..consumer.listening import APPLIED
from . import words
from .view import View, list_group_queues


def draw_readers(seen: View) -> tuple[Reader, ...]:
    return tuple(_draw_reader(seen, name, group) for name, group in seen.cluster.consumers)


def _draw_reader(seen: View, name: str, group: str) -> Reader:
    applied = seen.world.disk(name).table(APPLIED)
    got = tuple(
        Got("applied", order, seen.book.name_order(order))
        for order, times in applied.items()
        for _ in range(times)
    )
    return Reader(name, got, _describe_oddity(seen, group, applied))


def _describe_oddity(seen: View, group: str, applied: Map[str, int]) -> Text:
    """The worst that can be said of it: applied twice, given up, to come again, came twice."""
    for order, times in applied.items():
        if times > 1:
            return words.APPLIED_TWICE(order=order, times=times)
    retry, dead = list_group_queues(group)
    for queue, describe in ((dead, words.DEAD), (retry, words.BACK)):
        waiting = [s.message.words for s in seen.read(queue)]
        left = [order for order in waiting if order not in applied]
        if left:
            return describe(order=left[-1])
    came = [stored.message.words for stored in seen.list_passed(group)]
    for order in applied:
        if came.count(order) > 1:
            return words.CAME_TWICE(order=order, times=came.count(order))
    return NOTHING
