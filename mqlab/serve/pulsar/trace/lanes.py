"""The lanes of Pulsar's live picture, behind the clients: coordinators, then topics."""

from __future__ import annotations

import re

from ....kernel import Lane, Text
from ....pulsar.config import COORDINATOR as PREFIX
from ....pulsar.picture import words
from ...trace.lanes import Lanes
from ...trace.texts import cut

COORDINATOR, TOPIC = 1, 2
MOST = (2, 6)  # of each kind
DEFAULT = "persistent://public/default/"
TAKEN = re.compile(rf"{PREFIX}|conn-|disk$")


def make_lanes() -> Lanes:
    return Lanes(MOST, find_kind, head_lane)


def find_kind(name: str) -> int:
    return COORDINATOR if name.startswith(PREFIX) else TOPIC


def name_shortly(topic: str) -> str:
    """Without the namespace that nearly every topic is in."""
    return topic.removeprefix(DEFAULT)


def name_lane(name: str) -> str:
    """The same, unless a part of the broker is called so."""
    short = name_shortly(name)
    return name if TAKEN.match(short) else short


def head_lane(kind: int, name: str) -> Lane:
    if kind == COORDINATOR:
        return Lane(name, Text(name), words.COORDINATOR())
    return Lane(name_lane(name), Text(cut(name_shortly(name))), words.PARTITION())
