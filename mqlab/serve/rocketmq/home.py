"""RocketMQ's home in the server: see `serve/home.py` for what each part is.

One role plays name server and broker: the front, which holds the engine's broker. All its logs
keep everything: the commit log and, for each queue, the entries that point into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ...kernel import Disk, Effects, Event, Quiet, Reply
from ...rocketmq.messages import name_queue
from ..disk import ServerDisk
from ..home import NO_CHANGE, Change, Home, Start
from .entries import ENTRIES
from .frames import RocketMQFrames, push_command
from .front import FRONT, Front, FrontConfig
from .front.topics import TOPICS
from .trace.observer import Observer
from .wire.answers import Messages


def make_home(config: FrontConfig | None = None) -> Home:
    config = config if config is not None else FrontConfig()
    return Home(
        name="rocketmq",
        system=f"rocketmq release={config.rocketmq.release}",
        frames=RocketMQFrames,
        push=push_command,
        front=FRONT,
        starting=partial(start_roles, config),
        gone=Nobody(),
        entries=ENTRIES,
        observe=Observer,
        weigh=weigh_messages,
        change=drop_queues,
    )


def start_roles(config: FrontConfig, disk: ServerDisk) -> Iterator[Start]:
    yield Start(FRONT, partial(Front.recover, config))


def drop_queues(table: str, key: str, old: Any, new: Any) -> Change:
    """The queues of a topic that is deleted; what lies in the commit log stays."""
    if table != TOPICS or old is None or new is not None:
        return NO_CHANGE
    return Change(drop=tuple(name_queue(key, number) for number in range(old.queues)))


class Nobody(Quiet):
    """Plays a role that is no more. Here roles do not come and go."""

    def step(self, event: Event, disk: Disk) -> tuple[Nobody, Effects]:
        return self, ()


def weigh_messages(effects: Effects) -> int:
    """The bytes of messages that answers refer to."""
    answers = (e.body for e in effects if isinstance(e, Reply) and isinstance(e.body, Messages))
    return sum(len(stored.message.body) for answer in answers for stored in answer.messages)
