"""Acknowledgements of what is not there, by ids that only a client of bytes can make. What a real
broker does is in the recordings *-beyond-the-end, ack-of-another-ledger and unacked-of-a-batch."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar.wire.commands import write_bits
from tests.serve.pulsar.raw import ABORT, COMMIT, SHARED, Raw, ask_admin, make_message

EXCLUSIVE, CUMULATIVE = 0, 1
SILENCE_S = 0.2
ADMIN = "/admin/v2/persistent/public/default"


class Shop:
    """A producer and a consumer of one topic, with `texts` received."""

    def __init__(self, broker: RunningBroker, client: Raw, topic: str, kind: int = SHARED) -> None:
        self.broker, self.client, self.topic = broker, client, topic
        client.produce(topic)
        client.subscribe(topic, kind=kind)
        self.ledger, self.sent = 0, 0

    def send(self, *texts: str) -> list[str]:
        for text in texts:
            receipt = self.client.send(text, sequence=self.sent)
            self.ledger, self.sent = receipt.body.message_id.ledgerId, self.sent + 1
        return self.client.receive(len(texts), SILENCE_S)

    def id(self, entry: int, ahead: int = 0, **more: Any) -> dict[str, Any]:
        """`ahead`: so many ledgers."""
        return {"ledgerId": self.ledger + ahead, "entryId": entry, **more}

    def ack(self, *ids: dict[str, Any], kind: int = 0) -> None:
        self.client.ask("ACK", consumer_id=0, ack_type=kind, message_id=list(ids))

    def redeliver(self, *ids: dict[str, Any]) -> list[str]:
        self.client.tell("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0, message_ids=list(ids))
        return self.client.receive(9, SILENCE_S)

    @property
    def cursor(self) -> tuple[str, str]:
        name = self.topic.rpartition("/")[2]
        stats = ask_admin(self.broker.address, "GET", f"{ADMIN}/{name}/internalStats")[1]
        cursor = stats["cursors"]["billing"]
        return (
            cursor["markDeletePosition"].removeprefix(f"{self.ledger}:"),
            cursor["individuallyDeletedMessages"].replace(f"{self.ledger}:", ""),
        )

    @property
    def unacked(self) -> int:
        name = self.topic.rpartition("/")[2]
        stats = ask_admin(self.broker.address, "GET", f"{ADMIN}/{name}/stats")[1]
        return int(stats["subscriptions"]["billing"]["unackedMessages"])


@pytest.fixture
def shop(broker: RunningBroker, client: Raw, topic: str) -> Shop:
    return Shop(broker, client, topic)


@pytest.fixture
def alone(broker: RunningBroker, client: Raw, topic: str) -> Shop:
    """Whose consumer may acknowledge cumulatively."""
    return Shop(broker, client, topic, EXCLUSIVE)


@pytest.mark.parametrize("ahead", [-1, 1])
@pytest.mark.parametrize("kind", [0, CUMULATIVE])
def test_an_id_of_another_ledger_acknowledges_nothing(alone: Shop, ahead: int, kind: int) -> None:
    assert alone.send("a", "b") == ["a", "b"]
    alone.ack(alone.id(1, ahead), kind=kind)
    assert alone.cursor == ("-1", "[]") and alone.redeliver() == ["a", "b"]


def test_an_id_of_another_ledger_brings_nothing_again(shop: Shop) -> None:
    assert shop.send("a", "b") == ["a", "b"]
    assert shop.redeliver(shop.id(0, 1), shop.id(0, -1)) == []
    assert shop.redeliver(shop.id(1)) == ["b"]


def test_those_before_it_in_the_list_are_acknowledged(shop: Shop) -> None:
    shop.send("a", "b")
    shop.ack(shop.id(0), shop.id(7), shop.id(1))
    assert shop.cursor == ("-1", "[(-1..0]]")
    shop.ack(shop.id(1))
    assert shop.cursor == ("1", "[]")


@pytest.mark.parametrize(("action", "came"), [(COMMIT, []), (ABORT, ["b"])])
def test_what_a_transaction_acknowledged_before_it_was_sent(
    shop: Shop, action: int, came: list[str]
) -> None:
    assert shop.send("a") == ["a"]
    txn = shop.client.begin()
    assert not shop.client.ack_in(txn, shop.topic, shop.id(1)).body.HasField("error")
    shop.client.end(txn, action)
    assert shop.send("b") == came and shop.send("c") == ["c"]
    name = shop.topic.rpartition("/")[2]
    ask_admin(shop.broker.address, "PUT", f"{ADMIN}/{name}/unload")
    shop.client.subscribe(shop.topic, number=1)
    assert shop.client.receive(9, SILENCE_S) == ["a", *came, "c"]


def test_a_message_that_is_no_batch_has_no_parts(shop: Shop) -> None:
    assert shop.send("a") == ["a"]
    shop.ack(shop.id(0, ack_set=write_bits((0,), 3), batch_size=3))
    assert shop.cursor == ("-1", "[]") and shop.redeliver() == ["a"]


def test_an_index_behind_a_batch_is_none_of_it(shop: Shop) -> None:
    data = make_message(b"three of them", num_messages_in_batch=3)
    shop.client.tell("SEND", data, producer_id=0, sequence_id=0, num_messages=3)
    shop.ledger = shop.client.take(1)[0].body.message_id.ledgerId
    shop.ack(shop.id(0, ack_set=write_bits((5,), 10), batch_size=10))
    (again,) = _take_again(shop)
    assert not again.body.ack_set and shop.cursor == ("-1", "[]")


def _take_again(shop: Shop) -> list[Any]:
    shop.client.tell("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0)
    return shop.client.take(9, SILENCE_S)


@pytest.mark.parametrize("words", [1, 1 << 11])
def test_a_batch_that_is_not_there_may_be_of_any_size_up_to_a_limit(shop: Shop, words: int) -> None:
    """A client's number makes no work: 131,072 messages are refused, and the client goes on."""
    shop.send("a")
    answer = shop.client.ask(
        "ACK", consumer_id=0, ack_type=0, message_id=[shop.id(5, ack_set=[1] * words)]
    )
    assert answer.body.HasField("error") is (words > 1) and shop.send("b") == ["b"]


