"""Listeners as learners of lab 04 write them: right ones, and wrong ones beside those on the
instructor's page."""

from __future__ import annotations

from mqlab.rocketmq.states import LocalTransactionState
from tests.lessons.rocketmq.listeners import refuse_all, say_no

COMMIT, ROLLBACK, UNKNOW = LocalTransactionState


def execute(order, db, memory):
    return COMMIT if db.insert(order, "paid") == "paid" else ROLLBACK


def check(order_id, db, memory):
    return COMMIT if db.insert(order_id, "refused") == "paid" else ROLLBACK


def insert_and_read(order, db, memory):
    """Right: two statements, of which the first decides."""
    db.insert(order)
    return COMMIT if db.get(order) == "paid" else ROLLBACK


def refuse_and_read(order_id, db, memory):
    db.insert(order_id, "refused")
    return COMMIT if db.get(order_id) == "paid" else ROLLBACK


def leave_it(order, db, memory):
    """Right, and slow: the check says everything."""
    db.insert(order)
    return UNKNOW


def roll_back(order, db, memory):
    db.insert(order)
    return ROLLBACK


def write_nothing(order, db, memory):
    return COMMIT


def pass_over(order, db, memory):
    try:
        return execute(order, db, memory)
    except Exception:
        return COMMIT


def put_it(order, db, memory):
    db.put(order)
    return COMMIT


def look_before(order, db, memory):
    if db.get(order) == "refused":
        return ROLLBACK
    db.put(order)
    return COMMIT


def insert_blindly(order, db, memory):
    db.insert(order)
    return COMMIT


def place(order_id, db, memory):
    """It writes the row that never came, and no order is refused for a crash."""
    return COMMIT if db.insert(order_id, "paid") == "paid" else ROLLBACK


RIGHT = {
    "as it should be": (execute, check),
    "two statements": (insert_and_read, refuse_and_read),
    "slowly": (leave_it, check),
    "the check goes forward": (execute, place),
}
#: (belief, listener), several for one belief
WRONG = (
    ("nobody is let in", (refuse_all, check)),
    ("ROLLBACK undoes the row", (roll_back, check)),
    ("RocketMQ writes the row", (write_nothing, check)),
    ("an exception can be passed over", (pass_over, check)),
    ("no row means no", (put_it, say_no)),
    ("to look and then to write is one step", (look_before, check)),
    ("what is inserted is there", (insert_blindly, check)),
)
