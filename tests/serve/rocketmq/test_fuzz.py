"""Frames that are nearly right: bodies, headers and lengths with a byte or a number changed.

The server is a process of its own here, because what is tested is that it lives on, and that its
check service goes on asking: a half whose properties it cannot read would stop every round.
"""

from __future__ import annotations

import random
import socket
import time
from typing import Any

import pytest

from mqlab.rocketmq.remoting import (
    BatchMessage,
    Flag,
    RemotingCommand,
    RequestCode,
    SerializeType,
    encode_batch,
    encode_command,
    encode_json,
    encode_properties,
)
from mqlab.serve.rocketmq import serve
from mqlab.serve.rocketmq.frames import push_command
from mqlab.serve.rocketmq.options import RocketMQOptions
from tests.serve.mutation import change_bytes, count_answers, work_beside
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

pytestmark = pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/rocketmq")

FRAMES = 10_000
TRANSACTIONS = 1_000
COMMIT, ROLLBACK = 8, 12
WORDS = ["", "0", "-1", "8", "12", "2147483648", "-9223372036854775808", "t", "TBW102", "%RETRY%g",
         "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "²", "a b", "\x00", "true",
         "[]", "*", "a||b", "9" * 300]  # fmt: skip
PROPERTIES = ["TRAN_MSG", "PGROUP", "UNIQ_KEY", "KEYS", "TAGS", "DELAY", "REAL_TOPIC", "REAL_QID",
              "TRANSACTION_CHECK_TIMES", "TRAN_PREPARED_QUEUE_OFFSET", "RETRY_TOPIC",
              "CHECK_IMMUNITY_TIME_IN_SECONDS", "ORIGIN_MESSAGE_ID"]  # fmt: skip
SEND: dict[str, Any] = {"a": "g", "b": "t", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0,
                        "i": "", "j": 0, "k": "false", "m": "false"}  # fmt: skip
HALF = {**SEND, "i": encode_properties({"TRAN_MSG": "true", "PGROUP": "g", "UNIQ_KEY": "k"})}
GROUP = {"consumerGroup": "g", "topic": "t", "queueId": 0}
PULL = {**GROUP, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 7, "commitOffset": 0,
        "suspendTimeoutMillis": 200, "subscription": "*", "subVersion": 0}  # fmt: skip
MEMBER = {"groupName": "g", "subscriptionDataSet": [{"topic": "t", "subString": "a || b"}]}
BEAT = {"clientID": "c", "producerDataSet": [{"groupName": "g"}], "consumerDataSet": [MEMBER]}
LOCK = {"consumerGroup": "g", "clientId": "c", "mqSet": [{"topic": "t", "queueId": 0}]}
SEEDS: list[tuple[int, dict[str, Any], bytes]] = [
    (RequestCode.SEND_MESSAGE_V2, SEND, b"plain"),
    (RequestCode.SEND_MESSAGE_V2, HALF, b"half"),
    (RequestCode.SEND_BATCH_MESSAGE, SEND, encode_batch([BatchMessage(b"a", {"KEYS": "k"})] * 2)),
    (RequestCode.CONSUMER_SEND_MSG_BACK, {"group": "g", "offset": 0, "delayLevel": 1}, b""),
    (
        RequestCode.END_TRANSACTION,
        {"producerGroup": "g", "tranStateTableOffset": 0, "commitLogOffset": 0,
         "commitOrRollback": COMMIT, "fromTransactionCheck": "false", "msgId": "k"},
        b"",
    ),
    (RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": "7F00000100002A9F" + "0" * 16}, b""),
    (RequestCode.PULL_MESSAGE, PULL, b""),
    (RequestCode.QUERY_CONSUMER_OFFSET, GROUP, b""),
    (RequestCode.UPDATE_CONSUMER_OFFSET, {**GROUP, "commitOffset": 1}, b""),
    (RequestCode.HEART_BEAT, {}, encode_json(BEAT)),
    (RequestCode.UNREGISTER_CLIENT, {"consumerGroup": "g", "producerGroup": "g"}, b""),
    (RequestCode.GET_CONSUMER_LIST_BY_GROUP, GROUP, b""),
    (RequestCode.LOCK_BATCH_MQ, {}, encode_json(LOCK)),
    (RequestCode.UNLOCK_BATCH_MQ, {}, encode_json(LOCK)),
    (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "t"}, b""),
    (RequestCode.GET_BROKER_CLUSTER_INFO, {}, b""),
    (
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        {"topic": "t", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6},
        b"",
    ),
    (RequestCode.GET_MAX_OFFSET, GROUP, b""),
    (RequestCode.GET_EARLIEST_MSG_STORETIME, GROUP, b""),
    (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**GROUP, "timestamp": 5}, b""),
    (
        RequestCode.QUERY_MESSAGE,
        {"topic": "t", "key": "k", "maxNum": 9, "beginTimestamp": 0, "endTimestamp": 1 << 50},
        b"",
    ),
    (RequestCode.VIEW_MESSAGE_BY_ID, {"offset": 0}, b""),
]  # fmt: skip


