"""Rules that somebody else has written, in the places of the buffer's and of the pending acks'."""

from __future__ import annotations

import pytest

from mqlab.kernel import Map
from mqlab.lessons.pulsar.systems.ruled import RuledPendingAck, ask_rule, describe, parse
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import (
    AckPosition,
    BufferSnapshot,
    LedgerEntry,
    PendingAckEntry,
    TxnID,
)
from mqlab.pulsar.pending_ack import apply_record
from mqlab.pulsar.states import AckType, BufferState, MarkerType

T0, T1, T2 = (TxnID(0, number) for number in range(3))
ENTRIES = [
    LedgerEntry(3, txn=T1),
    LedgerEntry(4),
    LedgerEntry(5, txn=T2),
    LedgerEntry(6, txn=T2, marker=MarkerType.TXN_ABORT),
    LedgerEntry(7, txn=T2, marker=MarkerType.TXN_COMMIT),
]
SNAPSHOT = BufferSnapshot(0, 2, ((T0, 1),))


def test_a_rule_is_given_plain_values() -> None:
    given = []

    def rule(*values: object) -> tuple[dict[str, int], list[str]]:
        given.append(values)
        return {}, []

    ask_rule(rule, SNAPSHOT, ENTRIES[:3], 5)
    assert given == [
        (2, ("(0,0)",), ((3, "message", "(0,1)"), (4, "plain", ""), (5, "message", "(0,2)")))
    ]
    assert [describe(entry)[1] for entry in ENTRIES[3:]] == ["abort", "commit"]


def test_what_it_says_becomes_the_buffers_memory() -> None:
    buffer = ask_rule(
        lambda *_: ({"(0,2)": 5, "(0,1)": 3}, ["(0,0)", "(0,7)"]), SNAPSHOT, ENTRIES[:3], 5
    )
    assert buffer.ongoing == ((T1, 3), (T2, 5))
    assert buffer.aborts == Map([(T0, 1), (TxnID(0, 7), -1)])
    assert buffer.max_read_position == 2


def test_where_nothing_is_open_everything_may_be_read() -> None:
    buffer = ask_rule(lambda *_: ({}, []), SNAPSHOT, ENTRIES, 7)
    assert (buffer.state, buffer.max_read_position) == (BufferState.READY, 7)


@pytest.mark.parametrize("word", ["", "t1", "(0)", "0/1", "(0,1) "])
def test_what_is_no_id_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is no transaction"):
        parse(word)


def test_a_rule_that_somebody_wrote_stands_in_the_place_of_pulsars() -> None:
    asked: list[tuple[object, ...]] = []

    def rule(*given: object) -> bool:
        asked.append(given)
        return given[0] == str(T1)

    config = PulsarConfig(on=frozenset(SAFEGUARDS))
    pending = RuledPendingAck(rule=rule).acknowledge(T2, (AckPosition(3),))
    cursor = Cursor(0, ((2, 2),))
    for txn, refused in ((T1, False), (T2, True)):
        record = PendingAckEntry(
            0, "ACK", txn, AckType.INDIVIDUAL, (AckPosition(1), AckPosition(3))
        )
        done = apply_record(config, pending, cursor, record, 3)
        assert bool(done.conflict) is refused
        assert bool(done.pending.acked_by(T1)) is not refused
    assert asked == [(str(txn), (1, 3), (0, 2), ((3, str(T2)),)) for txn in (T1, T2)]
    up_to = PendingAckEntry(0, "ACK", T2, AckType.CUMULATIVE, (AckPosition(3),))
    done = apply_record(config, pending, cursor, up_to, 3)
    assert done.pending.slot == (T2, AckPosition(3)), "of a cumulative one it is not asked"
    assert len(asked) == 2
