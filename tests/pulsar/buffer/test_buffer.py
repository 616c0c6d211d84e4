"""The buffer entry by entry: its one number, and its order."""

from __future__ import annotations

from mqlab.pulsar.buffer import Buffer
from mqlab.pulsar.messages import LedgerEntry
from mqlab.pulsar.states import BufferState

READY = Buffer(BufferState.READY)


def test_advances_count_only_once_there_is_a_snapshot() -> None:
    assert Buffer(BufferState.NO_SNAPSHOT).take(LedgerEntry(0, ("n",))).changes == 0
    assert READY.take(LedgerEntry(0, ("n",))).changes == 1
