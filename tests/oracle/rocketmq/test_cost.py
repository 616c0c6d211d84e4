"""How RocketMQ's requests and its commit log are read."""

from __future__ import annotations

from mqlab.rocketmq.config import HALF_TOPIC, OP_TOPIC
from mqlab.rocketmq.remoting import (
    Flag,
    MessageRecord,
    RemotingCommand,
    RequestCode,
    encode_command,
    encode_record,
)
from tests.oracle.rocketmq.cost import END, count_records, make_namer


def command(code, number, flag=0):
    return encode_command(RemotingCommand(code, {}, b"", number, flag, language="JAVA"))[4:]


def test_either_side_asks_and_an_answer_is_named_after_its_request():
    name = make_namer()
    assert name(command(RequestCode.END_TRANSACTION, 7, Flag.ONEWAY), True) == END
    assert name(command(RequestCode.HEART_BEAT, 8), True) == "Heartbeat"
    assert name(command(RequestCode.CHECK_TRANSACTION_STATE, 8), False) == "request 39"
    assert name(command(0, 8, Flag.RESPONSE), False) == "Heartbeat"
    assert name(command(0, 8, Flag.RESPONSE), True) == "request 39"


def test_what_a_reader_pulls_does_not_count():
    name = make_namer()
    assert name(command(RequestCode.PULL_MESSAGE, 3), True) == ""
    assert name(command(0, 3, Flag.RESPONSE), False) == ""


def test_records_are_counted_by_topic_up_to_where_nothing_is_written():
    topics = [HALF_TOPIC, "orders", OP_TOPIC, "orders"]
    records = [encode_record(MessageRecord(topic=topic, body=b"x")) for topic in topics]
    found = count_records(b"".join(records) + bytes(100))
    assert found == {"half topic": 1, "op topic": 1, "topics' queues": 2}
