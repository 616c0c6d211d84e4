"""What a server keeps for the live trace, and what hostile names and requests do to it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import zlib
from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.kernel import Caller, Fact, Request, Text
from mqlab.real.kafka import batches
from mqlab.serve.adapter import count_nothing
from mqlab.serve.disk import ServerDisk
from mqlab.serve.driver import Driver
from mqlab.serve.kafka import serve
from mqlab.serve.kafka import trace as model
from mqlab.serve.kafka.adapter import make_adapter
from mqlab.serve.kafka.front import BROKER
from mqlab.serve.kafka.trace import Observer
from mqlab.serve.kafka.wire.codec import decode
from mqlab.serve.kafka.wire.validation import Records, parse_batch
from mqlab.serve.trace import live as recorder
from mqlab.serve.trace.live import Live
from tests.serve.kafka.raw import MINUTE, Raw, batch, record, write_request
from tests.serve.live import asked

MEGA = 1 << 20


class Direct:
    """A driver that is handed frames, without sockets."""

    def __init__(self) -> None:
        self.driver = Driver(make_adapter(), lambda conn, number, body: None)
        self.driver.start()
        self.count = 0

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        """The request as the server has decoded it."""
        frame = write_request(api, version, **fields)[4:]
        _, ask = decode(frame, ("127.0.0.1", 9092))
        self.count += 1
        event = Request(Caller("conn-1", 1, self.count), ask, self.driver.now)
        self.driver.deliver(BROKER, event, len(frame))
        return ask.body

    def produce(self, topic: str, size: int) -> bytes:
        part = SimpleNamespace(index=0, records=batch([b"x" * size]))
        row = SimpleNamespace(name=topic, partition_data=(part,))
        body = self.ask(0, 11, transactional_id=None, acks=-1, timeout=MINUTE, topic_data=(row,))
        data: bytes = body.topic_data[0].partition_data[0].records
        return data

    def create(self, name: str) -> None:
        topic = SimpleNamespace(
            name=name, num_partitions=1, replication_factor=1, assignments=(), configs=()
        )
        self.ask(19, 5, topics=(topic,), timeout=MINUTE, validate_only=False)

    def delete(self, name: str) -> None:
        self.ask(20, 5, topic_names=(name,), timeout=MINUTE)


def held(data: bytes) -> int:
    """How many others hold it."""
    return sys.getrefcount(data) - 3


def test_refused_data_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "BYTES", 8 * MEGA)
    server = Direct()
    first = server.produce("nobody-made-it", 3 * MEGA)
    assert held(first) > 0, "the newest are kept for a picture"
    for _ in range(3):
        server.produce("nobody-made-it", 3 * MEGA)
    assert held(first) == 0
    assert server.driver.recorder.bytes <= 8 * MEGA


def test_a_deleted_topic_is_freed() -> None:
    server = Direct()
    server.create("t")
    data = server.produce("t", MEGA // 2)
    for _ in range(2):
        server.produce("t", MEGA // 2)
    assert server.driver.disk.log("t-0").end == 3 and held(data) > 0
    server.delete("t")
    assert "t-0" not in server.driver.roles
    assert held(data) == 0


def test_a_batch_of_very_many_records_is_not_looked_into() -> None:
    small = parse_batch(batch([b"a", b"b"]))
    many = parse_batch(batch([b"a"] * (model.COUNTABLE + 1)))
    assert [model._texts(b) for b in (small, many)] == [["a", "b"], []]  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "looked_into"), [(50, True), (40 * MEGA, False)])
def test_a_compressed_batch_is_looked_into_only_where_it_is_small(
    size: int, looked_into: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = zlib.compressobj(wbits=31)
    body = packed.compress(record(b"x" * size)) + packed.flush()
    bomb = parse_batch(batches.batch(body, bits=batches.GZIP, at_ms=1000))
    asked_for: list[int] = []
    monkeypatch.setattr(Records, "texts", lambda self, last: asked_for.append(last) or [])
    model._texts(bomb)  # type: ignore[arg-type]
    assert bool(asked_for) == looked_into


def test_what_cannot_be_drawn_is_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    live = Live("kafka", Text("x"), Observer("coordinator", 0, ServerDisk().log), count_nothing)
    drawn = live.observer.take

    def take(step: Any, tell: Any = None) -> None:
        if step[1] == "bad":
            raise KeyError("no such lane")
        tell(Fact(live.observer.facts + 1, 0, "coordinator", "→", Text("good")))
        drawn((step[0], "coordinator", None, None, ()), None)

    live.observer.take = take  # type: ignore[method-assign]
    for name in ("good", "bad", "bad", "good"):
        live.recorder.record_start(0, name, None, ())
    lines = asyncio.run(live.lines(0))
    assert [json.loads(line)["fact"]["text"] for line in lines[1:]] == ["good", "good"]
    assert caplog.text.count("cannot be drawn") == 1
    assert caplog.records[0].levelno == logging.ERROR


def test_a_client_with_a_long_and_hostile_name_is_cut_short() -> None:
    with serve() as broker, Raw(broker.address) as client:
        client.init("\x1b[31m\u202e" + "x" * 8_000)
        told = asked(broker, last=10_000)
    text = json.dumps(told)
    assert "\\x1b[31m\\u202e" in json.dumps(told, ensure_ascii=False).replace("\\\\", "\\")
    assert "x" * 400 not in text and "x" * 50 in text


def test_whoever_wants_one_fact_takes_none_from_others() -> None:
    with serve() as broker, Raw(broker.address) as client:
        client.create("t")
        for i in range(10):
            client.produce("t", 0, batch([str(i).encode()]))
        assert len(asked(broker, last=1)) == 2
        everything = asked(broker)[1:]
        assert len(everything) >= 30
        assert [line["fact"]["index"] for line in everything] == list(
            range(everything[0]["fact"]["index"], everything[-1]["fact"]["index"] + 1)
        )
