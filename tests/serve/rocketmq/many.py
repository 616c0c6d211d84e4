"""Requests that name many things: what each costs for one thing, by how many are named.

    python -m tests.serve.rocketmq.many 100,1000,4000     a dictionary of figures, for `make bench`

At most 4,000 groups, subscriptions or queues may be named at once (`wire/requests.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from mqlab.kernel import Caller, Request
from mqlab.rocketmq.remoting import (
    BatchMessage,
    RemotingCommand,
    RequestCode,
    encode_batch,
    encode_command,
    encode_json,
)
from mqlab.serve.adapter import ClientRequest, Peer
from mqlab.serve.driver import Driver
from mqlab.serve.rocketmq.adapter import make_adapter
from mqlab.serve.rocketmq.frames import push_command
from tests.serve.many import Next, measure_all
from tests.serve.rocketmq.raw import SUCCESS

GROUP, CLIENT, TOPIC = "g", "c", "t"


class Wire:
    """A broker without sockets, and one connection: what it is told, it has done at once, with
    the bytes of its answer. `codes`: of the answers, None for one that is no answer yet."""

    def __init__(self) -> None:
        self.adapter, self.codes = make_adapter(), list[int]()
        self.driver = Driver(self.adapter, self._hear)
        self.driver.start()
        self.frames = self.adapter.frames(Peer(("127.0.0.1", 1), ("127.0.0.1", 2)))
        self._asked: dict[int, ClientRequest] = {}
        self._here: set[str] = set()

    def _hear(self, conn: int, number: int, body: Any) -> None:
        self.frames.write(self._asked[number], body)
        self.codes.append(int(body.code))

    def tell(self, code: int, body: bytes = b"", client: str = "conn-1", **fields: Any) -> None:
        texts = {name: str(value) for name, value in fields.items()}
        number = len(self._asked) + 1
        frame = encode_command(RemotingCommand(code, texts, body, number))
        asked = self.frames.read(frame[4:])
        assert isinstance(asked, ClientRequest)
        self._asked[number] = asked
        if client not in self._here:
            self._here.add(client)
            self.driver.connect(client, lambda role, corr, body: bool(push_command(1, body)))
        caller = Caller(client, int(client.removeprefix("conn-")), number)
        self.driver.deliver(self.adapter.front, Request(caller, asked.body, self.driver.now))

    def create(self, topic: str, queues: int = 1) -> None:
        self.tell(
            RequestCode.UPDATE_AND_CREATE_TOPIC, topic=topic, defaultTopic="TBW102",
            readQueueNums=queues, writeQueueNums=queues, perm=6, topicFilterType="SINGLE_TAG",
        )  # fmt: skip

    def beat(self, client: str = "conn-1", **rows: Any) -> None:
        body = {"clientID": client, "producerDataSet": [], "consumerDataSet": [], **rows}
        self.tell(RequestCode.HEART_BEAT, encode_json(body), client)


Case = Callable[[Wire, int], Next]


def consumers(groups: int, topics: int) -> list[dict[str, Any]]:
    rows = [
        {"topic": f"t{i}", "subString": "*", "subVersion": 1, "expressionType": "TAG"}
        for i in range(topics)
    ]
    return [{"groupName": f"g{i}", "subscriptionDataSet": rows} for i in range(groups)]


def beat_producers(wire: Wire, n: int) -> Next:
    return partial(wire.beat, producerDataSet=[{"groupName": f"p{i}"} for i in range(n)])


def beat_groups(wire: Wire, n: int) -> Next:
    return partial(wire.beat, consumerDataSet=consumers(n, 1))


def beat_topics(wire: Wire, n: int) -> Next:
    return partial(wire.beat, consumerDataSet=consumers(1, n))


def leave(begin: Case, wire: Wire, n: int) -> Next:
    begin(wire, n)()
    return partial(wire.driver.disconnect, "conn-1")


def lock(code: RequestCode, wire: Wire, n: int) -> Next:
    wire.create(TOPIC, n)
    rows = [{"topic": TOPIC, "brokerName": "mqlab", "queueId": i} for i in range(n)]
    body = encode_json({"consumerGroup": GROUP, "clientId": CLIENT, "mqSet": rows})
    if code is RequestCode.UNLOCK_BATCH_MQ:
        wire.tell(RequestCode.LOCK_BATCH_MQ, body)
    return partial(wire.tell, code, body)


def send_batch(wire: Wire, n: int) -> Next:
    wire.create(TOPIC)
    body = encode_batch(BatchMessage(b"m", {"UNIQ_KEY": f"u{i}"}) for i in range(n))
    fields = {
        "a": GROUP, "b": TOPIC, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 0, "h": 0, "i": "",
        "j": 0, "k": "false", "m": "true",
    }  # fmt: skip
    return partial(wire.tell, RequestCode.SEND_BATCH_MESSAGE, body, **fields)


def list_members(wire: Wire, n: int) -> Next:
    for number in range(n):
        wire.beat(f"conn-{number + 1}", consumerDataSet=consumers(1, 1))
    return partial(wire.tell, RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup="g0")


def beat_many(wire: Wire, n: int) -> None:
    for number in range(n):
        rows = {"producerDataSet": [{"groupName": "p0"}], "consumerDataSet": consumers(1, 1)}
        wire.beat(f"conn-{number + 1}", **rows)


def list_connections(code: RequestCode, field: str, group: str, wire: Wire, n: int) -> Next:
    beat_many(wire, n)
    return partial(wire.tell, code, **{field: group})


def list_producers(wire: Wire, n: int) -> Next:
    beat_many(wire, n)
    return partial(wire.tell, RequestCode.GET_ALL_PRODUCER_INFO)


def ask_of_queues(code: RequestCode, fields: dict[str, Any], wire: Wire, n: int) -> Next:
    wire.create(TOPIC, n)
    wire.beat(consumerDataSet=consumers(1, 1))
    for queue in range(n):
        where = {"consumerGroup": "g0", "topic": TOPIC, "queueId": queue}
        wire.tell(RequestCode.UPDATE_CONSUMER_OFFSET, **where, commitOffset=0)
    return partial(wire.tell, code, topic=TOPIC, **fields)


def list_readers(wire: Wire, n: int) -> Next:
    beat_groups(wire, n)()
    return partial(wire.tell, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic="t0")


def list_topics(wire: Wire, n: int) -> Next:
    for number in range(n):
        wire.create(f"t{number}")
    return partial(wire.tell, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)


def describe_queues(wire: Wire, n: int) -> Next:
    wire.create(TOPIC, n)
    return partial(wire.tell, RequestCode.GET_TOPIC_STATS_INFO, topic=TOPIC)


CASES: dict[str, Case] = {
    "HEART_BEAT, producer groups": beat_producers,
    "HEART_BEAT, consumer groups": beat_groups,
    "HEART_BEAT, subscriptions": beat_topics,
    "a client that leaves, producer groups": partial(leave, beat_producers),
    "a client that leaves, consumer groups": partial(leave, beat_groups),
    "LOCK_BATCH_MQ": partial(lock, RequestCode.LOCK_BATCH_MQ),
    "UNLOCK_BATCH_MQ": partial(lock, RequestCode.UNLOCK_BATCH_MQ),
    "SEND_BATCH_MESSAGE": send_batch,
    "GET_CONSUMER_LIST_BY_GROUP, members": list_members,
    "GET_ALL_TOPIC_LIST_FROM_NAMESERVER": list_topics,
    "GET_TOPIC_STATS_INFO, queues": describe_queues,
    "GET_CONSUMER_CONNECTION_LIST, members": partial(
        list_connections, RequestCode.GET_CONSUMER_CONNECTION_LIST, "consumerGroup", "g0"
    ),
    "GET_PRODUCER_CONNECTION_LIST, members": partial(
        list_connections, RequestCode.GET_PRODUCER_CONNECTION_LIST, "producerGroup", "p0"
    ),
    "GET_ALL_PRODUCER_INFO, members": list_producers,
    "QUERY_TOPIC_CONSUME_BY_WHO, groups": list_readers,
    "GET_CONSUME_STATS, queues": partial(
        ask_of_queues, RequestCode.GET_CONSUME_STATS, {"consumerGroup": "g0"}
    ),
    "INVOKE_BROKER_TO_RESET_OFFSET, queues": partial(
        ask_of_queues,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        {"group": "g0", "timestamp": 0, "isForce": "true"},
    ),
    "DELETE_TOPIC_IN_BROKER, queues": partial(
        ask_of_queues, RequestCode.DELETE_TOPIC_IN_BROKER, {}
    ),
}


def prepare(name: str, n: int) -> Next:
    """The request of this case, about n things that are there. AssertionError where it, or what
    has made them, was refused."""
    wire = Wire()
    request = CASES[name](wire, n)

    def handle() -> None:
        request()
        assert set(wire.codes) == {int(SUCCESS)}, wire.codes

    return handle


if __name__ == "__main__":
    print(measure_all(prepare, sys.argv[2:] or CASES, [int(n) for n in sys.argv[1].split(",")]))
