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

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply
from ....rocketmq.remoting import ResponseCode, encode_json
from ..wire.answers import FrontAnswer, write_host
from ..wire.asks import Ask, GetBrokerClusterInfo, GetRouteInfoByTopic, UpdateAndCreateTopic
from .topic import AUTO_CREATE, CLUSTER, INHERIT, MOST_QUEUES, SYSTEM, Topic, name_fault

if TYPE_CHECKING:
    from . import Front

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
    """A topic that somebody sends to and that is not there."""
    model = SYSTEM[AUTO_CREATE]
    count = max(1, min(queues, model.write_queues))
    topic = Topic(name, count, count, model.perm & ~INHERIT)
    return topic, (Put(TOPICS, name, topic),)


def create_once(disk: Disk, name: str, queues: int = 1) -> Effects:
    """A group's retry topic, its DLQ."""
    if find_topic(disk, name) is not None:
        return ()
    return (Put(TOPICS, name, Topic(name, queues, queues)),)


# ---- requests --------------------------------------------------------------------------------


def answer_route(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: GetRouteInfoByTopic = ask.body
    topic = find_topic(disk, body.topic)
    if topic is None or (topic.name == AUTO_CREATE and not front.config.auto_create):
        remark = NO_ROUTE.format(topic=body.topic)
        return front, (Reply(caller, FrontAnswer(ResponseCode.TOPIC_NOT_EXIST, remark)),)
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
    return front, (Reply(caller, FrontAnswer(body=encode_json(route))),)


def answer_cluster(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    assert isinstance(ask.body, GetBrokerClusterInfo)
    info = {
        "brokerAddrTable": {BROKER_NAME: describe_broker(front, ask)},
        "clusterAddrTable": {CLUSTER: [BROKER_NAME]},
    }
    return front, (Reply(caller, FrontAnswer(body=encode_json(info))),)


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
    wrong = name_fault(body.topic, front.is_older)
    if not wrong and body.topic in SYSTEM:
        wrong = SYSTEM_TOPIC.format(topic=body.topic)
    bad = [count for count in counts if not 1 <= count <= MOST_QUEUES]
    if not wrong and bad:
        wrong = TOO_MANY.format(most=MOST_QUEUES, given=bad[0])
    if wrong:
        code = front.code_of_illegal(ResponseCode.INVALID_PARAMETER)
        return front, (Reply(caller, FrontAnswer(code, wrong)),)
    topic = Topic(body.topic, *counts, body.perm & 7, body.sys_flag)
    return front, (Put(TOPICS, topic.name, topic), Reply(caller, FrontAnswer()))
