"""The lanes of RocketMQ's live picture: the clients, then the one broker there is."""

from __future__ import annotations

from ....kernel import Lane, Text, Words
from ...trace.lanes import Lanes

BROKER = Words("broker", "broker")
MASTER = Words("name server and broker", "名字服务器与 broker")
PRODUCER = Words("producer", "生产者")
CONSUMER = Words("consumer", "消费者")
ONLY_KIND = 1


def make_lanes() -> Lanes:
    return Lanes((1,), find_kind, head_lane)


def find_kind(name: str) -> int:
    return ONLY_KIND


def head_lane(kind: int, name: str) -> Lane:
    return Lane(name, Text(BROKER().en, BROKER().zh), MASTER())
