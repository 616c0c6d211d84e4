"""The money of lab 09: what accounting was sent, beside the orders that count."""

from __future__ import annotations

import pytest

from mqlab.kernel import Map, Money, Trace
from mqlab.lessons.pulsar.systems.ruled import RuledPendingAck, ask_rule, describe, parse
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import AckPosition, BufferSnapshot, LedgerEntry, PendingAckEntry, TxnID
from mqlab.pulsar.pending_ack import apply_record
from mqlab.pulsar.states import AckType, BufferState, MarkerType
from mqlab.registry import scenario, system

FIRST, SECOND, THIRD = 31_678, 31_073, 40_483
OPEN = """
system books clients=app,web,accounting off={off}
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539, send orders-0 580540
run accounting: receive books
"""


def money(trace: Trace, step: int = -1) -> tuple[int, int, int, int]:
    seen = trace.snapshot(step).money
    assert isinstance(seen, Money)
    return seen.due, seen.seen, seen.missing, seen.extra


def test_plain_orders_count_at_once_and_wait_behind_an_open_one() -> None:
    assert money(scenario(OPEN.format(off=""))) == (SECOND + THIRD, 0, 0, 0)


def test_an_order_counts_once_its_transaction_is_decided() -> None:
    run = scenario(OPEN.format(off="") + "run app: commit t1\nrun accounting: receive books")
    decided = next(f.index for f in run if f.text.en.startswith("COMMITTING"))
    assert money(run, decided - 1)[0] == SECOND + THIRD
    assert money(run, decided) == (FIRST + SECOND + THIRD, 0, 0, 0)
    assert money(run) == (FIRST + SECOND + THIRD, FIRST + SECOND + THIRD, 0, 0)


def test_an_order_that_was_sent_too_soon_is_extra() -> None:
    run = scenario(OPEN.format(off="max_read_position"))
    assert money(run) == (SECOND + THIRD, FIRST + SECOND + THIRD, 0, FIRST)


def test_a_payment_and_other_topics_are_not_counted() -> None:
    run = scenario("system books\nrun app: send payments-0 580538, send orders-0 tea")
    assert money(run) == (0, 0, 0, 0)


def test_a_committed_order_that_a_late_message_hides_is_missing() -> None:
    run = scenario("""
system books clients=app,web,accounting
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
run app: reopen t1, send orders-0 late txn=t1
run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2
run accounting: subscribe orders-0 books from=earliest
run accounting: receive books
""")
    assert money(run) == (FIRST + SECOND, SECOND, FIRST, 0)


def test_an_order_is_billed_when_it_is_acknowledged_for_good() -> None:
    pending = """
system billing clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538, send orders-0 580539
run worker: receive billing, new-transaction t1, ack billing orders-0@0 txn=t1
"""
    assert money(scenario(pending)) == (FIRST + SECOND, 0, 0, 0)
    assert money(scenario(f"{pending}run worker: commit t1")) == (FIRST + SECOND, FIRST, 0, 0)
    assert money(scenario(f"{pending}run worker: abort t1")) == (FIRST + SECOND, 0, 0, 0)


def test_without_the_topic_of_the_orders_there_is_nothing_to_count() -> None:
    with pytest.raises(ValueError, match="books needs a node orders-0"):
        system("books topic=payments")


# ---- Rules that somebody else has written, in the places of the buffer's and of the pending acks'

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
    assert done.pending.cumulative == (T2, AckPosition(3)), "of a cumulative one it is not asked"
    assert len(asked) == 2
