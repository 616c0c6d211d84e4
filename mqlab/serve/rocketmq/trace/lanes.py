"""The lanes of RocketMQ's live picture: the clients, then the one broker there is."""

from __future__ import annotations

from ....kernel import Lane
from ....rocketmq.picture import words
from ...trace.lanes import Lanes

ONLY_KIND = 1


def make_lanes() -> Lanes:
    return Lanes((1,), find_kind, head_lane)


def find_kind(name: str) -> int:
    return ONLY_KIND


def head_lane(kind: int, name: str) -> Lane:
    return Lane(name, words.BROKER(), words.MASTER())
