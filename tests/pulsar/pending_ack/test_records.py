"""The log of pending acks: a replay comes to what was in memory, refusals included."""

from __future__ import annotations

import random

import pytest

from mqlab.kernel import Append, MemoryDisk
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig, name_pending_ack_log
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import AckPosition, PendingAckEntry, TxnID
from mqlab.pulsar.pending_ack import PendingAck, apply_record, build_end, replay_log
from mqlab.pulsar.states import AckType, PendingAckState, TxnAction

CONFIG = PulsarConfig(on=frozenset(SAFEGUARDS))
LOG = name_pending_ack_log("orders-0", "shop")
T1, T2 = TxnID(0, 1), TxnID(0, 2)
LAC = 99  # the topic's last confirmed entry
ONE, ALL = AckType.INDIVIDUAL, AckType.CUMULATIVE


class Story:
    """A handle, a cursor and a log, driven as a subscription drives them."""

    def __init__(self, config: PulsarConfig = CONFIG) -> None:
        self.config = config
        self.disk, self.conflicts = MemoryDisk(), [""]
        self.pending, self.cursor = PendingAck(PendingAckState.READY), Cursor()

    def ack(self, txn: TxnID, *positions: int, kind: AckType = ONE) -> bool:
        asked = tuple(AckPosition(position) for position in positions)
        self._write(PendingAckEntry(self.end, "ACK", txn, kind, asked))
        return not self.conflicts[-1]

    def end_txn(self, txn: TxnID, action: TxnAction) -> tuple[int, ...]:
        record = build_end(self.pending, txn, action, self.end)
        return self._write(record) if record is not None else ()

    def replay(self, cursor: Cursor, lac: int = LAC) -> tuple[PendingAck, Cursor]:
        return replay_log(self.config, PendingAck(), cursor, self.disk.log(LOG), lac)

    @property
    def end(self) -> int:
        return self.disk.log(LOG).end

    def _write(self, record: PendingAckEntry) -> tuple[int, ...]:
        self.disk = self.disk.apply(Append(LOG, record))
        done = apply_record(self.config, self.pending, self.cursor, record, LAC)
        self.pending, self.cursor = done.pending, done.cursor
        self.conflicts.append(done.conflict)
        return done.freed


def test_a_request_is_all_or_nothing_and_its_record_stays() -> None:
    story = Story()
    assert story.ack(T1, 1)
    assert not story.ack(T2, 0, 1)
    assert story.pending.acked_by(T2) == () and story.end == 2
    assert story.replay(Cursor())[0].acked_by(T2) == ()


def test_a_replay_after_a_lost_cursor_row_acknowledges_again() -> None:
    story = Story()
    story.ack(T1, 0, 1)
    story.end_txn(T1, TxnAction.COMMIT)
    pending, cursor = story.replay(Cursor())
    assert cursor == story.cursor == Cursor(1) and pending.of_txn == ()


def test_a_plain_acknowledgement_since_then_wins_over_the_whole_request() -> None:
    story = Story()
    story.ack(T1, 0, 1)
    assert story.replay(Cursor(0))[0].acked_by(T1) == ()


def test_an_abort_beside_a_held_slot_takes_the_cumulative_path() -> None:
    story = Story()
    story.ack(T2, 3)
    story.ack(T1, 5, kind=ALL)
    assert story.end_txn(T2, TxnAction.ABORT) == ()
    assert story.pending.acked_by(T2) and story.pending.cumulative == (T1, AckPosition(5))
    assert story.end_txn(T1, TxnAction.ABORT) == ()  # frees the slot, redelivers nothing
    assert story.pending.cumulative is None and story.cursor == Cursor()


def test_nothing_to_abort_writes_nothing_and_a_commit_writes_all_the_same() -> None:
    story = Story()
    assert build_end(story.pending, T1, TxnAction.ABORT, 0) is None
    assert build_end(story.pending, T1, TxnAction.COMMIT, 0) is not None


@pytest.mark.parametrize("seed", range(25))
def test_a_replay_gives_what_is_in_memory(seed: int) -> None:
    """The cursor's row is as old as can be: nothing of it was ever written."""
    dice, story = random.Random(seed), Story()
    for _ in range(40):
        txn = TxnID(0, int(dice.random() * 4))
        if dice.random() < 0.7:
            story.ack(txn, *sorted({int(dice.random() * 12) for _ in range(2)}))
        else:
            story.end_txn(txn, TxnAction.COMMIT if dice.random() < 0.5 else TxnAction.ABORT)
        held = [p for _, positions in story.pending.of_txn for p in positions]
        assert len(held) == len(set(held))
    pending, cursor = story.replay(Cursor())
    assert (pending.of_txn, pending.positions) == (story.pending.of_txn, story.pending.positions)
    assert cursor == story.cursor


@pytest.mark.parametrize("kind", [ONE, ALL])
def test_a_commit_beyond_the_end_takes_effect_with_a_replay(kind: AckType) -> None:
    """When there is such an entry by then. A cumulative one has let go of the slot; one by one, it
    stays pending for nobody."""
    story = Story()
    story.ack(T1, LAC + 1, kind=kind)
    story.end_txn(T1, TxnAction.COMMIT)
    assert story.cursor == Cursor() and story.pending.cumulative is None
    assert list(story.pending.positions) == ([LAC + 1] if kind is ONE else [])
    assert story.replay(Cursor())[1] == Cursor()
    pending, cursor = story.replay(Cursor(), LAC + 1)
    assert cursor.is_deleted(LAC + 1) and not pending.positions
