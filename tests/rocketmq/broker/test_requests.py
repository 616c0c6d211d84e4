"""What clients ask of a broker besides transactions: reading, offsets, delays."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import (
    Caller,
    ConnectionLost,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Send,
    SetTimer,
)
from mqlab.rocketmq.broker import Broker
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC
from mqlab.rocketmq.group import (
    GetConsumerListByGroup,
    PullMessage,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqlab.rocketmq.messages import DELAY, KEYS, Heartbeat, HeartbeatResponse, Message, SendMessage
from mqlab.rocketmq.remoting.codes import ResponseCode
from tests.rocketmq.queues import (
    HALF,
    OP,
    apply_all,
    make_config,
    make_half,
    make_op,
    put,
    words_in,
)


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


THREE = put(MemoryDisk(), message("a"), message("b"), message("c"))


@pytest.mark.parametrize(
    ("offset", "most", "code", "bodies", "next_offset"),
    [
        (0, 32, ResponseCode.SUCCESS, ["a", "b", "c"], 3),
        (0, 2, ResponseCode.SUCCESS, ["a", "b"], 2),
        (2, 32, ResponseCode.SUCCESS, ["c"], 3),
        (3, 32, ResponseCode.PULL_NOT_FOUND, [], 3),
        (9, 32, ResponseCode.PULL_OFFSET_MOVED, [], 3),
    ],
)
def test_a_pull(offset, most, code, bodies, next_offset):
    said = Asked(THREE).ask(PullMessage("shop", "orders-0", offset, most))
    assert (said.code, said.next_offset) == (code, next_offset)
    assert [s.message.body for s in said.messages] == bodies


def test_members_of_a_group():
    asked = Asked()
    assert asked.ask(GetConsumerListByGroup("shop")).code is ResponseCode.SYSTEM_ERROR
    for client in ("one", "two", "one"):
        asked.ask(Heartbeat(consumers=("shop",)), client)
        assert asked.effects == (Send(client, HeartbeatResponse()),)
    assert asked.ask(GetConsumerListByGroup("shop")).members == ("one", "two")
    asked.do(ConnectionLost("one"))
    assert asked.ask(GetConsumerListByGroup("shop")).members == ("two",)


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


def test_a_round_notes_how_far_it_came_in_both_of_its_queues_and_a_start_goes_on_from_there():
    """The next round reads neither what the op record names nor the record again."""
    config = make_config()
    asked = Asked(put(MemoryDisk(), make_half(config, "o1"), make_op(config, "0")))
    asked.do(Fired("check", 60_000))
    asked.do(Fired("persist offsets", 65_000))
    kept = {f"{HALF}@CID_RMQ_SYS_TRANS": 1, f"{OP}@CID_RMQ_SYS_TRANS": 1}
    assert dict(asked.disk.table("consumerOffset.json").items()) == kept
    again, effects = Broker.recover(config, asked.disk, 70_000)
    assert dict(again.offsets.items()) == kept
    assert effects == (), "nothing is unread, so that no round is planned"


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
