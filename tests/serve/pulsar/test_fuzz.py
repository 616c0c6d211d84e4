"""Frames that are nearly right: commands, fields, messages and lengths with a byte or a number
changed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.options import PulsarOptions
from mqlab.serve.pulsar.wire.answers import write_push
from mqlab.serve.pulsar.wire.commands import encode_command
from tests.serve.mutation import change_bytes, count_answers, work_beside
from tests.serve.pulsar.raw import ABORT, COMMIT, Raw, make_message

pytestmark = pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/pulsar")

FRAMES = 10_000
TRANSACTIONS = 1_000
T = "persistent://public/default/t"
NUMBERS = [0, 1, 2, 9, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
NAMES = ["", "t", T, "persistent://public/none/t", "a/b/c/d", "x" * 600, "\x00", "²", "t@conn-1/0",
         "persistent://pulsar/system/transaction_coordinator_assign", "front", "tc-0"]  # fmt: skip
ID = {"ledgerId": 1, "entryId": 0}
TXN = {"txnid_most_bits": 0, "txnid_least_bits": 1 << 40}  # nobody's
WHERE = {"topic": T, "subscription": "s"}
SCHEMA = {"name": "t", "schema_data": b"", "type": 1}
SUBSCRIBE = {"topic": T, "subscription": "s", "subType": 1, "consumer_id": 0, "request_id": 1,
             "initialPosition": 1}  # fmt: skip
SEEDS: list[tuple[str, dict[str, Any]]] = [
    ("CONNECT", {"client_version": "f", "protocol_version": 21}),
    ("PARTITIONED_METADATA", {"topic": T, "request_id": 1}),
    ("LOOKUP", {"topic": T, "request_id": 1}),
    ("PRODUCER", {"topic": T, "producer_id": 0, "request_id": 1}),
    ("PRODUCER", {"topic": T, "producer_id": 1, "request_id": 1, "schema": SCHEMA}),
    ("GET_OR_CREATE_SCHEMA", {"topic": T, "request_id": 1, "schema": SCHEMA}),
    ("GET_SCHEMA", {"topic": T, "request_id": 1, "schema_version": bytes(8)}),
    ("SEND", {"producer_id": 0, "sequence_id": 0}),
    ("SEND", {"producer_id": 0, "sequence_id": 1, **TXN}),
    ("SUBSCRIBE", SUBSCRIBE),
    ("SUBSCRIBE", {**SUBSCRIBE, "durable": False, "start_message_id": ID, "consumer_id": 1}),
    ("FLOW", {"consumer_id": 0, "messagePermits": 5}),
    ("ACK", {"consumer_id": 0, "ack_type": 0, "message_id": [ID]}),
    ("ACK", {"consumer_id": 0, "ack_type": 1, "message_id": [ID], "request_id": 2, **TXN}),
    ("REDELIVER_UNACKNOWLEDGED_MESSAGES", {"consumer_id": 0, "message_ids": [ID]}),
    ("UNSUBSCRIBE", {"consumer_id": 0, "request_id": 1}),
    ("SEEK", {"consumer_id": 0, "request_id": 1, "message_id": ID}),
    ("SEEK", {"consumer_id": 0, "request_id": 1, "message_publish_time": 9}),
    ("CLOSE_PRODUCER", {"producer_id": 0, "request_id": 1}),
    ("CLOSE_CONSUMER", {"consumer_id": 0, "request_id": 1}),
    ("GET_LAST_MESSAGE_ID", {"consumer_id": 0, "request_id": 1}),
    ("GET_TOPICS_OF_NAMESPACE", {"request_id": 1, "namespace": "public/default"}),
    ("GET_SCHEMA", {"request_id": 1, "topic": T}),
    ("PING", {}),
    ("PONG", {}),
    ("TC_CLIENT_CONNECT_REQUEST", {"request_id": 1, "tc_id": 0}),
    ("NEW_TXN", {"request_id": 1, "txn_ttl_millis": 50, "tc_id": 0}),
    ("ADD_PARTITION_TO_TXN", {"request_id": 1, "partitions": [T], **TXN}),
    ("ADD_SUBSCRIPTION_TO_TXN", {"request_id": 1, "subscription": [WHERE], **TXN}),
    ("END_TXN", {"request_id": 1, "txn_action": 0, **TXN}),
    ("SUCCESS", {"request_id": 1}),
    ("MESSAGE", {"consumer_id": 0, "message_id": ID}),
]
TO_US = b" HTTP/1.1\r\nHost: localhost\r\n"
ADMIN = [
    b"GET /admin/v2/persistent/public/default/t/internalStats" + TO_US + b"\r\n",
    b"GET /admin/v2/persistent/public/default/t/ledger/1/entry/0" + TO_US + b"\r\n",
    b"PUT /admin/v2/persistent/public/default/t/unload" + TO_US + b"Content-Length: 0\r\n\r\n",
    b"DELETE /admin/v2/persistent/public/default/t" + TO_US + b"\r\n",
    b"POST /admin/v3/transactions/abortTransaction/0/1" + TO_US + b"\r\n",
    b"GET /admin/v3/transactions/transactionBufferStats/public/default/t" + TO_US + b"\r\n",
    b"GET /admin/v3/transactions/pendingAckStats/public/default/t/s" + TO_US + b"\r\n",
    b"GET /admin/v3/transactions/coordinatorStats" + TO_US + b"\r\n",
]


def mutate(mischief: random.Random) -> bytes:
    """A command with another number or name in it, or another byte."""
    name, given = mischief.choice(SEEDS)
    fields = dict(given)
    for _ in range(mischief.choice((0, 0, 1, 2))):
        key = mischief.choice(sorted(fields)) if fields else ""
        if isinstance(fields.get(key), bool | list | dict | bytes | None):
            continue
        small = key in ("subType", "initialPosition", "ack_type", "txn_action")
        if isinstance(fields[key], str):
            fields[key] = mischief.choice(NAMES)
        elif not small:
            first = 1 << 31 if key == "txnid_least_bits" else 0
            limit = 1 << 31 if key in ("messagePermits", "protocol_version") else 1 << 64
            fields[key] = mischief.choice([n for n in NUMBERS if first <= n < limit])
    message = b""
    if name == "SEND":
        count = mischief.choice((0, 1, 3, -1, (1 << 31) - 1))
        more = {"num_messages_in_batch": count} if mischief.random() < 0.5 else {}
        message = make_message(b"some text", **more)
    return change_bytes(mischief, encode_command(name, fields, message), (0, 0, 0, 1, 3))


def disturb(address: str, mischief: random.Random) -> None:
    """A few frames on each connection, which is closed once the server has seen them all."""
    sent = 0
    while sent < FRAMES:
        with Raw(address, connected=False) as client:
            try:
                if mischief.random() < 0.1:
                    client.socket.sendall(mischief.choice(ADMIN)[: mischief.choice((20, 400))])
                else:
                    client.tell("CONNECT", client_version="f", protocol_version=21)
                for _ in range(mischief.randrange(1, 20)):
                    sent += 1
                    client.socket.sendall(mutate(mischief))
                client.socket.shutdown(1)
                while client.socket.recv(1 << 16):
                    pass
            except OSError:
                pass  # it was closed on us: that is what we came for


def finish(address: str, ended_by_others: set[int]) -> None:
    """Every tenth transaction is aborted. A changed byte may make a stranger's END_TXN name one of
    these."""
    mine = "persistent://public/default/mine"
    with Raw(address) as client:
        client.produce("mine")
        for number in range(TRANSACTIONS):
            txn = client.begin()
            said = client.send_in(txn, mine, str(number), sequence=number)
            assert said.name == "SEND_RECEIPT"
            ended = client.end(txn, ABORT if number % 10 == 9 else COMMIT)
            if ended.body.HasField("error"):
                ended_by_others.add(number)


def test_thousands_of_frames_beside_transactions() -> None:
    with serve() as broker:
        others = set[int]()
        work_beside(
            lambda: disturb(broker.address, random.Random(1)),
            lambda: finish(broker.address, others),
        )
        assert len(others) < TRANSACTIONS / 10
        with Raw(broker.address) as client:
            client.subscribe("mine")
            expected = [str(i) for i in range(TRANSACTIONS) if i % 10 != 9 and i not in others]
            got = list[str]()
            while len(got) < len(expected) and (came := client.receive(1)):
                got += [text for text in came if int(text) not in others]
            more = client.receive(TRANSACTIONS, 0.5)
            assert [*got, *(text for text in more if int(text) not in others)] == expected


def test_no_role_and_no_answer_fails_at_whatever_a_client_sends() -> None:
    served = count_answers(PulsarOptions().adapter(), FRAMES, mutate, write_push, (0, 1, 400))
    assert served > FRAMES / 10
