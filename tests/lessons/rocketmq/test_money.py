"""The money of labs 03 and 04: what customers have paid, beside what a consumer has counted."""

from __future__ import annotations

from mqlab.kernel import Money, Trace
from mqlab.registry import scenario

FIRST = 31_678
ORDER = "run app: send-in-transaction orders-0 580538"


def money(trace: Trace, step: int = -1) -> tuple[int, int, int, int]:
    seen = trace.snapshot(step).money
    assert isinstance(seen, Money)
    return seen.due, seen.seen, seen.missing, seen.extra


def test_an_order_is_due_with_its_row_and_settled_when_it_is_counted() -> None:
    run = scenario(f"""
system order_service consumers=accounting
lose app→broker EndTransaction#1
{ORDER}
fire app heartbeat
at 30000
fire broker check
run accounting: consume
""")
    written = next(f.index for f in run if "orders[580538]" in f.text.en)
    assert money(run, written - 1) == (0, 0, 0, 0)
    assert money(run, written) == (FIRST, 0, 0, 0)
    assert money(run) == (FIRST, FIRST, 0, 0)
    within = {run.snapshot(i).money.missing for i in range(len(run))}
    assert within == {0}, "nor is it missing within a step of the broker, which looks at the half"


def test_a_row_that_no_message_will_follow_is_missing() -> None:
    run = scenario(f"""
system order_service consumers=warehouse off=half_before_execute
kill app when=SendMessage#1 after=0
{ORDER}
""")
    assert money(run) == (FIRST, 0, FIRST, 0)


def test_a_parked_order_is_not_settled() -> None:
    run = scenario(f"""
system order_service consumers=accounting check_max=1 timeout_ms=0
kill app when=EndTransaction#1
{ORDER}
fire broker check
fire broker check
""")
    assert any(f.text.en.startswith("discard") for f in run)
    assert money(run) == (FIRST, 0, 0, 0)


def test_an_order_that_is_counted_twice_is_extra() -> None:
    run = scenario(f"""
system order_service consumers=accounting early=on timeout_ms=0 off=idempotent_consumer
hold app→broker EndTransaction#1
{ORDER}
fire broker check
release app→broker EndTransaction#1
run accounting: consume, consume
""")
    assert money(run) == (FIRST, 2 * FIRST, 0, FIRST)


def test_an_order_without_a_row_is_extra_and_a_cancellation_is_worth_nothing() -> None:
    run = scenario(f"""
system order_service service=example early=on timeout_ms=0 consumers=accounting
{ORDER}
kill app
restart app
fire broker check
run accounting: consume
""")
    assert money(run) == (0, FIRST, 0, FIRST)
    refused = scenario("""
system order_service service=refusing consumers=accounting
run app: send-in-transaction orders-0 C580597
run accounting: consume
""")
    assert money(refused) == (0, 0, 0, 0)


def test_where_nobody_consumes_there_is_no_money() -> None:
    run = scenario(f"system order_service\n{ORDER}")
    assert run.snapshot(-1).money is None
