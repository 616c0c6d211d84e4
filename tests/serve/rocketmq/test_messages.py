"""Messages over the wire: topics, sends, pulls, positions, look-ups. What has a limit is compared
with real brokers (the recordings `limit-*`)."""

from __future__ import annotations

import time

import pytest

from mqlab.rocketmq.remoting import (
    RequestCode,
    ResponseCode,
    decode_json,
    decode_records,
    make_msg_id,
    read_msg_id,
)
from mqlab.serve.rocketmq import serve
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

ILLEGAL = ResponseCode.MESSAGE_ILLEGAL


# ---- topics ----------------------------------------------------------------------------------


def test_a_topic_makes_itself_with_as_many_queues_as_the_client_counts_on(
    client: Raw, topic: str
) -> None:
    client.put(topic, b"x", queue=3)
    route = client.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic=topic)
    assert decode_json(route.body)["queueDatas"][0]["writeQueueNums"] == 4


# ---- sending ---------------------------------------------------------------------------------


def test_4_9_drops_wait_but_for_what_it_writes_anew() -> None:
    """As 4.9.7 (java-every-field-*); 5.5.0 keeps it everywhere."""
    with serve(release="4.9") as older, Raw(older.address) as client:
        client.create("t")
        for name, more in (("plain", {}), ("zero", {"DELAY": "0"}), ("late", {"DELAY": "1"})):
            client.put("t", name.encode(), WAIT="true", **more)
        half = client.half("t", b"half", "g", "k", WAIT="true")
        client.end(half, "g", commit=8)
        older.fire("broker", "delay level 1")
        waits = {r.body.decode(): r.properties.get("WAIT") for r in client.read("t")}
    assert waits == {"plain": None, "zero": None, "late": "true", "half": "true"}


@pytest.mark.parametrize("value", ["12345678901", "9" * 20, "²", "x", "-5", ""])
def test_an_immunity_is_taken_as_it_comes(client: Raw, topic: str, value: str) -> None:
    """Real 5.5.0 and 4.9.7 take all of these; what is no long is as if it were not there."""
    half = client.half(topic, b"x", "g", "k", CHECK_IMMUNITY_TIME_IN_SECONDS=value)
    assert half.code == SUCCESS
    end = client.end(half, "g", 8)
    assert end is not None and end.code == SUCCESS
    assert bodies(client.read(topic)) == ["x"]


@pytest.mark.parametrize(
    "name", ["TRANSACTION_CHECK_TIMES", "TRAN_PREPARED_QUEUE_OFFSET", "REAL_QID"]
)
@pytest.mark.parametrize("value", ["²", "9" * 5_000])
def test_a_number_that_the_broker_could_not_read_is_refused(
    client: Raw, topic: str, name: str, value: str
) -> None:
    """Such a half would stop the check service at every round."""
    said = client.half(topic, b"x", "g", "k", **{name: value})
    assert said.code == ILLEGAL and name in said.remark


@pytest.mark.parametrize("value", ["²", "9" * 5_000, "x", "1.0", " 1", "1_0", str(1 << 31)])
def test_a_delay_level_that_is_no_int_of_java_is_refused(
    client: Raw, topic: str, value: str
) -> None:
    said = client.put(topic, b"x", DELAY=value)
    assert said.code == ResponseCode.SYSTEM_ERROR
    assert said.remark == f'For input string: "{value[:100]}"'


def test_a_delayed_message_comes_later(client: Raw, topic: str) -> None:
    client.create(topic)
    client.put(topic, b"late", DELAY="1")
    client.put(topic, b"at once")
    assert bodies(client.read(topic)) == ["at once"]
    waiting = client.begin_pull(topic, 1, sysFlag=6)
    (late,) = decode_records(client.answer(waiting).body)
    assert late.body == b"late" and late.properties["DELAY"] == "1"


# ---- pulling ---------------------------------------------------------------------------------


def test_a_held_pull_ends_with_its_time(client: Raw, topic: str) -> None:
    client.create(topic)
    said = client.pull(topic, 0, sysFlag=6, suspendTimeoutMillis=100)
    assert said.code == ResponseCode.PULL_NOT_FOUND and said.fields["nextBeginOffset"] == "0"
    assert said.remark == "NO_MESSAGE_IN_QUEUE"


def test_the_remark_of_a_pull_says_what_was_found(client: Raw, topic: str) -> None:
    client.put(topic, b"x")
    remarks = [client.pull(topic, at).remark for at in (0, 1, 2, -1)]
    assert remarks == ["FOUND", "OFFSET_OVERFLOW_ONE", "OFFSET_OVERFLOW_BADLY", "OFFSET_TOO_SMALL"]
    assert client.pull(topic, 0, subscription="a").remark == "NO_MATCHED_MESSAGE"


