"""Cursors: the mark moves over what is acknowledged without a gap."""

from __future__ import annotations

from mqlab.pulsar.ledger import Cursor


def test_the_mark_waits_for_a_gap_to_close() -> None:
    cursor = Cursor().delete((1, 2))
    assert cursor == Cursor(-1, (1, 2))
    assert cursor.delete((0,)) == Cursor(2)


def test_what_lies_below_the_mark_is_deleted_and_not_kept() -> None:
    cursor = Cursor(3).delete((1, 5))
    assert cursor == Cursor(3, (5,))
    assert [cursor.is_deleted(p) for p in range(7)] == [True] * 4 + [False, True, False]


def test_a_cumulative_acknowledgement_takes_up_what_it_reaches() -> None:
    cursor = Cursor(-1, (2, 4)).delete_up_to(1)
    assert cursor == Cursor(2, (4,))
    assert cursor.delete_up_to(0) is cursor


def test_a_batch_is_done_when_all_its_messages_are() -> None:
    cursor = Cursor().ack_indexes(0, (1,), 3)
    assert cursor.acked_indexes(0) == (1,) and not cursor.is_deleted(0)
    cursor = cursor.ack_indexes(0, (0, 2), 3)
    assert cursor == Cursor(0)


def test_an_entry_that_is_acknowledged_forgets_its_indexes() -> None:
    assert Cursor().ack_indexes(1, (0,), 2).delete((1,)) == Cursor(-1, (1,))


def test_a_cursor_says_where_it_stands() -> None:
    assert str(Cursor(3)) == "mark-delete 3"
    assert str(Cursor(3, (5, 7), ((6, (0, 2)),))) == "mark-delete 3, acked 5 7 6:0,2"
