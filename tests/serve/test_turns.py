"""What happens in one turn of the server happens at one time, and that time is now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from mqlab.kernel import Append, Lane, Put, Text, Truncate, Words
from mqlab.serve import driver
from mqlab.serve.connection import Connection
from mqlab.serve.disk import json_entries
from mqlab.serve.options import Options
from mqlab.serve.server import Server
from mqlab.serve.trace.teller import CLIENTS, SILENT, Lanes
from tests.serve.toy import TOY, pack


class Wire(asyncio.Transport):
    """The other end of a connection: what is sent to it is kept."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.sent = b""

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def writelines(self, lines: Any) -> None:
        self.sent += b"".join(lines)

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: Any = None, low: Any = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    resume_reading = close = pause_reading


def test_a_request_that_begins_a_turn_is_told_the_time_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long the server was left alone before."""
    clock = [1_000]
    monkeypatch.setattr(driver, "now_ms", lambda: clock[0])
    heard: list[int] = []

    async def talk() -> None:
        server = Server(TOY, Options())
        server.driver.start()
        deliver = server.driver.deliver

        def listen(name: str, event: Any, size: int = 0) -> None:
            heard.append(event.at_ms)
            deliver(name, event, size)

        monkeypatch.setattr(server.driver, "deliver", listen)
        connection = Connection(server, 1)
        connection.connection_made(Wire())
        for at in (1_500, 61_500):
            clock[0] = at
            connection.data_received(pack({"id": at, "do": "echo", "text": "a"}))
            clock[0] += 7  # the turn has begun; another request in it comes at the same time
            connection.data_received(pack({"id": at + 1, "do": "echo", "text": "b"}))
            await asyncio.sleep(0)

    asyncio.run(talk())
    assert heard == [1_500, 1_500, 61_500, 61_500]


def test_the_alarm_is_set_only_where_another_timer_is_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most turns change nothing about what is due first."""
    monkeypatch.setattr(driver, "now_ms", lambda: 1_000)  # a timer set again is due when it was

    async def talk() -> list[float]:
        server, set_for = Server(TOY, Options()), list[float]()
        server.driver.start()
        loop = asyncio.get_running_loop()
        later = loop.call_later

        def listen(delay: float, *args: Any) -> asyncio.TimerHandle:
            set_for.append(delay)
            return later(delay, *args)

        monkeypatch.setattr(loop, "call_later", listen)
        for after_ms in (60_000, 60_000, 90_000, 30_000, 30_000):
            server.begin_turn()
            server.driver._set_timer("role", f"timer {after_ms}", after_ms)
            await asyncio.sleep(0)
        return set_for

    assert asyncio.run(talk()) == [60, 30]


# ---- Whose lane a connection is drawn in: one for each client, whatever connections it has

WHAT = Words("producer", "生产者")


def make() -> Lanes:
    return Lanes((2,), lambda name: 1, lambda kind, name: Lane(name.upper(), Text(name)))


def ask(lanes: Lanes, conn: str, title: str, *asked: str, step: int = 0) -> str:
    """A client asks for something on this connection; the lane that it is drawn in."""
    lanes.note_client(conn, title, WHAT)
    for what in asked:
        assert lanes.admit(conn, step, what)
    return lanes.find(conn)


def test_two_connections_that_share_a_clients_work_have_one_lane() -> None:
    lanes = make()
    assert ask(lanes, "conn-1", "orders", "InitProducerId", "EndTxn") == "orders"
    assert ask(lanes, "conn-2", "orders", "Produce") == "orders"
    assert [lane.title.en for lane in lanes.draw()] == ["orders"]


def test_two_that_ask_for_the_same_are_two_programs_of_one_name() -> None:
    """A zombie and its successor are not drawn as one."""
    lanes = make()
    ask(lanes, "conn-1", "orders", "InitProducerId")
    ask(lanes, "conn-2", "orders", "Produce")
    assert ask(lanes, "conn-3", "orders", "InitProducerId") == "orders (2)"
    assert ask(lanes, "conn-4", "orders", "Produce") == "orders (2)"
    assert ask(lanes, "conn-2", "orders", "Produce") == "orders", "a lane is kept"


