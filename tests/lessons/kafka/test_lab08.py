"""Lab 08's exercises: right loops pass, each belief meets its own sentence and its own run;
what its tables say is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons.exercises import read_beliefs
from mqlab.lessons.kafka.lab08 import (
    KILL,
    LOOP,
    ONE,
    ORDER,
    RIGHT,
    UNFINISHED,
    Abortable,
    App,
    actors,
    assemble_loop,
    build_worker,
    count_orders,
    find_red_step,
    list_calls,
    offsets,
    side_effects,
)
from mqlab.lessons.kafka.systems.income import IncomeSystem
from mqlab.registry import scenario, system
from tests.lessons.course.test_points import list_told

Round = Callable[[App, list[Any]], None]


def guarded(body: Round) -> Callable[[App], None]:
    """A loop that handles failures as it should, around this round."""

    def work(app: App) -> None:
        while orders := app.poll():
            try:
                body(app, orders)
            except Abortable:
                app.abort()
                app.seek(orders[0].offset)

    return work


def send(app: App, orders: list[Any]) -> None:
    for order in orders:
        app.send(app.income(order))


def right(app: App, orders: list[Any]) -> None:
    app.begin()
    send(app, orders)
    app.send_offsets(orders[-1].offset + 1)
    app.commit()


def position(number: Callable[[list[Any]], int]) -> Round:
    def body(app: App, orders: list[Any]) -> None:
        app.begin()
        send(app, orders)
        app.send_offsets(number(orders))
        app.commit()

    return body


def finally_commits(app: App) -> None:
    """What a function calls while it is being left must not be taken for its next call."""
    while orders := app.poll():
        app.begin()
        try:
            send(app, orders)
            app.send_offsets(orders[-1].offset + 1)
        finally:
            app.commit()


def passed_over(app: App) -> None:
    while orders := app.poll():
        app.begin()
        for order in orders:
            try:
                app.send(app.income(order))
            except Abortable:
                continue
        app.send_offsets(orders[-1].offset + 1)
        app.commit()


def gives_up(app: App) -> None:
    app.seek(0)


def loop(round: str, on_failure: str = "abort seek") -> Callable[[App], None]:
    """A loop of these pieces, as one arranges them in the lab's other exercise."""
    return assemble_loop(("poll", *round.split(), *on_failure.split()))


#: beside those on the instructor's page
WRONG = {
    "part of a batch": guarded(position(lambda orders: orders[0].offset + 1)),
    "two transactions are as good as one": loop("begin send commit begin offsets commit"),
    "the group knows by itself how far it has come": loop("begin send commit"),
    "what is sent counts without a commit": loop("begin send offsets"),
    "a failed transaction needs no abort": loop("begin send offsets commit", "seek"),
    "a failure is passed over": passed_over,
}


def one_by_one(app: App) -> None:
    """A transaction an order is right too."""
    while orders := app.poll():
        for order in orders:
            try:
                right(app, [order])
            except Abortable:
                app.abort()
                app.seek(order.offset)
                break


@pytest.mark.parametrize("work", [guarded(right), one_by_one], ids=["a batch", "one by one"])
def test_a_right_loop_passes(work: Callable[[App], None]) -> None:
    verdict = LOOP.check(work)
    assert verdict.ok, verdict
    assert verdict.message == RIGHT


@pytest.mark.parametrize("name", WRONG)
def test_every_belief_is_told_apart_and_refuted_by_a_run(name: str) -> None:
    verdict = LOOP.check(WRONG[name])
    assert not verdict.ok
    assert verdict.misconception == name
    assert verdict.message == read_beliefs("08 loop")[name]
    assert verdict.trace() is not None


def test_the_beliefs_are_all_that_the_exercise_names() -> None:
    assert {*WRONG, *list_told("08 loop")} == set(read_beliefs("08 loop"))


def test_what_is_no_loop_is_told_so() -> None:
    def stub(app: App) -> None:
        raise NotImplementedError

    def typo(app: App) -> None:
        app.pol()  # type: ignore[attr-defined]

    assert "nothing is written yet" in str(LOOP.check(stub))
    assert "has no attribute 'pol'" in str(LOOP.check(typo))
    assert LOOP.check(finally_commits).misconception == "a failure ends the work"
    assert LOOP.check(gives_up).misconception == UNFINISHED[0]


@pytest.mark.parametrize(
    ("order", "broken"),
    [
        ("", "done"),
        ("begin send offsets commit abort seek", "done"),
        ("poll begin send commit offsets abort seek", "done"),
        ("poll begin send offsets abort seek", "none skipped"),
        ("poll begin offsets commit abort seek", "read is counted"),
        ("poll begin send commit abort seek", "counted once"),
    ],
)
def test_a_wrong_order_says_what_it_breaks(order: str, broken: str) -> None:
    verdict = ORDER.judge(order.split())
    assert not verdict.ok
    assert verdict.misconception == broken
    assert (verdict.trace() is None) == (broken == "done")


@pytest.mark.parametrize(
    "order",
    [
        "poll begin send offsets commit abort seek",
        "poll begin offsets send commit abort seek",
        "seek begin poll send offsets commit abort",
    ],
)
def test_more_than_one_order_is_right(order: str) -> None:
    verdict = ORDER.judge(order.split())
    assert verdict.ok, verdict


def test_positions_apart_from_the_output_lose_or_double_and_together_do_neither() -> None:
    follows, goes_first = loop("begin send commit sync"), loop("sync begin send commit")
    assert "counted once" in explore(build_worker(follows), KILL).counterexamples
    assert "none skipped" in explore(build_worker(goes_first), KILL).counterexamples
    together = explore(build_worker(guarded(right)), KILL)
    assert together.complete
    assert together.ok, together
    unsafe = explore(build_worker(guarded(right), off="offsets_in_transaction"), KILL)
    assert "none skipped" in unsafe.counterexamples


