"""The order service: a listener as one should be written, and one that follows a script.

The first is the whole idea in seven lines. The local transaction writes the order's row; asked
later, the service looks the row up. What it answers is in the database and nowhere else, so
any process of the group can be asked, and one that was killed in between gives the right answer
when it is back. No row is no proof that there will be none: the local transaction may still be
running, in another process. So the answer is UNKNOW, not ROLLBACK_MESSAGE, and the broker asks
again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ..kernel import (
    Disk,
    Effects,
    Event,
    Flush,
    Map,
    Put,
    Quiet,
    Reply,
    Request,
    Words,
    frozen,
    replace,
)
from .messages import Statement, StatementResponse
from .states import LocalTransactionState

# Running a transaction listener statement by statement, as a process that may die in between
#
# A listener is two functions:
#
#     execute(order, db, memory)     the local transaction, once the half message is stored
#     check(order_id, db, memory)    asked by the broker later: what became of it?
#
# `db` is the shared database, `memory` a dictionary of this process. Each call on `db` leaves
# the function: it is a request, and the process waits. When the answer is there, the function is
# run again from its first line, and everything that it read before, from `db` or from `memory`,
# it gets once more from a journal. So a function in the middle of its work is a list of values,
# and nothing it wrote to `memory` is written twice.
#
# A function may use nothing but its arguments: what it took from a clock, from chance or from a
# global variable would differ from one pass to the next. Where that makes it ask for something else
# than before, it is stopped (`NotRepeatable`).

#: execute(order, db, memory) and check(order_id, db, memory)
Rule = Callable[[str, "Db", MutableMapping[str, Any]], Any]

#: what was asked, and what was read
Entry = tuple[str, Any]
Entries = tuple[Entry, ...]
#: in a journal, in place of a statement's answer: the connection broke before it came
LOST = "\0lost"
#: in a journal: there is no such key in memory
MISSING = "\0missing"


DIFFERS = Words(
    "run again with the same answers, the listener came to “{now}” where it had come to "
    "“{before}”: it may depend on its arguments only, on no clock and on no chance"
)


class DatabaseError(Exception):
    """The connection to the database broke. Whether the statement was committed is unknown."""


class NotRepeatable(BaseException):
    """Run again with the same answers, the function asked for something else."""

    def __init__(self, before: str, now: str) -> None:
        self.text = DIFFERS(now=now, before=before)
        super().__init__(str(self.text))


class _Leave(BaseException):
    """Raised inside a listener at its first statement that has no answer yet."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement


@frozen
class Task:
    """A listener's function at work. `times`: which check this is, 0 for the local transaction.
    `journal`: what it has read so far; `statement`: the one that it waits for, "" for none;
    `about`: what its result will be sent with."""

    order: str
    times: int = 0
    journal: Entries = ()
    statement: str = ""
    about: Any = None

    def resume(self, value: Any) -> Task:
        """The task once the answer to its statement is there, or the connection is LOST."""
        return replace(self, journal=(*self.journal, (self.statement, value)), statement="")


@frozen
class Finished:
    """What a function returned; `state` None: null. `error`: it raised this instead."""

    state: LocalTransactionState | None
    error: str = ""


class _Journal:
    """What was asked and read so far, given once more in the same order; then what is new. Once a
    statement is out the function is being left: whatever a `finally` or a bare `except` still
    asks for leaves it the same way."""

    def __init__(self, past: Entries, memory: Map[str, Any]) -> None:
        self.past, self.memory = past, memory
        self.entries: list[Entry] = []
        self.left: _Leave | None = None

    def take(self, question: str, now: Callable[[], Any]) -> Any:
        """The answer to what is asked, from the journal or, past its end, from `now`."""
        if self.left is not None:
            raise self.left
        done = len(self.entries)
        if done < len(self.past):
            before, _ = self.past[done]
            if before != question:
                raise NotRepeatable(before, question)
            self.entries.append(self.past[done])
        else:
            self.entries.append((question, now()))
        return self.entries[-1][1]

    def run(self, statement: Statement) -> str | None:
        """The answer to a statement, once it is there."""

        def leave() -> None:
            self.left = _Leave(statement)
            raise self.left

        answer: str | None = self.take(str(statement), leave)
        if answer == LOST:
            raise DatabaseError(f"{statement}: the connection broke before the answer came")
        return answer


