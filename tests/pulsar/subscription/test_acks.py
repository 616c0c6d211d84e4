"""Acknowledgements with and without transactions, and what their ends send again."""

from __future__ import annotations

import pytest

from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import AckPosition, AckResponse
from mqlab.pulsar.states import PendingAckState, SubType, TxnAction
from tests.pulsar.subscription.stand import T1, T2, T3, Stand

COMMIT, ABORT = TxnAction.COMMIT, TxnAction.ABORT
SINGLE = (SubType.EXCLUSIVE, SubType.FAILOVER)
INDIVIDUAL = (SubType.SHARED, SubType.KEY_SHARED)


@pytest.mark.parametrize("sub_type", SubType)
def test_a_commit_acknowledges_and_nothing_comes_again(sub_type: SubType) -> None:
    stand = Stand("a", "b", sub_type=sub_type)
    assert stand.connect() == ["app a", "app b"]
    assert stand.ack(0, 1, txn=T1) == "" and stand.sub.cursor == Cursor()
    assert stand.redeliver() == []
    assert stand.end_txn(T1, COMMIT) == [] and stand.redeliver() == []
    assert stand.sub.cursor == Cursor(1) == stand.disk.table("cursors")["shop"]


@pytest.mark.parametrize("sub_type", INDIVIDUAL)
def test_an_abort_sends_the_freed_entries_again_and_counts(sub_type: SubType) -> None:
    stand = Stand("a", "b", "c", sub_type=sub_type)
    stand.connect()
    stand.ack(0, 2, txn=T1)
    assert stand.end_txn(T1, ABORT) == ["app a+1", "app c+1"]
    stand.ack(0, txn=T2)
    assert stand.end_txn(T2, ABORT) == ["app a+2"]


@pytest.mark.parametrize("sub_type", SINGLE)
def test_an_abort_sends_everything_unacknowledged_again_in_order(sub_type: SubType) -> None:
    """X6: with others outstanding, they come twice, and nothing is counted."""
    stand = Stand("a", "b", "c", sub_type=sub_type)
    stand.connect()
    stand.ack(1, txn=T1)
    assert stand.end_txn(T1, ABORT) == ["app a", "app b", "app c"]


def test_a_plain_acknowledgement_beats_a_pending_one() -> None:
    """X1: the abort brings nothing back on Shared; on Exclusive it still sends the others."""
    shared = Stand("a", "b")
    shared.connect()
    shared.ack(0, txn=T1)
    shared.ack(0)
    assert shared.sub.cursor == Cursor(0) and len(shared.sub.pending.of_txn) == 1
    assert shared.end_txn(T1, ABORT) == []
    exclusive = Stand("a", "b", sub_type=SubType.EXCLUSIVE)
    exclusive.connect()
    exclusive.ack(0, txn=T1)
    exclusive.ack(0)
    assert exclusive.end_txn(T1, ABORT) == ["app b"]


def test_the_same_transaction_may_not_acknowledge_twice() -> None:
    """X2"""
    stand = Stand("a")
    stand.connect()
    assert stand.ack(0, txn=T1) == ""
    assert "pending ack status" in stand.ack(0, txn=T1)


def test_a_commit_beside_a_cumulative_one_leaves_its_message_pending() -> None:
    """X3"""
    stand = Stand("a", "b", "c", sub_type=SubType.EXCLUSIVE)
    stand.connect()
    stand.ack_up_to(0, txn=T1)
    stand.ack(2, txn=T2)
    stand.end_txn(T2, COMMIT)
    assert stand.sub.cursor == Cursor() and stand.sub.pending.is_pending(AckPosition(2))


def test_a_cumulative_abort_sends_nothing_until_asked() -> None:
    stand = Stand("a", "b", sub_type=SubType.FAILOVER)
    stand.connect()
    assert stand.ack_up_to(1, txn=T1) == ""
    for txn, position in ((T1, 1), (T1, 0), (T2, 0)):  # A5
        assert "has acked up to 1" in stand.ack_up_to(position, txn=txn)
    assert stand.end_txn(T1, ABORT) == []
    assert stand.redeliver() == ["app a", "app b"]
    stand.ack_up_to(1, txn=T2)
    stand.end_txn(T2, COMMIT)
    assert stand.sub.cursor == Cursor(1)


def test_messages_under_a_cumulative_acknowledgement_come_again_after_a_reconnect() -> None:
    """X5"""
    stand = Stand("a", "b", sub_type=SubType.EXCLUSIVE)
    stand.connect()
    stand.ack_up_to(1, txn=T1)
    stand.lose("app")
    assert stand.connect() == ["app a", "app b"]


def test_a_plain_cumulative_acknowledgement_is_applied_over_a_held_slot() -> None:
    stand = Stand("a", "b", sub_type=SubType.EXCLUSIVE)
    stand.connect()
    stand.ack_up_to(0, txn=T1)
    stand.ack_up_to(1)
    assert stand.sub.cursor == Cursor(1)
    stand.end_txn(T1, COMMIT)
    assert stand.sub.cursor == Cursor(1)


