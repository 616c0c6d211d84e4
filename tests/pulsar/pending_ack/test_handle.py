"""Who may acknowledge what, and what an end does: PendingAckHandleImpl's rules."""

from __future__ import annotations

from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import AckPosition, TxnID
from mqlab.pulsar.pending_ack import PendingAck, acknowledge, acknowledge_up_to

T1, T2 = TxnID(0, 1), TxnID(0, 2)
FRESH = Cursor()
LAC = 9  # the last confirmed entry


def at(*positions: int) -> tuple[AckPosition, ...]:
    return tuple(AckPosition(position) for position in positions)


def index(position: int, batch_index: int, size: int = 3) -> AckPosition:
    return AckPosition(position, batch_index, size)


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
