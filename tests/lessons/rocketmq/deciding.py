"""Listeners as learners of lab 04 write them: right ones, and one for each belief."""

from __future__ import annotations

from mqlab.rocketmq.states import LocalTransactionState
from tests.lessons.rocketmq.listeners import check as ask_again  # as lab 03 has it
from tests.lessons.rocketmq.listeners import refuse_all, say_no, say_nothing, say_yes

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


def give_up(order, db, memory):
    try:
        return execute(order, db, memory)
    except Exception:
        return ROLLBACK


def pass_over(order, db, memory):
    try:
        return execute(order, db, memory)
    except Exception:
        return COMMIT


def note(order, db, memory):
    memory[order] = execute(order, db, memory)
    return memory[order]


def remember(order_id, db, memory):
    return memory.get(order_id, ROLLBACK)


def put_it(order, db, memory):
    db.put(order)
    return COMMIT


def look_and_put(order_id, db, memory):
    if db.get(order_id) == "paid":
        return COMMIT
    db.put(order_id, "refused")
    return ROLLBACK


def look_before(order, db, memory):
    if db.get(order) == "refused":
        return ROLLBACK
    db.put(order)
    return COMMIT


def take_any(order_id, db, memory):
    return (
        ROLLBACK if db.get(order_id) is None and check(order_id, db, memory) != COMMIT else COMMIT
    )


def look_and_insert(order_id, db, memory):
    if db.get(order_id) == "paid":
        return COMMIT
    db.insert(order_id, "refused")
    return ROLLBACK


def insert_blindly(order, db, memory):
    db.insert(order)
    return COMMIT


def refuse_once(order_id, db, memory):
    if db.get(order_id) == "refused":
        return UNKNOW
    return check(order_id, db, memory)


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
    ("an exception means that nothing was written", (give_up, check)),
    ("an exception can be passed over", (pass_over, check)),
    ("the process that is asked remembers", (note, remember)),
    ("every question means yes", (execute, say_yes)),
    ("the check need not decide", (execute, say_nothing)),
    ("no row means no", (execute, say_no)),
    ("no row means no", (put_it, say_no)),
    ("a row that is late may overwrite a refusal", (put_it, check)),
    ("to look and then to write is one step", (execute, look_and_put)),
    ("to look and then to write is one step", (look_before, check)),
    ("every row is an order", (execute, take_any)),
    ("what is inserted is there", (execute, look_and_insert)),
    ("what is inserted is there", (insert_blindly, check)),
    ("to answer UNKNOW costs nothing", (execute, ask_again)),
    ("a refusal need not be found again", (execute, refuse_once)),
)