def test_a_cumulative_acknowledgement_on_shared_is_ignored_and_succeeds() -> None:
    stand = Stand("a")
    stand.connect()
    assert stand.ack_up_to(0, txn=T1) == "" and stand.answers[-1] == AckResponse()
    assert stand.sub.pending.slot is None and stand.disk.log(stand.sub.log).end == 0


def test_pending_acknowledgements_survive_a_restart() -> None:
    stand = Stand("a", "b", "c")
    stand.connect()
    stand.ack(0, txn=T1)
    stand.ack(1, txn=T2)
    stand.end_txn(T2, COMMIT)
    stand.restart()
    assert stand.sub.pending.state is PendingAckState.READY
    assert stand.connect() == ["app c"]
    assert "pending ack status" in stand.ack(0, txn=T3)
    assert stand.end_txn(T1, ABORT) == ["app a+1"]


def test_the_handle_is_opened_by_the_first_transaction() -> None:
    stand = Stand("a")
    stand.connect()
    assert stand.sub.pending.state is PendingAckState.NONE
    stand.ack(0, txn=T1)
    assert stand.sub.pending.state is PendingAckState.READY


@pytest.mark.parametrize("sub_type", [SubType.SHARED, SubType.EXCLUSIVE])
def test_the_low_watermark_aborts_what_has_ended_one_after_the_other(sub_type: SubType) -> None:
    """Shared sends the messages again by itself; Exclusive has no consumer to send them to."""
    stand = Stand("a", "b", "c", sub_type=sub_type)
    stand.connect()
    stand.ack(0, txn=T1)
    stand.ack(1, txn=T2)
    stand.ack(2, txn=T3)
    came = stand.end_txn(T3, COMMIT, low_watermark=2)
    assert stand.sub.pending.of_txn == ()
    if sub_type is SubType.SHARED:
        assert came == ["app a+1", "app b+1"]
    else:
        assert came == [] and stand.redeliver() == ["app a", "app b"]


def test_a_batch_comes_again_without_what_is_acknowledged_or_pending() -> None:
    stand = Stand(("a", "b", "c"))
    stand.connect()
    stand.ack(AckPosition(0, 0, 3), txn=T1)
    stand.ack(AckPosition(0, 1, 3), txn=T2)
    stand.end_txn(T2, COMMIT)
    assert stand.redeliver() == ["app c+1"]
    assert stand.end_txn(T1, ABORT) == ["app a,c+2"]


def test_without_its_log_a_pending_acknowledgement_is_lost_with_the_memory() -> None:
    stand = Stand("a", off=("pending_ack_log",))
    stand.connect()
    stand.ack(0, txn=T1)
    assert stand.redeliver() == []
    stand.restart()
    assert stand.connect() == ["app a"]


def test_without_the_filter_a_pending_message_is_sent_to_another() -> None:
    stand = Stand("a", off=("pending_ack_filter",))
    stand.connect()
    stand.ack(0, txn=T1)
    stand.restart()
    assert stand.connect("twin") == ["twin a"]


def test_without_redelivery_an_aborted_acknowledgement_keeps_its_message() -> None:
    stand = Stand("a", off=("redeliver_aborted",))
    stand.connect()
    stand.ack(0, txn=T1)
    assert stand.end_txn(T1, ABORT) == [] and stand.redeliver() == []


def test_a_refused_request_has_let_go_of_all_its_messages() -> None:
    """Consumer#individualAckWithTransaction; the real broker agrees: refused-ack-lets-go."""
    stand = Stand("a", "b")
    stand.connect()
    stand.ack(0, txn=T1)
    assert "pending ack status" in stand.ack(0, 1, txn=T2)
    assert stand.redeliver() == [] and stand.end_txn(T2, ABORT) == []
    stand.connect("other")
    assert stand.lose("app") == [], "b is in nobody's hands, so nobody else is sent it"
    assert stand.lose("other") == [] and stand.connect("third") == ["third b"]


def test_who_acknowledges_one_of_a_batch_counts_the_others_anew() -> None:
    """InMemoryRedeliveryTracker#removeBatch; recorded as partial-ack-resets-the-count."""
    stand = Stand(("a", "b", "c"))
    stand.connect()
    assert stand.redeliver() == ["app a,b,c+1"]
    stand.ack(AckPosition(0, 0, 3))
    assert stand.redeliver() == ["app b,c+1"]
    stand.ack(AckPosition(0, 1, 3), txn=T1)
    stand.end_txn(T1, COMMIT)
    assert stand.redeliver() == ["app c+1"]


def test_a_batch_that_is_pending_as_a_whole_is_held_by_nobody() -> None:
    """Consumer#checkCanRemovePendingAcks: so the request to redeliver does not count it."""
    stand = Stand(("a", "b"))
    stand.connect()
    stand.ack(AckPosition(0, 0, 2), txn=T1)
    stand.ack(AckPosition(0, 1, 2), txn=T1)
    assert stand.redeliver() == []
    assert stand.end_txn(T1, ABORT) == ["app a,b+1"]
