"""The money of the labs' runs: the sums are wrong exactly where the light `money` is red."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqlab_widgets.views.money import draw_money

from mqlab.explore import Budget, explore
from mqlab.kernel import Money, Trace
from mqlab.lessons.kafka import released
from mqlab.lessons.kafka.lab08 import App, build_worker
from mqlab.lessons.kafka.systems.shop import GIVEN, TAKEN, ShopSystem
from mqlab.lessons.steps import find_red_step
from mqlab.registry import scenario, system

SOURCES = Path(__file__).parents[3] / "labs" / "source"
SYSTEMS = ("shop", "payments", "charges", "income", "orders")
LABS = ("00", "05", "06", "07", "08")


def stories(lab: str) -> Iterator[str]:
    """The scenarios that stand whole in a lab's source, of systems that know money."""
    (source,) = SOURCES.glob(f"{lab}-*.py")
    tree = ast.parse(source.read_text("utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.args]
    for call in calls:
        first = call.args[0]
        if getattr(call.func, "id", "") == "scenario" and isinstance(first, ast.Constant):
            if any(f"system {name}" in first.value for name in SYSTEMS):
                yield first.value


def position_last(app: App) -> None:
    while orders := app.poll():
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.commit()
        app.commit_offsets(orders[-1].offset + 1)


def sums(trace: Trace, position: int = -1) -> tuple[int, int, int, int]:
    money = trace.snapshot(position).money
    assert money is not None
    return money.due, money.seen, money.missing, money.extra


def assert_agree(trace: Trace) -> None:
    """A light that went red stays red; so it is compared with whether the money was ever wrong."""
    wrong = False
    for position, snapshot in enumerate(trace.snapshots):
        assert snapshot.money is not None
        wrong = wrong or not snapshot.money.right
        (light,) = [one.ok for one in snapshot.lights if one.name == "money"]
        assert wrong != light, f"step {position}: {snapshot.money}"
        assert_adds_up(snapshot.money)


def assert_adds_up(money: Money) -> None:
    """Once it is wrong, and nothing is under way, the two sums differ by what is said."""
    if not money.right and not (money.missing and money.extra):
        assert money.due != money.seen


@pytest.mark.parametrize("lab", LABS)
def test_the_money_is_wrong_exactly_where_the_light_is_red(lab: str) -> None:
    runs = [scenario(story) for story in stories(lab)]
    assert runs, "this lab has no money any more"
    for run in runs:
        assert_agree(run)


def test_lab_00_loses_what_a_customer_paid() -> None:
    pay = "send accounts-0 C-5, send accounts-1 S+5, flush"
    lossy = (
        "system shop producers=order-service:plain\nkill order-service when=Produce#1 after=1\n"
        f"run order-service: {pay}"
    )
    run = scenario(lossy)
    assert sums(run) == (500, 0, 500, 0)
    again = scenario(f"{lossy}\nrestart order-service")
    assert sums(again) == (1000, 500, 500, 0), "the customer has paid twice, the shop got it once"
    assert_agree(again)


def test_lab_05_counts_a_payment_twice() -> None:
    twice = scenario(
        "system payments producers=order-service:plain\n"
        "run order-service: send payments-0 p1, send payments-0 p2, flush\n"
        "lose order-service→payments-0 ⇒Produce#2"
    )
    assert sums(twice) == (1000, 1500, 0, 500)
    cut = scenario(
        "system payments\nrun order-service: send payments-0 p1, flush, send payments-0 p2, flush\n"
        "power-cut payments-0 when=p2 after=0\nrestart payments-0"
    )
    assert sums(cut) == (1000, 500, 500, 0)


def test_between_two_markers_nothing_is_lost_yet() -> None:
    """Half of an order is shown: the sums differ, and neither light nor money is wrong."""
    calls = "run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit\n"
    kill = "kill coordinator when=WriteTxnMarkers#1 after=1"
    torn = scenario(f"system orders\n{kill}\n{calls}")
    assert sums(torn) == (31_678, 0, 0, 0) and find_red_step(torn, "money") == 0
    healed = scenario(f"system orders\n{kill}\n{calls}restart coordinator")
    assert sums(healed) == (31_678, 31_678, 0, 0)


def test_a_fractured_outcome_loses_the_payment_for_good() -> None:
    calls = "init; begin; send orders-0 580538; flush; send payments-0 paid-580538; commit"
    broken = system(f"orders 'app={calls}' off=prepare_before_markers")
    found = explore(broken, Budget(kills=1, killable=("coordinator",), timers=1)).counterexamples
    run = found["money"].trace()
    due, seen, missing, extra = sums(run)
    assert {due, seen} == {0, 31_678} and (missing, extra) == (due, seen)
    assert_agree(run)


def test_lab_08_books_an_income_twice_apart_from_its_position() -> None:
    apart = scenario("""
        system income
        kill worker when=OffsetCommit#1 after=0
        run worker: init, subscribe accounting orders, poll, begin
        run worker: send income-0 580538+31678, commit, commit-offsets accounting
        fire __consumer_offsets-0 session/accounting/worker-1
        restart worker
    """)
    assert sums(apart) == (31_678, 63_356, 0, 31_678)
    money = apart.snapshot(-1).money
    assert money is not None
    assert (money.owed.en, money.shown.en) == ("read from orders", "booked in income")


def test_a_loop_is_judged_by_all_its_orders() -> None:
    """Its lights say *counted twice* and *skipped*; the money is wrong exactly when they are."""
    kill = Budget(kills=1, killable=("worker",))
    twice = explore(build_worker(position_last), kill).counterexamples["counted once"].trace()
    assert sums(twice)[3] == sums(twice)[1] - 31_678 > 0
    for snapshot in twice.snapshots:
        assert snapshot.money is not None
        lights = {one.name: one.ok for one in snapshot.lights}
        assert snapshot.money.right == (lights["counted once"] and lights["none skipped"])


def test_a_record_without_an_amount_is_worth_nothing() -> None:
    run = scenario("system income\nrun worker: init, begin, send income-0 tea, commit")
    assert sums(run) == (0, 0, 0, 0)


def test_a_search_never_adds_up_money(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a Snapshot was drawn")

    whole = "shop 'order-service=init; begin; send accounts-0 C-5; commit'"
    monkeypatch.setattr(ShopSystem, "snapshot", never)
    assert explore(system(whole), Budget()).complete


def test_the_words_of_the_shop_stand_whole_beside_four_figures():
    """£1,255.02, four orders, is the most that lab 00 shows."""
    part = draw_money(Money(125_502, 125_502, TAKEN(), GIVEN()), 188_253, False)
    assert [node.text for node in part.nodes if node.key in ("seen", "due")] == [
        "given to the shop £1,255.02",
        "paid by customers £1,255.02",
    ]


# ---- What the labs say that released clients do is what they do ----------------------

pytest.importorskip("confluent_kafka", reason="needs confluent-kafka: run `make setup`")


def test_only_a_reader_sees_that_a_batch_was_sent_twice() -> None:
    assert released.lose_an_answer(idempotent=False).endswith("the program gets ok, stored 2×")
    assert released.lose_an_answer(idempotent=True).endswith("the program gets ok, stored 1×")


def test_a_zombie_is_fenced_and_its_payment_is_aborted() -> None:
    lines = released.fence_a_zombie().splitlines()
    assert [line for line in lines if not line.endswith(": ok")] == [
        "first   commit_transaction: _FENCED, fatal",
        "read_committed gets 580539",
        "read_uncommitted gets 580538, 580539",
    ]


def test_a_loop_that_is_killed_goes_on_where_it_has_committed() -> None:
    lines = released.kill_the_loop().splitlines()
    assert "first life: kill -9" in lines and "second life: begins at offset 2" in lines
    invoices = [f"invoice {order}" for order in released.ORDERS]
    assert lines[-1] == f"read_committed gets {', '.join(invoices)}"
    assert lines[-2].count("invoice 580540") == 2


def test_where_there_is_no_client_a_lab_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(released, "find_spec", lambda name: None)
    said = released.why_not()
    assert "confluent-kafka is not installed" in said
    held = released.HeldPayment()
    held._ipython_display_()
    assert capsys.readouterr().out.strip() == said == held.finish()
    told = (released.fence_a_zombie(), released.kill_the_loop(), released.lose_an_answer(True))
    assert set(told) == {said}
