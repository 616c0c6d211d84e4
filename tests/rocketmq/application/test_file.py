"""One story on the engine's table and on a file, with a process that dies at each statement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqlab.rocketmq import application
from mqlab.rocketmq.application import Db, OrderFile
from mqlab.rocketmq.messages import Statement
from tests.rocketmq.driven import drive, queue, rows

DIES = """
import os, sys
from mqlab.rocketmq.application import OrderFile
from mqlab.rocketmq.application import Db
from tests.rocketmq.application.test_file import execute

path, last = sys.argv[1], int(sys.argv[2])
file, made = OrderFile(path), 0

def run(statement):
    global made
    if made == last:
        os._exit(9)
    made += 1
    return file.run(statement)

execute("o1", Db(run), {})
os._exit(9 if made == last else 0)
"""


def execute(order, db, memory):
    """Three rows and one that goes again: five statements."""
    db.put("stock", "7")
    db.put(f"{order}-begun", "yes")
    left = int(db.get("stock")) - 1
    db.put(order, f"paid, {left} left")
    db.delete(f"{order}-begun")
    return "COMMIT_MESSAGE"


@pytest.mark.parametrize("last", range(6))
def test_a_process_that_dies_leaves_the_same_rows(last: int, tmp_path: Path) -> None:
    """After `last` of five statements; then somebody is asked, and answers from what is left."""
    path = tmp_path / "orders.db"
    died = subprocess.run([sys.executable, "-c", DIES, str(path), str(last)], check=False)
    assert died.returncode == 9
    file = OrderFile(path)
    dies = "EndTransaction#1" if last == 5 else f"Statement#{last + 1}"
    run = drive(
        f"""\
system rocketmq early=on check_interval_ms=7000 producers=app:order-service,twin:order-service
kill app when={dies} after=0
run app: send-in-transaction orders-0 o1
at 7000
fire broker check""",
        execute=execute,
    )
    assert file.read_rows() == rows(run)
    answer = application.check("o1", Db(file.run), {})
    assert (answer == "COMMIT_MESSAGE") is (queue(run, "orders-0") == ["o1 (1)"]) is (last >= 4)


def test_each_statement_on_a_file(tmp_path: Path) -> None:
    file = OrderFile(tmp_path / "orders.db")
    assert file.run(Statement("get", "a")) is None
    assert file.run(Statement("put", "a", "1")) is None
    assert file.run(Statement("put", "a", "2")) is None
    assert OrderFile(tmp_path / "orders.db").run(Statement("get", "a")) == "2", "opened again"
    assert file.run(Statement("insert", "a", "3")) == "2", "there was a row"
    assert file.run(Statement("insert", "b", "4")) == "4"
    assert file.read_rows() == {"a": "2", "b": "4"}
    file.run(Statement("delete", "a"))
    file.run(Statement("delete", "b"))
    assert file.read_rows() == {}
