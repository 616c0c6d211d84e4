"""The buffer entry by entry: its one number, and its order."""

from __future__ import annotations

import random

import pytest

from mqlab.pulsar.buffer import Buffer
from mqlab.pulsar.ledger import Marks
from mqlab.pulsar.messages import LedgerEntry, TxnID
from mqlab.pulsar.states import BufferState, MarkerType

READY = Buffer(BufferState.READY)
T0, T1, OTHER = TxnID(0, 0), TxnID(0, 1), TxnID(1, 0)


@pytest.mark.parametrize("seed", range(30))
def test_no_message_of_an_open_transaction_can_be_read(seed: int) -> None:
    dice = random.Random(seed)
    buffer, firsts = READY, {}
    for position in range(60):
        txn = TxnID(0, dice.randrange(6))
        marker = dice.choice((None, None, *MarkerType))
        if dice.random() < 0.2:
            entry = LedgerEntry(position, ("n",))
        else:
            entry = LedgerEntry(position, () if marker else ("t",), txn=txn, marker=marker)
            if marker:
                firsts.pop(txn, None)
            elif txn not in buffer.aborts:
                firsts.setdefault(txn, position)
        buffer = buffer.take(entry)
        assert dict(buffer.ongoing) == firsts
        if firsts:
            assert buffer.readable == min(firsts.values()) - 1
        elif entry.marker is not None or entry.txn is None:
            assert buffer.readable == position


@pytest.mark.parametrize("state", [BufferState.INITIALIZING, BufferState.FIRST_SNAPSHOTTING])
def test_nothing_can_be_read_before_the_buffer_knows(state: BufferState) -> None:
    buffer = Buffer(state, max_read_position=7)
    assert buffer.readable == -1
    assert buffer.take(LedgerEntry(8, ("n",))).max_read_position == 7


def test_advances_count_only_once_there_is_a_snapshot() -> None:
    assert Buffer(BufferState.NO_SNAPSHOT).take(LedgerEntry(0, ("n",))).changes == 0
    assert READY.take(LedgerEntry(0, ("n",))).changes == 1


def test_where_a_transaction_begins() -> None:
    buffer = READY.take(LedgerEntry(0, ("a",), txn=T1)).take(LedgerEntry(1, ("b",), txn=T1))
    assert buffer.find_start(T1) == 0 and buffer.find_start(T0) is None


def test_a_mark_concerns_one_coordinator_and_only_rises() -> None:
    marks = Marks().hear(0, 0)
    assert marks.covers(T0) and not marks.covers(T1) and not marks.covers(OTHER)
    assert marks.hear(0, -1) is marks
    assert marks.hear(0, 1).covers(T1)
