"""What a connection may do, on a protocol of the tests' own: pushes, several requests under way.

Real sockets, the server in this process (so that a role's state can be looked at) or in one of
its own (so that it can be killed).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import ConnectionLost, Response, replace
from mqlab.serve import connection
from mqlab.serve.adapter import Adapter, Drained, Unsent
from mqlab.serve.server import Server
from tests.serve.started import Started, serve_inside
from tests.serve.toy import LENGTH, LIMIT, TOY, OrderedFrames, pack, push

PATIENCE_S = 600
Story = Callable[[Server, Callable[[], Awaitable["Client"]]], Awaitable[None]]


class Client:
    """One end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *said: dict[str, Any]) -> None:
        """All of it in one go."""
        self.writer.write(b"".join(map(pack, said)))

    async def hear(self) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            (size,) = LENGTH.unpack(await self.reader.readexactly(LENGTH.size))
            return json.loads(await self.reader.readexactly(size))

    async def ask(self, do: str, text: str = "", number: int = 1) -> Any:
        self.send({"id": number, "do": do, "text": text})
        return await self.hear()

    async def end(self) -> bytes:
        """What comes before the server closes the connection."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs a story with a server of the toy's adapter in this process."""

    def run(story: Story, adapter: Adapter = TOY) -> None:
        async def begin(it: Server, host: str, port: int) -> None:
            async def connect() -> Client:
                return Client(*await asyncio.open_connection(host, port))

            await story(it, connect)

        serve_inside(monkeypatch, adapter, begin)

    return run


def told(adapter: Adapter = TOY) -> Callable[[Story], Callable[..., None]]:
    """The test is the story."""

    def make(story: Story) -> Callable[..., None]:
        def test(tell: Callable[..., None]) -> None:
            tell(story, adapter)

        return test

    return make


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


def feed(it: Server) -> list[Any]:
    """What the role that pushes has heard, without the clock."""
    return [replace(event, at_ms=0) for event in it.driver.roles["feed"].heard]


# ---- several requests under way --------------------------------------------------------------


@told()
async def test_answers_leave_as_they_come(it: Server, connect: Any) -> None:
    one = await connect()
    one.send({"id": 7, "do": "wait", "text": "x"}, {"id": 8, "do": "echo", "text": "a"})
    assert await one.hear() == {"id": 8, "is": "a"}
    assert await (await connect()).ask("release", "x") == {"id": 1, "is": "released"}
    assert await one.hear() == {"id": 7, "is": "x"}


@told(replace(TOY, frames=OrderedFrames))
async def test_where_a_protocol_wants_order_an_answer_waits_for_those_before_it(
    it: Server, connect: Any
) -> None:
    one, other = await connect(), await connect()
    one.send(
        {"id": 1, "do": "wait", "text": "x"},
        {"id": 2, "do": "echo", "text": "a"},
        {"id": 3, "do": "wait", "text": "y"},
    )
    await other.ask("release", "y")
    assert it.connections[1]._ready_answers.keys() == {2, 3}, "both wait for the first"
    await other.ask("release", "x")
    heard = [await one.hear() for _ in range(3)]
    assert heard == [{"id": 1, "is": "x"}, {"id": 2, "is": "a"}, {"id": 3, "is": "y"}]
    assert not it.connections[1]._ready_answers and not it.connections[1]._in_flight


@told()
async def test_no_more_requests_are_under_way_than_the_protocol_allows(
    it: Server, connect: Any
) -> None:
    one, other = await connect(), await connect()
    waits = [{"id": i, "do": "wait", "text": str(i)} for i in range(6)]
    one.send(*waits, {"id": 9, "do": "echo", "text": "last"})
    await until(lambda: 1 in it.connections and len(it.connections[1]._in_flight) == 4)
    assert sorted(it.driver.roles["front"].waiting) == ["0", "1", "2", "3"]
    assert not it.connections[1].idle
    for i in range(3):
        await other.ask("release", str(i))
    heard = [await one.hear() for _ in range(4)]
    assert [answer["id"] for answer in heard] == [0, 1, 2, 9]


