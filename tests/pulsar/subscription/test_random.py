"""Acknowledgements, ends, reconnects and restarts in any order: nothing is sent that may not be,
and nothing is lost."""

from __future__ import annotations

import random

import pytest

from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import AckPosition, TxnID
from mqlab.pulsar.states import SubType, TxnAction
from tests.pulsar.subscription.stand import Stand

CLIENTS = ("app", "twin")
ENTRIES = 12


class Story:
    """A stand, driven at random; every message that is sent is checked on the way."""

    def __init__(self, seed: int, sub_type: SubType) -> None:
        self.dice = random.Random(seed)
        self.stand = Stand(*map(str, range(ENTRIES)), sub_type=sub_type, max_read=-1)
        self.acked: dict[TxnID, set[int]] = {}
        self.done: set[int] = set()

    def pick(self, most: int) -> int:
        return int(self.dice.random() * most)

    def act(self) -> None:
        before, stand = len(self.stand.sent), self.stand
        match self.pick(8):
            case 0:
                stand.connect(CLIENTS[self.pick(2)], permits=self.pick(6) + 1)
            case 1:
                stand.lose(CLIENTS[self.pick(2)])
            case 2:
                stand.restart()
            case 3:
                stand.move_bound(min(stand.max_read + self.pick(4), ENTRIES - 1))
            case 4:
                stand.redeliver(CLIENTS[self.pick(2)])
            case 5:
                self.ack_plain(self.pick(ENTRIES))
            case 6:
                self.ack_in_txn(TxnID(0, self.pick(4)), self.pick(ENTRIES))
            case _:
                self.end_txn(TxnID(0, self.pick(4)))
        for _, message in stand.sent[before:]:
            at = message.message_id.position
            assert at <= stand.max_read
            assert not stand.sub.cursor.is_deleted(at)
            assert not stand.sub.pending.is_pending(AckPosition(at))

    def ack_plain(self, position: int) -> None:
        self.stand.ack(position)
        self.done.add(position)

    def ack_in_txn(self, txn: TxnID, position: int) -> None:
        others = {p for held in self.acked.values() for p in held}
        refused = self.stand.ack(position, txn=txn)
        assert bool(refused) == (position in self.done | others)
        if not refused:
            self.acked.setdefault(txn, set()).add(position)

    def end_txn(self, txn: TxnID) -> None:
        commit = self.pick(2) == 0
        self.stand.end_txn(txn, TxnAction.COMMIT if commit else TxnAction.ABORT)
        self.done |= self.acked.pop(txn, set()) if commit else set()
        self.acked.pop(txn, None)


@pytest.mark.parametrize("sub_type", SubType)
@pytest.mark.parametrize("seed", range(20))
def test_nothing_forbidden_is_sent_and_nothing_is_lost(seed: int, sub_type: SubType) -> None:
    story = Story(seed, sub_type)
    for _ in range(80):
        story.act()
    stand = story.stand
    for txn in sorted(story.acked):
        stand.end_txn(txn, TxnAction.ABORT)
    for client in CLIENTS:
        stand.lose(client)
    stand.move_bound(ENTRIES - 1)
    left = [f"late {at}" for at in range(ENTRIES) if at not in story.done]
    stand.sub_type = SubType.EXCLUSIVE
    assert stand.connect("late") == left
    assert stand.sub.cursor == Cursor().delete(tuple(sorted(story.done)))
