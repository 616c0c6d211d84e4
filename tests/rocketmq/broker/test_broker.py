"""What clients ask of a broker besides transactions: reading, offsets, delays."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import (
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Send,
    SetTimer,
    replace,
)
from mqlab.rocketmq.broker import Broker
from mqlab.rocketmq.check import OP_BATCH
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC
from mqlab.rocketmq.group import (
    GetConsumerListByGroup,
    PullMessage,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqlab.rocketmq.messages import (
    CHECK_IMMUNITY,
    DELAY,
    KEYS,
    EndTransaction,
    Heartbeat,
    HeartbeatResponse,
    Message,
    SendMessage,
)
from mqlab.rocketmq.remoting.codes import ResponseCode
from mqlab.rocketmq.states import TransactionType
from tests.rocketmq.queues import (
    GROUP,
    OP,
    apply_all,
    make_config,
    make_half,
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


# ---- EndTransaction: what is checked, in which order, and what is written ------------

NEW, OLD = make_config(), make_config(release="4.9")
ASK = EndTransaction(GROUP, TransactionType.COMMIT_TYPE, 0, 0, oneway=False)


def stored(config: Any, *more: tuple[str, str]) -> MemoryDisk:
    return put(MemoryDisk(), make_half(config, "o1", *more))


def end(
    config: Any, disk: Disk, ask: EndTransaction, at_ms: int = 0
) -> tuple[Broker, Effects, Any]:
    """The broker afterwards, what it did, and its answer."""
    broker, effects = Broker(config).step(Request(Caller("app"), ask, at_ms), disk)
    answers = [e.body for e in effects if isinstance(e, Reply)]
    return broker, effects, answers[0] if answers else None


@pytest.mark.parametrize(
    ("config", "from_check", "at_ms", "refused"),
    [(NEW, False, 10_001, True), (NEW, False, 10_000, False), (NEW, True, 10_001, False),
     (OLD, False, 10_001, False)],
)  # fmt: skip
def test_a_late_end_of_the_clients_own_accord_is_refused(config, from_check, at_ms, refused):
    disk = stored(config, (CHECK_IMMUNITY, "10"))
    _, _, answer = end(config, disk, replace(ASK, from_check=from_check), at_ms)
    assert (answer.code is ResponseCode.ILLEGAL_OPERATION) is refused


def test_here_an_immunity_has_the_timeout_as_its_floor():
    disk = stored(NEW, (CHECK_IMMUNITY, "1"))
    assert end(NEW, disk, ASK, 6_000)[2].code is ResponseCode.SUCCESS
    assert end(NEW, disk, ASK, 6_001)[2].code is ResponseCode.ILLEGAL_OPERATION


def test_the_other_order_and_a_part_left_out():
    """A safeguard off, and what a learner arranges."""
    for config in (
        make_config(release="4.9", on=NEW.on - {"message_before_op"}),
        make_config(release="4.9", order=(("end_transaction", ("op", "message")),)),
    ):
        _, effects, _ = end(config, stored(config), ASK)
        assert [e.log for e in effects if hasattr(e, "log")][1::2] == [OP, "orders-0"]
    config = make_config(release="4.9", order=(("end_transaction", ("message",)),))
    _, effects, _ = end(config, stored(config), ASK)
    assert [e.log for e in effects if hasattr(e, "log")][1::2] == ["orders-0"]


def test_ends_are_recorded_at_intervals_from_the_first_end_on():
    """Not from a round number of the clock (5.5.0)."""
    disk, broker, after = stored(NEW), Broker(NEW), []
    for at_ms in (7_100, 15_000):
        broker, effects = broker.step(Request(Caller("app"), ASK, at_ms), disk)
        after += [e.after_ms for e in effects if isinstance(e, SetTimer) and e.timer == OP_BATCH]
        broker, _ = broker.step(Fired(OP_BATCH, at_ms + after[-1]), disk)
    assert after == [3_000, 1_100]