def test_a_batch_is_held_message_by_message(shop: Shop) -> None:
    """3, 2, 1, and after the abort 3: what it has brought back is counted once more."""
    data = make_message(b"three of them", num_messages_in_batch=3)
    shop.client.tell("SEND", data, producer_id=0, sequence_id=0, num_messages=3)
    shop.ledger = shop.client.take(1)[0].body.message_id.ledgerId
    seen = [shop.unacked]
    shop.ack(shop.id(0, ack_set=write_bits((0,), 3), batch_size=3))
    seen.append(shop.unacked)
    txn = shop.client.begin()
    part = shop.id(0, ack_set=write_bits((1,), 3), batch_size=3)
    shop.client.ack_in(txn, shop.topic, part)
    seen.append(shop.unacked)
    shop.client.end(txn, ABORT)
    seen.append(shop.unacked)
    assert seen == [3, 2, 1, 3]
    _take_again(shop)
    assert shop.unacked == 3
    shop.ack(shop.id(0))
    assert shop.unacked == 1 and shop.cursor == ("0", "[]")


def test_a_consumer_that_leaves_holds_nothing(broker: RunningBroker, shop: Shop) -> None:
    shop.send("a", "b")
    with Raw(broker.address) as other:
        other.subscribe(shop.topic)
        shop.client.ask("CLOSE_CONSUMER", consumer_id=0)
        assert other.receive(2) == ["a", "b"] and shop.unacked == 2
        other.tell("ACK", consumer_id=0, ack_type=0, message_id=[shop.id(0)])
        other.ask("CLOSE_CONSUMER", consumer_id=0)
    shop.client.subscribe(shop.topic)
    assert shop.client.receive(9, SILENCE_S) == ["b"] and shop.unacked == 1


def test_a_subscription_that_another_one_uses_stays(broker: RunningBroker, shop: Shop) -> None:
    """And the consumer whose word was refused goes on being served."""
    name = shop.topic.rpartition("/")[2]
    path = f"{ADMIN}/{name}/subscription/billing"
    with Raw(broker.address) as other:
        other.subscribe(shop.topic)
        assert shop.client.ask("UNSUBSCRIBE", consumer_id=0).name == "ERROR"
        assert ask_admin(broker.address, "DELETE", path)[0] == 412
        other.ask("CLOSE_CONSUMER", consumer_id=0)
    assert shop.send(*map(str, range(150))) == list(map(str, range(150)))
    assert shop.client.ask("UNSUBSCRIBE", consumer_id=0).name == "SUCCESS"
    assert ask_admin(broker.address, "DELETE", path)[0] == 404
    assert ask_admin(broker.address, "DELETE", f"{ADMIN}/{name}?force=false")[0] == 412, "producer"