class Db:
    """The database as a listener sees it, no matter who runs its statements. Each call is committed
    when it returns; one that raises `DatabaseError` may be committed or not."""

    def __init__(self, run: Callable[[Statement], str | None]) -> None:
        self._run = run

    def get(self, key: str) -> str | None:
        """The row's value; None: there is no such row."""
        return self._run(Statement("get", key))

    def put(self, key: str, value: str = "paid") -> None:
        """Write a row."""
        self._run(Statement("put", key, value))

    def insert(self, key: str, value: str = "paid") -> str | None:
        """Write a row if there is none; returns the value that is there now. Both are one
        statement, as INSERT … ON CONFLICT DO NOTHING in SQL: no other write comes in between."""
        return self._run(Statement("insert", key, value))

    def delete(self, key: str) -> None:
        """Remove a row."""
        self._run(Statement("delete", key))


class _Memory(MutableMapping[str, Any]):
    """A dictionary of the process. What is written is kept with the role's state."""

    def __init__(self, journal: _Journal) -> None:
        self._journal = journal

    def __getitem__(self, key: str) -> Any:
        value = self._journal.take(f"memory {key}", lambda: self._journal.memory.get(key, MISSING))
        if value == MISSING:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        self._write(f"memory {key} = {value}", lambda memory: memory.set(key, value))

    def __delitem__(self, key: str) -> None:
        self[key]
        self._write(f"memory without {key}", lambda memory: memory.remove(key))

    def __iter__(self) -> Iterator[str]:
        keys: tuple[str, ...] = self._journal.take("memory", lambda: tuple(self._journal.memory))
        return iter(keys)

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def _write(self, what: str, change: Callable[[Map[str, Any]], Map[str, Any]]) -> None:
        def now() -> None:
            self._journal.memory = change(self._journal.memory)

        self._journal.take(what, now)


def run_task(
    rule: Rule, task: Task, memory: Map[str, Any]
) -> tuple[Task, Map[str, Any], Statement | Finished]:
    """Run a listener function up to its next database statement or to its end. It is called from
    the beginning each time; the journal answers the statements that were already carried out.
    Returns the task with its journal, the process's memory, and the statement to be sent or the
    function's result."""
    journal = _Journal(task.journal, memory)
    try:
        result = _read_state(rule(task.order, Db(journal.run), _Memory(journal)))
    except _Leave:
        pass  # raised inside the function, at a statement that has no result yet
    except Exception as error:
        result = Finished(LocalTransactionState.UNKNOW, f"{type(error).__name__}: {error}")
    new = replace(task, journal=tuple(journal.entries))
    if journal.left is not None:
        statement = journal.left.statement
        return replace(new, statement=str(statement)), journal.memory, statement
    return new, journal.memory, result


def _read_state(returned: Any) -> Finished:
    """What a listener returned, as a state; None stays None, as Java's null does."""
    if returned is None:
        return Finished(None)
    if returned not in tuple(LocalTransactionState):
        known = ", ".join(LocalTransactionState)
        error = f"the listener returned {returned!r}; expected {known}"
        return Finished(LocalTransactionState.UNKNOW, error)
    return Finished(LocalTransactionState(returned))


COMMIT, ROLLBACK, UNKNOW = LocalTransactionState
NULL, THROW = "null", "throw"
#: what a scripted listener can be instructed to do
ANSWERS = (*LocalTransactionState, NULL, THROW)


def execute(order: str, db: Db, memory: MutableMapping[str, Any]) -> LocalTransactionState:
    """executeLocalTransaction"""
    db.put(order, "paid")
    return COMMIT


def check(order_id: str, db: Db, memory: MutableMapping[str, Any]) -> LocalTransactionState:
    """checkLocalTransaction"""
    return UNKNOW if db.get(order_id) is None else COMMIT


