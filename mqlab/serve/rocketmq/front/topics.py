"""Topics, and the name server's answers: who has a topic, and where that one is.

A route names brokers and, for each, how many queues of the topic it has. Here one address is name
server and broker, so the route of every topic leads back to where it was asked for. A topic is a
row of the durable table `topics`; the real broker keeps `topics.json`, and tells the name server
every 30 seconds, so that a new topic is not known at once as it is here.

Where topics make themselves, a client that finds no route takes that of TBW102 and sends as if
the topic were there; the broker then creates it, with as many queues as the client counts on.

Source: RouteInfoManager#pickupTopicRouteData, TopicConfigManager#createTopicInSendMessageMethod,
#createTopicInSendMessageBackMethod, AdminBrokerProcessor#updateAndCreateTopic (5.5.0).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply, frozen
from ....rocketmq.config import (
    DISCARD_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
)
from ....rocketmq.log import LONGEST_RETRY, LONGEST_TOPIC
from ....rocketmq.remoting import ResponseCode, encode_json
from ..wire.answers import Ask, FrontAnswer, UpdateAndCreateTopic, write_host
from ..wire.headers import RequestError

if TYPE_CHECKING:
    from . import Front


# ---- A topic: how many queues it has and what may be done with them (TopicConfig, 5.5.0)

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
    """`read_queues`, `write_queues`: equal but while queues are taken away."""

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
    """Return what is wrong with a topic's name, in the words of a broker of 5.5, or of 4.9
    (`older`); "" where nothing is."""
    if not name.strip():
        return "The specified topic is blank."
    if NAME.fullmatch(name) is None:
        shown_name = "" if older else f": {name[:TOLD]},"
        only = f"allowing only ^{NAME.pattern}$"
        return f"The specified topic{shown_name} contains illegal characters, {only}"
    if older and len(name) > LONGEST_TOPIC:
        return "The specified topic is longer than topic max length."
    if name.startswith(OF_GROUPS) and len(name) > LONGEST_RETRY:
        words = f"{name[:TOLD]}, and it's longer than topic max length: {LONGEST_RETRY}"
        return f"The specified topic is DLQ or Retry topic: {words}"
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


TOPICS = "topics"
BROKER_NAME = "broker-a"
NO_TOPIC = "topic[{topic}] not exist, apply first please!"
NO_ROUTE = (
    "No topic route info in name server for the topic: {topic}\n"
    "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
)
SYSTEM_TOPIC = "The topic[{topic}] is conflict with system topic."
TOO_MANY = "a topic has from 1 to {most} queues here, not {given}"
Result = tuple["Front", Effects]


def find_topic(disk: Disk, name: str) -> Topic | None:
    topic: Topic | None = disk.table(TOPICS).get(name) or SYSTEM.get(name)
    return topic


def create_itself(name: str, queues: int) -> tuple[Topic, Effects]:
    """A topic that a producer sends to and that is not there."""
    model = SYSTEM[AUTO_CREATE]
    count = max(1, min(queues, model.write_queues))
    topic = Topic(name, count, count, model.perm & ~INHERIT)
    return topic, (Put(TOPICS, name, topic),)


def create_once(disk: Disk, name: str, queues: int = 1) -> Effects:
    """A group's retry topic, its DLQ."""
    if find_topic(disk, name) is not None:
        return ()
    return (Put(TOPICS, name, Topic(name, queues, queues)),)


def say(front: Front, caller: Caller, body: bytes = b"", *before: Any) -> Result:
    """The answer OK, with this body; `before`: other effects."""
    return front, (*before, Reply(caller, FrontAnswer(body=body)))


# ---- requests ------------------------------------------------------------------------


def answer_route(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Answer GET_ROUTEINFO_BY_TOPIC with the route of a topic: this broker and its queues, as JSON.
    Refused for a topic that does not exist."""
    topic = find_topic(disk, ask.body)
    # AUTO_CREATE (TBW102): clients ask for its route to send to a topic that does not exist yet
    if topic is None or (topic.name == AUTO_CREATE and not front.config.auto_create):
        raise RequestError(NO_ROUTE.format(topic=ask.body), ResponseCode.TOPIC_NOT_EXIST)
    route = {
        "brokerDatas": [describe_broker(front, ask)],
        "filterServerTable": {},
        "queueDatas": [
            {
                "brokerName": BROKER_NAME,
                "perm": topic.perm,
                "readQueueNums": topic.read_queues,
                "topicSysFlag": topic.sys_flag,
                "writeQueueNums": topic.write_queues,
            }
        ],
    }
    return say(front, caller, encode_json(route))


def answer_cluster(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    info = {
        "brokerAddrTable": {BROKER_NAME: describe_broker(front, ask)},
        "clusterAddrTable": {CLUSTER: [BROKER_NAME]},
    }
    return say(front, caller, encode_json(info))


def describe_broker(front: Front, ask: Ask) -> dict[str, Any]:
    """The one broker there is, a master, at the address where it was asked for."""
    broker: dict[str, Any] = {
        "brokerAddrs": {"0": write_host(ask.here)},
        "brokerName": BROKER_NAME,
        "cluster": CLUSTER,
    }
    return broker if front.is_older else {**broker, "enableActingMaster": False}


def create_topic(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: UpdateAndCreateTopic = ask.body
    counts = (body.read_queues, body.write_queues)
    wrong = name_fault(body.topic, older=front.is_older)
    if not wrong and body.topic in SYSTEM:
        wrong = SYSTEM_TOPIC.format(topic=body.topic)
    bad = [count for count in counts if not 1 <= count <= MOST_QUEUES]
    if not wrong and bad:
        wrong = TOO_MANY.format(most=MOST_QUEUES, given=bad[0])
    if wrong:
        raise RequestError(wrong, front.code_of_illegal(ResponseCode.INVALID_PARAMETER))
    topic = Topic(body.topic, *counts, body.perm & 7, body.sys_flag)
    return say(front, caller, b"", Put(TOPICS, topic.name, topic))