def test_a_client_that_comes_back_goes_on_in_its_lane() -> None:
    lanes = make()
    ask(lanes, "conn-1", "orders", "Produce")
    assert lanes.end_client("conn-1") == ("orders", False)
    assert [lane.subtitle.en for lane in lanes.draw()] == ["producer, has left"]
    assert [lane.up for lane in lanes.draw()] == [True], "a broker cannot tell an end from a crash"
    lanes.forget_clients()
    assert ask(lanes, "conn-2", "orders", "Produce") == "orders"
    assert [lane.subtitle.en for lane in lanes.draw()] == ["producer"]


def test_a_connection_that_ends_beside_another_of_its_client_is_no_news() -> None:
    lanes = make()
    ask(lanes, "conn-1", "orders", "InitProducerId")
    ask(lanes, "conn-2", "orders", "Produce")
    assert lanes.end_client("conn-1") == ("orders", True)
    assert lanes.end_client("conn-9") == ("", False)


def test_no_client_is_called_like_a_part_of_the_broker_or_the_disk() -> None:
    lanes = make()
    lanes.admit("t-0", 0)
    assert ask(lanes, "conn-1", "T-0", "Produce") == "T-0 (2)"
    assert ask(lanes, "conn-2", "disk", "Produce") == "disk (2)"
    assert ask(lanes, "conn-3", "T-1", "Produce") == "T-1"
    lanes.admit("t-1", 0)
    assert ask(lanes, "conn-3", "T-1", "Produce") == "T-1 (2)"
    assert len({lane.name for lane in lanes.draw()}) == 5


def test_a_place_is_taken_only_from_a_client_that_has_left_or_is_silent() -> None:
    lanes = make()
    for i in range(CLIENTS):
        ask(lanes, f"conn-{i}", f"client-{i}", "Produce", step=i)
    lanes.note_client("conn-9", "late", WHAT)
    assert not lanes.admit("conn-9", 10, "Produce")
    lanes.end_client("conn-2")
    assert lanes.admit("conn-9", 10, "Produce")
    assert "client-2" not in lanes.used
    lanes.note_client("conn-10", "later", WHAT)
    assert lanes.admit("conn-10", SILENT, "Produce") and "client-0" not in lanes.used


# ---- Effects as JSON: what an adapter gets that brings no form of its own ----------------


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Lamp:
    name: str
    colour: Colour = Colour.RED
    parts: tuple[Any, ...] = ()
    dark: bool = False


@dataclass(frozen=True)
class One:
    value: int


ENTRIES = json_entries([Lamp, One], {(Lamp, "colour"): Colour})


@pytest.mark.parametrize(
    "effect",
    [
        Append("log", Lamp("ü", Colour.RED, (One(1), b"\0\xff", None, ("a", 2), ()))),
        Put("table", "key", One(7)),
        Put("table", "key", None),
        Truncate("log", 3),
    ],
)
def test_an_effect_comes_back_as_it_was(effect: Any) -> None:
    body: Any = ENTRIES.encode(effect)
    found = ENTRIES.decode(body)
    assert found == effect and type(found) is type(effect)
    assert body.startswith(ENTRIES.marks[0]) and ENTRIES.looks_whole(body, 0, len(body))
    assert not ENTRIES.looks_whole(body, 0, len(body) - 1)


def test_an_enum_comes_back_as_one() -> None:
    found = ENTRIES.decode(ENTRIES.encode(Put("t", "k", Lamp("a"))))
    assert isinstance(found, Put) and found.value.colour is Colour.RED


def test_what_an_older_version_did_not_know_has_its_default() -> None:
    assert ENTRIES.decode(b'J["put","t","k",{"Lamp":["a"]}]') == Put("t", "k", Lamp("a"))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'J["put","t","k",{"One":[1,2]}]', ValueError),
        (b'J["put","t","k",{"Other":[1]}]', KeyError),
        (b'J["fold","t"]', ValueError),
        (b'J["put"', ValueError),
        (b'J["put","t","k",{"Lamp":["a","blue"]}]', ValueError),
    ],
)
def test_what_this_version_did_not_write_is_no_effect(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        ENTRIES.decode(body)


def test_a_value_of_no_listed_kind_cannot_be_kept() -> None:
    with pytest.raises(TypeError, match="the journal has no form for a set"):
        ENTRIES.encode(Put("t", "k", set()))
