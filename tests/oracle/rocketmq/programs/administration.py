"""What an administrator asks, request by request: the codes that mqadmin sends, without it."""

from __future__ import annotations

import json
import re
from typing import Any

from mqlab.rocketmq.remoting import RemotingCommand, RequestCode, encode_json

from ..client import BROKER, Lab, outcome_of
from ..producer import COMMIT, Producer
from ..wire import Connection
from . import NAMES, program
from .consumers import GROUP, subscribe

WHO, NAME_SERVER = "operator", "name server"
#: fastjson writes a map by queues with an object as the key
QUEUE = re.compile(r'\{"brokerName":"[^"]*","queueId":(\d+),"topic":"([^"]*)"\}:')
#: and a number without quotes
NUMBER = re.compile(r"([{,])(\d+):")
TOPIC: dict[str, Any] = {
    "defaultTopic": "TBW102", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6,
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False,
}  # fmt: skip


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
    "administration-topics",
    "AdminBrokerProcessor, RouteInfoManager",
    needs=(NAMES,),
    settings={"timerWheelEnable": "true"},  # without, 5.5.0 cannot delete a topic
)
def topics(lab: Lab) -> None:
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
        it.ask(code.UPDATE_AND_CREATE_TOPIC, **{**TOPIC, **change, "topic": topic})
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


@program("administration-groups", "AdminBrokerProcessor, ConsumerManageProcessor", needs=(NAMES,))
def groups(lab: Lab) -> None:
    """Two messages, a group that has come, positions that it reports and that are changed."""
    lab.topic("orders")
    it, code, app = Operator(lab), RequestCode, Producer(lab)
    app.start()
    for words in ("o1", "o2"):
        app.end(app.send("orders-0", words), COMMIT)
    lab.log("orders", 2)
    subscribe(lab)
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
