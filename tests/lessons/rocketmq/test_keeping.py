"""Lab 03's local transaction of two rows: what is right, and what each belief is told."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.explore import explore
from mqlab.lessons.course.points import NotYet, grade
from mqlab.lessons.rocketmq.exercises.keeping import KEEPING, ORDER
from mqlab.lessons.rocketmq.exercises.listener import with_listener
from mqlab.lessons.verdict import NOT_WRITTEN
from mqlab.rocketmq import application
from mqlab.rocketmq.states import LocalTransactionState
from tests.lessons.rocketmq.listeners import refuse_all

COMMIT, ROLLBACK, UNKNOW = LocalTransactionState


def keep(order: str, db: Any, memory: Any) -> Any:
    db.put(f"{order}/goods", "48 rabbit night lights")
    db.put(order, "placed")
    return COMMIT


def keep_slowly(order: str, db: Any, memory: Any) -> Any:
    """Right too: it leaves the end to the check."""
    keep(order, db, memory)
    return UNKNOW


def keep_order_first(order: str, db: Any, memory: Any) -> Any:
    db.put(order, "placed")
    db.put(f"{order}/goods", "48 rabbit night lights")
    return COMMIT


def keep_one_row(order: str, db: Any, memory: Any) -> Any:
    db.put(order, "placed")
    return COMMIT


def keep_goods(order: str, db: Any, memory: Any) -> Any:
    db.put(f"{order}/goods", "48 rabbit night lights")
    return COMMIT


def roll_back(order: str, db: Any, memory: Any) -> Any:
    keep(order, db, memory)
    return ROLLBACK


def write_nothing(order: str, db: Any, memory: Any) -> Any:
    return COMMIT


def give_up(order: str, db: Any, memory: Any) -> Any:
    try:
        return keep(order, db, memory)
    except Exception:
        return ROLLBACK


def pass_over(order: str, db: Any, memory: Any) -> Any:
    try:
        return keep(order, db, memory)
    except Exception:
        return COMMIT


RIGHT = {"as it should be": keep, "slowly": keep_slowly}
WRONG = {
    "nobody is let in": refuse_all,
    "ROLLBACK undoes the row": roll_back,
    "RocketMQ writes the row": write_nothing,
    "an exception means that nothing was written": give_up,
    "an exception can be passed over": pass_over,
    "the order's row is all there is": keep_one_row,
    "any row will do": keep_goods,
    "the order's own row comes first": keep_order_first,
}


@pytest.mark.parametrize("execute", RIGHT.values(), ids=RIGHT)
def test_a_right_one_gets_its_points(execute: Any) -> None:
    grade("keeping", execute)


@pytest.mark.parametrize(("belief", "execute"), WRONG.items(), ids=WRONG)
def test_each_belief_meets_its_own_sentence_and_a_run(belief: str, execute: Any) -> None:
    verdict = KEEPING.check(execute)
    assert not verdict.ok and verdict.misconception == belief
    assert verdict.message == next(b.message for b in KEEPING.beliefs if b.name == belief)
    if verdict.light != "commits":  # nothing is ever delivered: no run shows that
        assert verdict.trace() is not None and 1 < verdict.step <= len(verdict.trace())
    with pytest.raises(NotYet, match=f"The belief behind it: {belief}"):
        grade("keeping", execute)


def test_every_belief_has_words_of_its_own() -> None:
    assert {belief.name for belief in KEEPING.beliefs} == set(WRONG)
    assert len({belief.message for belief in KEEPING.beliefs}) == len(WRONG)
    assert all(belief.message.zh for belief in KEEPING.beliefs)


def test_the_order_first_is_seen_as_an_empty_parcel() -> None:
    verdict = KEEPING.check(keep_order_first)
    trace = verdict.trace()
    assert trace is not None and verdict.light == "whole order"
    (rows,) = (t.rows for t in trace.snapshot(-1).tables if "row" in t.columns)
    assert [key for key, _ in rows] == [ORDER]


def test_only_execute_is_wanted() -> None:
    def stub(order: str, db: Any, memory: Any) -> Any:
        raise NotImplementedError

    assert KEEPING.check(stub).message == NOT_WRITTEN
    assert "is no function" in KEEPING.check((keep, application.check)).message.en


def test_the_systems_that_are_tried_are_searched_to_the_end() -> None:
    for line, budget in (*KEEPING.tried, *KEEPING.unseen):
        assert explore(with_listener(line, (keep, application.check)), budget).complete
