"""What an administrator asks, request by request: the codes that mqadmin sends, without it."""

from __future__ import annotations

import json
import re
from typing import Any

from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from mqlab.rocketmq.remoting import RemotingCommand, RequestCode, encode_json
from tests.oracle.rocketmq.client import BROKER, COMMIT, TOPIC, UNKNOW, Lab, Producer, outcome_of
from tests.oracle.rocketmq.mqadmin import Mqadmin
from tests.oracle.rocketmq.programs import JAVA, NAMES, TIMERS, program
from tests.oracle.rocketmq.programs.checks import give_up
from tests.oracle.rocketmq.programs.consumers import GROUP, subscribe
from tests.oracle.rocketmq.programs.ends import begin
from tests.oracle.rocketmq.wire import Connection

WHO, NAME_SERVER = "operator", "name server"
#: fastjson writes a map by queues with an object as the key
QUEUE = re.compile(r'\{"brokerName":"[^"]*","queueId":(\d+),"topic":"([^"]*)"\}:')
#: and a number without quotes
NUMBER = re.compile(r"([{,])(\d+):")
TWO_QUEUES = TOPIC | {"readQueueNums": 2, "writeQueueNums": 2}


class Operator:
    """`names`: a connection to the name server."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.names = lab, Connection(lab.target.name_server)

    def ask(self, code: RequestCode, body: bytes = b"", names: bool = False, **fields: Any) -> None:
        """Names of topics and groups begin with `@`."""
        own = {key: self.wire(value) for key, value in fields.items()}
        ask = self.names.ask if names else self.lab.ask
        answer = ask(code, body, **own)
        given = " ".join(f"{k}={v}" for k, v in fields.items() if k not in TOPIC)
        question = f"{code.name} {given}".replace("@", "").strip()
        self.lab.note(WHO, NAME_SERVER if names else BROKER, question, self.describe(answer))

    def wire(self, value: Any) -> Any:
        at, text = isinstance(value, str) and "@" in value, str(value)
        return text.replace("@", self.lab.wire("")) if at else value

    def describe(self, answer: RemotingCommand) -> str:
        """The code, the header's fields, the body as sorted JSON."""
        fields = sorted(answer.fields.items() - {("version", answer.fields.get("version", ""))})
        parts = [outcome_of(answer), *(f"{k}={v}" for k, v in fields)]
        if answer.body:
            parts.append(self.describe_body(answer.body.decode()))
        return self.short(" ".join(parts))

    def describe_body(self, text: str) -> str:
        data = json.loads(NUMBER.sub(r'\1"\2":', QUEUE.sub(r'"\2-\1":', text)))
        return json.dumps(self.mask(data), sort_keys=True, separators=(",", ":"))

    def mask(self, data: Any, name: str = "") -> Any:
        """Without times, and of all topics those of the program."""
        if name == "topicList":
            return sorted(topic for topic in data if topic.startswith(self.lab.wire("")))
        if isinstance(data, dict):
            kept = data.keys() - {"consumeTps"}  # what is handed out is not counted here
            return {key: self.mask(data[key], key) for key in kept}
        if isinstance(data, list):
            return [self.mask(value) for value in data]
        if isinstance(data, (int, float)) and name.lower().endswith("timestamp"):
            return "TIME" if data else 0
        return "#" if name.lower().endswith("tps") else data

    def short(self, text: str) -> str:
        """Without the prefix of names, and without ports."""
        text = text.replace(self.lab.wire(""), "")
        text = text.replace(self.lab.target.address, "BROKER")
        return re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)


def ask_about(it: Operator, topic: str, group: str, producers: str) -> None:
    """All that can be asked of a topic, of a group that reads it and of one that writes it."""
    code = RequestCode
    it.ask(code.GET_ROUTEINFO_BY_TOPIC, names=True, topic=topic)
    it.ask(code.GET_TOPIC_CONFIG, topic=topic)
    it.ask(code.GET_TOPIC_STATS_INFO, topic=topic)
    it.ask(code.QUERY_TOPIC_CONSUME_BY_WHO, topic=topic)
    it.ask(code.GET_CONSUME_STATS, consumerGroup=group, topic="")
    it.ask(code.GET_CONSUME_STATS, consumerGroup=group, topic=topic)
    it.ask(code.GET_CONSUMER_CONNECTION_LIST, consumerGroup=group)
    it.ask(code.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=group)
    it.ask(code.GET_PRODUCER_CONNECTION_LIST, producerGroup=producers)
    it.ask(code.QUERY_CONSUMER_OFFSET, consumerGroup=group, topic=topic, queueId=0)


