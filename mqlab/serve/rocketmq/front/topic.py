"""A topic: how many queues it has and what may be done with them (TopicConfig, 5.5.0)."""

from __future__ import annotations

import re

from ....kernel import frozen
from ....rocketmq.config import (
    DISCARD_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
)
from ....rocketmq.log.store import LONGEST_RETRY, LONGEST_TOPIC

READ, WRITE, INHERIT = 4, 2, 1  # PermName
#: the topic whose settings a new one takes, where topics make themselves (TopicValidator)
AUTO_CREATE = "TBW102"
AUTO_QUEUES = 8  # defaultTopicQueueNums
MOST_QUEUES = 1_024
CLUSTER = "DefaultCluster"
REPLY_TOPIC = f"{CLUSTER}_REPLY_TOPIC"  # MixAll#getReplyTopic
NAME = re.compile(r"[%|a-zA-Z0-9_-]+")
LONGEST_GROUP = 120
TOLD = 1_000  # characters of a name that a refusal repeats
#: topics of a group, whose names may be longer
OF_GROUPS = (RETRY_PREFIX, DLQ_PREFIX)


@frozen
class Topic:
    """`read_queues`, `write_queues`: equal but while somebody takes queues away."""

    name: str
    read_queues: int = 4
    write_queues: int = 4
    perm: int = READ | WRITE
    sys_flag: int = 0

    @property
    def queues(self) -> int:
        return max(self.read_queues, self.write_queues)


#: topics that are there from the start, as in TopicConfigManager's constructor
SYSTEM = {
    name: Topic(name, count, count, perm)
    for name, count, perm in (
        (AUTO_CREATE, AUTO_QUEUES, READ | WRITE | INHERIT),
        (HALF_TOPIC, 1, READ | WRITE),
        (OP_TOPIC, 1, READ | WRITE),
        (DISCARD_TOPIC, 1, READ | WRITE),
        (SCHEDULE_TOPIC, 18, READ | WRITE),
        (REPLY_TOPIC, 1, READ | WRITE),
        (TIMER_TOPIC, 1, READ | WRITE),
    )
}


def name_fault(name: str, older: bool = False) -> str:
    """What is wrong with a topic's name, in the words of a broker of 5.5, or of an `older` one; ""
    where nothing is."""
    if not name.strip():
        return "The specified topic is blank."
    if NAME.fullmatch(name) is None:
        named = "" if older else f": {name[:TOLD]},"
        only = f"allowing only ^{NAME.pattern}$"
        return f"The specified topic{named} contains illegal characters, {only}"
    if older and len(name) > LONGEST_TOPIC:
        return "The specified topic is longer than topic max length."
    if name.startswith(OF_GROUPS) and len(name) > LONGEST_RETRY:
        long = f"{name[:TOLD]}, and it's longer than topic max length: {LONGEST_RETRY}"
        return f"The specified topic is DLQ or Retry topic: {long}"
    if not name.startswith(OF_GROUPS) and len(name) > LONGEST_TOPIC:
        return (
            f"The specified topic: {name[:TOLD]}, is longer than topic max length: {LONGEST_TOPIC}"
        )
    return ""


def group_fault(name: str, older: bool = False) -> str:
    """What is wrong with a consumer group's name (TopicValidator#validateGroup); "" where nothing
    is. 4.9 takes any, but no message for a topic whose name becomes too long by it."""
    if older:
        return ""
    if not name.strip():
        return "The specified group is blank."
    if NAME.fullmatch(name) is None:
        only = f"allowing only ^{NAME.pattern}$"
        return f"The specified group: {name[:TOLD]}, contains illegal characters, {only}"
    if len(name) > LONGEST_GROUP:
        return (
            f"The specified group: {name[:TOLD]}, is longer than group max length: {LONGEST_GROUP}"
        )
    return ""
