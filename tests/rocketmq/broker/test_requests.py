"""What clients ask of a broker besides transactions: reading, waiting, looking up, delays."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import (
    Caller,
    CancelTimer,
    ConnectionLost,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Send,
    SetTimer,
)
from mqlab.rocketmq.broker import Broker
from mqlab.rocketmq.broker.pull import MessageArrived
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC
from mqlab.rocketmq.group.messages import (
    GetConsumerListByGroup,
    GetMaxOffset,
    GetMinOffset,
    LockBatchMQ,
    NotifyConsumerIdsChanged,
    PullMessage,
    QueryConsumerOffset,
    QueryMessage,
    SearchOffset,
    UnlockBatchMQ,
    UpdateConsumerOffset,
    ViewMessageById,
)
from mqlab.rocketmq.messages import DELAY, KEYS, TAGS, Heartbeat, Message, SendMessage
from mqlab.rocketmq.remoting.codes import ResponseCode
from tests.rocketmq.queues import apply_all, make_config, put, words_in


class Asked:
    """A broker with its disk, asked one thing after the other."""

    def __init__(self, disk: MemoryDisk = MemoryDisk()) -> None:
        self.broker, self.disk = Broker(make_config()), disk
        self.effects: tuple[Any, ...] = ()

    def do(self, event: Any) -> Any:
        """The first answer, None where nobody is answered."""
        self.broker, self.effects = self.broker.step(event, self.disk)
        self.disk = apply_all(self.disk, self.effects)
        answers = [e.body for e in self.effects if isinstance(e, Reply)]
        return answers[0] if answers else None

    def ask(self, body: Any, client: str = "shop", at_ms: int = 0) -> Any:
        return self.do(Request(Caller(client), body, at_ms))


def message(body: str, *properties: tuple[str, str], queue: int = 0) -> Message:
    return Message("orders", queue, body).put((KEYS, body), *properties)


THREE = put(MemoryDisk(), message("a"), message("b", (TAGS, "x")), message("c"))


@pytest.mark.parametrize(
    ("offset", "tags", "code", "bodies", "next_offset"),
    [
        (0, (), ResponseCode.SUCCESS, ["a", "b", "c"], 3),
        (2, (), ResponseCode.SUCCESS, ["c"], 3),
        (3, (), ResponseCode.PULL_NOT_FOUND, [], 3),
        (9, (), ResponseCode.PULL_OFFSET_MOVED, [], 3),
        (0, ("x",), ResponseCode.SUCCESS, ["b"], 3),
        (0, ("y",), ResponseCode.PULL_RETRY_IMMEDIATELY, [], 3),
    ],
)
def test_a_pull(offset, tags, code, bodies, next_offset):
    said = Asked(THREE).ask(PullMessage("shop", "orders-0", offset, tags=tags))
    assert (said.code, said.next_offset) == (code, next_offset)
    assert [s.message.body for s in said.messages] == bodies
    assert (said.min_offset, said.max_offset) == (0, 3)


def test_a_pull_waits_for_a_message():
    asked = Asked()
    assert asked.ask(PullMessage("shop", "orders-0", 0, hold_ms=15_000)) is None
    (timer,) = asked.effects
    assert timer == SetTimer("hold 0 orders-0", 15_000)
    asked.ask(SendMessage(message("other", queue=1), "g"), "app")
    assert not [e for e in asked.effects if isinstance(e, Send)], "nobody waits for that queue"
    asked.ask(SendMessage(message("a"), "g"), "app")
    assert Send("broker", MessageArrived("orders-0")) in asked.effects
    said = asked.ask(MessageArrived("orders-0"), "broker")
    assert [s.message.body for s in said.messages] == ["a"]
    assert CancelTimer("hold 0 orders-0") in asked.effects
    assert len(asked.broker.holding.by_queue) == 0


def test_a_pull_that_waited_long_enough_finds_nothing():
    asked = Asked()
    asked.ask(PullMessage("shop", "orders-0", 0, hold_ms=15_000))
    said = asked.do(Fired("hold 0 orders-0", 15_000))
    assert said.code is ResponseCode.PULL_NOT_FOUND


def test_who_is_gone_waits_for_nothing():
    asked = Asked()
    asked.ask(PullMessage("shop", "orders-0", 0, hold_ms=15_000))
    asked.do(ConnectionLost("shop"))
    assert asked.effects == (CancelTimer("hold 0 orders-0"),)
    assert len(asked.broker.holding.by_queue) == 0


def test_offsets_of_a_group():
    asked = Asked(THREE)
    unknown = asked.ask(QueryConsumerOffset("shop", "orders-7"))
    assert unknown.code is ResponseCode.QUERY_NOT_FOUND
    assert asked.ask(QueryConsumerOffset("shop", "orders-0")).offset == 0, "the beginning is there"
    asked.ask(UpdateConsumerOffset("shop", "orders-0", 2))
    assert asked.effects == (SetTimer("persist offsets", 5_000),)
    asked.ask(UpdateConsumerOffset("shop", "orders-0", 1))
    assert asked.effects == (), "the next write is planned already"
    assert asked.ask(QueryConsumerOffset("shop", "orders-0")).offset == 1
    assert asked.ask(QueryConsumerOffset("other", "orders-0")).offset == 0
    asked.do(Fired("persist offsets", 5_000))
    assert dict(asked.disk.table("consumerOffset.json").items()) == {"orders-0@shop": 1}


def test_members_of_a_group_hear_of_each_other():
    asked = Asked()
    none = asked.ask(GetConsumerListByGroup("shop"))
    assert none.code is ResponseCode.SYSTEM_ERROR
    asked.ask(Heartbeat(consumers=("shop",)), "one")
    asked.ask(Heartbeat(consumers=("shop",)), "two")
    assert Send("one", NotifyConsumerIdsChanged("shop")) in asked.effects
    assert asked.ask(GetConsumerListByGroup("shop")).members == ("one", "two")
    asked.ask(Heartbeat(consumers=("shop",)), "two")
    assert len(asked.effects) == 1, "nothing has changed"
    asked.do(ConnectionLost("one"))
    assert asked.effects == (Send("two", NotifyConsumerIdsChanged("shop")),)


def test_locks_are_the_brokers():
    asked = Asked()
    assert asked.ask(LockBatchMQ("shop", ("orders-0",)), "one").queues == ("orders-0",)
    assert asked.ask(LockBatchMQ("shop", ("orders-0",)), "two").queues == ()
    asked.ask(UnlockBatchMQ("shop", ("orders-0",)), "one")
    assert asked.ask(LockBatchMQ("shop", ("orders-0",)), "two").queues == ("orders-0",)


def test_looking_up():
    disk = put(put(MemoryDisk(), message("a"), at_ms=5), message("b"), at_ms=9)
    asked = Asked(disk)
    assert asked.ask(GetMinOffset("orders-0")).offset == 0
    assert asked.ask(GetMaxOffset("orders-0")).offset == 2
    found = [asked.ask(SearchOffset("orders-0", at)).offset for at in (0, 5, 6, 9, 10)]
    assert found == [0, 0, 1, 1, 2]
    (stored,) = asked.ask(ViewMessageById(1)).messages
    assert stored.message.body == "b"
    assert asked.ask(ViewMessageById(9)).code is ResponseCode.SYSTEM_ERROR
    assert [s.base for s in asked.ask(QueryMessage("orders", "b")).messages] == [1]
    assert asked.ask(QueryMessage("orders", "z")).code is ResponseCode.QUERY_NOT_FOUND


@pytest.mark.parametrize("topic", [HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC, SCHEDULE_TOPIC])
def test_no_client_may_send_to_the_brokers_own_topics(topic):
    asked = Asked()
    said = asked.ask(SendMessage(Message(topic, 0, "x"), "g"), "app")
    assert said.code is ResponseCode.NO_PERMISSION
    assert asked.disk == MemoryDisk()


def test_the_half_topic_can_be_read_by_whoever_subscribes_to_it():
    """Nothing but a topic's name hides a half message."""
    asked = Asked()
    asked.ask(SendMessage(message("o1", ("TRAN_MSG", "true"), ("PGROUP", "g")), "g"), "app")
    said = asked.ask(PullMessage("curious", f"{HALF_TOPIC}-0", 0))
    assert [s.message.body for s in said.messages] == ["o1"]


