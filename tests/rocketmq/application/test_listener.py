"""A listener run statement by statement: what it reads again, and what it may not do."""

from __future__ import annotations

import random

import pytest

from mqlab.kernel import Map
from mqlab.rocketmq.application import (
    LOST,
    DatabaseError,
    Finished,
    NotRepeatable,
    Scripted,
    Task,
    execute,
    run_task,
)
from mqlab.rocketmq.messages import Statement
from tests.rocketmq.driven import drive, queue, rows

EMPTY: Map = Map()


def run_through(rule, answers, memory=EMPTY):
    """Give the function these answers one after the other: its statements, the memory, the end."""
    task, asked = Task("o1"), []
    task, memory, result = run_task(rule, task, memory)
    for answer in answers:
        assert isinstance(result, Statement)
        asked.append(str(result))
        task, memory, result = run_task(rule, task.resume(answer), memory)
    return asked, dict(memory.items()), result


def test_each_statement_is_made_once_and_answered_again_from_the_journal():
    def listener(order, db, memory):
        seen = [db.get("a"), db.get("b")]
        db.put(order, ",".join(map(str, seen)))
        db.delete("a")
        return "COMMIT_MESSAGE"

    asked, _, _ = run_through(listener, ["1", None, None, None])
    assert asked == ["get a", "get b", "put o1 1,None", "delete a"]


def test_memory_is_written_once_however_often_the_function_is_run():
    def listener(order, db, memory):
        memory["times"] = memory.get("times", 0) + 1
        db.get("a")
        memory["times"] += 1
        db.get("b")
        del memory["old"]
        return "COMMIT_MESSAGE" if "old" not in memory and len(memory) == 1 else "UNKNOW"

    start = Map([("old", "x")])
    _, memory, result = run_through(listener, [None, None], start)
    assert memory == {"times": 2} and result == Finished("COMMIT_MESSAGE")


def test_a_lost_connection_is_an_exception_that_can_be_caught():
    def careful(order, db, memory):
        try:
            db.put(order)
        except DatabaseError:
            return "UNKNOW"
        return "COMMIT_MESSAGE"

    assert run_through(careful, [LOST])[2] == Finished("UNKNOW")
    (state, error) = (run_through(execute, [LOST])[2].state, run_through(execute, [LOST])[2].error)
    assert state == "UNKNOW" and error.startswith("DatabaseError: put o1 paid")


def test_a_function_cannot_hold_on_to_a_statement_that_is_out():
    """Neither a bare except nor a finally goes on working while it waits."""

    def stubborn(order, db, memory):
        try:
            db.put("a")
        except:  # noqa: E722
            memory["kept"] = "on"
        finally:
            db.put("b")
        return "COMMIT_MESSAGE"

    task, memory, result = run_task(stubborn, Task("o1"), EMPTY)
    assert result == Statement("put", "a", "paid") and memory == EMPTY
    task, memory, result = run_task(stubborn, task.resume(None), memory)
    assert result == Statement("put", "b", "paid")


def test_what_depends_on_chance_is_stopped():
    dice = random.Random(1)

    def lucky(order, db, memory):
        db.put(f"row-{dice.random()}")
        return "COMMIT_MESSAGE"

    task, memory, _ = run_task(lucky, Task("o1"), EMPTY)
    with pytest.raises(NotRepeatable, match="on no clock and on no chance"):
        run_task(lucky, task.resume(None), memory)


@pytest.mark.parametrize(
    ("returned", "state", "error"),
    [("COMMIT_MESSAGE", "COMMIT_MESSAGE", ""), (None, None, ""),
     ("COMMIT", "UNKNOW", "the listener returned 'COMMIT'; expected COMMIT_MESSAGE, "
      "ROLLBACK_MESSAGE, UNKNOW")],
)  # fmt: skip
def test_what_a_listener_may_return(returned, state, error):
    assert run_task(lambda *_: returned, Task("o1"), EMPTY)[2] == Finished(state, error)


def test_a_scripted_listener_repeats_its_last_answer():
    told = Scripted("throw", ("null", "UNKNOW"))
    assert told.answer(0) == Finished("UNKNOW", "RuntimeException")
    assert [told.answer(n).state for n in (1, 2, 3)] == [None, "UNKNOW", "UNKNOW"]


# -- in a process that may die --------------------------------------------------------------

DIES = """\
system rocketmq release=4.9 check_interval_ms=7000 producers=app:order-service,twin:order-service
kill app when={when} after={after}
run app: send-in-transaction orders-0 o1
at 7000
fire broker check"""


def test_memory_is_lost_with_the_process_and_not_shared():
    """The answer of a listener that notes it in its process is wrong everywhere else."""

    def note(order, db, memory):
        db.put(order)
        memory[order] = "done"
        return "COMMIT_MESSAGE"

    def look(order, db, memory):
        return "COMMIT_MESSAGE" if order in memory else "ROLLBACK_MESSAGE"

    text = DIES.format(when="EndTransaction#1", after=0)
    run = drive(text, execute=note, check=look)
    assert rows(run) == {"o1": "paid"} and queue(run, "orders-0") == []
    assert queue(drive(text), "orders-0") == ["o1 (1)"], "the order service asks the database"
