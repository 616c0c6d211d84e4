"""The money of lab 09: what accounting was sent, beside the orders that count."""

from __future__ import annotations

import pytest

from mqlab.kernel import Money, Trace
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
