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
global variable would differ between two runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from ...kernel import Map, replace
from ..messages import Statement
from ..states import LocalTransactionState

#: execute(order, db, memory) and check(order_id, db, memory)
Rule = Callable[[str, "Db", MutableMapping[str, Any]], Any]

#: in a journal, in place of a statement's answer: the connection broke before it came
LOST = "\0lost"
#: in a journal: there is no such key in memory
MISSING = "\0missing"


class DatabaseError(Exception):
    """The connection to the database broke. Whether the statement was committed is unknown."""


class _Leave(BaseException):
    """Raised inside a listener at its first statement that has no answer yet."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement


@dataclass(frozen=True, slots=True)
class Task:
    """A listener's function at work. `times`: which check this is, 0 for the local transaction.
    `journal`: what it has read so far; `about`: what its result will be sent with."""

    order: str
    times: int = 0
    journal: tuple[Any, ...] = ()
    about: Any = None

    def tell(self, value: Any) -> Task:
        """The task once the answer to its statement is there, or the connection is LOST."""
        return replace(self, journal=(*self.journal, value))


@dataclass(frozen=True, slots=True)
class Finished:
    """What a function returned; `state` None: null. `error`: it raised this instead."""

    state: LocalTransactionState | None
    error: str = ""


class _Journal:
    """What was read so far, given once more in the same order; then what is read now."""

    def __init__(self, past: tuple[Any, ...], memory: Map[str, Any]) -> None:
        self.past, self.memory = past, memory
        self.entries: list[Any] = []

    def take(self, now: Callable[[], Any]) -> Any:
        done = len(self.entries)
        self.entries.append(self.past[done] if done < len(self.past) else now())
        return self.entries[-1]

    def leave(self, statement: Statement) -> Any:
        raise _Leave(statement)


class Db:
    """The database as a listener sees it. Each call is committed when it returns; one that
    raises `DatabaseError` may be committed or not."""

    def __init__(self, journal: _Journal) -> None:
        self._journal = journal

    def get(self, key: str) -> str | None:
        """The row's value; None: there is no such row."""
        found: str | None = self._run(Statement("get", key))
        return found

    def put(self, key: str, value: str = "paid") -> None:
        """Write a row."""
        self._run(Statement("put", key, value))

    def delete(self, key: str) -> None:
        """Remove a row."""
        self._run(Statement("delete", key))

    def _run(self, statement: Statement) -> Any:
        said = self._journal.take(lambda: self._journal.leave(statement))
        if said == LOST:
            raise DatabaseError(f"{statement}: the connection broke before the answer came")
        return said


class _Memory(MutableMapping[str, Any]):
    """A dictionary of the process. What is written is kept with the role's state."""

    def __init__(self, journal: _Journal) -> None:
        self._journal = journal

    def __getitem__(self, key: str) -> Any:
        found = self._journal.take(lambda: self._journal.memory.get(key, MISSING))
        if found == MISSING:
            raise KeyError(key)
        return found

    def __setitem__(self, key: str, value: Any) -> None:
        self._write(lambda memory: memory.set(key, value))

    def __delitem__(self, key: str) -> None:
        self[key]
        self._write(lambda memory: memory.remove(key))

    def __iter__(self) -> Iterator[str]:
        keys: tuple[str, ...] = self._journal.take(lambda: tuple(self._journal.memory))
        return iter(keys)

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def _write(self, change: Callable[[Map[str, Any]], Map[str, Any]]) -> None:
        def now() -> None:
            self._journal.memory = change(self._journal.memory)

        self._journal.take(now)


def run_task(
    rule: Rule, task: Task, memory: Map[str, Any]
) -> tuple[Task, Map[str, Any], Statement | Finished]:
    """Run the function up to its next statement, or to its end: the task with its journal, the
    memory afterwards, and the statement to be sent or what was returned."""
    journal = _Journal(task.journal, memory)
    try:
        returned = rule(task.order, Db(journal), _Memory(journal))
        result: Statement | Finished = _read_state(returned)
    except _Leave as left:
        result = left.statement
    except Exception as error:
        result = Finished(LocalTransactionState.UNKNOW, f"{type(error).__name__}: {error}")
    return replace(task, journal=tuple(journal.entries)), journal.memory, result


def _read_state(returned: Any) -> Finished:
    """What a listener returned, as a state; None stays None, as Java's null does."""
    if returned is None:
        return Finished(None)
    if returned not in tuple(LocalTransactionState):
        known = ", ".join(LocalTransactionState)
        said = f"the listener returned {returned!r}; expected {known}"
        return Finished(LocalTransactionState.UNKNOW, said)
    return Finished(LocalTransactionState(returned))
