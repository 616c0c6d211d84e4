"""Transactions over the wire: the broker's question on the producer's own connection, and when it
comes. How halves and their ends are answered is compared with real brokers
(`tests/oracle/rocketmq`)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import Append, Caller, Put, Reply, Request, Send
from mqlab.rocketmq.messages import TAGS, Message
from mqlab.rocketmq.remoting import RemotingCommand, RequestCode, ResponseCode, decode_record
from mqlab.serve import BrokerError
from mqlab.serve.disk import ServerDisk
from mqlab.serve.rocketmq import serve
from mqlab.serve.rocketmq.front import FRONT, Front, FrontConfig, pulling
from mqlab.serve.rocketmq.front.clients import read_expression
from mqlab.serve.rocketmq.options import OF_CLIENTS
from mqlab.serve.rocketmq.wire import answers
from mqlab.serve.rocketmq.wire.answers import Ask
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

COMMIT = 8
DISCARD_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"


def test_without_the_half_topic_a_half_is_seen_before_its_end() -> None:
    with serve(off=("half_topic",)) as open_to_all, Raw(open_to_all.address) as client:
        assert client.half("orders", b"paid", "shop", "k1").code == SUCCESS
        assert bodies(client.read("orders")) == ["paid"]


@pytest.mark.parametrize("name", OF_CLIENTS)
def test_a_safeguard_of_clients_cannot_be_switched_off_here(name: str) -> None:
    told = f"safeguard '{name}' acts in the client.*the server has: half_topic, .*end_validation$"
    with pytest.raises(BrokerError, match=told):
        serve(off=(name,))


def test_a_timer_comes_when_whoever_started_the_broker_says_so() -> None:
    """No time passes: a round is made because it is asked for, and is over when that is said."""
    day = 86_400_000
    with serve(check_interval_ms=day, timeout_ms=0, op_batch_ms=day, check_max=3) as broker:
        assert not broker.fire("broker", "check"), "there is nothing to ask about"
        with Raw(broker.address) as client:
            client.beat("c1", ("shop",))
            client.half("orders", b"paid", "shop", "k9")
            assert broker.fire("broker", "check")
            (check,) = client.wait_for_checks(1)
            assert decode_record(check.body)[0].body == b"paid"
            assert not broker.fire("nobody", "check")
        broker.kill()
        with pytest.raises(BrokerError, match="no timers"):
            broker.fire("broker", "check")


def test_a_limit_of_no_checks_lets_one_happen() -> None:
    """As 4.9.7 and 5.5.0 do (recording check-limit-of-one)."""
    with serve(check_interval_ms=50, timeout_ms=1, op_batch_ms=1, check_max=0) as broker:
        with Raw(broker.address) as client:
            client.beat("c1", ("shop",))
            client.half("orders", b"paid", "shop", "k9")
            client.wait_for_checks(1)
            while not client.read(DISCARD_TOPIC):
                pass
            assert len(client.checks) == 1


def test_who_has_left_the_group_is_not_asked(client: Raw, topic: str, group: str) -> None:
    client.beat("c1", (group, f"{group}-other"))
    client.ask(RequestCode.UNREGISTER_CLIENT, clientID="c1", producerGroup=group)
    client.half(topic, b"x", group, "k4")
    client.half(topic, b"y", f"{group}-other", "k5")
    (check,) = client.wait_for_checks(1)
    assert check.fields["transactionId"] == "k5"


# ---- Timed messages (TIMER_DELAY_SEC and its kin): when they come, and what they say then

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


# ---- Pulls that wait: whom a message wakes, counted in pulls that are looked at ------


class Driven:
    """A front and its disk, without a server around them; `answers`: by the number of a request."""

    def __init__(self) -> None:
        self.disk = ServerDisk()
        self.front, _ = Front.recover(FrontConfig(), self.disk, 0)
        self.answers: dict[int, Any] = {}

    def ask(self, number: int, code: int, body: Any, client: str = "conn-1") -> None:
        ask = Ask(RemotingCommand(code), body)
        todo: list[Any] = [Request(Caller(client, 0, number), ask, 1)]
        while todo:
            self.front, effects = self.front.step(todo.pop(0), self.disk)
            for effect in effects:
                match effect:
                    case Append(log=log, entry=entry):
                        self.disk.append(log, entry)
                    case Put(table=table, key=key, value=value):
                        self.disk.put(table, key, value)
                    case Reply(caller=caller, body=answer):
                        self.answers[caller.corr] = answer
                    case Send(to=to, body=message) if to == FRONT:
                        todo.append(Request(Caller(FRONT, 0, 0), message, 1))

    def hold(self, number: int, tags: str, queue: int = 0, at: int = 0) -> None:
        wanted = read_expression("orders", tags)
        pull = answers.PullMessage("g", "orders", queue, at, 32, None, 15_000, wanted)
        self.ask(number, RequestCode.PULL_MESSAGE, pull, f"conn-{number}")

    def put(self, tag: str | None, queue: int = 0) -> None:
        message = Message("orders", queue, b"x")
        message = message if tag is None else message.put((TAGS, tag))
        self.ask(0, RequestCode.SEND_MESSAGE, answers.Send("g", (message,)))


@pytest.fixture
def driven() -> Driven:
    new = Driven()
    body = answers.UpdateAndCreateTopic("orders", 2, 2, 6, 0)
    new.ask(0, RequestCode.UPDATE_AND_CREATE_TOPIC, body)
    return new


def test_a_message_looks_at_no_pull_that_waits_for_another_tag(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 8_001):
        driven.hold(number, "other")
    driven.hold(8_001, "mine || yours")
    driven.hold(8_002, "mine", queue=1)
    looked: list[int] = []
    read = pulling.read_messages

    def count(held: Any, disk: Any) -> Any:
        looked.append(held.caller.corr)
        return read(held, disk)

    monkeypatch.setattr(pulling, "read_messages", count)
    for _ in range(5):
        driven.put("third")
    assert looked == []
    driven.put("mine")
    assert looked == [8_001]
    assert [one.message.get(TAGS) for one in driven.answers[8_001].messages] == ["mine"]
    assert set(driven.answers) == {0, 8_001}


def test_a_pull_of_all_tags_is_woken_by_any_and_by_none(driven: Driven) -> None:
    driven.hold(1, "*")
    driven.put(None)
    driven.hold(2, "a || b", at=1)
    driven.put(None)
    assert set(driven.answers) == {0, 1}
    driven.put("b")
    assert len(driven.answers[2].messages) == 1


def test_a_woken_pull_that_finds_only_what_it_passes_over_is_sent_on(driven: Driven) -> None:
    """As PullMessageProcessor does it: the next pull begins behind the entries it looked at."""
    driven.hold(1, "rare")
    for _ in range(pulling.PASSED):
        driven.put("common")
    assert 1 not in driven.answers
    driven.put("rare")
    answer = driven.answers[1]
    assert answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert dict(answer.fields)["nextBeginOffset"] == str(pulling.PASSED)


def test_nothing_stays_of_pulls_that_have_ended(driven: Driven) -> None:
    driven.hold(1, "a || b")
    driven.hold(2, "a")
    driven.hold(3, "*")
    driven.put("a")
    assert driven.front.held == type(driven.front.held)()
    driven.hold(4, "b", at=1)
    assert len(driven.front.held.pulls) == 1
    front, _ = pulling.forget_client(driven.front, "conn-4")
    assert front.held == type(front.held)()
