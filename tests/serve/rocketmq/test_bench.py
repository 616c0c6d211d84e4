"""What measures a server does what it says: transactions are committed, messages are there."""

from __future__ import annotations

import socket
import threading

import pytest

from mqlab.rocketmq.remoting import (
    RequestCode,
    ResponseCode,
    answer_to,
    cut_frame,
    decode_command,
    encode_command,
)
from mqlab.serve import RunningBroker
from mqlab.serve.bench import measure_cold_start, measure_in_turns
from mqlab.serve.rocketmq import bench, serve
from mqlab.serve.rocketmq.bench import Sender, messages_per_second, transactions_per_second
from tests.serve.rocketmq.raw import SUCCESS, Raw


def test_what_is_measured_has_happened(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    senders: list[Sender] = []

    class Noted(Sender):
        def __init__(self, address: str) -> None:
            super().__init__(address)
            senders.append(self)

    monkeypatch.setattr(bench, "Sender", Noted)
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
