"""What is told of a subscription: who holds what back, and who is served."""

from __future__ import annotations

from mqlab.pulsar.states import SubType, TxnAction
from mqlab.pulsar.subscription import Subscription
from tests.pulsar.subscription.stand import T1, T2, Stand


def told(stand: Stand, old: Subscription | None) -> list[str]:
    return [text.en for text in stand.sub.describe_changes(old)]


def test_what_becomes_pending_and_what_is_so_no_more() -> None:
    stand = Stand("a", "b")
    stand.connect()
    before = stand.sub
    stand.ack(0, txn=T1)
    assert told(stand, before) == ["shop: pending for (0,1): 0"]
    before = stand.sub
    stand.ack(1, txn=T1)
    assert told(stand, before) == ["shop: pending for (0,1): 0, 1"]
    before = stand.sub
    stand.end_txn(T1, TxnAction.ABORT)
    assert told(stand, before) == ["shop: nothing pending for (0,1)"]


def test_after_a_restart_all_that_is_pending() -> None:
    stand = Stand("a")
    stand.connect()
    stand.ack(0, txn=T2)
    stand.restart()
    assert told(stand, None) == ["shop: pending for (0,2): 0"]


def test_the_slot() -> None:
    stand = Stand("a", sub_type=SubType.FAILOVER)
    stand.connect()
    before = stand.sub
    stand.ack_up_to(0, txn=T1)
    assert told(stand, before) == ["shop: pending for (0,1): up to 0"]
    before = stand.sub
    stand.end_txn(T1, TxnAction.COMMIT)
    assert told(stand, before) == ["shop: nothing pending for (0,1)"]


def test_who_consumes_and_who_of_several_is_served() -> None:
    stand = Stand(sub_type=SubType.FAILOVER)
    before = stand.sub
    stand.connect("twin")
    assert told(stand, before) == ["shop: consumers: twin"]
    before = stand.sub
    stand.connect("app")
    assert told(stand, before) == ["shop: consumers: app, twin", "shop: app is the active consumer"]
    before = stand.sub
    stand.lose("app")
    stand.lose("twin")
    assert told(stand, before) == ["shop: consumers: –"]
