"""What is large: a batch of thousands, a heartbeat of many groups, questions of megabytes."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from mqlab.kernel import Append, ConnectionLost, Effects, Map, MemoryDisk, Put, Reply, Request, Send
from mqlab.kernel.role import Caller
from mqlab.rocketmq.config import SAFEGUARDS, RocketMQConfig
from mqlab.rocketmq.messages import SendBatchResponse
from mqlab.rocketmq.remoting import (
    BatchMessage,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    answer_to,
    cut_frame,
    decode_command,
    encode_batch,
    encode_command,
    encode_json,
)
from mqlab.serve import RunningBroker
from mqlab.serve.rocketmq import serve
from mqlab.serve.rocketmq.front import FRONT, REQUESTS, Front, FrontConfig
from mqlab.serve.rocketmq.wire.answers import Ask, FrontAnswer
from mqlab.serve.rocketmq.wire.requests import read_request
from tests.bench import rocketmq as bench
from tests.bench.rocketmq import messages_per_second, transactions_per_second
from tests.bench.servers import measure_cold_start, measure_in_turns
from tests.serve.many import HASHED, WALK, check_growth
from tests.serve.rocketmq.many import CASES, prepare
from tests.serve.rocketmq.raw import SUCCESS, Raw
from tests.serve.started import note_senders

HERE = ("127.0.0.1", 10911)
MANY = 40_000


def take(code: int, body: bytes, release: str = "5.5", **fields: Any) -> Effects:
    """What one step of a fresh broker does with a client's command."""
    config = RocketMQConfig(on=frozenset(SAFEGUARDS), release=release)
    front, _ = Front.recover(FrontConfig(config), MemoryDisk(), 0)
    command = RemotingCommand(code, {n: str(v) for n, v in fields.items()}, body, 1)
    ask = Ask(command, read_request(command, "127.0.0.1:5", REQUESTS[command.code][0]), HERE)
    _, effects = front.step(Request(Caller("conn-1"), ask, 0), MemoryDisk())
    return effects


def send_batch(body: bytes, release: str = "5.5") -> Effects:
    fields = {"a": "g", "b": "orders", "d": 1, "e": 0, "f": 0, "g": 5, "h": 0, "j": 0, "m": "true"}
    return take(RequestCode.SEND_BATCH_MESSAGE, body, release, **fields)


def test_a_batch_is_stored_in_one_step_with_one_answer() -> None:
    """Not in a step a message, each of which copies the answers so far."""
    effects = send_batch(encode_batch([BatchMessage(b"")] * MANY))
    (answer,) = (e.body for e in effects if isinstance(e, Reply))
    assert isinstance(answer, SendBatchResponse) and answer.code == ResponseCode.SUCCESS
    assert (answer.queue_offset, answer.commit_log_offsets) == (0, tuple(range(MANY)))
    assert sum(isinstance(e, Append) for e in effects) == 2 * MANY  # a record and its queue entry
    assert not [e for e in effects if isinstance(e, Send) and e.to == FRONT]


@pytest.mark.parametrize(
    ("release", "code"), [("5.5", ResponseCode.SYSTEM_ERROR), ("4.9", ResponseCode.MESSAGE_ILLEGAL)]
)
def test_a_batch_larger_than_a_message_may_be_is_refused(release: str, code: int) -> None:
    """As real brokers do: the bytes of all its messages count, not those of one."""
    effects = send_batch(encode_batch([BatchMessage(b"z" * 430_000)] * 10), release)
    (answer,) = (e.body for e in effects if isinstance(e, Reply))
    assert answer.code == code
    assert not [e for e in effects if isinstance(e, Append)]


def test_a_heartbeat_of_many_groups_is_one_step() -> None:
    rows = [{"groupName": f"g{n}", "subscriptionDataSet": []} for n in range(2_000)]
    beat = {"clientID": "c", "producerDataSet": [], "consumerDataSet": rows}
    effects = take(RequestCode.HEART_BEAT, encode_json(beat))
    assert sum(isinstance(e, Put) for e in effects) == 2_000  # each group's retry topic
    assert [e.body for e in effects if isinstance(e, Reply)] == [FrontAnswer()]


