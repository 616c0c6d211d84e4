"""Consumers: queues and permits, acknowledgements, dead letters, new connections."""

from __future__ import annotations

from mqlab.pulsar.client.calls import (
    Acknowledge,
    Close,
    Receive,
    RedeliverAll,
    SubscribeTo,
)
from mqlab.pulsar.errors import ServerError
from mqlab.pulsar.messages import AckResponse, MessageId, SendReceipt, Subscribed
from mqlab.pulsar.states import SubType
from tests.pulsar.client.stand import SHARED, Stand, connected


def at(position: int, index: int = -1) -> MessageId:
    return MessageId("orders-0", position, index)


def test_permits_follow_the_subscription_and_come_back_by_halves() -> None:
    stand = Stand()
    stand.call(SubscribeTo("orders-0", "shop", queue=4))
    stand.told("orders-0", Subscribed(partition="orders-0", subscription="shop"))
    assert stand.take_sent() == ["orders-0: Subscribe shop Exclusive", "orders-0: Flow 4"]
    stand.push("a", 0)
    assert stand.call(Receive("shop")) == "ok a @0" and stand.take_sent() == []
    stand.push(("b", "c"), 1, 2, acked=(0,))
    assert stand.call(Receive("shop")) == "ok c @1:1 again 2"
    assert stand.take_sent() == ["orders-0: Flow 2"]
    assert stand.call(Receive("shop")) == "ok nothing"


def test_a_refused_subscription_is_none() -> None:
    stand = Stand()
    stand.call(SHARED)
    refusal = Subscribed(ServerError.ConsumerBusy, "taken", "orders-0", "shop")
    assert stand.told("orders-0", refusal) == "failed ConsumerBusyException taken"
    assert stand.client.consumers == ()


def test_a_plain_acknowledgement_waits_for_nobody() -> None:
    stand = connected()
    stand.push("a", 0)
    stand.push(("b", "c"), 1)
    stand.call(Receive("shop"))
    assert stand.call(Acknowledge("shop", (at(1, 0),))) == "ok"
    assert stand.call(Acknowledge("shop", ())) == "ok"
    assert stand.take_sent() == ["orders-0: Ack shop 1:0", "orders-0: Ack shop 0, 1:1"]
    assert stand.client.consumers[0].received == ()


def test_an_acknowledgement_in_a_transaction_registers_once_and_is_answered() -> None:
    stand = connected()
    assert stand.call(Acknowledge("shop", (at(0),), "t1")) == ""
    assert stand.answer(AckResponse()) == "ok"
    stand.call(Acknowledge("shop", (at(1),), "t1"))
    assert stand.take_sent() == [
        "tc-0: AddSubscriptionToTxn (0,0) orders-0/shop",
        "orders-0: Ack shop 0 in (0,0)",
        "orders-0: Ack shop 1 in (0,0)",
    ]


def test_a_conflict_spoils_the_transaction_and_keeps_the_message() -> None:
    stand = connected()
    stand.push("a", 0)
    stand.call(Receive("shop"))
    stand.call(Acknowledge("shop", (), "t1"))
    refusal = AckResponse(ServerError.TransactionConflict, "in pending ack status")
    assert stand.answer(refusal) == "failed TransactionConflictException"
    assert stand.client.txns["t1"].failed and stand.client.consumers[0].received == (at(0),)


def test_an_unanswered_acknowledgement_fails_with_its_connection() -> None:
    stand = connected()
    stand.call(Acknowledge("shop", (at(0),), "t1"))
    stand.take_sent()
    stand.lose("orders-0")
    assert stand.returned[-1].result == "unknown ConnectException"
    assert stand.client.txns["t1"].failed
    assert stand.take_sent() == ["orders-0: Subscribe shop Shared"]


def test_cumulative_is_for_types_with_one_consumer() -> None:
    stand = connected()
    call = Acknowledge("shop", (at(0),), "t1", cumulative=True)
    assert stand.call(call) == "failed InvalidConfigurationException"
    single = connected(SubscribeTo("orders-0", "shop", SubType.FAILOVER))
    for position in range(3):
        single.push("abc"[position], position)
    single.call(Receive("shop"))
    single.call(Acknowledge("shop", (at(1),), "t1", cumulative=True))
    assert single.take_sent()[-1] == "orders-0: Ack cumulative shop 1 in (0,0)"
    single.answer(AckResponse())
    assert single.client.consumers[0].received == (at(2),)


def test_redeliver_empties_the_queue_and_gives_its_room_back() -> None:
    stand = connected(SubscribeTo("orders-0", "shop", SubType.SHARED, queue=2))
    stand.push("a", 0)
    assert stand.call(RedeliverAll("shop")) == "ok"
    assert stand.take_sent() == ["orders-0: Redeliver shop", "orders-0: Flow 1"]
    assert stand.call(Receive("shop")) == "ok nothing"


def test_what_comes_too_often_goes_to_the_dead_letters() -> None:
    """A15, on the client's side."""
    call = SubscribeTo("orders-0", "shop", SubType.SHARED, dead_letter="dead-0", max_redeliver=1)
    stand = connected(call)
    stand.push("a", 0, 1)
    assert stand.call(Receive("shop")) == "ok a @0 again 1"
    stand.push("a", 0, 2)
    assert stand.call(Receive("shop")) == "ok nothing"
    assert stand.take_sent() == ["dead-0: Send a"]
    stand.answer(SendReceipt(position=0))
    assert stand.take_sent() == ["orders-0: Ack shop 0"]
    stand.push("b", 1, 2)
    stand.answer(SendReceipt(ServerError.PersistenceError))
    assert stand.take_sent()[-1] == "orders-0: Redeliver shop 1"


def test_a_closed_consumer_takes_nothing_any_more() -> None:
    stand = connected()
    assert stand.call(Close("shop")) == "ok"
    assert stand.take_sent() == ["orders-0: CloseConsumer shop"]
    stand.push("a", 0)
    assert stand.client.consumers == ()


def test_a_reader_reads_on_after_a_new_connection() -> None:
    stand = connected(SubscribeTo("orders-0", "shop", initial_position="Earliest", durable=False))
    stand.push("a", 0)
    assert stand.call(Receive("shop")) == "ok a @0"
    stand.lose("orders-0")
    stand.push("a", 0)
    stand.push("b", 1)
    assert stand.call(Receive("shop")) == "ok b @1"
