"""Listeners as learners write them: the right one, and one for each belief of lab 03."""

from __future__ import annotations

from contextlib import suppress

from mqlab.rocketmq.application import DatabaseError
from mqlab.rocketmq.states import LocalTransactionState

COMMIT, ROLLBACK, UNKNOW = LocalTransactionState


def execute(order, db, memory):
    if order.startswith("C"):
        return ROLLBACK
    db.put(order, value="placed")
    return COMMIT


def check(order_id, db, memory):
    return UNKNOW if db.get(order_id) is None else COMMIT


def slowly(order, db, memory):
    """Right, and dear: it leaves it to the check."""
    if order.startswith("C"):
        return ROLLBACK
    db.put(order)
    return UNKNOW


def carefully(order, db, memory):
    """Right too: what is not known is UNKNOW."""
    if order.startswith("C"):
        return ROLLBACK
    memory[order] = "begun"
    try:
        db.put(order, "placed")
    except DatabaseError:
        return UNKNOW
    del memory[order]
    return COMMIT


def refuse_all(order, db, memory):
    return ROLLBACK


def roll_back(order, db, memory):
    if not order.startswith("C"):
        db.put(order)
    return ROLLBACK


def write_nothing(order, db, memory):
    return ROLLBACK if order.startswith("C") else COMMIT


def give_up(order, db, memory):
    if order.startswith("C"):
        return ROLLBACK
    try:
        db.put(order)
    except Exception:
        return ROLLBACK
    return COMMIT


def pass_over(order, db, memory):
    if order.startswith("C"):
        return ROLLBACK
    with suppress(DatabaseError):
        db.put(order)
    return COMMIT


def note(order, db, memory):
    if order.startswith("C"):
        return ROLLBACK
    db.put(order)
    memory[order] = COMMIT
    return COMMIT


def remember(order_id, db, memory):
    return memory.get(order_id, UNKNOW)


def say_no(order_id, db, memory):
    return ROLLBACK if db.get(order_id) is None else COMMIT


def say_yes(order_id, db, memory):
    return COMMIT


def say_nothing(order_id, db, memory):
    return UNKNOW


RIGHT = {
    "as it should be": (execute, check),
    "slowly": (slowly, check),
    "carefully": (carefully, check),
}
WRONG = {
    "nobody is let in": (refuse_all, check),
    "ROLLBACK undoes the row": (roll_back, check),
    "RocketMQ writes the row": (write_nothing, check),
    "an exception means that nothing was written": (give_up, check),
    "an exception can be passed over": (pass_over, check),
    "the process that is asked remembers": (note, remember),
    "no row means no": (execute, say_no),
    "a check may say COMMIT without looking": (execute, say_yes),
    "the check need not decide": (execute, say_nothing),
}