@frozen
class Scripted:
    """A listener without a database, for scenarios about the protocol alone: what the local
    transaction comes to, and what each check is answered; the last answer is repeated."""

    execute: str = COMMIT
    checks: tuple[str, ...] = (UNKNOW,)

    def answer(self, times: int) -> Finished:
        """`times`: the number of the check, 0 for the local transaction."""
        what = self.execute if times == 0 else self.checks[min(times, len(self.checks)) - 1]
        if what == THROW:
            return Finished(UNKNOW, "RuntimeException")
        return Finished(None if what == NULL else LocalTransactionState(what))


# The order service's database: one table of rows, each statement a transaction of its own
#
# It is a node of its own, because the processes of a producer group share it: any of them that is
# asked about an order must be able to look it up, also where another process has written it. A
# process that dies takes nothing of it along. *What can go wrong:* the connection breaks after the
# statement was committed and before its answer arrived. The caller gets an exception then, and
# the row is there all the same.
#
# A service can also write down that an order will never have its row: it *inserts* the row with the
# value "refused", before the order does. One statement looks and writes, as with a primary key in
# any SQL database, so of two that insert the same row one gets back what the other has written.
#
# *Left out:* transactions of several statements. A service that writes two rows in one transaction
# writes one value here.

TABLE = "orders"
#: the value of a row that is no order: it says that there will be none
REFUSED = "refused"


@frozen
class Database(Quiet):
    """All that it knows is on its disk."""

    def step(self, event: Event, disk: Disk) -> tuple[Database, Effects]:
        match event:
            case Request(caller=caller, body=Statement(verb="get", key=key)):
                return self, (Reply(caller, StatementResponse(disk.table(TABLE).get(key))),)
            case Request(caller=caller, body=Statement(verb="insert", key=key, value=value)):
                there = disk.table(TABLE).get(key)
                if there is not None:
                    return self, (Reply(caller, StatementResponse(there)),)
                answer = Reply(caller, StatementResponse(value))
                return self, (Put(TABLE, key, value), Flush(), answer)
            case Request(caller=caller, body=Statement(verb=verb, key=key, value=value)):
                write = Put(TABLE, key, None if verb == "delete" else value)
                return self, (write, Flush(), Reply(caller, StatementResponse()))
        # It sends nothing and waits for nothing.
        return self, ()

    @classmethod
    def recover(cls, disk: Disk, at_ms: int) -> tuple[Database, Effects]:
        return cls(), ()


# ---- The order service's table in an SQLite file, for a process that is really killed
#
# Inside the engine the table is a value on the database's disk (`Database`). A listener that was
# written for it runs unchanged against a file: `execute(order, Db(OrderFile(path).run), memory)`.
# No role of the engine uses this; a lesson's database may (`mqlab/lessons/rocketmq/systems.py`),
# and
# tests run the same scenarios and schedules on both and compare the rows.

SCHEMA = "CREATE TABLE IF NOT EXISTS orders (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
COMMANDS = {
    "get": "SELECT value FROM orders WHERE key = :key",
    "put": "INSERT OR REPLACE INTO orders VALUES (:key, :value)",
    "insert": "INSERT OR IGNORE INTO orders VALUES (:key, :value)",
    "delete": "DELETE FROM orders WHERE key = :key",
}


class OrderFile:
    """A table in a file. Every statement has a connection and a commit of its own, so that nothing
    is left open when its process dies."""

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        with closing(sqlite3.connect(self._path)) as connection:
            connection.execute(SCHEMA)
            connection.commit()

    def run(self, statement: Statement) -> str | None:
        """Run a statement and commit it; the value that was read, if one was."""
        names = {"key": statement.key, "value": statement.value}
        with closing(sqlite3.connect(self._path)) as connection:
            row = connection.execute(COMMANDS[statement.verb], names).fetchone()
            if statement.verb == "insert":
                row = connection.execute(COMMANDS["get"], names).fetchone()
            connection.commit()
        return None if row is None else str(row[0])

    def read_rows(self) -> dict[str, str]:
        """All rows, by key."""
        with closing(sqlite3.connect(self._path)) as connection:
            return dict(connection.execute("SELECT key, value FROM orders ORDER BY key"))
