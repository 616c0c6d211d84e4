"""Timed messages (TIMER_DELAY_SEC and its kin): when they come, and what they say then."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mqlab.rocketmq.broker.timer import MOST_MS
from mqlab.rocketmq.remoting import ResponseCode
from mqlab.serve.rocketmq import serve
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

ILLEGAL = ResponseCode.MESSAGE_ILLEGAL
WHEEL = "rmq_sys_wheel_timer"


def now_ms() -> int:
    return int(time.time() * 1000)


def read_out(client: Raw, number: int) -> int:
    """TIMER_OUT_MS of what waits as number `number`."""
    return int(client.read(WHEEL)[number].properties["TIMER_OUT_MS"])


def test_a_timed_message_waits_and_comes_with_its_times() -> None:
    """As real 5.5.0 delivers it, which sets the same properties."""
    with serve() as broker, Raw(broker.address) as client:
        client.create("orders", 2)
        at_ms = now_ms()
        assert client.put("orders", b"later", queue=1, TIMER_DELAY_SEC="3600").code == SUCCESS
        assert client.put("orders", b"sooner", queue=1, TIMER_DELAY_MS="600000").code == SUCCESS
        named = str(at_ms + 7_200_000)
        assert client.put("orders", b"last", queue=1, TIMER_DELIVER_MS=named).code == SUCCESS
        assert bodies(client.read("orders", 1)) == []
        outs = [read_out(client, number) for number in range(3)]
        assert all(out % 1_000 == 0 for out in outs)
        assert outs[2] < int(named) <= outs[2] + 1_000
        for number in (1, 0, 2):
            assert broker.fire("broker", f"timed {outs[number]}")
        got = client.read("orders", 1)
        assert bodies(got) == ["sooner", "later", "last"]
        first = got[0].properties
        assert first["TIMER_OUT_MS"] == str(outs[1])
        assert first["REAL_TOPIC"] == "orders" and first["REAL_QID"] == "1"
        assert int(first["TIMER_ENQUEUE_MS"]) % 1_000 == 0
        assert int(first["TIMER_DEQUEUE_MS"]) >= at_ms
        assert not broker.fire("broker", f"timed {outs[1]}"), "its second is over"


def test_a_message_comes_by_itself_and_not_too_early() -> None:
    with serve() as broker, Raw(broker.address) as client:
        client.create("orders")
        wanted = now_ms() + 300
        client.put("orders", b"x", TIMER_DELIVER_MS=str(wanted))
        waiting = client.begin_pull("orders", 0, sysFlag=6)
        answer = client.answer(waiting)
        assert answer.code == SUCCESS and now_ms() >= wanted


@pytest.mark.parametrize("value", ["0", "-5"])
def test_a_time_that_has_passed_is_now(client: Raw, topic: str, value: str) -> None:
    client.create(topic)
    assert client.put(topic, b"now", TIMER_DELAY_MS=value).code == SUCCESS
    assert client.put(topic, b"then", TIMER_DELIVER_MS="10000").code == SUCCESS
    got = client.read(topic)
    assert bodies(got) == ["now", "then"]
    assert "TIMER_OUT_MS" not in got[0].properties


@pytest.mark.parametrize("value", ["x", "9" * 30, "²", str(MOST_MS // 1000 + 1)])
def test_a_delay_that_is_no_number_or_too_long_is_refused(
    client: Raw, topic: str, value: str
) -> None:
    client.create(topic)
    said = client.put(topic, b"x", TIMER_DELAY_SEC=value)
    assert said.code == ILLEGAL and said.remark.startswith("timer message illegal, the delay time")
    assert bodies(client.read(topic)) == []


def test_a_delay_level_goes_before_and_4_9_has_no_timed_messages(client: Raw, topic: str) -> None:
    client.create(topic)
    client.put(topic, b"level", TIMER_DELAY_SEC="3600", DELAY="18")
    assert client.read("SCHEDULE_TOPIC_XXXX", 17)[-1].properties["REAL_TOPIC"] == topic
    with serve(release="4.9") as broker, Raw(broker.address) as older:
        older.create("orders")
        older.put("orders", b"at once", TIMER_DELAY_SEC="3600")
        assert bodies(older.read("orders")) == ["at once"]


def test_nobody_writes_into_the_topic_of_what_waits(client: Raw) -> None:
    said = client.put(WHEEL, b"x", TIMER_OUT_MS="²")
    assert said.code == ResponseCode.NO_PERMISSION


def test_what_waits_outlives_a_kill(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.create("orders")
            for number in (1, 2):
                client.put("orders", f"m{number}".encode(), TIMER_DELAY_SEC=str(number * 1_000))
            outs = [read_out(client, 0), read_out(client, 1)]
            assert broker.fire("broker", f"timed {outs[0]}")
            assert broker.fire("broker", "persist offsets")
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            assert not broker.fire("broker", f"timed {outs[0]}")
            assert broker.fire("broker", f"timed {outs[1]}")
            assert bodies(client.read("orders")) == ["m1", "m2"]
