"""The exercise kit for listeners: what a learner may write, what is told, and what it rests on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mqlab.explore import explore
from mqlab.kernel import replay
from mqlab.lessons.course.points import NotYet, grade
from mqlab.lessons.rocketmq.endings import die_everywhere, run_on_file
from mqlab.lessons.rocketmq.exercises.listener import (
    BELIEFS,
    COMMITTED,
    DYING,
    LISTENER,
    ORDER,
    UNDECIDED,
    find_ways,
    take_listener,
    with_listener,
)
from mqlab.lessons.rocketmq.systems import OrderServiceSystem
from mqlab.lessons.verdict import NOT_WRITTEN
from tests.lessons.rocketmq.listeners import COMMIT, RIGHT, UNKNOW, WRONG, check, execute

SEEN: list[str] = []


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/rocketmq", "mqlab/lessons")
@pytest.mark.parametrize("pair", RIGHT.values(), ids=RIGHT)
def test_a_right_listener_passes(pair: Any) -> None:
    verdict = LISTENER.check(pair, graded=True)
    assert verdict.ok, verdict


@pytest.mark.parametrize(("belief", "pair"), WRONG.items(), ids=WRONG)
def test_each_belief_meets_its_own_sentence_and_a_run(belief: str, pair: Any) -> None:
    verdict = LISTENER.check(pair)
    assert not verdict.ok and verdict.misconception == belief
    assert verdict.message == next(b.message for b in BELIEFS if b.name == belief)
    if verdict.light != "commits":  # nothing is ever delivered: no run shows that
        assert verdict.trace() is not None and 1 < verdict.step <= len(verdict.trace())


def test_every_belief_has_a_listener_and_words_of_its_own() -> None:
    assert {belief.name for belief in BELIEFS} == set(WRONG)
    assert len({belief.message for belief in BELIEFS}) == len(BELIEFS)
    assert all(belief.message.zh for belief in BELIEFS)


def commit_all(order: str, db: Any, memory: Any) -> Any:
    db.put(order)
    return COMMIT


def leave_open(order: str, db: Any, memory: Any) -> Any:
    return UNKNOW if order.startswith("C") else commit_all(order, db, memory)


@pytest.mark.parametrize(("listener", "told"), [(commit_all, COMMITTED), (leave_open, UNDECIDED)])
def test_a_cancellation_must_be_refused_and_that_be_said(listener: Any, told: Any) -> None:
    verdict = LISTENER.check((listener, check))
    assert (verdict.misconception, verdict.message) == told
    assert "C580597" in str(verdict)


# ---- manners -----------------------------------------------------------------------------


def ask_clock(order: str, db: Any, memory: Any) -> Any:
    db.put(order, str(time.time()))
    return COMMIT


def keep(order: str, db: Any, memory: Any) -> Any:
    SEEN.append(order)
    return COMMIT


class Counter:
    """A variable in disguise."""

    count = 0


def count(order: str, db: Any, memory: Any) -> Any:
    Counter.count += 1
    db.put(order, str(Counter.count))
    return COMMIT


def count_slowly(order: str, db: Any, memory: Any) -> Any:
    """The two runs of one step agree, those of two steps do not."""
    Counter.count += 1
    db.put(f"{order}-{(Counter.count + 1) // 4}")
    db.put(order)
    return COMMIT


def go_round(order: str, db: Any, memory: Any) -> Any:
    while True:
        pass


def ask_for_ever(order: str, db: Any, memory: Any) -> Any:
    while True:
        db.get(order)


def keep_a_list(order: str, db: Any, memory: Any) -> Any:
    memory["orders"] = [order]
    return COMMIT


def misspell(order: str, db: Any, memory: Any) -> Any:
    db.put(order)
    return "COMMIT"


def return_nothing(order: str, db: Any, memory: Any) -> Any:
    db.put(order)


def fail(order: str, db: Any, memory: Any) -> Any:
    raise ValueError("out of stock")


@pytest.mark.parametrize(
    ("listener", "told"),
    [
        (ask_clock, "`ask_clock` asks a clock (`time`)"),
        (keep, "`keep` keeps something in `SEEN`"),
        (count, "run twice with the same answers, `execute` came to “put 580538"),
        (count_slowly, "run again with the same answers, the listener came to"),
        (go_round, "`execute` was stopped after "),
        (ask_for_ever, "calls `db` and `memory` more than 30 times"),
        (keep_a_list, "keeps what is no plain value (`memory['orders'] = ['580538']`)"),
        (misspell, "returned 'COMMIT'; expected COMMIT_MESSAGE, ROLLBACK_MESSAGE, UNKNOW"),
        (return_nothing, "one way through `execute` has no `return`"),
        (fail, "`execute` went wrong although nothing had failed: ValueError: out of stock"),
    ],
)
def test_what_a_listener_may_not_do_is_told(
    listener: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counter, "count", 0)
    verdict = LISTENER.check((listener, check))
    assert not verdict.ok and told in verdict.message.en


def test_an_untouched_stub_is_not_written_yet() -> None:
    def stub(order: str, db: Any, memory: Any) -> Any:
        raise NotImplementedError

    assert LISTENER.check((stub, stub)).message == NOT_WRITTEN
    assert LISTENER.check((execute, stub)).message == NOT_WRITTEN


@pytest.mark.parametrize("answer", [execute, (execute,), None, "listener"])
def test_both_functions_are_wanted(answer: Any) -> None:
    assert "hand over both functions" in LISTENER.check(answer).message.en


# ---- ways ----------------------------------------------------------------------------------


def test_the_ways_through_a_listener() -> None:
    """The statement is answered, or the connection breaks when it is committed, or before."""
    ways = find_ways(take_listener(RIGHT["carefully"]), ORDER)
    assert [(w.state, dict(w.rows.items())) for w in ways.execute] == [
        (COMMIT, {ORDER: "placed"}),
        (UNKNOW, {ORDER: "placed"}),
        (UNKNOW, {}),
    ]
    assert (ways.without_row.state, ways.elsewhere.state) == (UNKNOW, COMMIT)
    assert not ways.same_process.recalled
    forgetful = find_ways(take_listener(WRONG["the process that is asked remembers"]), ORDER)
    assert forgetful.elsewhere.recalled
    assert (forgetful.elsewhere.state, forgetful.same_process.state) == (UNKNOW, COMMIT)


# ---- table and file ------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [*RIGHT.values(), WRONG["the check need not decide"]])
def test_every_death_leaves_the_same_rows_in_the_file(pair: Any, tmp_path: Path) -> None:
    """`die_everywhere` raises where they differ; a row of a right listener has its message."""
    deaths = list(die_everywhere(with_listener(DYING.format(ORDER), pair), tmp_path))
    assert {tuple(death.rows) for death in deaths} == {(), (ORDER,)}
    assert all(death.agrees for death in deaths) is (pair in RIGHT.values())


@pytest.mark.parametrize("belief", ["no row means no", "the process that is asked remembers"])
def test_a_counterexample_leaves_the_same_rows_in_the_file(belief: str, tmp_path: Path) -> None:
    verdict = LISTENER.check(WRONG[belief])
    made = verdict.system
    assert isinstance(made, OrderServiceSystem)
    left = run_on_file(made, verdict.schedule, tmp_path / "orders.db")
    table = [t for t in replay(made, verdict.schedule).snapshot(-1).tables if "row" in t.columns]
    assert list(left.items()) == list(table[0].rows) == [(ORDER, left[ORDER])]


def test_a_database_that_forgets_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqlab.rocketmq.application.OrderFile.read_rows", lambda self: {})
    made = with_listener(DYING.format(ORDER), (execute, check))
    with pytest.raises(RuntimeError, match=r"the file holds .*, the table"):
        list(die_everywhere(made, tmp_path))


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/rocketmq", "mqlab/lessons")
def test_the_systems_that_are_tried_are_searched_to_the_end() -> None:
    for line, budget in (*LISTENER.tried, *LISTENER.unseen):
        assert explore(with_listener(line, (execute, check)), budget).complete


# ---- points --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listener", "told"),
    [
        (ask_clock, "`ask_clock` asks a clock (`time`)"),
        (count, "run twice with the same answers"),
        (go_round, "is there a loop without an end?"),
    ],
)
def test_manners_are_graded_too(listener: Any, told: str) -> None:
    with pytest.raises(NotYet) as caught:
        grade("answering", (listener, check))
    assert told in str(caught.value)
