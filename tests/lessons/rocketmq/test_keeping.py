"""Lab 03's local transaction of two rows: what is right, and what each belief is told."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.explore import explore
from mqlab.lessons.course.points import grade
from mqlab.lessons.rocketmq.exercises.keeping import KEEPING, ORDER
from mqlab.lessons.rocketmq.exercises.listener import with_listener
from mqlab.lessons.verdict import NOT_WRITTEN
from mqlab.rocketmq import application
from mqlab.rocketmq.states import LocalTransactionState

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


RIGHT = {"as it should be": keep, "slowly": keep_slowly}


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/rocketmq", "mqlab/lessons")
@pytest.mark.parametrize("execute", RIGHT.values(), ids=RIGHT)
def test_a_right_one_gets_its_points(execute: Any) -> None:
    grade("keeping", execute)


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


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/rocketmq", "mqlab/lessons")
def test_the_systems_that_are_tried_are_searched_to_the_end() -> None:
    for line, budget in (*KEEPING.tried, *KEEPING.unseen):
        assert explore(with_listener(line, (keep, application.check)), budget).complete
