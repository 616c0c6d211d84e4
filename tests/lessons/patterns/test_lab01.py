"""Lab 01: its orders are real, its shares are counted, its exercises tell beliefs apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from mqlab.kernel import Append, MemoryDisk, Response, Send
from mqlab.lessons.patterns.lab01 import (
    CONSUME,
    COUNTING,
    PROMISES,
    compare_promises,
    count_orders,
    deliver,
    list_heard,
    measure_shares,
)
from mqlab.lessons.patterns.systems import RuledAccounting, list_orders
from mqlab.patterns.delivery.claims import SAFEGUARDS
from mqlab.patterns.delivery.roles import Booking, DeliveryConfig, Fetch, FetchResponse, Order
from mqlab.spark.files import DAY, read_lines
from mqlab.spark.orders import parse_price, parse_quantity

Rule = Callable[..., object]


def by_number(position: int, booked: tuple[str, ...], offset: int, number: str, again: bool) -> str:
    return "skip" if number in booked else "count"


# ---- the story ----------------------------------------------------------------------------


def test_the_orders_are_invoices_of_the_real_day_with_their_real_sums() -> None:
    first, *_, last = list_orders(12)
    for order in (first, last):
        mine = [line for line in read_lines(DAY) if line["InvoiceNo"] == order.number]
        tenths = sum(parse_quantity(m["Quantity"]) * parse_price(m["UnitPrice"]) for m in mine)
        assert tenths == order.pence * 10
    assert first.number == "580538"
    assert len({order.number for order in list_orders(12)}) == 12


def test_a_promise_is_broken_by_no_fault_on_its_own_side() -> None:
    faults = {
        "request": "lose shop→queue Publish#1",
        "answer": "lose shop→queue ⇒Publish#1",
        "counted": "kill accounting when=580538 after=1\nrestart accounting",
        "held": "kill accounting when=580538 after=0\nrestart accounting",
    }
    _, _, *rows = compare_promises(faults).splitlines()
    table = {row[: row.index(" ")]: row.split("  ")[1:] for row in rows}
    assert set(table) == set(faults)
    for row in rows:
        name, *cells = (cell.strip() for cell in row.split("  ") if cell.strip())
        most, least, exactly = cells
        assert exactly == "fine", name
        assert "counted" not in most
        assert "lost" not in least
        assert (most == "fine") != (least == "fine") or name == "request"


def test_the_shop_hears_the_same_whichever_half_of_the_way_is_lost() -> None:
    runs = [
        deliver("at least once", f"lose shop→queue {what}#2") for what in ("Publish", "⇒Publish")
    ]
    assert list_heard(runs[0]) == list_heard(runs[1])
    assert [count_orders(run)["580539"] for run in runs] == [(1, 1), (2, 2)]


# ---- how often -----------------------------------------------------------------------------


def test_without_loss_and_delay_nothing_goes_wrong() -> None:
    for promise in PROMISES:
        share = measure_shares(promise, 0, seeds=5)
        assert (share.orders, share.lost, share.doubled) == (60, 0, 0)


def test_with_loss_each_promise_errs_on_its_own_side() -> None:
    most, least, exactly = (measure_shares(promise, 0.3, seeds=10) for promise in PROMISES)
    assert most.lost
    assert not most.doubled
    assert least.doubled
    assert not least.lost
    assert (exactly.lost, exactly.doubled) == (0, 0)


def test_delay_alone_doubles_where_two_messages_take_longer_than_the_patience() -> None:
    assert not measure_shares("at least once", 0, slowest_ms=50, seeds=10).doubled
    assert measure_shares("at least once", 0, slowest_ms=120, seeds=10).doubled
    assert not measure_shares("exactly once", 0, slowest_ms=120, seeds=10).doubled


# ---- the pieces ----------------------------------------------------------------------------


KEYS = [piece.key for piece in CONSUME.pieces]
FOUR = [order for many in (1, 2, 3, 4) for order in itertools.permutations(KEYS, many)]


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/patterns", "mqlab/lessons")
def test_an_order_is_right_where_amount_and_position_are_in_one_transaction() -> None:
    for order in FOUR:
        if "thank" not in order:
            wanted = order in {("begin", "count", "note", "end"), ("begin", "note", "count", "end")}
            assert CONSUME.judge(order).ok == wanted, order


@pytest.mark.parametrize("place", range(5))
def test_the_queue_may_be_told_at_any_moment(place: int) -> None:
    order = ["begin", "count", "note", "end"]
    order.insert(place, "commit")
    assert CONSUME.judge(order).ok


def test_nobody_gets_there_by_the_first_guesses() -> None:
    """In the order in which the pieces are offered, by the number of pieces."""
    assert not [order for order in FOUR[:100] if CONSUME.judge(order).ok]


@pytest.mark.parametrize(
    ("order", "light", "says"),
    [
        (("count", "commit"), "counted once", "fetched again and counted a second time"),
        (("commit", "count"), "none lost", "never counted"),
        (("count", "note"), "counted once", "fetched again"),
        (("note", "count"), "none lost", "never counted"),
        (("count",), "counted once", "fetched again"),
        (("commit",), "all counted", "no piece writes the amount"),
        (("begin", "count", "note"), "all counted", "never commits"),
        (("begin", "count", "end", "commit"), "counted once", "two writes"),
        (("begin", "note", "end", "count"), "none lost", "never counted"),
        (("begin", "count", "commit", "end"), "none lost", "never counted"),
    ],
)
def test_a_wrong_order_hears_what_happens_between_its_writes(
    order: tuple[str, ...], light: str, says: str
) -> None:
    verdict = CONSUME.judge(order)
    assert not verdict.ok
    assert verdict.light == light
    assert says in verdict.message.en
    assert verdict.message.zh


# ---- the rule ------------------------------------------------------------------------------


def test_the_order_s_own_number_is_enough_and_all_that_is_needed() -> None:
    assert COUNTING.check(by_number, graded=True).ok
    careful: Rule = lambda p, b, o, n, a: "skip" if o < p or n in b else "count"  # noqa: E731
    assert COUNTING.check(careful, graded=True).ok, "the position may be asked for besides"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda *given: None, "nothing is written yet"),
        (lambda *given: "maybe", 'the answers are "count", "skip"'),
        (lambda p, b, o, n, a: "skip" if a or n in b else "count", "none lost"),
        (lambda p, b, o, n, a: "skip" if n in b[-2:] else "count", "counted once"),
        (lambda p, b, o, n, a: "skip" if b and n <= max(b) else "count", "none lost"),
    ],
)
def test_other_answers_are_told_what_is_wrong(rule: Rule, says: str) -> None:
    verdict = COUNTING.check(rule)
    assert not verdict.ok
    assert says in str(verdict)


def test_a_rule_is_told_what_the_books_hold() -> None:
    asked: list[tuple[object, ...]] = []

    def rule(*given: object) -> str:
        asked.append(given)
        return "skip"

    config = DeliveryConfig(on=frozenset(SAFEGUARDS))
    disk = MemoryDisk().apply(Append("books", Booking(Order("580001", 100), 0, position=3)))
    accounting = RuledAccounting(config, position=3, rule=rule)
    given = FetchResponse(3, Order("580538", 31678))
    assert accounting.step(Response("queue", 0, given), disk)[1] == (Send("queue", Fetch(4)),)
    assert asked == [(3, ("580001",), 3, "580538", False)]