def test_a_function_may_run_twice_for_an_order_that_counts_once() -> None:
    rows = [line.split() for line in side_effects(guarded(right)).splitlines()[2:]]
    assert {row[-1] for row in rows} == {"1"}
    assert "2" in {row[-2] for row in rows}


def test_the_income_system_says_its_line_and_reads_it_back() -> None:
    line = "income workers=first,second orders=580538:31678,580539:31073 outputs=income,ledger"
    found = system(line)
    assert isinstance(found, IncomeSystem)
    assert found.outputs == ("income", "ledger")
    assert found.line() == line
    assert system(found.line()) == found
    with pytest.raises(ValueError, match="expected a whole number"):
        system("income fails=often")


def test_orders_stand_in_the_log_once_also_after_a_restart() -> None:
    stocked = "system income orders=580538:31678,580539:31073"
    run = scenario(f"{stocked}\nkill orders-0\nrestart orders-0\n")
    log = run.snapshot(-1).logs[0]
    assert [cell.label for cell in log.cells] == ["580538:31678", "580539:31073"]


def test_a_second_stage_reads_what_the_first_has_decided() -> None:
    run = scenario("""
    system income outputs=income,ledger workers=first,second
    run first: init, begin, send income-0 580538+31678
    run second: poll income-0
    run first: commit
    run second: init, begin, poll income-0, send ledger-0 580538=31678, commit
    """)
    polls = [fact.text.en.split("ok ")[1] for fact in run if "poll income-0" in fact.text.en]
    assert polls == ["nothing", "580538+31678"]
    assert "580538=31678  1×" in count_orders(run, "ledger")


def test_tables_name_the_five_actors_and_the_pending_position() -> None:
    run = scenario("""
    system income readers=reader
    run worker: init, begin, send income-0 580538+31678, send-offsets accounting orders-0@1
    run reader: committed accounting orders-0, poll orders-0
    run worker: commit
    fire reader retry
    """)
    assert "UNSTABLE_OFFSET_COMMIT" in offsets(run)
    found = actors(run)
    for actor in ("producer", "consumer", "transaction coord", "group coord", "partition leader"):
        assert actor in found


def test_every_schedule_of_the_loop_that_fails_once_ends() -> None:
    failing = IncomeSystem(orders=ONE.orders, fails=1).with_loop(guarded(right))
    verdict = explore(failing, Budget())
    assert verdict.complete
    assert verdict.ok, verdict


STALL = """
system income workers=one,two
run one: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, {sent}
fire __consumer_offsets-0 session/accounting/one-1
run two: init, subscribe accounting orders, poll
"""


@pytest.mark.parametrize(
    ("sent", "waits"), [("flush", False), ("send-offsets accounting orders-0@1", True)]
)
def test_a_silent_worker_that_has_sent_its_position_holds_up_its_successor(
    sent: str, waits: bool
) -> None:
    """KIP-447: until the silent one's transaction has timed out."""
    stalled = scenario(STALL.format(sent=sent))
    assert ("UNSTABLE_OFFSET_COMMIT" in stalled.narrate()) == waits
    if waits:
        later = scenario(STALL.format(sent=sent) + "fire coordinator timeout one\nfire two retry\n")
        assert later.facts[-1].line() == "two ☞   poll read_committed: ok 580538:31678"


@pytest.mark.parametrize(
    ("end", "balanced"),
    [
        ("send-offsets accounting orders-0@1, commit", True),
        ("commit", False),
        ("abort", True),
        ("commit, commit-offsets accounting orders-0@1", True),
    ],
)
def test_the_money_light_compares_what_counts_as_read_with_the_income(
    end: str, balanced: bool
) -> None:
    run = scenario(f"""
        system income
        run worker: init, begin, send income-0 580538+31678, {end}
    """)
    lights = {light.name: light.ok for light in run.snapshot(-1).lights}
    assert lights["money"] == balanced


def test_a_tool_sees_a_lag_for_ever_where_the_consumer_sees_none() -> None:
    run = scenario("""
        system income readers=booking
        run worker: init, begin, send income-0 580538+31678
        run worker: send-offsets accounting orders-0@1, commit
        run booking: poll income-0, commit-offsets booking income-0@1, end-offset income-0
        run booking: position income-0, lag income-0
    """)
    end, position, lag = [line.split()[-1] for line in list_calls(run, "booking").splitlines()[-3:]]
    assert (end, position, lag) == ("2", "2", "0")


@pytest.mark.parametrize(
    ("last_call", "end", "granted", "after"),
    [
        ("OffsetCommit", "commit, commit-offsets lending", 2, ""),
        (
            "EndTxn",
            "send-offsets lending loans-0@1, commit",
            1,
            "fire desk retry\nrun desk: poll\n",
        ),
    ],
)
def test_a_loan_is_granted_twice_apart_from_its_position_and_once_together(
    last_call: str, end: str, granted: int, after: str
) -> None:
    run = scenario(f"""
system income topic=loans orders=Ada:900000 outputs=credits workers=desk
kill desk when={last_call}#1 after=0
run desk: init, subscribe lending loans, poll, begin, send credits-0 Ada=900000, {end}
fire __consumer_offsets-0 session/lending/desk-1
restart desk
{after}""")
    assert f"Ada=900000  {granted}×" in count_orders(run, "credits")
    assert (find_red_step(run, "money") > 0) == (granted > 1)
