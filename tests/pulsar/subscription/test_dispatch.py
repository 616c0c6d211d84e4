"""What a dispatcher sends, to whom, and what it acknowledges by itself."""

from __future__ import annotations

import pytest

from mqlab.kernel import replace
from mqlab.pulsar.errors import ServerError
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import CloseConsumer, Flow, Subscribe, Unsubscribe
from mqlab.pulsar.states import MarkerType, SubType
from tests.pulsar.subscription.stand import NAME, T1, T2, TOPIC, Stand

COMMITTED, ABORTED = MarkerType.TXN_COMMIT, MarkerType.TXN_ABORT


@pytest.mark.parametrize("sub_type", SubType)
def test_markers_and_aborted_messages_are_acknowledged_when_they_are_read_over(
    sub_type: SubType,
) -> None:
    entries = ("a", (T1, "b"), (T2, "c"), (ABORTED, T1), (COMMITTED, T2))
    stand = Stand(*entries, sub_type=sub_type, aborts=(T1,))
    assert stand.sub.cursor == Cursor()  # nobody is there, so nothing is read
    assert stand.connect() == ["app a", "app c"]
    assert stand.sub.cursor == Cursor(-1, ((1, 1), (3, 4)))
    stand.ack(0, 2)
    assert stand.sub.cursor == Cursor(4)


def test_nothing_above_the_bound_is_sent() -> None:
    stand = Stand("a", (T1, "b"), "c", max_read=0)
    assert stand.connect() == ["app a"]
    assert stand.move_bound(2) == ["app b", "app c"]


def test_without_the_filter_aborted_messages_are_sent() -> None:
    stand = Stand((T1, "a"), (ABORTED, T1), aborts=(T1,), off=("filter_aborted",))
    assert stand.connect() == ["app a"]


@pytest.mark.parametrize("sub_type", SubType)
def test_a_consumer_is_sent_as_much_as_it_has_said(sub_type: SubType) -> None:
    stand = Stand("a", "b", "c", sub_type=sub_type)
    assert stand.connect(permits=2) == ["app a", "app b"]
    assert stand.ask(Flow(TOPIC, NAME, 1), "app") == ["app c"]


def test_what_is_pending_does_not_stall_the_others() -> None:
    """A8: a queue of two, four pending before it."""
    stand = Stand(*"abcdef")
    stand.connect()
    stand.ack(0, 1, txn=T1)
    stand.ack(2, 3, txn=T2)
    stand.lose("app")
    assert stand.connect("twin", permits=2) == ["twin e", "twin f"]


def test_shared_takes_turns_and_hands_on_what_a_lost_consumer_held() -> None:
    stand = Stand("a", "b", max_read=-1)
    stand.connect("app")
    stand.connect("twin")
    assert stand.move_bound(0) == ["app a"] and stand.move_bound(1) == ["twin b"]
    assert stand.lose("twin") == ["app b"]  # with the count that it had
    assert stand.lose("app") == [] and stand.connect("late") == ["late a", "late b"]


def test_failover_serves_one_and_rewinds_for_the_next() -> None:
    stand = Stand("a", "b", sub_type=SubType.FAILOVER)
    assert stand.connect("app") == ["app a", "app b"]
    assert stand.connect("twin") == []
    stand.ack(0)
    assert stand.lose("app") == ["twin b"]


def test_exclusive_has_one_consumer_and_types_do_not_mix() -> None:
    stand = Stand("a", sub_type=SubType.EXCLUSIVE)
    stand.connect("app")
    assert stand.connect("twin") == []
    assert stand.answers[-1].error is ServerError.ConsumerBusy
    stand.ask(Subscribe(TOPIC, NAME, SubType.SHARED), "twin")
    assert stand.answers[-1].message == "Subscription is of different type"
    stand.ask(CloseConsumer(TOPIC, NAME), "app")
    assert stand.connect("twin") == ["twin a"]


def test_a_client_that_comes_back_replaces_itself() -> None:
    stand = Stand("a", sub_type=SubType.EXCLUSIVE)
    stand.connect()
    assert stand.connect() == ["app a"] and len(stand.sub.consumers) == 1


def test_redelivery_of_single_entries_counts() -> None:
    stand = Stand("a", "b")
    stand.connect()
    stand.ack(0)
    assert stand.redeliver() == ["app b+1"] and stand.redeliver() == ["app b+2"]


@pytest.mark.parametrize(
    ("consumer", "error"),
    [("", ServerError.ConsumerBusy), ("b", ServerError.MetadataError)],
)
def test_a_subscription_that_others_use_stays(consumer: str, error: ServerError) -> None:
    """An administrator's word and a consumer's are refused; nothing of it goes, nothing of its log.
    By force it goes all the same."""
    stand = Stand("a")
    stand.connect("a")
    stand.ack(0, txn=T1, client="a")
    stand.ask(Unsubscribe(TOPIC, NAME, consumer), consumer or "admin")
    assert stand.answers[-1].error is error and not stand.sub.gone
    assert stand.sub.pending.acked_by(T1) and stand.disk.log(stand.sub.log).end == 1
    stand.ask(Unsubscribe(TOPIC, NAME, force=True), "admin")
    assert stand.sub.gone and stand.disk.log(stand.sub.log).end == 0


def test_a_subscription_that_is_given_up_leaves_nothing_behind() -> None:
    stand = Stand("a")
    stand.connect()
    stand.ack(0, txn=T1)
    stand.ask(Unsubscribe(TOPIC, NAME, "app"), "app")
    assert stand.sub.gone and stand.answers[-1].ok
    assert not len(stand.disk.table("cursors")) and stand.disk.log(stand.sub.log).end == 0


def test_a_reader_keeps_no_place_and_goes_with_its_connection() -> None:
    stand = Stand("a", durable=False)
    stand.ask(Subscribe(TOPIC, NAME, durable=False), "app")
    assert stand.ask(Flow(TOPIC, NAME, 9), "app") == ["app a"]
    stand.ack(0)
    assert stand.sub.cursor == Cursor(0) and not len(stand.disk.table("cursors"))
    stand.lose("app")
    assert stand.sub.gone and stand.answers[-1].ok


class Permits(int):
    """Counts how often the permits of any consumer were looked at."""

    looks = 0

    def __gt__(self, other: int) -> bool:
        Permits.looks += 1
        return int(self) > other


@pytest.mark.parametrize("permits", [1, 5])
def test_to_whom_a_message_goes_looks_at_each_consumer_once(permits: int) -> None:
    """Two hundred consumers, and as many messages as they may be sent; the turn goes on."""
    stand = Stand(*map(str, range(200 * permits)), max_read=-1)
    names = [f"app-{number:03}" for number in range(200)]
    for name in names:
        stand.connect(name, permits=0)
    attached = tuple(replace(c, permits=Permits(permits)) for c in stand.sub.consumers)
    stand.sub = replace(stand.sub, consumers=attached)
    Permits.looks = 0
    sent = stand.move_bound(200 * permits - 1)
    assert Permits.looks == 200
    assert sorted(one.split(" ")[0] for one in sent) == sorted(names * permits)
    assert all(not c.permits and len(c.held) == permits for c in stand.sub.consumers)
