"""Readers of the live trace: a slow one costs little, and none takes facts from another."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from functools import partial
from typing import Any

import pytest

from mqlab.kernel import Fact, Text
from mqlab.serve.adapter import count_nothing
from mqlab.serve.trace import http
from mqlab.serve.trace import live as trace_live
from mqlab.serve.trace.http import TraceServer
from mqlab.serve.trace.live import FIRST, NEWEST, Live

LINE, LINES, READERS = 4_000, 2_500, 40
ASK = b"GET /trace?last=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n"


class OneFactPerStep:
    """An observer as simple as there may be."""

    def __init__(self) -> None:
        self.facts = 0

    def draw(self) -> dict[str, Any]:
        return {"facts": self.facts}

    def take(self, step: Any, tell: Any = None) -> None:
        self.facts += 1
        tell(Fact(self.facts, 0, "here", "→", Text("x")))

    def skip(self, step: Any) -> None:
        self.facts += 1


def make_live(steps: int) -> Live:
    observer: Any = OneFactPerStep()
    live = Live("toy", Text("toy"), observer, count_nothing)
    for _ in range(steps):
        live.recorder.record_start(0, "here", None, ())
    return live


class Full:
    """Has much to tell, always the same."""

    def __init__(self) -> None:
        self.kept = [b"x" * (LINE - 1) + b"\n" for _ in range(LINES)]

    async def lines(self, after: int, last: int = 0, tell: Any = None) -> list[bytes]:
        return list(self.kept)


def test_answers_that_nobody_reads_hold_no_copies_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE_S", 5.0)
    full: Any = Full()
    size = LINE * LINES

    async def story() -> None:
        server = TraceServer(full)
        port = await server.start(0)
        lines = [await asyncio.open_connection("127.0.0.1", port, limit=1) for _ in range(READERS)]
        for _, writer in lines:
            writer.write(ASK)
        while server._open_connections < READERS:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)  # what can be written ahead is
        assert tracemalloc.get_traced_memory()[1] < size, "not even one copy of the answer"
        while server._open_connections:
            await asyncio.sleep(0.01)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await lines[0][0].readexactly(size)  # its end shows: there is less than was promised
        honest, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASK)
        told = await honest.read()
        assert told.endswith(b"".join(full.kept))
        server.close()
        for _, line in [*lines, (honest, writer)]:
            line.close()

    tracemalloc.start()
    try:
        asyncio.run(story())
    finally:
        tracemalloc.stop()


def test_whoever_names_a_number_takes_no_facts_from_a_follower() -> None:
    steps = 3 * FIRST
    live = make_live(steps)
    assert len(asyncio.run(live.lines(0, last=1))) == 2
    head, *facts = map(json.loads, asyncio.run(live.lines(0, last=10_000)))
    assert head["after"] == 0 and [f["fact"]["index"] for f in facts] == list(range(1, steps + 1))


def test_a_plain_question_takes_no_facts_from_a_follower_of_all() -> None:
    live = make_live(FIRST)
    follow = partial(live.lines, last=10_000)
    assert len(asyncio.run(follow(0))) == FIRST + 1
    for _ in range(2 * FIRST):
        live.recorder.record_start(0, "here", None, ())
    assert len(asyncio.run(live.lines(0))) == FIRST + 1  # a stranger: as short as ever
    head, *facts = map(json.loads, asyncio.run(follow(FIRST)))
    assert head["after"] == FIRST and len(facts) == 2 * FIRST


def test_a_follower_without_a_number_gets_the_newest_whoever_has_asked_before() -> None:
    live = make_live(3 * FIRST)
    assert len(asyncio.run(live.lines(0))) == FIRST + 1
    for _ in range(FIRST):
        live.recorder.record_start(0, "here", None, ())
    assert len(asyncio.run(live.lines(0))) == FIRST + 1, "as somebody who has just come"
    for _ in range(FIRST):
        live.recorder.record_start(0, "here", None, ())
    assert len(asyncio.run(live.lines(4 * FIRST))) == NEWEST + 1


def test_clients_have_their_turn_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a step takes to be drawn: here each of 40 takes a whole turn, and of those that
    are passed over too."""
    now = [0.0]
    monkeypatch.setattr(trace_live.time, "monotonic", lambda: now[0])

    class Slow(OneFactPerStep):
        def take(self, step: Any, tell: Any = None) -> None:
            now[0] += trace_live.TURN_S
            super().take(step, tell)

        def skip(self, step: Any) -> None:
            now[0] += trace_live.TURN_S
            super().skip(step)

    observer: Any = Slow()
    live = Live("toy", Text("toy"), observer, count_nothing)
    for _ in range(40):
        live.recorder.record_start(0, "here", None, ())
    seen: list[int] = []

    async def story() -> None:
        drawing = asyncio.create_task(live.catch_up(20))
        while not drawing.done():
            seen.append(observer.facts)
            await asyncio.sleep(0)

    asyncio.run(story())
    assert seen == list(range(41))
