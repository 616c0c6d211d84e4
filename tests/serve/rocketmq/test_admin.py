"""What mqadmin asks, and what it changes: answers as a real 5.5.0 gives them, or a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mqlab.rocketmq.remoting import RemotingCommand, RequestCode, ResponseCode, encode_json
from mqlab.rocketmq.remoting.unserved import UNSERVED
from mqlab.serve.rocketmq import serve
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies
from tests.serve.started import Started


def plain(answer: RemotingCommand) -> dict[str, Any]:
    """A table by queues, which fastjson writes with objects as keys, by the queue's number."""
    assert answer.code == SUCCESS, answer.remark
    text = re.sub(r'\{"brokerName":"[^"]*","queueId":(\d+),"topic":"[^"]*"\}:', r'"\1":',
                  answer.body.decode())  # fmt: skip
    found: dict[str, Any] = json.loads(text)
    return found


def beat(client: Raw, name: str, group: str, topic: str) -> None:
    """A producer and a consumer by tags."""
    subscribed = {"topic": topic, "subString": "a || bb", "subVersion": 5, "expressionType": "TAG"}
    consumer = {
        "groupName": group, "consumeType": "CONSUME_ACTIVELY", "messageModel": "BROADCASTING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [subscribed],
    }  # fmt: skip
    body = {"clientID": name, "producerDataSet": [{"groupName": f"{group}-producer"}],
            "consumerDataSet": [consumer]}  # fmt: skip
    assert client.ask(RequestCode.HEART_BEAT, encode_json(body)).code == SUCCESS


def test_topics_are_listed(client: Raw, topic: str) -> None:
    client.create(topic)
    for code, more in ((206, {}), (224, {"cluster": "DefaultCluster"})):
        names = plain(client.ask(code, **more))["topicList"]
        assert {topic, "TBW102", "RMQ_SYS_TRANS_HALF_TOPIC"} <= set(names)
    assert plain(client.ask(224, cluster="another")) == {"topicList": []}


def test_a_groups_progress(client: Raw, topic: str, group: str) -> None:
    client.create(topic, 2)
    for _ in range(3):
        client.put(topic, b"x", TAGS="a")
    beat(client, "c1", group, topic)
    client.ask(
        RequestCode.UPDATE_CONSUMER_OFFSET, consumerGroup=group, topic=topic, queueId=0,
        commitOffset=1,
    )  # fmt: skip
    client.pull(topic, 1, group)
    table = plain(client.ask(RequestCode.GET_CONSUME_STATS, consumerGroup=group))["offsetTable"]
    first = table["0"]
    assert (first["brokerOffset"], first["consumerOffset"], first["pullOffset"]) == (3, 1, 3)
    assert first["lastTimestamp"] > 0 and table["1"]["consumerOffset"] == 0
    readers = plain(client.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic=topic))
    assert readers == {"groupList": [group]}


def test_connections_are_told_as_clients_have_said_who_they_are(
    client: Raw, topic: str, group: str
) -> None:
    client.create(topic)
    beat(client, "c1@here", group, topic)
    here = "{}:{}".format(*client.socket.getsockname())
    told = plain(client.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup=group))
    row = {"clientAddr": here, "clientId": "c1@here", "language": "PYTHON", "version": 0}
    assert told["connectionSet"] == [row]
    kind = (told["consumeType"], told["messageModel"], told["consumeFromWhere"])
    assert kind == ("CONSUME_ACTIVELY", "BROADCASTING", "CONSUME_FROM_FIRST_OFFSET")
    wanted = told["subscriptionTable"][topic]
    assert wanted["subString"] == "a || bb"
    assert dict(zip(wanted["tagsSet"], wanted["codeSet"], strict=True)) == {"a": 97, "bb": 3136}
    named = client.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup=f"{group}-producer")
    assert plain(named)["connectionSet"] == [row]
    producers = plain(client.ask(RequestCode.GET_ALL_PRODUCER_INFO))["data"][f"{group}-producer"]
    assert [(one["clientId"], one["remoteIP"]) for one in producers] == [("c1@here", f"/{here}")]
    nobody = client.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup="nobody")
    assert nobody.code == ResponseCode.CONSUMER_NOT_ONLINE


