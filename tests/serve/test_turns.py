"""What happens in one turn of the server happens at one time, and that time is now."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqlab.serve import driver
from mqlab.serve.connection import Connection
from mqlab.serve.server import Options, Server
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

    def close(self) -> None:
        pass


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
            server.driver._set("role", f"timer {after_ms}", after_ms)
            await asyncio.sleep(0)
        return set_for

    assert asyncio.run(talk()) == [60, 30]