# -- delays ------------------------------------------------------------------------------


def test_a_delayed_message_waits_in_the_queue_of_its_level():
    asked = Asked()
    asked.ask(SendMessage(message("a", (DELAY, "2")), "g"), "app", 100)
    assert SetTimer("delay level 2", 5_000) in asked.effects
    asked.ask(SendMessage(message("b", (DELAY, "2")), "g"), "app", 400)
    assert not [e for e in asked.effects if isinstance(e, SetTimer)], "the first one has set it"
    assert words_in(asked.disk, f"{SCHEDULE_TOPIC}-1") == ["a", "b"]
    asked.do(Fired("delay level 2", 5_100))
    assert words_in(asked.disk, "orders-0") == ["a"]
    assert SetTimer("delay level 2", 300) in asked.effects
    asked.do(Fired("delay level 2", 5_400))
    assert words_in(asked.disk, "orders-0") == ["a", "b"]
    asked.ask(SendMessage(message("c", (DELAY, "2")), "g"), "app", 9_000)
    assert SetTimer("delay level 2", 5_000) in asked.effects


def test_a_level_above_the_last_is_the_last():
    asked = Asked()
    asked.ask(SendMessage(message("a", (DELAY, "99")), "g"), "app")
    assert SetTimer("delay level 18", 7_200_000) in asked.effects


def test_a_restarted_broker_delivers_what_was_waiting():
    asked = Asked()
    asked.ask(SendMessage(message("a", (DELAY, "2")), "g"), "app", 100)
    _, effects = Broker.recover(asked.broker.config, asked.disk, 2_100)
    assert SetTimer("delay level 2", 3_000) in effects
    _, effects = Broker.recover(asked.broker.config, asked.disk, 60_000)
    assert SetTimer("delay level 2", 0) in effects
