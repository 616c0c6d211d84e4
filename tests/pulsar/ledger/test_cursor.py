"""Cursors: mark_delete moves over what is acknowledged without a gap."""

from __future__ import annotations

import random

import pytest

from mqlab.pulsar.ledger import Cursor, join


def test_a_cumulative_acknowledgement_takes_up_what_it_reaches() -> None:
    cursor = Cursor(-1, ((2, 2), (4, 4))).delete_up_to(1)
    assert cursor == Cursor(2, ((4, 4),))
    assert cursor.delete_up_to(0) is cursor


def test_a_batch_is_done_when_all_its_messages_are() -> None:
    cursor = Cursor().ack_indexes(0, ((1, 1),), 3)
    assert cursor.acked_indexes(0) == (1,) and not cursor.is_deleted(0)
    cursor = cursor.ack_indexes(0, ((0, 0), (2, 2)), 3)
    assert cursor == Cursor(0)


def test_an_entry_that_is_acknowledged_forgets_its_indexes() -> None:
    assert Cursor().ack_indexes(1, ((0, 0),), 2).delete((1,)) == Cursor(-1, ((1, 1),))


def test_a_cursor_says_where_it_stands() -> None:
    assert str(Cursor(3)) == "mark-delete 3"
    assert (
        str(Cursor(3, ((5, 5), (7, 7)), ((6, ((0, 0), (2, 2))),)))
        == "mark-delete 3, acked 5 7 6:0,2"
    )
    assert str(Cursor(3, ((5, 12), (14, 22)))) == "mark-delete 3, acked 5 6 7 8 9 10 11 12 14–22"


@pytest.mark.parametrize("seed", range(20))
def test_stretches_are_the_positions_that_were_acknowledged(seed: int) -> None:
    """Beside plain sets: the same positions, in stretches that do not touch each other."""
    dice, cursor, done = random.Random(seed), Cursor(), set[int]()
    for _ in range(60):
        if dice.random() < 0.1:
            upto = dice.randrange(30)
            cursor, done = cursor.delete_up_to(upto), {*done, *range(upto + 1)}
        else:
            positions = tuple(dice.choices(range(60), k=dice.randrange(1, 5)))
            cursor, done = cursor.delete(positions), {*done, *positions}
        mark = next(p for p in range(-1, 99) if p + 1 not in done)
        assert cursor.mark_delete == mark
        assert list(cursor.list_individual()) == sorted(p for p in done if p > mark)
        assert cursor.count_individual() == sum(p > mark for p in done)
        assert [p for p in range(60) if cursor.is_deleted(p)] == sorted(done)
        edges = [mark, *(edge for stretch in cursor.individual for edge in stretch)]
        assert all(b > a + 1 for a, b in zip(edges[::2], edges[1::2], strict=False))


class Counted(int):
    """A position that counts how often any of them was looked at."""

    looks = 0

    def __lt__(self, other: int) -> bool:
        Counted.looks += 1
        return int(self) < int(other)

    def __gt__(self, other: int) -> bool:
        Counted.looks += 1
        return int(self) > int(other)

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return int(self) == other

    __hash__ = int.__hash__


@pytest.mark.parametrize("step", [1, 2])
def test_an_acknowledgement_behind_a_gap_looks_at_few_positions(step: int) -> None:
    """The first message is kept: the thousandth acknowledgement costs what the tenth did, but for a
    logarithm. Without a gap between them they are one stretch."""
    cursor = Cursor()
    for number in range(4_000):
        position = Counted(1 + number * step)
        Counted.looks = 0
        assert not cursor.is_deleted(position)
        cursor = cursor.delete((position,))
        assert Counted.looks <= 60
    assert cursor.mark_delete == -1 and cursor.count_individual() == 4_000
    assert len(cursor.individual) == (1 if step == 1 else 4_000)


@pytest.mark.parametrize("step", [1, 2])
def test_an_acknowledgement_within_a_batch_looks_at_few_indexes(step: int) -> None:
    """One message after the other of one large batch, each in a request of its own."""
    cursor = Cursor()
    for number in range(4_000):
        index = Counted(1 + number * step)
        Counted.looks = 0
        assert not cursor.has_acked(0, index)
        cursor = cursor.ack_indexes(0, ((index, index),), 10_000)
        assert Counted.looks <= 60
    assert len(cursor.acked_indexes(0)) == 4_000
    ((_, stretches),) = cursor.batches
    assert len(stretches) == (1 if step == 1 else 4_000)


def test_stretches_of_a_batch_take_up_what_they_touch() -> None:
    cursor = Cursor().ack_indexes(0, ((2, 3), (7, 7), (9, 9)), 20).ack_indexes(0, ((0, 7),), 20)
    assert cursor.batches == ((0, ((0, 7), (9, 9))),)
    assert cursor.ack_indexes(0, ((8, 19),), 20) == Cursor(0)
    assert join((4, 1, 2, 4, 0)) == ((0, 2), (4, 4))
