"""The lanes of Kafka's live picture, behind the clients: coordinator, partitions, groups."""

from __future__ import annotations

from functools import partial

from ....kafka.picture import words
from ....kernel import Lane, Text
from ...trace.lanes import Lanes
from ..front.topic import is_internal

COORDINATOR, LEADER, GROUP = 1, 2, 3
MOST = (1, 6, 1)  # of each kind


def make_lanes(coordinator: str) -> Lanes:
    return Lanes(MOST, partial(find_kind, coordinator), head_lane)


def find_kind(coordinator: str, name: str) -> int:
    if name == coordinator:
        return COORDINATOR
    return GROUP if is_internal(name) else LEADER


def head_lane(kind: int, name: str) -> Lane:
    if kind == COORDINATOR:
        return Lane(name, Text(name), words.TXN_LOG())
    if kind == LEADER:
        return Lane(name, Text(name), words.LEADER())
    return Lane(name, Text(name), words.GROUP())
