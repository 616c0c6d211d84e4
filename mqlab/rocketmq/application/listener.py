"""Running a transaction listener statement by statement, as a process that may die in between.

A listener is two functions:

    execute(order, db, memory)     the local transaction, once the half message is stored
    check(order_id, db, memory)    asked by the broker later: what became of it?

`db` is the shared database, `memory` a dictionary of this process. Each call on `db` leaves
the function: it is a request, and the process waits. When the answer is there, the function is
run again from its first line, and everything that it read before, from `db` or from `memory`,
it is told once more from a journal. So a function in the middle of its work is a list of values,
and nothing it wrote to `memory` is written twice.

A function may use nothing but its arguments: what it took from a clock, from chance or from a
global variable would differ between two runs. Where that makes it ask for something else than
before, it is stopped (`NotRepeatable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from ...kernel import Map, Words, frozen, replace
from ..messages import Statement
from ..states import LocalTransactionState

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
        """The answer to what is asked, from the journal or, behind its end, from `now`."""
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
        """Write a row if there is none; returns the value that stands there now. Both are one
        statement, as INSERT … ON CONFLICT DO NOTHING in SQL: nobody can write in between."""
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
    """Run the function up to its next statement, or to its end: the task with its journal, the
    memory afterwards, and the statement to be sent or what was returned."""
    journal = _Journal(task.journal, memory)
    try:
        result = _read_state(rule(task.order, Db(journal.run), _Memory(journal)))
    except _Leave:
        pass
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
