"""Who may acknowledge what, and what an end does: PendingAckHandleImpl's rules."""

from __future__ import annotations

from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import AckPosition, TxnID
from mqlab.pulsar.pending_ack import PendingAck, acknowledge, acknowledge_up_to

T1, T2, T3 = TxnID(0, 1), TxnID(0, 2), TxnID(0, 3)
FRESH = Cursor()
LAC = 9  # the last confirmed entry


def at(*positions: int) -> tuple[AckPosition, ...]:
    return tuple(AckPosition(position) for position in positions)


def index(position: int, batch_index: int, size: int = 3) -> AckPosition:
    return AckPosition(position, batch_index, size)


def test_a_pending_message_is_refused_to_every_transaction() -> None:
    pending = PendingAck().acknowledge(T1, at(0, 1))
    for txn in (T1, T2):
        why = pending.find_conflict(FRESH, txn, at(2, 1))
        assert why == f"{txn} tries to ack 1, which is in pending ack status"
    assert pending.find_conflict(FRESH, T2, at(2)) == ""


def test_what_the_cursor_has_is_refused() -> None:
    cursor = Cursor(0, ((2, 2),))
    for position in (0, 2):
        why = PendingAck().find_conflict(cursor, T1, at(position))
        assert why == f"(0,1) tries to ack {position}, which is already acked"
    assert PendingAck().find_conflict(cursor, T1, at(1)) == ""


def test_transactions_share_a_batch_by_its_messages() -> None:
    pending = PendingAck().acknowledge(T1, (index(0, 0),))
    assert pending.find_conflict(FRESH, T2, (index(0, 1),)) == ""
    assert "0:0" in pending.find_conflict(FRESH, T2, (index(0, 0),))
    assert "pending" in pending.find_conflict(FRESH, T2, at(0))  # the whole of it
    assert "already" in pending.find_conflict(
        FRESH.ack_indexes(0, ((1, 1),), 3), T2, (index(0, 1),)
    )


def test_a_commit_hands_over_to_the_cursor() -> None:
    pending = PendingAck().acknowledge(T1, at(0, 2)).acknowledge(T2, at(1))
    pending, cursor = pending.commit(T1, FRESH, True, LAC)
    assert cursor == Cursor(0, ((2, 2),))
    assert pending.of_txn == ((T2, at(1)),) and list(pending.positions) == [1]


def test_an_abort_frees_what_only_its_transaction_had() -> None:
    pending = PendingAck().acknowledge(T1, (index(0, 0), *at(4))).acknowledge(T2, (index(0, 2),))
    pending, freed = pending.abort(T1)
    assert freed == (0, 4)
    assert pending.positions.items() == [(0, (2,))]


def test_a_committed_message_of_a_batch_stays_pending_until_the_batch_is_done() -> None:
    pending, cursor = PendingAck().acknowledge(T1, (index(0, 0, 2),)).commit(T1, FRESH, True, LAC)
    assert pending.is_pending(index(0, 0, 2)) and cursor.acked_indexes(0) == (0,)
    pending, cursor = pending.acknowledge(T2, (index(0, 1, 2),)).commit(T2, cursor, True, LAC)
    assert not pending.is_pending(index(0, 0, 2)) and cursor == Cursor(0)


def test_without_batch_index_level_the_cursor_forgets_part_of_a_batch() -> None:
    positions = (index(0, 0), index(0, 1), index(0, 2))
    assert acknowledge(FRESH, positions, False, LAC) == FRESH
    assert acknowledge(FRESH, positions, True, LAC) == Cursor(0)
    assert acknowledge_up_to(FRESH, index(1, 1), True, LAC) == Cursor(0, (), ((1, ((0, 1),)),))
    assert acknowledge_up_to(FRESH, index(1, 1), False, LAC) == Cursor(0)
    assert acknowledge_up_to(FRESH, index(1, 2), False, LAC) == Cursor(1)


def test_the_cumulative_slot_is_one_and_only_moves_forward() -> None:
    held = PendingAck().hold_up_to(T1, AckPosition(5))
    assert "(0,1) has acked up to 5" in held.find_cumulative_conflict(FRESH, T2, AckPosition(9))
    assert held.find_cumulative_conflict(FRESH, T1, AckPosition(5))
    assert held.find_cumulative_conflict(FRESH, T1, index(5, 1))  # part of what it has
    assert held.find_cumulative_conflict(FRESH, T1, AckPosition(6)) == ""
    below = PendingAck().find_cumulative_conflict(Cursor(5), T1, AckPosition(5))
    assert below.endswith("markDeletePosition is 5")


