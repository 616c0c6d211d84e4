"""Commands on a connection: what is refused, what closes it, and several under way at once."""

from __future__ import annotations

import struct

import pytest

from mqlab.rocketmq.remoting import RequestCode, ResponseCode, SerializeType
from mqlab.serve import RunningBroker
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies


@pytest.mark.parametrize("code", [0, 13, 4242, -1])
def test_a_request_that_is_not_known_is_refused(client: Raw, code: int) -> None:
    said = client.ask(code)
    assert said.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert said.remark == f" request type {code} not supported"


@pytest.mark.parametrize(
    ("code", "fields", "remark"),
    [
        (RequestCode.GET_MAX_OFFSET, {"queueId": 0}, "the custom field <topic> is null"),
        (RequestCode.GET_MAX_OFFSET, {"topic": "t", "queueId": "1_0"}, 'For input string: "1_0"'),
        (
            RequestCode.GET_MAX_OFFSET,
            {"topic": "t", "queueId": 1 << 31},
            'For input string: "2147483648"',
        ),
        (RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": "zz"}, "no id of a message: 'zz'"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(
    client: Raw, code: int, fields: dict[str, object], remark: str
) -> None:
    said = client.ask(code, **fields)
    assert (said.code, said.remark) == (ResponseCode.SYSTEM_ERROR, remark)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"clientID":1}', b'{"consumerDataSet":[0]}'])
def test_a_heartbeat_that_cannot_be_read_is_refused(client: Raw, body: bytes) -> None:
    assert client.ask(RequestCode.HEART_BEAT, body).code == ResponseCode.SYSTEM_ERROR
    assert client.beat("c").code == SUCCESS, "the connection goes on"


def test_the_header_of_an_answer_is_as_that_of_its_request(client: Raw, topic: str) -> None:
    client.serialize_type = SerializeType.ROCKETMQ
    said = client.put(topic, b"x")
    assert said.serialize_type is SerializeType.ROCKETMQ and said.fields["queueOffset"] == "0"


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 1 << 30),
        struct.pack(">ii", 4, 1 << 20),
        struct.pack(">ii", 8, 2 << 24 | 4) + b"null",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_command_closes_its_connection(broker: RunningBroker, data: bytes) -> None:
    with Raw(broker.address) as client:
        client.send(data)
        assert client.closed
    with Raw(broker.address) as client:
        assert client.beat("c").code == SUCCESS


def test_answers_come_as_they_are_ready(client: Raw, topic: str) -> None:
    """A pull that is held holds up nobody, though it came first on the same connection."""
    client.create(topic)
    waiting = client.begin_pull(topic, 0, sysFlag=6)
    assert client.put(topic, b"x").code == SUCCESS
    assert client.answer(waiting).code == SUCCESS


def test_a_one_way_request_is_not_answered(client: Raw, topic: str) -> None:
    client.create(topic)
    client.begin(4242, oneway=True)
    client.begin(
        RequestCode.UPDATE_CONSUMER_OFFSET, oneway=True, consumerGroup="g", topic=topic,
        queueId=0, commitOffset=7,
    )  # fmt: skip
    said = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, consumerGroup="g", topic=topic, queueId=0)
    assert said.fields["offset"] == "7"
    assert client._answers == {}


def test_an_answer_to_nothing_disturbs_nobody(client: Raw, topic: str) -> None:
    client.begin(RequestCode.HEART_BEAT)
    client.send(struct.pack(">ii", 4 + 30, 30) + b'{"code":0,"flag":1,"opaque":5}')
    assert client.put(topic, b"x").code == SUCCESS
    assert bodies(client.read(topic)) == ["x"]