def test_only_the_tags_that_are_wanted(client: Raw, topic: str) -> None:
    for tag in "abcab":
        client.put(topic, tag.encode(), TAGS=tag)
    got = client.pull(topic, 0, subscription="a || c")
    assert bodies(decode_records(got.body)) == ["a", "c", "a"]
    assert got.fields["nextBeginOffset"] == "5"
    full = client.pull(topic, 0, subscription="a", maxMsgNums=1)
    assert full.fields["nextBeginOffset"] == "1"  # as a real 5.5.0, whatever comes then
    none = client.pull(topic, 1, subscription="z")
    assert (none.code, none.fields["nextBeginOffset"]) == (20, "5")


def test_one_answer_is_never_too_large(client: Raw, topic: str) -> None:
    for _ in range(4):
        client.put(topic, bytes(200 << 10))
    got = client.pull(topic, 0)
    assert len(decode_records(got.body)) == 1 and got.fields["nextBeginOffset"] == "1"
    assert len(client.read(topic)) == 4


def test_a_pull_may_note_a_position(client: Raw, topic: str, group: str) -> None:
    client.put(topic, b"x")
    client.pull(topic, 0, group, sysFlag=5, commitOffset=1)
    ask = {"consumerGroup": group, "topic": topic, "queueId": 0}
    assert client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **ask).fields["offset"] == "1"


def test_where_a_new_group_begins(client: Raw, topic: str, group: str) -> None:
    client.create(topic)
    ask = {"consumerGroup": group, "topic": topic, "queueId": 0}
    asked = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **ask)
    assert asked.code == ResponseCode.QUERY_NOT_FOUND
    client.put(topic, b"x")
    assert client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **ask).fields["offset"] == "0"
    asked = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **ask, setZeroIfNotFound=False)
    assert asked.code == ResponseCode.QUERY_NOT_FOUND


def test_a_topic_may_be_closed_for_readers_and_writers(client: Raw, topic: str) -> None:
    """Clients see in its route that they may not write; a real 5.5.0 stores what they send."""
    for perm, code in ((4, SUCCESS), (2, ResponseCode.NO_PERMISSION)):
        client.create(topic, perm=perm)
        assert client.put(topic, b"x").code == SUCCESS
        assert client.pull(topic, 0).code == code


# ---- looking ---------------------------------------------------------------------------------


def test_a_queue_from_where_to_where(client: Raw, topic: str) -> None:
    def said(code: int, name: str = "offset", **more: object) -> str:
        return client.ask(code, topic=topic, queueId=0, **more).fields[name]

    before = int(time.time() * 1000) - 1000
    for i in range(3):
        client.put(topic, f"m{i}".encode())
    assert said(RequestCode.GET_MIN_OFFSET) == "0" and said(RequestCode.GET_MAX_OFFSET) == "3"
    search = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    assert said(search, timestamp=before) == "0"
    assert said(search, timestamp=before + 86_400_000) == "3"
    for at_ms, last in ((before, "0"), (before + 86_400_000, "2")):
        assert said(search, timestamp=at_ms, boundaryType="UPPER") == last
    assert int(said(RequestCode.GET_EARLIEST_MSG_STORETIME, "timestamp")) >= before


def test_messages_by_key_and_by_id(client: Raw, topic: str) -> None:
    def query(key: str, **more: object) -> list[str]:
        ask = {"topic": topic, "key": key, "maxNum": 10, "beginTimestamp": 0,
               "endTimestamp": 1 << 60, **more}  # fmt: skip
        said = client.ask(RequestCode.QUERY_MESSAGE, **ask)
        assert said.code == (SUCCESS if said.body else ResponseCode.QUERY_NOT_FOUND)
        return bodies(decode_records(said.body))

    sent = client.put(topic, b"one", KEYS="k1 k2", UNIQ_KEY="u1")
    client.put(topic, b"two", queue=1, KEYS="k2")
    assert (query("k1"), query("k2"), query("u1")) == (["one"], ["one", "two"], ["one"])
    assert query("k2", maxNum=1) == ["two"] and query("k3") == []
    assert query("k2", endTimestamp=1) == [] == query("k2", beginTimestamp=1 << 50)
    where, offset = read_msg_id(sent.fields["msgId"])
    found = client.ask(RequestCode.VIEW_MESSAGE_BY_ID, offset=offset)
    (record,) = decode_records(found.body)
    assert record.body == b"one" and make_msg_id(where, offset) == record.msg_id
    missing = client.ask(RequestCode.VIEW_MESSAGE_BY_ID, offset=1 << 40)
    assert missing.code == ResponseCode.SYSTEM_ERROR