@told()
async def test_a_one_way_request_is_done_and_never_answered(it: Server, connect: Any) -> None:
    """Nor does it take a place: more of them than may be under way go through in one go."""
    one = await connect()
    notes = [{"do": "note", "text": str(i)} for i in range(50)]
    one.send(*notes, {"id": 1, "do": "notes"})
    assert await one.hear() == {"id": 1, "is": [str(i) for i in range(50)]}


# ---- pushes ----------------------------------------------------------------------------------


@told()
async def test_a_push_comes_while_a_request_waits_and_its_answer_goes_to_the_role(
    it: Server, connect: Any
) -> None:
    one, other = await connect(), await connect()
    await one.ask("follow")
    one.send({"id": 2, "do": "wait", "text": "x"})
    await until(lambda: "x" in it.driver.roles["front"].waiting)
    assert await other.ask("feed", "news") == {"id": 1, "is": "fed"}
    assert await one.hear() == {"push": 1, "is": "news"}
    one.send({"push": 1, "is": "thanks"}, {"push": 1, "is": "twice"}, {"push": 9, "is": "?"})
    assert (await one.ask("echo", "on", 3))["is"] == "on", "it is served further"
    assert feed(it) == [Response("conn-1", 0, "thanks")], "only what is waited for is heard"
    await other.ask("release", "x")
    assert await one.hear() == {"id": 2, "is": "x"}


@told()
async def test_pushes_and_answers_leave_in_the_order_of_the_effects(
    it: Server, connect: Any
) -> None:
    one = await connect()
    one.send({"id": 1, "do": "follow"}, *({"id": i, "do": "feed"} for i in range(2, 5)))
    heard = [await one.hear() for _ in range(7)]
    assert [one.get("push", one.get("id")) for one in heard] == [1, 2, 1, 3, 2, 4, 3]


@told()
async def test_a_client_that_does_not_read_is_not_pushed_to_and_the_role_hears_so(
    it: Server, connect: Any
) -> None:
    slow, other = await connect(), await connect()
    await slow.ask("follow")
    slow.reader._transport.pause_reading()  # type: ignore[attr-defined]
    text, sent = "x" * 100_000, 0
    while not feed(it):
        assert await other.ask("feed", text) == {"id": 1, "is": "fed"}, "others are served"
        sent += 1
        assert sent < 1_000, "somewhere a bound must be"
    assert feed(it) == [Response("conn-1", 0, Unsent(text))]
    wire = it.connections[1]._transport
    assert wire is not None
    unread = wire.get_write_buffer_size()
    assert connection.WRITE_AHEAD <= unread < connection.WRITE_AHEAD + 2 * len(text)
    for _ in range(50):
        await other.ask("feed", text)
    assert wire.get_write_buffer_size() <= unread, "nothing is kept of what is not sent"
    assert len(feed(it)) == 51
    slow.reader._transport.resume_reading()  # type: ignore[attr-defined]
    for number in range(1, sent):
        assert (await slow.hear())["push"] == number
    await until(lambda: len(feed(it)) == 52)
    assert feed(it)[-1] == Response("conn-1", 0, Drained()), "once, when it has read"
    await other.ask("feed", "again")
    assert (await slow.hear())["is"] == "again"