@program(
    "AdminBrokerProcessor, RouteInfoManager",
    needs=(NAMES,),
    settings=TIMERS,  # without, 5.5.0 cannot delete a topic
)
def administration_topics(lab: Lab) -> None:
    it, code = Operator(lab), RequestCode
    ask_about(it, "@orders", "@nobody", "@nobody")
    wrong: dict[str, dict[str, Any]] = {
        "TBW102": {},
        "a b": {},
        "@many": {"readQueueNums": 0},
        "@orders": {},
        "@prices": {"perm": 4},
    }
    for topic, change in wrong.items():
        it.ask(code.UPDATE_AND_CREATE_TOPIC, **{**TWO_QUEUES, **change, "topic": topic})
    it.ask(code.DELETE_TOPIC_IN_BROKER, topic="@many")
    it.ask(code.DELETE_TOPIC_IN_NAMESRV, names=True, topic="@many")
    lab.wait_until(lambda: it.names.ask(105, topic=lab.wire("prices")).code == 0)
    app = Producer(lab)
    app.send("orders-1", "o1", half=False)
    lab.log("orders", 1, queue_id=1)
    ask_about(it, "@orders", "@nobody", "@order-service")
    it.ask(code.GET_TOPIC_CONFIG, topic="@prices")
    queries: tuple[dict[str, Any], ...] = ({}, {"cluster": "DefaultCluster"})
    for query in queries:
        kind = code.GET_TOPICS_BY_CLUSTER if query else code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
        it.ask(kind, names=True, **query)
    it.ask(code.GET_BROKER_CLUSTER_INFO, names=True)
    for topic in ("@nothing", "TBW102", "", "@orders"):
        it.ask(code.DELETE_TOPIC_IN_BROKER, topic=topic)
    it.ask(code.DELETE_TOPIC_IN_NAMESRV, names=True, topic="@orders")
    ask_about(it, "@orders", "@nobody", "@order-service")


def commit_two(lab: Lab, app: Producer) -> None:
    """Two committed messages, and a group that has come for them."""
    for words in ("o1", "o2"):
        app.end(app.send("orders-0", words), COMMIT)
    lab.log("orders", 2)
    subscribe(lab)


@program("AdminBrokerProcessor, ConsumerManageProcessor", needs=(NAMES,))
def administration_groups(lab: Lab) -> None:
    """Two messages, a group that has come, positions that it reports and that are changed."""
    lab.topic("orders")
    it, code, app = Operator(lab), RequestCode, Producer(lab)
    app.start()
    commit_two(lab, app)
    ask_about(it, "@orders", f"@{GROUP}", "@order-service")
    place: dict[str, Any] = {"consumerGroup": f"@{GROUP}", "topic": "@orders", "queueId": 0}
    for offset in (1, 9):
        it.ask(code.UPDATE_CONSUMER_OFFSET, **place, commitOffset=offset)
        it.ask(code.GET_CONSUME_STATS, consumerGroup=f"@{GROUP}", topic="@orders")
    it.ask(code.QUERY_TOPIC_CONSUME_BY_WHO, topic="@orders")
    if lab.profile.name != "4.9":  # whose reset is pushed to the consumers: a listed difference
        here = (GROUP, "orders")
        for (group, topic), at in (
            (here, 0), (here, -1), ((GROUP, "nothing"), 0), (("nobody", "orders"), 0)
        ):  # fmt: skip
            fields: dict[str, Any] = {
                "group": f"@{group}",
                "topic": f"@{topic}",
                "timestamp": at,
                "isForce": True,
            }
            it.ask(code.INVOKE_BROKER_TO_RESET_OFFSET, **fields)
            it.ask(code.QUERY_CONSUMER_OFFSET, **place)
    made = {"groupName": lab.wire("audit"), "retryMaxTimes": 3}
    it.ask(code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, encode_json(made))
    ask_about(it, "@orders", "@audit", "@audit")


