"""Pulls that wait: whom a message wakes, counted in pulls that are looked at."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import Append, Caller, Put, Reply, Request, Send
from mqlab.rocketmq.messages import TAGS, Message
from mqlab.rocketmq.remoting import RemotingCommand, ResponseCode
from mqlab.serve.disk import ServerDisk
from mqlab.serve.rocketmq.front import FRONT, Front, FrontConfig, pulling
from mqlab.serve.rocketmq.front.clients import read_expression
from mqlab.serve.rocketmq.wire import answers
from mqlab.serve.rocketmq.wire.answers import Ask


class Driven:
    """A front and its disk, without a server around them; `answers`: by the number of a request."""

    def __init__(self) -> None:
        self.disk = ServerDisk()
        self.front, _ = Front.recover(FrontConfig(), self.disk, 0)
        self.answers: dict[int, Any] = {}

    def ask(self, number: int, body: Any, client: str = "conn-1") -> None:
        ask = Ask(RemotingCommand(0), body)
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
        self.ask(number, pull, f"conn-{number}")

    def put(self, tag: str | None, queue: int = 0) -> None:
        message = Message("orders", queue, b"x")
        self.ask(0, answers.Send("g", (message if tag is None else message.put((TAGS, tag)),)))


@pytest.fixture
def driven() -> Driven:
    new = Driven()
    new.ask(0, answers.UpdateAndCreateTopic("orders", 2, 2, 6, 0))
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