def test_a_client_that_answers_no_push_is_cut_off(
    tell: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(connection, "UNANSWERED", 5)

    async def story(it: Server, connect: Any) -> None:
        silent, other = await connect(), await connect()
        await silent.ask("follow")
        for _ in range(6):
            assert (await other.ask("feed"))["is"] == "fed"
        assert await silent.end() == b"".join(push(i, "")[0] for i in range(1, 6))
        await until(lambda: bool(feed(it)))
        assert feed(it) == [ConnectionLost("conn-1")]

    caplog.set_level(logging.INFO, "mqlab.serve")
    tell(story)
    assert "more than 5 pushes to it have no answer yet" in caplog.text


# ---- connections that break ------------------------------------------------------------------


@told()
async def test_whoever_has_gone_is_heard_of_once_and_gets_nothing(it: Server, connect: Any) -> None:
    one, other = await connect(), await connect()
    await one.ask("follow")
    await other.ask("feed", "news")
    one.send({"id": 2, "do": "wait", "text": "x"}, {"id": 3, "do": "wait", "text": "y"})
    await until(lambda: "y" in it.driver.roles["front"].waiting)
    one.writer.transport.abort()
    await until(lambda: bool(feed(it)))
    lost = [ConnectionLost("conn-1")]
    assert [replace(e, at_ms=0) for e in it.driver.roles["front"].heard] == lost
    assert feed(it) == lost
    assert (await other.ask("release", "x"))["is"] == "released", "its answer is dropped"
    assert (await other.ask("feed", "more"))["is"] == "fed"
    assert feed(it) == lost * 2, "who pushes all the same hears it again"
    assert len(it.driver._clients) == 1 and not it.driver._pushed_by


@told()
async def test_a_client_that_goes_without_a_word_is_nobodys_business(
    it: Server, connect: Any
) -> None:
    one, other = await connect(), await connect()
    await until(lambda: len(it.connections) == 2)
    one.writer.close()
    await until(lambda: len(it.connections) == 1)
    assert (await other.ask("echo", "a"))["is"] == "a"
    assert it.driver.roles["front"].heard == ()
    assert list(it.driver._clients) == ["conn-2"], "nothing is kept of it"


@pytest.mark.parametrize(
    "frame",
    [
        pack({"do": "echo"})[:-1] + b"x",
        LENGTH.pack(LIMIT + 1),
        pack({"push": "x", "is": 1}),
        pack({"id": 1}),
        LENGTH.pack(2) + b"[]",
        LENGTH.pack(0),
    ],
)
def test_hostile_bytes_close_their_own_connection_only(
    tell: Callable[..., None], frame: bytes
) -> None:
    async def story(it: Server, connect: Any) -> None:
        one, other = await connect(), await connect()
        one.send({"id": 1, "do": "wait", "text": "x"}, {"id": 2, "do": "echo", "text": "a"})
        one.writer.write(frame)
        assert await one.end() == pack({"id": 2, "is": "a"}), "what was answered still leaves"
        assert (await other.ask("release", "x"))["is"] == "released"
        heard = it.driver.roles["front"].heard
        assert [event.peer for event in heard] == ["conn-1"]

    tell(story)


@told()
async def test_a_refused_request_is_answered_and_a_bug_closes_its_connection(
    it: Server, connect: Any
) -> None:
    one, other = await connect(), await connect()
    assert await one.ask("fly") == {"id": 1, "is": "no"}
    one.send({"do": "break"})
    assert await one.end() == b""
    assert (await other.ask("echo", "a"))["is"] == "a"


# ---- what is durable -------------------------------------------------------------------------


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    def start() -> Started:
        return Started(tmp_path, str(tmp_path / "data"), module="tests.serve.toy")

    async def ask(it: Started, *notes: str) -> Any:
        host, _, port = it.address.partition(":")
        one = Client(*await asyncio.open_connection(host, int(port)))
        one.send(*({"do": "note", "text": note} for note in notes))
        return (await one.ask("notes"))["is"]

    with start() as first:
        assert asyncio.run(ask(first, "a ü", "b")) == ["a ü", "b"]
        first.process.kill()
    with (tmp_path / "data" / "journal").open("ab") as journal:
        journal.write(b"\0\0\0\x20torn")
    with start() as again:
        assert asyncio.run(ask(again)) == ["a ü", "b"]
    assert again.process.returncode == 0


@told()
async def test_the_live_trace_draws_what_the_home_observes(it: Server, connect: Any) -> None:
    await (await connect()).ask("echo", "a")
    head, *facts = map(json.loads, await it.driver.live.lines(0))
    assert head["title"][0] == "Live from mqlab serve toy" and head["system"] == "toy"
    assert [fact["fact"]["node"] for fact in facts] == ["front", "feed", "front"]
    assert facts[-1]["change"] == {"steps": {"=": 3}}
