"""Consumer groups over the wire: members, subscriptions, locks, what is sent back."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.rocketmq.remoting import (
    RemotingCommand,
    RequestCode,
    ResponseCode,
    decode_json,
    decode_properties,
    encode_json,
    encode_properties,
    read_msg_id,
)
from mqlab.serve import RunningBroker
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies


def list_ids(client: Raw, group: str) -> list[str]:
    said = client.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=group)
    return decode_json(said.body)["consumerIdList"] if said.code == SUCCESS else []


def lock(client: Raw, code: int, group: str, who: str, *queues: tuple[str, int]) -> Any:
    rows = [{"topic": topic, "brokerName": "broker-a", "queueId": i} for topic, i in queues]
    body = encode_json({"consumerGroup": group, "clientId": who, "mqSet": rows})
    return client.ask(code, body)


def test_members_hear_of_each_other(broker: RunningBroker, topic: str, group: str) -> None:
    with Raw(broker.address) as first, Raw(broker.address) as second:
        first.beat("b", consumers={group: {topic: "*"}})
        assert list_ids(first, group) == ["b"]
        second.beat("a", consumers={group: {topic: "*"}})
        told = first.wait_for_news(2)[1]  # the first is that it came itself
        assert told.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED and told.is_oneway
        assert told.fields == {"consumerGroup": group}
        assert list_ids(first, group) == ["a", "b"]
        left = second.ask(RequestCode.UNREGISTER_CLIENT, clientID="a", consumerGroup=group)
        assert left.code == SUCCESS
        assert len(first.wait_for_news(3)) == 3 and list_ids(second, group) == ["b"]
    with Raw(broker.address) as third:
        while list_ids(third, group):
            pass
        said = third.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=group)
        assert said.remark == f"no consumer for this group, {group}"


def test_a_group_has_its_retry_topic(client: Raw, topic: str, group: str) -> None:
    client.beat("a", consumers={group: {topic: "*"}})
    route = client.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic=f"%RETRY%{group}")
    assert decode_json(route.body)["queueDatas"][0]["readQueueNums"] == 1


def test_who_pulls_by_a_subscription_that_is_not_known_is_refused(
    client: Raw, topic: str, group: str
) -> None:
    client.put(topic, b"a", TAGS="a")
    client.put(topic, b"b", TAGS="b")

    def said(version: int, of: str = topic) -> int:
        return client.pull(of, 0, group, sysFlag=0, subVersion=version).code

    client.create(f"{topic}-other")
    assert said(0) == ResponseCode.SUBSCRIPTION_NOT_EXIST
    client.beat("c", consumers={group: {topic: "b"}})
    assert said(0, f"{topic}-other") == ResponseCode.SUBSCRIPTION_NOT_EXIST
    assert said(2) == ResponseCode.SUBSCRIPTION_NOT_LATEST
    assert said(1) == SUCCESS
    got = client.pull(topic, 0, group, sysFlag=0, subVersion=1)
    assert got.fields["nextBeginOffset"] == "2" and got.body.count(b"TAGS") == 1


def test_a_queue_is_locked_for_one_client(broker: RunningBroker, topic: str, group: str) -> None:
    take, free = RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ
    queues = (topic, 0), (topic, 1)

    def mine(client: Raw, who: str) -> list[int]:
        said = lock(client, take, group, who, *queues)
        return [row["queueId"] for row in decode_json(said.body)["lockOKMQSet"]]

    with Raw(broker.address) as one, Raw(broker.address) as two:
        assert mine(one, "a") == [0, 1]
        assert mine(two, "b") == []
        assert mine(two, "a") == [0, 1], "the same client, over another connection"
        assert lock(one, free, group, "a", (topic, 1)).code == SUCCESS
        assert mine(two, "b") == [1]


def test_a_group_may_say_how_often_its_messages_come_back(
    client: Raw, topic: str, group: str
) -> None:
    made = encode_json({"groupName": group, "retryMaxTimes": 0})
    assert client.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, made).code == SUCCESS
    _, offset = read_msg_id(client.put(topic, b"bad").fields["msgId"])
    fields = {"group": group, "offset": offset, "delayLevel": 0}
    assert client.ask(RequestCode.CONSUMER_SEND_MSG_BACK, **fields).code == SUCCESS
    assert bodies(client.read(f"%DLQ%{group}")) == ["bad"]


def test_whom_the_broker_could_ask(client: Raw, group: str) -> None:
    asked = {"code": RequestCode.GET_PRODUCER_CONNECTION_LIST, "producerGroup": group}
    assert client.ask(**asked).remark == f"the producer group[{group}] not exist"
    client.beat("c", (group,))
    said = client.ask(**asked)
    assert len(decode_json(said.body)["connectionSet"]) == 1


def test_the_end_of_an_old_connection_forgets_only_that_one(
    broker: RunningBroker, topic: str, group: str
) -> None:
    def count(client: Raw) -> int:
        said = client.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup=group)
        return len(decode_json(said.body)["connectionSet"])

    with Raw(broker.address) as new:
        with Raw(broker.address) as old:
            old.beat("me@1", producers=(group,))
            new.beat("me@1", producers=(group,))
            assert count(new) == 2, "the process came back before its old connection had closed"
        while count(new) > 1:
            pass
        new.half(topic, b"x", group, "k")
        assert new.wait_for_checks(1)[0].fields["transactionId"] == "k"
        assert reply(new, REPLY_TO_CLIENT="me@1").code == SUCCESS


# ---- what a consumer filters by ------------------------------------------------------------------


def check_config(client: Raw, kind: str, text: str) -> Any:
    row = {"topic": "t", "subString": text, "expressionType": kind}
    body = {"clientId": "c", "group": "g", "subscriptionData": row}
    return client.ask(RequestCode.CHECK_CLIENT_CONFIG, encode_json(body))


def test_a_consumer_may_filter_by_tags_only(client: Raw) -> None:
    assert check_config(client, "TAG", "a || b").code == SUCCESS
    said = check_config(client, "SQL92", "a between 0 and 3")
    assert said.code == ResponseCode.SYSTEM_ERROR
    assert said.remark == "The broker does not support consumer to filter message by SQL92"


def test_a_pull_by_anything_but_tags_is_refused(client: Raw, topic: str, group: str) -> None:
    client.create(topic)
    row = {"topic": topic, "subString": "a = 1", "subVersion": 1, "expressionType": "SQL92"}
    consumers = [{"groupName": group, "subscriptionDataSet": [row]}]
    beat = encode_json({"clientID": "c", "consumerDataSet": consumers})
    assert client.ask(RequestCode.HEART_BEAT, beat).code == SUCCESS
    for more in ({"sysFlag": 0}, {"subscription": "a = 1", "expressionType": "SQL92"}):
        said = client.pull(topic, 0, group, **more)
        assert said.remark == "The broker does not support consumer to filter message by SQL92"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("||", ResponseCode.SUBSCRIPTION_PARSE_FAILED),
        (" ", ResponseCode.PULL_RETRY_IMMEDIATELY),
        (" * ", ResponseCode.PULL_RETRY_IMMEDIATELY),
        ("", SUCCESS),
    ],
)
def test_what_a_subscription_without_tags_means(
    client: Raw, topic: str, group: str, text: str, code: ResponseCode
) -> None:
    client.put(topic, b"a", TAGS="a")
    assert client.pull(topic, 0, group, subscription=text).code == code
    assert client.beat("c", consumers={group: {topic: text}}).code == SUCCESS


# ---- questions and answers ---------------------------------------------------------------------


def reply(client: Raw, **properties: str) -> RemotingCommand:
    fields = {
        "a": "answering", "b": "DefaultCluster_REPLY_TOPIC", "c": "TBW102", "d": 4, "e": 0, "f": 0,
        "g": 1, "h": 0, "i": encode_properties(properties), "j": 0, "k": "false", "m": "false",
    }  # fmt: skip
    return client.ask(RequestCode.SEND_REPLY_MESSAGE_V2, b"it is", **fields)


def test_an_answer_goes_to_the_client_that_asked(broker: RunningBroker, group: str) -> None:
    with Raw(broker.address) as asking, Raw(broker.address) as answering:
        asking.beat(f"me@{group}", producers=(group,))
        said = reply(answering, REPLY_TO_CLIENT=f"me@{group}", CORRELATION_ID="7")
        assert said.code == SUCCESS and "queueOffset" in said.fields, "it is stored as well"
        (told,) = asking.wait_for_news(1)
        assert told.code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT and told.is_oneway
        assert told.body == b"it is" and told.fields["topic"] == "DefaultCluster_REPLY_TOPIC"
        assert decode_properties(told.fields["properties"])["CORRELATION_ID"] == "7"


def test_an_answer_to_nobody_is_refused(broker: RunningBroker, group: str) -> None:
    asking = Raw(broker.address)
    asking.beat(f"me@{group}", producers=(group,))
    asking.close()
    with Raw(broker.address) as answering:
        gone = f"push reply message fail, channel of <me@{group}> not found."
        while (said := reply(answering, REPLY_TO_CLIENT=f"me@{group}")).code == SUCCESS:
            pass
        assert (said.code, said.remark) == (ResponseCode.SYSTEM_ERROR, gone)
        said = reply(answering)
        assert said.remark == "reply message properties[REPLY_TO_CLIENT] is null"