# ---- mqadmin, command by command: what an operator is told ---------------------------

OWN = ("orders", "prices")


def own_topics(line: str) -> bool:
    """A real broker has topics of its own that have no meaning for this project's."""
    return any(name in line.split() for name in OWN)


@program(
    "org.apache.rocketmq.tools.command.topic",
    needs=(JAVA,),
    settings=TIMERS,  # without, 5.5.0 cannot delete a topic
)
def java_mqadmin_topics(lab: Lab) -> None:
    with Mqadmin(lab) as run:
        run(
            "updateTopic -b BROKER -t @orders -r 2 -w 2",
            "updateTopic -c DefaultCluster -t @prices -r 1 -w 1",
            "updateTopic -b BROKER -t TBW102",
            "updateTopicPerm -t @prices -p 4 -b BROKER",
            "topicClusterList -t @orders",
            "topicRoute -t @orders",
            "topicRoute -t @orders -l",
            "topicRoute -t @nothing",
            "topicStatus -t @nothing",
            "sendMessage -t @orders -p hello -k k1 -c tagA -b broker-a -i 0",
            "sendMessage -t @orders -p again -k k2 -b broker-a -i 0",
            "topicStatus -t @orders",
            "queryMsgByKey -t @orders -k k1",
            "queryMsgByKey -t @orders -k k9",
            "queryMsgByOffset -t @orders -b broker-a -i 0 -o 0",
            "queryMsgByOffset -t @orders -b broker-a -i 0 -o 9",
            "queryMsgByUniqueKey -t @orders -i 7F0000010000000000000000000000",
            "printMsg -t @orders -d true",
            "printMsgByQueue -t @orders -a broker-a -i 0 -p true -d true",
            "checkMsgSendRT -t @orders -a 1 -s 10",
        )
        run("topicList", "topicList -c", keep=own_topics)
        run(
            "deleteTopic -c DefaultCluster -t @orders",
            "deleteTopic -c DefaultCluster -t @nothing",
        )
        run("topicList", keep=own_topics)


@program("org.apache.rocketmq.tools.command.consumer", needs=(JAVA,))
def java_mqadmin_groups(lab: Lab) -> None:
    """Of a group that has come, and of one that has not."""
    app, _ = begin(lab)
    commit_two(lab, app)
    with Mqadmin(lab) as run:
        run(
            "updateSubGroup -b BROKER -g @audit",
            "updateSubGroup -c DefaultCluster -g @audit -r 3",
            f"consumerProgress -g @{GROUP}",
            "consumerProgress -g @nobody",
            f"consumerConnection -g @{GROUP}",
            "consumerConnection -g @nobody",
            f"resetOffsetByTime -g @{GROUP} -t @orders -s 0",
            f"resetOffsetByTime -g @{GROUP} -t @orders -s -1 -b broker-a -q 0 -o 1",
            f"resetOffsetByTime -g @{GROUP} -t @nothing -s 0",
            "resetOffsetByTime -g @nobody -t @orders -s 0",
            f"consumerProgress -g @{GROUP}",
            f"skipAccumulatedMessage -g @{GROUP} -t @orders -f true",
            f"consumerProgress -g @{GROUP}",
            f"cloneGroupOffset -s @{GROUP} -d @audit -t @orders -o false",
            "producer -b BROKER",
            "producerConnection -g @order-service -t @orders",
            "producerConnection -g @nobody -t @orders",
        )


@program("org.apache.rocketmq.tools.command.topic", profiles=("5.5",), needs=(JAVA,))
def java_mqadmin_watch(lab: Lab) -> None:
    """What an operator looks at: a half that is asked about again and again, until it is parked."""
    with Mqadmin(lab) as run:
        app, (o1,) = begin(lab, "o1")
        app.end(o1, UNKNOW)
        run(f"topicStatus -t {HALF_TOPIC}")
        give_up(lab, app)
        lab.log("discard", 1)
        run(*(f"topicStatus -t {topic}" for topic in (HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC)))
