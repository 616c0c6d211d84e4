"""Producers that want a partition alone: a 4.2.4 gave the same answers to the same frames.

Each test is a conversation that was held with a real broker, by one raw connection per producer.
"""

from __future__ import annotations

from functools import partial

import pytest

from mqlab.kernel import ConnectionLost
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.messages import (
    CloseProducer,
    DeleteTopic,
    OpenProducer,
    ProducerOpened,
    SendMessage,
    SendReceipt,
)
from mqlab.pulsar.states import AccessMode
from mqlab.pulsar.topic import Topic
from tests.pulsar.stepping import Alone

NAME = "orders-0"
SHARED, EXCLUSIVE = AccessMode.SHARED, AccessMode.EXCLUSIVE
WAITS, FENCES = AccessMode.WAIT_FOR_EXCLUSIVE, AccessMode.EXCLUSIVE_WITH_FENCING
FENCED, BUSY = "ProducerOpened ProducerFenced", "ProducerOpened ProducerBusy"
QUEUED = "ProducerOpened waits"


class Conversation:
    def __init__(self) -> None:
        config = PulsarConfig(on=frozenset(SAFEGUARDS), partitions=(NAME,))
        self.topic = Alone(partial(Topic.recover, config, NAME))

    def open(self, who: str, mode: AccessMode, epoch: int | None = None, name: str = "") -> str:
        """What is heard by one that asks."""
        return self.tell(who, OpenProducer(NAME, name or who, mode, epoch)).get(who, "")

    def tell(self, who: str, body: object) -> dict[str, str]:
        """What everybody hears."""
        self.topic.sent.clear()
        self.topic.ask(body, who)
        return self.heard()

    def heard(self) -> dict[str, str]:
        return {s.to: str(s.body) for s in self.topic.sent if isinstance(s.body, ProducerOpened)}

    def close(self, who: str) -> dict[str, str]:
        return self.tell(who, CloseProducer(NAME))

    def leave(self, who: str) -> dict[str, str]:
        self.topic.sent.clear()
        self.topic.step(ConnectionLost(who))
        return self.heard()

    def send(self, who: str, opened: bool = True) -> str:
        receipt: SendReceipt = self.topic.call(
            SendMessage(NAME, who, 0, ("m",), opened=opened), who
        )
        return receipt.error.name

    def writers(self) -> tuple[int, tuple[str, ...]]:
        access = self.topic.role.access
        return access.epoch, tuple(ask.producer for ask in access.open.values())


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def ok(epoch: int) -> str:
    return f"ProducerOpened ok epoch {epoch}"


def test_who_shares_keeps_out_who_wants_it_alone(talk: Conversation) -> None:
    assert talk.open("a", SHARED) == talk.open("b", SHARED) == "ProducerOpened ok"
    assert talk.open("x", EXCLUSIVE) == FENCED
    assert talk.open("w", WAITS) == QUEUED
    assert (talk.open("c", SHARED), talk.open("x", EXCLUSIVE)) == (BUSY, FENCED)
    assert talk.close("a") == {}
    assert talk.close("b") == {"w": ok(0)}
    assert talk.writers() == (0, ("w",))


def test_those_that_wait_are_served_in_their_order(talk: Conversation) -> None:
    assert talk.open("a", EXCLUSIVE) == ok(0)
    assert talk.open("b", SHARED) == BUSY
    assert talk.open("b", EXCLUSIVE) == FENCED
    assert talk.open("w", WAITS) == talk.open("v", WAITS) == QUEUED
    assert talk.open("w", WAITS) == "ProducerOpened ServiceNotReady"
    assert talk.send("w") == "ServiceNotReady"
    assert talk.leave("a") == {"w": ok(1)}
    assert talk.send("w") == "NoError"
    assert talk.tell("f", OpenProducer(NAME, "f", FENCES)) == {"f": ok(2), "v": FENCED}
    assert (talk.send("w"), talk.send("f")) == ("ServiceNotReady", "NoError")


def test_an_older_epoch_is_fenced_whoever_is_there(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    assert talk.open("b", FENCES) == ok(1)
    assert talk.open("a", EXCLUSIVE, 0) == FENCED
    assert talk.close("b") == {}
    assert [talk.open("a", mode, 0) for mode in (EXCLUSIVE, WAITS, FENCES)] == [FENCED] * 3
    assert talk.open("a", SHARED, 0) == ok(1)


def test_a_refused_one_that_fences_has_thrown_the_others_out(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.open("b", FENCES)
    assert talk.open("w", WAITS, 0) == QUEUED
    assert talk.tell("c", OpenProducer(NAME, "c", FENCES, 0)) == {"c": FENCED, "w": FENCED}
    assert talk.writers() == (1, ())
    assert talk.open("b", FENCES, 1) == ok(1)


def test_one_that_waits_comes_with_an_epoch_of_its_own(talk: Conversation) -> None:
    assert talk.open("a", EXCLUSIVE, 5) == ok(5)
    talk.open("w", WAITS, 2)
    talk.open("v", WAITS, 9)
    assert talk.close("a") == {"w": ok(2)}
    assert talk.close("w") == {"v": ok(9)}


def test_one_that_has_left_while_it_waited_raises_the_epoch(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.open("w", WAITS)
    talk.open("v", WAITS)
    assert talk.leave("w") == {}
    assert talk.close("a") == {"v": ok(2)}


def test_names_are_looked_at_among_those_that_share(talk: Conversation) -> None:
    talk.open("one", SHARED, name="a")
    assert talk.open("two", SHARED, name="a") == BUSY
    assert talk.open("two", FENCES, name="a") == ok(0)


def test_a_load_forgets_producers_and_keeps_the_epoch(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.open("b", FENCES)
    talk.topic.restart()
    assert talk.writers() == (1, ())
    assert talk.send("b") == "ServiceNotReady"
    assert (talk.open("a", EXCLUSIVE, 0), talk.open("b", FENCES, 1)) == (FENCED, ok(1))


def test_a_deleted_partition_counts_anew(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.tell("operator", DeleteTopic(NAME))
    talk.topic.restart()
    assert talk.open("b", EXCLUSIVE) == ok(0)


def test_a_producer_that_nobody_has_opened_shares(talk: Conversation) -> None:
    assert talk.send("a", opened=False) == "NoError"
    talk.open("b", EXCLUSIVE)
    assert talk.send("a", opened=False) == "ProducerBusy"