def test_a_reset_holds_until_the_group_pulls(client: Raw, topic: str, group: str) -> None:
    """Recorded from 5.5.0: its report is passed over, then its pull is told where to go on."""
    client.create(topic)
    for _ in range(3):
        client.put(topic, b"x", TAGS="a")
    beat(client, "c1", group, topic)
    place: dict[str, Any] = {"consumerGroup": group, "topic": topic, "queueId": 0}
    client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=3, **place)
    reset: dict[str, Any] = {"group": group, "topic": topic, "timestamp": 0, "isForce": "true"}
    other = {**reset, "topic": f"{topic}-unread"}
    client.create(other["topic"])
    for given in (reset, other):
        answer = client.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, **given)
        assert plain(answer) == {"offsetTable": {"0": 0}}
    readers = client.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic=other["topic"])
    assert plain(readers) == {"groupList": [group]}, "a position that it has from the reset alone"
    late = client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=2, **place)
    assert (late.code, late.remark) == (SUCCESS, "Offset has been previously reset")
    asked = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **place)
    assert asked.fields["offset"] == "0"
    told = client.pull(topic, 3, group)
    assert (told.code, told.fields["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "0")
    assert told.remark == "OFFSET_RESET"
    assert client.pull(topic, 0, group).code == SUCCESS
    client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=2, **place)
    assert client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **place).fields["offset"] == "2"
    for wrong, code in (
        ({"topic": "nowhere"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"group": "nobody"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"queueId": 0, "offset": 9}, ResponseCode.SYSTEM_ERROR),
    ):
        assert client.ask(222, **{**reset, **wrong}).code == code


@pytest.mark.parametrize("release", ["5.5", "4.9"])
def test_a_deleted_topic_stays_deleted_and_begins_again_at_0(tmp_path: Path, release: str) -> None:
    place: dict[str, Any] = {"consumerGroup": "g", "topic": "orders", "queueId": 0}
    with serve(data_dir=tmp_path, release=release) as broker:
        with Raw(broker.address) as client:
            client.put("orders", b"old")
            client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=1, **place)
            assert client.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="orders").code == SUCCESS
            gone = client.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")
            assert gone.code == ResponseCode.TOPIC_NOT_EXIST
            kept = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **place)
            assert kept.code == (ResponseCode.QUERY_NOT_FOUND if release == "5.5" else SUCCESS)
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            assert "orders" not in plain(client.ask(206))["topicList"]
            client.create("orders")
            assert bodies(client.read("orders")) == []
            assert client.put("orders", b"new").fields["queueOffset"] == "0"
            assert bodies(client.read("orders")) == ["new"]
            refused = client.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="TBW102")
            assert "is conflict with system topic" in refused.remark


def test_what_is_not_served_is_refused_with_a_sentence_and_the_log_says_so(
    client: Raw, tmp_path: Path
) -> None:
    for code, one in UNSERVED.items():
        said, sentence = client.ask(code), f"{one.name} is not served by mqlab: {one.why}"
        assert (said.code, said.remark) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, sentence)
        assert len(one.why.split()) > 3
    with Started(tmp_path, broker="rocketmq") as running, Raw(running.address) as other:
        other.ask(26)
        running.said(f"GET_BROKER_CONFIG is not served by mqlab: {UNSERVED[26].why}")


def test_resume_takes_a_plain_message_and_says_what_is_not_there(client: Raw, topic: str) -> None:
    """As 4.9.7 and 5.5.0 do."""
    put = client.put(topic, b"plain")
    assert client.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=put.fields["msgId"]).code == 0
    missing = put.fields["msgId"][:16] + "000000000FFFFFFF"
    said = client.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=missing)
    assert said.remark.startswith("Exception was thrown when putting message back")
