"""A recovery that somebody else has written, in the buffer's place."""

from __future__ import annotations

import pytest

from mqlab.kernel import Map
from mqlab.pulsar.buffer.written import ask_rule, describe, parse
from mqlab.pulsar.messages import BufferSnapshot, LedgerEntry, TxnID
from mqlab.pulsar.states import MarkerType

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

    ask_rule(rule, SNAPSHOT, ENTRIES[:3])
    assert given == [
        (2, ("(0,0)",), ((3, "message", "(0,1)"), (4, "plain", ""), (5, "message", "(0,2)")))
    ]
    assert [describe(entry)[1] for entry in ENTRIES[3:]] == ["abort", "commit"]


def test_what_it_says_becomes_the_buffers_memory() -> None:
    buffer = ask_rule(
        lambda *_: ({"(0,2)": 5, "(0,1)": 3}, ["(0,0)", "(0,7)"]), SNAPSHOT, ENTRIES[:3]
    )
    assert buffer.ongoing == ((T1, 3), (T2, 5))
    assert buffer.aborts == Map([(T0, 1), (TxnID(0, 7), -1)])
    assert buffer.max_read_position == 2


def test_where_nothing_is_open_the_snapshot_says_how_far() -> None:
    assert ask_rule(lambda *_: ({}, []), SNAPSHOT, ENTRIES).max_read_position == 2


@pytest.mark.parametrize("word", ["", "t1", "(0)", "0/1", "(0,1) "])
def test_what_is_no_id_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is no transaction"):
        parse(word)