@pytest.mark.parametrize(
    "beat",
    [
        {"producerDataSet": [{"groupName": "p"}] * 4_001},
        {"consumerDataSet": [{"groupName": f"g{n}"} for n in range(4_001)]},
        {"consumerDataSet": [{"groupName": "g", "subscriptionDataSet": [{"topic": "t"}] * 4_000}]},
        {"producerDataSet": [{"groupName": "p" * 30}] * MANY},
    ],
    ids=("producers", "consumers", "subscriptions", "bytes"),
)
def test_what_one_request_may_name_has_a_limit(client: Raw, beat: dict[str, Any]) -> None:
    """Or nobody else has a turn while it is worked through. The connection stays."""
    said = client.ask(RequestCode.HEART_BEAT, encode_json({"clientID": "c", **beat}))
    assert said.code == ResponseCode.SYSTEM_ERROR and "at most" in said.remark
    locks = {"consumerGroup": "g", "clientId": "c", "mqSet": [{"topic": "t"}] * 4_001}
    said = client.ask(RequestCode.LOCK_BATCH_MQ, encode_json(locks))
    assert said.code == ResponseCode.SYSTEM_ERROR and "4000" in said.remark
    assert client.beat("c", ("p",)).code == SUCCESS


def test_who_goes_is_not_looked_for_among_the_groups_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 300 clients with a group each and one that all share, one goes: the broker goes through
    no map of them all."""
    front, _ = Front.recover(FrontConfig(), MemoryDisk(), 0)
    for name in (f"conn-{n}" for n in range(300)):
        rows = [{"groupName": f"g{name}", "subscriptionDataSet": []}]
        rows += [{"groupName": "shared"}] if name in ("conn-1", "conn-2") else []
        beat = {"clientID": name, "producerDataSet": [{"groupName": name}], "consumerDataSet": rows}
        command = RemotingCommand(RequestCode.HEART_BEAT, {}, encode_json(beat), 1)
        ask = Ask(command, read_request(command, "127.0.0.1:5", REQUESTS[command.code][0]), HERE)
        front, _ = front.step(Request(Caller(name), ask, 0), MemoryDisk())
    gone_through = list[int]()
    for way in ("items", "__iter__"):
        whole = getattr(Map, way)
        monkeypatch.setattr(
            Map, way, lambda self, whole=whole: (gone_through.append(len(self)), whole(self))[1]
        )
    front, effects = front.step(ConnectionLost("conn-1", 0), MemoryDisk())
    assert max(gone_through, default=0) < 10
    monkeypatch.undo()
    assert "conn-1" not in front.broker.producers.groups and "conn-1" not in front.broker.met
    assert not {"gconn-1", "conn-1"} & {*front.clients.groups, *front.clients.producers}
    assert len(front.clients.groups) == 300 and len(front.clients.producers) == 299
    assert [e.to for e in effects if isinstance(e, Send)] == ["conn-2"], "of `shared` it is told"


@pytest.fixture
def slow() -> Any:
    with serve(check_interval_ms=86_400_000, timeout_ms=0, check_max=3) as running:
        yield running


def test_questions_of_more_bytes_than_a_client_may_owe_are_all_asked(slow: RunningBroker) -> None:
    """A round asks about all of them in one turn, and each counts as asked."""
    with Raw(slow.address) as client:
        client.create("orders")
        client.beat("app", producers=("orders",))
        for number in range(40):
            half = client.half("orders", b"x" * 100_000, "orders", f"key-{number}")
            assert half.code == SUCCESS
        slow.fire("broker", "check")
        asked = client.wait_for_checks(40)
    assert {check.fields["msgId"] for check in asked} == {f"key-{n}" for n in range(40)}


# ---- A request that names twice as many things takes twice as much work, not four times

#: requests that name at most one thing, or nothing that work is done for
SINGLE = {
    "SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_REPLY_MESSAGE", "SEND_REPLY_MESSAGE_V2",
    "CONSUMER_SEND_MSG_BACK", "END_TRANSACTION", "RESUME_CHECK_HALF_MESSAGE", "PULL_MESSAGE",
    "LITE_PULL_MESSAGE", "QUERY_CONSUMER_OFFSET", "UPDATE_CONSUMER_OFFSET", "UNREGISTER_CLIENT",
    "CHECK_CLIENT_CONFIG", "GET_ROUTEINFO_BY_TOPIC",
    "GET_BROKER_CLUSTER_INFO", "UPDATE_AND_CREATE_TOPIC", "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
    "GET_MAX_OFFSET", "GET_MIN_OFFSET", "GET_EARLIEST_MSG_STORETIME", "SEARCH_OFFSET_BY_TIMESTAMP",
    "QUERY_MESSAGE", "VIEW_MESSAGE_BY_ID", "GET_TOPICS_BY_CLUSTER", "GET_TOPIC_CONFIG",
    "DELETE_TOPIC_IN_NAMESRV",
}  # fmt: skip


@pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/rocketmq")
@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    walks = name.startswith(("GET_", "QUERY_"))
    check_growth(prepare, name, WALK if walks else HASHED)


def test_every_request_that_names_many_is_measured() -> None:
    named = {name.split(",")[0] for name in CASES}
    names = [RequestCode(code).name for code in REQUESTS]
    assert [name for name in names if name not in named | SINGLE] == []


# ---- What measures a server does what it says: transactions are committed, messages are there


def test_what_is_measured_has_happened(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    senders = note_senders(bench, monkeypatch)
    assert transactions_per_second(broker.address, 0.3) > 0
    assert messages_per_second(broker.address, 300) > 0
    with Raw(broker.address) as client:
        assert len(client.read(senders[0].topic)) > 0
        assert len(client.read(senders[1].topic)) == 300


def test_a_name_server_says_where_its_broker_is() -> None:
    """As a real one of 5.5.0 answers: it knows no message, and where a broker is."""
    known = b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"10.0.0.1:10911"}}}}'

    def answer(one: socket.socket) -> None:
        buffer = bytearray()
        while data := one.recv(1 << 16):
            buffer += data
            while (frame := cut_frame(buffer)) is not None:
                asked = decode_command(frame)
                ours = asked.code == RequestCode.GET_BROKER_CLUSTER_INFO
                code = SUCCESS if ours else ResponseCode.REQUEST_CODE_NOT_SUPPORTED
                said = answer_to(asked, code, body=known if ours else b"")
                one.sendall(encode_command(said))

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for measure in (transactions_per_second, messages_per_second):
            thread = threading.Thread(target=lambda: answer(server.accept()[0]), daemon=True)
            thread.start()
            with pytest.raises(ConnectionError, match=r"a name server; .* at 10\.0\.0\.1:10911"):
                measure(address)


def test_servers_take_turns() -> None:
    asked: list[str] = []

    def figure(address: str) -> float:
        asked.append(address)
        return float(len(asked))

    found = measure_in_turns({"n": figure}, "a", "b", rounds=3)
    assert asked == ["a", "b"] * 3 and found == {"n": [3.0, 4.0]}


def test_a_cold_start_is_a_broker_of_its_own_with_a_transaction_in_it() -> None:
    brokers: list[RunningBroker] = []
    committed: list[str] = []

    def start() -> RunningBroker:
        brokers.append(serve())
        return brokers[-1]

    def transact(address: str, seconds: float) -> float:
        done = transactions_per_second(address, seconds)
        committed.append(address if done > 0 else "nothing")
        return done

    seconds, mib = measure_cold_start(start, transact, rounds=2)
    assert committed == [broker.address for broker in brokers] and len(set(committed)) == 2
    assert seconds > 0 and mib > 10, "a Python process with a server in it"