def mutated(mischief: random.Random) -> bytes:
    """A request with another word in its header, another property, or another byte."""
    code, given, body = mischief.choice(SEEDS)
    fields = {name: str(value) for name, value in given.items()}
    for _ in range(mischief.choice((0, 1, 1, 2))):
        if fields:
            fields[mischief.choice(sorted(fields))] = mischief.choice(WORDS)
    if "i" in given and mischief.random() < 0.5:
        extra = {mischief.choice(PROPERTIES): mischief.choice(WORDS) for _ in range(2)}
        fields["i"] = str(given["i"]) + encode_properties(extra)
    kind = mischief.choice(tuple(SerializeType))
    flag = mischief.choice((0, 0, 0, Flag.ONEWAY, Flag.RESPONSE))
    command = RemotingCommand(
        mischief.choice((code, code, code, 4242)), fields, body, mischief.randrange(9), int(flag),
        serialize_type=kind,
    )  # fmt: skip
    return change_bytes(mischief, encode_command(command), (0, 0, 1, 3))


def disturb(address: str, mischief: random.Random) -> None:
    """A few frames on each connection, which is closed once the server has seen them all."""
    sent = 0
    while sent < FRAMES:
        with Raw(address) as client:
            for _ in range(mischief.randrange(1, 6)):
                sent += 1
                try:
                    client.send(mutated(mischief))
                except OSError:
                    break  # it was closed on us: that is what we came for
            drain(client.socket)


def drain(end: socket.socket) -> None:
    """Say that nothing more comes, and hear what there still is."""
    try:
        end.shutdown(socket.SHUT_WR)
        while end.recv(1 << 16):
            pass
    except OSError:
        pass


def finish(address: str) -> None:
    """Every tenth transaction is rolled back."""
    with Raw(address, timeout_s=600) as client:
        for i in range(TRANSACTIONS):
            half = client.half("mine", str(i).encode(), "worker", f"mine {i}")
            assert half.code == SUCCESS, half.remark
            ended = client.end(half, "worker", ROLLBACK if i % 10 == 9 else COMMIT)
            assert ended is not None and ended.code == SUCCESS


def test_ten_thousand_frames_beside_a_thousand_transactions() -> None:
    with serve(release="4.9", check_interval_ms=100, timeout_ms=30_000) as broker:
        work_beside(
            lambda: disturb(broker.address, random.Random(1)), lambda: finish(broker.address)
        )
        with Raw(broker.address) as client:
            expected = [str(i) for i in range(TRANSACTIONS) if i % 10 != 9]
            assert bodies(client.read("mine")) == expected


def test_the_check_goes_on_whatever_lies_in_the_half_topic() -> None:
    with serve(check_interval_ms=50, timeout_ms=0, op_batch_ms=20) as broker:
        disturb(broker.address, random.Random(2))
        with Raw(broker.address) as client:
            client.beat("last", ("honest",))
            client.half("mine", b"paid", "honest", "mine")
            deadline = time.monotonic() + 60
            while not client.checks and time.monotonic() < deadline:
                client.hear()
            client.answer_check(client.checks[0], "honest", COMMIT)
            assert bodies(client.read("mine")) == ["paid"]


@pytest.mark.parametrize("release", ["5.5", "4.9"])
def test_no_role_and_no_answer_fails_at_whatever_a_client_sends(release: str) -> None:
    adapter = RocketMQOptions(release, 3, 50, 0, 20).adapter()
    assert count_answers(adapter, FRAMES, mutated, push_command, (0, 1, 40)) > FRAMES / 5
