"""A running broker is asked: this project's server, with clients that leave something behind, and
things that are no broker. (With real brokers, `damage.py` was looked at while it ran.)"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from mqlab.inspect import Ask, Report, Unreadable, inspect
from mqlab.inspect.kafka.link import Link, read_settings
from mqlab.inspect.kafka.live import Cluster, _stay
from mqlab.inspect.kafka.scan import Open
from mqlab.real.kafka.wire import Raw
from mqlab.serve.kafka import serve
from tests.inspect.damage import init, send_raw
from tests.inspect.folders import list_found


def look(target: str, **asked: object) -> Report:
    return inspect("kafka", Ask(target, **asked))  # type: ignore[arg-type]


def begin(address: str, txn_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": address, "transactional.id": txn_id})
    producer.init_transactions(10)
    producer.begin_transaction()
    return producer


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server whose leaders ask no coordinator, as Kafka's did before 3.6."""
    with serve(off=("verification",)) as broker:
        producer = begin(broker.address, "app")
        for number in range(12):
            producer.produce("orders", f"o{number}".encode(), partition=0)
        producer.flush(10)
        producer.abort_transaction(10)
        producer.begin_transaction()
        producer.produce("orders", b"kept", partition=0)
        producer.commit_transaction(10)
        consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "g"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 14)], asynchronous=False)
        with Raw(broker.address) as raw:
            old = init(raw, "stock-app")
            init(raw, "stock-app")
            producer.begin_transaction()
            producer.produce("stock", b"s", partition=0)
            producer.commit_transaction(10)
            send_raw(raw, "stock", 4711, 0, "h1", "h2")
            send_raw(raw, "stock", old.producer_id, old.producer_epoch, "z1")
        yield broker.address


def test_what_is_stuck_is_found(address: str) -> None:
    report = look(address, payloads=True)
    assert list_found(report) == [
        ("hanging", "stock-0"), ("zombie", "stock-0"), ("aborted-share", "orders-0"),
        ("lag-of-markers", "g"),
    ]  # fmt: skip
    stock = next(log for log in report.reading.logs if log.name == "stock-0")
    assert [(c.label, c.readable) for c in stock.cells] == [
        ("s", True), ("C", True), ("h1", False), ("h2", False), ("z1", False)
    ]  # fmt: skip
    assert [(f.name, f.at) for f in stock.frontiers] == [("LSO", 2), ("HW", 5)]
    assert f"--bootstrap-server {address} abort" in report.findings[0].commands[0]
    assert not report.reading.gaps


def test_one_partition_some_offsets_and_no_payload(address: str) -> None:
    report = look(address, topic="orders", partition=0, first=10, last=13)
    assert [log.name for log in report.reading.logs] == ["orders-0"]
    assert dict(report.reading.logs[0].counts)["markers"] == 1
    assert {c.label for c in report.reading.logs[0].cells} == {"·", "A", "C"}
    with pytest.raises(Unreadable, match="has no topic nix"):
        look(address, topic="nix")


def test_a_transaction_that_goes_on_is_no_finding(address: str) -> None:
    producer = begin(address, "busy")
    producer.produce("busy", b"b", partition=0)
    producer.flush(10)
    report = look(address, topic="busy")
    assert ("busy", "Ongoing") in [(t.name, t.state) for t in report.reading.txns]
    assert not [one for one in list_found(report) if "busy" in one[1]]
    producer.abort_transaction(10)


def test_what_is_over_at_the_second_look_was_under_way() -> None:
    one, two = Open(1, 0, 5, 0), Open(2, 0, 6, 0)
    assert _stay([one, two], [two]) == [two]
    assert _stay([one], [Open(1, 0, 9, 0)]) == []  # its next transaction


def test_without_the_coordinators_list_nothing_is_said_to_hang(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = Link.offers
    monkeypatch.setattr(Link, "offers", lambda self, api, v: api != 66 and offers(self, api, v))
    report = look(address, topic="stock")
    assert {kind for kind, _ in list_found(report)} == {"overdue"}  # open for hours
    assert "this broker does not answer it" in str(report)


def test_without_an_answer_no_offset_is_called_pending(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, join, seen = Cluster._request, Cluster._join_positions, []
    monkeypatch.setattr(Cluster, "_request", lambda self, *given, **fields: (
        None if fields.get("require_stable") else ask(self, *given, **fields)))
    monkeypatch.setattr(Cluster, "_join_positions", lambda self, committed, *rest: (
        seen.append(committed) or join(self, committed, *rest)))  # fmt: skip
    look(address)
    assert seen == [{("g", ("orders", 0)): (14, False, "Empty")}]


def test_nothing_is_written(address: str) -> None:
    """The ends of the logs stay where they are, and no topic is made."""
    before = look(address)
    after = look(address)
    assert [log.end for log in before.reading.logs] == [log.end for log in after.reading.logs]


# ---- no broker ---------------------------------------------------------------------------


@contextmanager
def answering(data: bytes) -> Iterator[str]:
    """Somebody who says this when asked anything, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            try:
                while True:
                    one, _ = server.accept()
                    with one:
                        one.recv(1_000)
                        one.sendall(data)
            except OSError:
                return

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x15\x03\x03\x00\x02\x02\x46",
        b"\x00\x00\x00\x10" + b"\xff" * 16,
        b"\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\xff\xff\xff\xff\x0f\x00",  # 4 billion versions
        b"\x00\x00\x00\x02\x00\x00",
        b"\x7f\xff\xff\xff",
    ],
)
def test_something_else_answers(data: bytes) -> None:
    with answering(data) as address, pytest.raises(Unreadable, match="does not speak Kafka"):
        look(address)


def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(Unreadable, match=f"no broker answers at 127.0.0.1:{port}: .*HOST:PORT"):
        look(f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("security.protocol=TLS", "security.protocol is one of"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI", "not GSSAPI"),
        ("sasl.jaas.config=x", "use sasl.username and sasl.password"),
        ("security.protocol", "line 1: expected name=value"),
    ],
)
def test_settings_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text, "utf-8")
    with pytest.raises(Unreadable, match=said):
        read_settings(str(path))
    with pytest.raises(Unreadable, match="cannot read"):
        read_settings(str(tmp_path / "none"))