def test_the_two_kinds_are_not_compared() -> None:
    pending = PendingAck().acknowledge(T1, at(3))
    assert pending.find_cumulative_conflict(FRESH, T2, AckPosition(5)) == ""
    assert PendingAck().hold_up_to(T2, AckPosition(5)).find_conflict(FRESH, T1, at(3)) == ""


def test_a_plain_acknowledgement_frees_the_position_and_the_transaction_still_counts() -> None:
    pending = PendingAck().acknowledge(T1, at(0))
    cursor = FRESH.delete((0,))
    pending = pending.clear_deleted(cursor, at(0))
    assert not pending.is_pending(AckPosition(0)) and pending.acked_by(T1) == at(0)
    assert pending.commit(T1, cursor, True, LAC)[1] == cursor


def test_the_low_watermark_looks_at_the_head_only() -> None:
    pending = PendingAck().acknowledge(T3, at(0)).acknowledge(T1, at(1)).hear_mark(T1, 2)
    assert pending.find_ended() is None  # T3 is the head, and it is above the low watermark
    assert pending.abort(T3)[0].find_ended() == T1
    assert pending.hear_mark(T1, 1).marks == pending.marks  # a mark never goes back
    assert PendingAck().acknowledge(TxnID(1, 0), at(0)).hear_mark(T1, 9).find_ended() is None


def test_what_is_not_there_yet_stops_an_acknowledgement() -> None:
    """ManagedCursorImpl#asyncDelete: those before it are taken, those behind it are not, and the
    mark moves with the next one."""
    cursor = acknowledge(FRESH, at(0, 1, LAC + 1, 2), True, LAC)
    assert cursor == Cursor(-1, ((0, 1),)) and cursor.is_deleted(1) and not cursor.is_deleted(2)
    assert acknowledge(cursor, at(LAC + 1), True, LAC) == cursor
    assert acknowledge(cursor, at(4), True, LAC) == Cursor(1, ((4, 4),))
    assert acknowledge(Cursor(3), (index(LAC + 1, 0),), True, LAC) == Cursor(3)


def test_a_cumulative_one_beyond_the_end_does_nothing() -> None:
    """Of a batch it is the entry before that has to be there."""
    assert acknowledge_up_to(Cursor(3), AckPosition(LAC + 1), True, LAC) == Cursor(3)
    assert acknowledge_up_to(FRESH, index(LAC + 1, 2), True, LAC) == FRESH
    some = acknowledge_up_to(FRESH, index(LAC + 1, 0), True, LAC)
    assert some == Cursor(LAC, batches=((LAC + 1, ((0, 0),)),))
    assert acknowledge_up_to(FRESH, index(LAC + 2, 0), True, LAC) == FRESH


def test_a_commit_beyond_the_end_keeps_what_is_not_there_from_everybody() -> None:
    pending = PendingAck().acknowledge(T1, at(LAC + 1, 0))
    pending, cursor = pending.commit(T1, FRESH, True, LAC)
    assert cursor == Cursor(-1, ((0, 0),)) and pending.of_txn == ()
    assert list(pending.positions) == [LAC + 1]
    assert "pending" in pending.find_conflict(cursor, T2, at(LAC + 1))
    assert acknowledge(cursor, at(LAC + 1), True, LAC + 1) == Cursor(0, ((LAC + 1, LAC + 1),))


class Index(int):
    """An index of a batch that counts how often any of them was compared."""

    looks = 0

    def __lt__(self, other: int) -> bool:
        Index.looks += 1
        return int(self) < int(other)

    def __eq__(self, other: object) -> bool:
        Index.looks += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_a_large_batch_in_one_request_costs_its_size() -> None:
    """4,095 of 4,096 messages: acknowledged, asked for again, in a transaction, and freed. A look
    at all of them for each would be sixteen million looks."""
    size = 1 << 12
    asked = tuple(AckPosition(0, Index(number), size) for number in range(size - 1))
    Index.looks = 0
    cursor = acknowledge(FRESH, asked, True, LAC)
    assert len(cursor.acked_indexes(0)) == size - 1
    pending = PendingAck().acknowledge(T1, asked)
    assert pending.find_conflict(FRESH, T2, asked[-1:]) != ""
    assert pending.find_conflict(cursor, T2, asked[-1:]) != ""
    assert pending.join_indexes(asked).positions == pending.positions
    pending, freed = pending.abort(T1)
    assert freed == (0,) and pending.find_conflict(FRESH, T2, asked) == ""
    assert Index.looks < 40 * size
