"""Consumers: queues and permits, acknowledgements, dead letters, new connections."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import replace
from mqlab.pulsar.client import Client, Consumer
from mqlab.pulsar.client.calls import (
    Abort,
    Acknowledge,
    AskAdmin,
    Close,
    Commit,
    Nack,
    Receive,
    RedeliverAll,
    SeekTo,
    Send,
    SubscribeTo,
)
from mqlab.pulsar.errors import ServerError
from mqlab.pulsar.messages import (
    AckResponse,
    Answer,
    CloseConsumer,
    EndTxnResponse,
    GetLastMessageId,
    LastMessageId,
    MessageId,
    ProducerOpened,
    Seek,
    SendReceipt,
    Subscribed,
)
from mqlab.pulsar.states import ClientTxnState, SubType
from tests.pulsar.client.stand import SHARED, Stand, connected


def at(position: int, index: int = -1) -> MessageId:
    return MessageId("orders-0", position, index)


@pytest.mark.parametrize(
    "call",
    [Receive("shpo"), Acknowledge("shpo", (at(0),)), RedeliverAll("shpo"), Nack("shpo", (at(0),)),
     Close("shpo")],
)  # fmt: skip
def test_a_subscription_that_nobody_here_has_is_told(call: Any) -> None:
    """Not `nothing`: a name with a slip would look like a queue without a message."""
    stand = Stand()
    stand.call(SHARED)
    assert stand.call(call) == "failed there is no consumer of shpo here; subscribe first"


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
    assert stand.take_sent() == ["orders-0: Ack shop 1:0", "orders-0: Ack shop 0, 1"]
    assert stand.client.consumers[0].received == ()


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


EMPTY = SubscribeTo("orders-0", "shop", SubType.SHARED, queue=0)


def test_without_a_queue_each_receive_asks_for_one_message_and_waits_for_it() -> None:
    stand = connected(EMPTY)
    assert stand.client.consumers[0].open and stand.call(RedeliverAll("shop")) == "ok"
    assert stand.take_sent() == ["orders-0: Redeliver shop"]
    assert stand.call(Receive("shop")) == "" and stand.take_sent() == ["orders-0: Flow 1"]
    stand.push("a", 0)
    assert stand.returned[-1].result == "ok a @0" and stand.take_sent() == []
    assert stand.call(Acknowledge("shop", ())) == "ok"
    stand.take_sent()
    assert stand.call(Receive("shop")) == "" and stand.take_sent() == ["orders-0: Flow 1"]
    stand.lose("orders-0")
    stand.lose("tc-0")  # the coordinator is connected to again, and the call still waits
    stand.told("orders-0", Subscribed(partition="orders-0", subscription="shop"))
    assert [words for words in stand.take_sent() if "orders-0" in words] == [
        "orders-0: Subscribe shop Shared",
        "orders-0: Flow 1",
    ]
    stand.push("b", 1, 1)
    assert stand.returned[-1].result == "ok b @1 again 1"


def test_a_batch_closes_a_consumer_without_a_queue() -> None:
    stand = connected(EMPTY)
    stand.call(Receive("shop"))
    stand.push(("a", "b"), 0)
    said = "failed PulsarClientException java.lang.InterruptedException: Queue is terminated"
    assert stand.returned[-1].result == said
    assert stand.take_sent() == ["orders-0: Flow 1", "orders-0: CloseConsumer shop"]
    assert stand.call(Receive("shop")).startswith("failed there is no consumer of shop")


def test_a_second_consumer_is_asked_for_beside_the_first_which_stays_where_it_is_refused() -> None:
    stand = Stand()
    single = SubscribeTo("orders-0", "shop")
    opened = Subscribed(partition="orders-0", subscription="shop")
    stand.call(single)
    assert stand.asked == [False] and stand.told("orders-0", opened) == "ok"
    stand.push("a", 0)
    stand.call(single)
    assert stand.asked == [False, True]
    busy = replace(opened, error=ServerError.ConsumerBusy, message="taken")
    assert stand.told("orders-0", busy) == "failed ConsumerBusyException taken"
    assert stand.call(Receive("shop")) == "ok a @0"
    stand.call(SHARED)  # by now it has been closed by the broker
    assert stand.told("orders-0", opened) == "ok"
    assert stand.client.consumers == (Consumer(SHARED, open=True),)
    stand.lose("orders-0")
    assert stand.asked == [False, True, True, False]


def test_a_negative_acknowledgement_asks_for_whole_entries_and_no_more() -> None:
    stand = connected()
    assert stand.call(Nack("shop", (at(0),))) == "failed none of these was received and not " + (
        "acknowledged"
    )
    for position in range(3):
        stand.push("abc"[position], position)
    stand.call(Receive("shop"))
    assert stand.call(Nack("shop", (at(2), at(0), at(7)))) == "ok"
    assert stand.take_sent()[-1] == "orders-0: Redeliver shop 0, 2"
    assert stand.client.consumers[0].received == (at(1),)


def test_what_came_again_meanwhile_is_wanted_once_more() -> None:
    """An acknowledgement timeout, and then a negative acknowledgement (apache/pulsar#6451)."""
    stand = connected()
    stand.push("a", 0)
    stand.call(Receive("shop"))
    stand.call(RedeliverAll("shop"))
    for position in range(3):
        stand.push("abc"[position], position, 1 - min(position, 1))
    stand.take_sent()
    assert stand.call(Nack("shop", (at(0),))) == "ok"
    assert stand.take_sent() == ["orders-0: Redeliver shop 0, 1"], "Java takes one more"
    assert [m.message_id for m in stand.client.consumers[0].queue] == [at(2)]
    assert stand.call(Nack("shop", (at(1),))).startswith("failed"), "another may have it by now"
    assert [m.message_id for m in stand.client.consumers[0].queue] == [at(2)]


def test_a_seek_subscribes_again_and_forgets_what_came() -> None:
    stand = connected()
    nowhere = "failed no consumer of other reads orders-0 here; subscribe first"
    assert stand.call(SeekTo("other", at(0))) == nowhere
    stand.push("a", 0)
    stand.call(Receive("shop"))
    stand.call(SeekTo("shop", MessageId("orders-0", 4, 2)))
    assert stand.client.pending[-1].body == Seek("orders-0", "shop", 3, (4, (0, 1)))
    stand.push("b", 1)
    stand.told("orders-0", CloseConsumer("orders-0", "shop"))
    stand.answer(Answer())
    assert stand.returned[-1].result == "ok"
    assert stand.take_sent() == ["orders-0: Seek shop to 4", "orders-0: Subscribe shop Shared"]
    (consumer,) = stand.client.consumers
    assert (consumer.received, consumer.queue, consumer.open) == ((), (), False)
    stand.call(SeekTo("shop", at(3)))
    assert stand.client.pending[-1].body == Seek("orders-0", "shop", 2)
    stand.push("c", 2)
    stand.answer(Answer(ServerError.MetadataError, "no"))
    assert stand.client.consumers[0].waiting == 1
    assert stand.returned[-1].result.startswith("failed")
    assert stand.take_sent() == ["orders-0: Seek shop to 3"]


def test_a_consumer_that_the_broker_closes_subscribes_again() -> None:
    """Another client of the subscription has sought (apache/pulsar#5278)."""
    stand = connected()
    stand.push("a", 0)
    stand.told("orders-0", CloseConsumer("orders-0", "shop"))
    assert stand.take_sent() == ["orders-0: Subscribe shop Shared"]
    assert (stand.client.consumers[0].queue, stand.client.consumers[0].open) == ((), False)
    stand.told("orders-0", CloseConsumer("orders-0", "gone"))
    assert stand.take_sent() == []


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


def test_of_a_batch_each_message_that_is_left_is_a_dead_letter() -> None:
    """ConsumerImpl#processPossibleToDLQ (acknowledged-and-dead of 4.2.4)."""
    call = SubscribeTo("orders-0", "shop", SubType.SHARED, dead_letter="dead-0", max_redeliver=1)
    stand = connected(call)
    stand.push(("a", "b", "c"), 0, 2, acked=(1,))
    assert stand.take_sent() == ["dead-0: Send a", "dead-0: Send c"]
    stand.answer(SendReceipt(position=0))
    assert stand.take_sent() == []
    stand.answer(SendReceipt(position=1))
    assert stand.take_sent() == ["orders-0: Ack shop 0"]
    stand.push(("d", "e"), 1, 2)
    stand.answer(SendReceipt(ServerError.PersistenceError))
    stand.answer(SendReceipt(position=2))
    assert stand.take_sent()[2:] == ["orders-0: Redeliver shop 1"]


def test_a_batch_is_acknowledged_as_a_whole_by_default_of_java() -> None:
    """MessageIdAdvUtils#acknowledge, #prevMessageId; in a transaction each by its index."""
    stand = connected(replace(SHARED, sub_type=SubType.EXCLUSIVE, batch_index_ack=0))
    stand.push(("a", "b", "c"), 0)
    stand.push(("d", "e"), 1)
    stand.call(Receive("shop"))
    for index, sent in ((2, []), (0, []), (1, ["orders-0: Ack shop 0"])):
        assert stand.call(Acknowledge("shop", (MessageId("orders-0", 0, index),))) == "ok"
        assert stand.take_sent() == sent
    for index, at in ((0, 0), (1, 1)):
        last = (MessageId("orders-0", 1, index),)
        stand.call(Acknowledge("shop", last, cumulative=True))
        assert stand.take_sent() == [f"orders-0: Ack cumulative shop {at}"]
    stand.push(("f", "g"), 2)
    stand.call(Receive("shop"))
    stand.call(Acknowledge("shop", (MessageId("orders-0", 2, 0),), "t1"))
    assert stand.take_sent()[-1] == "orders-0: Ack shop 2:0 in (0,0)"
    stand.answer(AckResponse())
    stand.call(Acknowledge("shop", (MessageId("orders-0", 2, 1),)))
    assert stand.take_sent() == [], "the other one is acknowledged in a transaction only"
    stand.push(("h", "i"), 3)
    stand.call(Receive("shop"))
    stand.call(Acknowledge("shop", (MessageId("orders-0", 3, 1),), cumulative=True))
    assert stand.take_sent() == ["orders-0: Ack cumulative shop 3"]


def test_with_deduplication_a_producer_goes_on_after_its_last_number() -> None:
    """ProducerImpl#connectionOpened (batch-begins-with-a-duplicate of 4.2.4)."""
    stand = Stand(dedup=1)
    stand.call(Send("orders-0", ("x",), sequence=3))
    assert stand.take_sent() == ["orders-0: Send x"]
    stand = Stand(dedup=1)
    assert stand.call(Send("orders-0", ("a",))) == ""
    stand.lose("orders-0")
    assert stand.take_sent() == ["orders-0: OpenProducer Shared"] * 2
    stand.told("orders-0", ProducerOpened(partition="orders-0", last_sequence=4))
    assert stand.take_sent() == ["orders-0: Send a"] and stand.open[0].body.sequence == 5
    stand = Stand(dedup=1)
    stand.call(Send("orders-0", ("a",)))
    busy = ProducerOpened(ServerError.ProducerBusy, partition="orders-0")
    assert stand.told("orders-0", busy) == "failed ProducerBusyException"


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


# ---- The states of the client's own, and what each call comes to in them (§ TransactionImpl)

T1_SEND = Send("orders-0", ("a",), "t1")
OK = EndTxnResponse()


def state(stand: Stand) -> ClientTxnState:
    return stand.client.txns["t1"].state


def test_a_registration_that_is_given_up_is_a_failed_operation() -> None:
    stand = Stand(registers=False)
    stand.begin()
    assert stand.call(T1_SEND) == ""
    stand.fire("operation timeout")
    assert stand.returned[-1].result == "unknown TimeoutException"
    assert stand.client.txns["t1"].failed


def test_the_clients_own_timer_says_time_out() -> None:
    stand = Stand()
    stand.begin()
    stand.fire("timeout t1")
    assert state(stand) is ClientTxnState.TIME_OUT
    assert stand.call(Commit("t1")) == "failed InvalidTxnStatusException TIME_OUT"
    stand.begin("t2")
    stand.call(Abort("t2"))
    stand.answer(OK)
    stand.fire("timeout t2")
    assert stand.client.txns["t2"].state is ClientTxnState.ABORTED


def test_a_lost_coordinator_is_connected_to_again_and_asked_again() -> None:
    stand = Stand()
    stand.begin()
    stand.call(Commit("t1"))
    stand.take_sent()
    stand.lose("tc-0")
    assert stand.take_sent() == ["tc-0: TcClientConnect 0", "tc-0: EndTxn commit (0,0)"]
    stand.answer(EndTxnResponse(ServerError.TransactionCoordinatorNotFound))
    assert stand.take_sent() == ["tc-0: TcClientConnect 0", "tc-0: EndTxn commit (0,0)"]
    assert stand.answer(OK) == "ok"


def test_a_send_is_repeated_with_its_number_on_a_new_connection() -> None:
    stand = Stand()
    stand.call(Send("orders-0", ("a",)))
    first = stand.open[0].body
    stand.lose("orders-0")
    assert [ask.body for ask in stand.open] == [first] and first.sequence == 0
    assert stand.answer(SendReceipt(position=1)) == "ok @1"
    stand.call(Send("orders-0", ("b",), sequence=7))
    assert stand.open[0].body.sequence == 7
    stand.answer(SendReceipt(position=2))
    stand.call(Send("orders-0", ("c",)))
    assert stand.open[0].body.sequence == 8


def test_a_transaction_that_there_is_not_is_said_to_be_missing() -> None:
    assert Stand().call(Commit("t9")) == "failed there is no transaction t9"


def test_the_administration_does_not_load_a_coordinator() -> None:
    stand = Stand()
    stand.call(AskAdmin("tc-0", GetLastMessageId("tc-0")))
    not_loaded = LastMessageId(ServerError.TransactionCoordinatorNotFound)
    assert stand.answer(not_loaded) == "failed CoordinatorNotFoundException"
    assert stand.take_sent() == ["tc-0: GetLastMessageId tc-0"]


# ---- What is told of a client: the states of its transactions, and what waits in its queues


def told(stand: Stand, old: Client) -> list[str]:
    return [text.en for text in stand.client.describe_changes(old)]


def test_a_subscribe_without_an_answer_is_given_up() -> None:
    """ConsumerImpl#connectionOpened: the broker is told to close what it may have by now."""
    stand = Stand()
    assert stand.call(SHARED) == "" and stand.timers == ["operation timeout"]
    stand.take_sent()
    stand.fire("operation timeout")
    assert stand.returned[-1].result == "unknown TimeoutException"
    assert stand.take_sent() == ["orders-0: CloseConsumer shop"] and not stand.client.consumers
    late = Subscribed(partition="orders-0", subscription="shop")
    assert stand.told("orders-0", late) == "" and stand.take_sent() == []
    assert stand.call(SHARED) == "" and stand.told("orders-0", late) == "ok"
    stand.take_sent()
    assert stand.call(SHARED) == ""
    stand.fire("operation timeout")  # the first one is still connected
    assert stand.take_sent() == ["orders-0: Subscribe shop Shared"] and stand.client.consumers
