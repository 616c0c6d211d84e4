"""A learner's two functions under watch: run twice and compared, timed, and counted.

    execute(order, db, memory)     the local transaction
    check(order_id, db, memory)    asked later: what became of it?

The engine runs such a function again from its first line whenever an answer has come
(`mqlab.rocketmq.application`), so it must do the same again. `watch` makes sure of it:
each call is repeated at once with the answers that it had, and whatever differs is reported. It
also stops a call that takes a second without calling anything, and one that calls `db` or `memory`
for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ....kernel import Words
from ....rocketmq.application import Db, Rule
from ....rocketmq.messages import Statement
from ...check import TooLong, limit_time

LIMIT_S = 1.0
#: a function that asks for more goes round for ever
CALLS = 30
Memory = MutableMapping[str, Any]

DIFFERS = Words(
    "run twice with the same answers, `{name}` came to “{first}” and then to “{second}”: it may "
    "depend on its arguments only, on no clock, no chance and nothing that it kept from before"
)
ENDLESS = Words(
    "`{name}` was stopped after {after} without a call: is there a loop without an end?"
)
TOO_MANY = Words(
    "`{name}` calls `db` and `memory` more than {calls} times: is there a loop without an end?"
)

NOT_PLAIN = Words(
    "`{name}` keeps what is no plain value (`{what}`): rows are texts under texts, and `memory` "
    "holds texts, numbers, None and tuples of them"
)


class Unruly(BaseException):
    """A function broke a rule of the exercise; its text says which. No `Exception`: the engine
    takes those for what a listener raises, and that is UNKNOW."""


class Stub(BaseException):
    """Nothing is written yet."""


@dataclass
class _Watch:
    """What a call asked for, and the answers; `earlier` holds those of the call before, if it is to
    be given them again. `left`: what it was left by, since the engine has no answer yet."""

    name: str
    earlier: list[tuple[str, Callable[[], Any]]] | None = None
    noted: list[tuple[str, Callable[[], Any]]] = field(default_factory=list)
    left: BaseException | None = None

    def ask(self, what: str, do: Callable[[], Any]) -> Any:
        if self.left is not None:
            raise self.left
        at = len(self.noted)
        if at >= CALLS:
            raise Unruly(TOO_MANY(name=self.name, calls=CALLS))
        if self.earlier is not None:
            before, do = self.earlier[at] if at < len(self.earlier) else ("its end", do)
            if before != what:
                raise Unruly(DIFFERS(name=self.name, first=before, second=what))
        answer = self._perform(do)
        self.noted.append((what, answer))
        return answer()

    def _perform(self, do: Callable[[], Any]) -> Callable[[], Any]:
        """Its answer, as a function that gives it again, be it an exception."""
        try:
            return partial(_give, do())
        except BaseException as error:
            if not isinstance(error, Exception):
                self.left = error
            return partial(_throw, error)


def _give(value: Any) -> Any:
    return value


def _throw(error: BaseException) -> Any:
    raise error


class _Watched(MutableMapping[str, Any]):
    """`memory`, each use of it noted."""

    def __init__(self, watch: _Watch, memory: Memory) -> None:
        self._watch, self._memory = watch, memory

    def __getitem__(self, key: str) -> Any:
        return self._watch.ask(f"memory[{key!r}]", lambda: self._memory[key])

    def __setitem__(self, key: str, value: Any) -> None:
        if not (isinstance(key, str) and _is_plain(value)):
            raise Unruly(NOT_PLAIN(name=self._watch.name, what=f"memory[{key!r}] = {value!r}"))
        what = f"memory[{key!r}] = {value!r}"
        self._watch.ask(what, lambda: self._memory.__setitem__(key, value))

    def __delitem__(self, key: str) -> None:
        self._watch.ask(f"del memory[{key!r}]", lambda: self._memory.__delitem__(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._watch.ask("the keys of memory", lambda: tuple(self._memory)))

    def __len__(self) -> int:
        return len(tuple(iter(self)))


def watch(name: str, rule: Rule) -> Rule:
    """Return the learner's function, made to run twice for each call: the second time it is given
    the same answers, and must do the same. `name` is what a message calls it. The result raises
    Unruly where it does not, and Stub where nothing is written."""

    def watched(order: str, db: Db, memory: Memory) -> Any:
        first_watch = _Watch(name)
        first_end = _run(first_watch, rule, order, db, memory)
        second_watch = _Watch(name, earlier=first_watch.noted)
        second_end = _run(second_watch, rule, order, db, memory)
        # `noted`: the calls, each with its answer; the second call ended earlier
        if len(second_watch.noted) < len(first_watch.noted):
            missed = first_watch.noted[len(second_watch.noted)][0]
            raise Unruly(DIFFERS(name=name, first=missed, second=second_end[0]))
        if first_watch.left is not None:  # no answer yet: the engine goes on later
            raise first_watch.left
        if first_end[0] != second_end[0]:
            raise Unruly(DIFFERS(name=name, first=first_end[0], second=second_end[0]))
        return first_end[1]()

    return watched


def _run(noting: _Watch, rule: Rule, order: str, db: Db, memory: Memory) -> tuple[str, Any]:
    """Run the learner's function `rule` once, for `order`, with its database and memory, and return
    how it ended: in words, and as a function that ends the same way (returns the value, or raises
    the error). Raises Stub where nothing is written, and Unruly where it runs too long or keeps
    what is no plain value. `noting`: notes each call with its answer or, where the function is run
    a second time to compare, gives the answer noted before."""

    def run(statement: Statement) -> Any:
        if not (isinstance(statement.key, str) and isinstance(statement.value, str)):
            raise Unruly(NOT_PLAIN(name=noting.name, what=f"db.{statement}"))
        return noting.ask(str(statement), partial(perform, db, statement))

    try:
        with limit_time(LIMIT_S):
            value = rule(order, Db(run), _Watched(noting, memory))
        return f"return {value!r}", partial(_give, value)
    except NotImplementedError:  # what the unwritten function raises
        raise Stub from None
    except TooLong as late:
        raise Unruly(ENDLESS(name=noting.name, after=str(late))) from None
    except Unruly:
        raise
    except BaseException as error:
        return f"{type(error).__name__}: {error}", partial(_throw, error)


def _is_plain(value: Any) -> bool:
    """What a process can be stopped with, and compared by: it does not change in place."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool | None)


def perform(db: Db, statement: Statement) -> str | None:
    """Run a statement on a listener's database."""
    match statement:
        case Statement(verb="get", key=key):
            return db.get(key)
        case Statement(verb="insert", key=key, value=value):
            return db.insert(key, value)
        case Statement(verb="delete", key=key):
            db.delete(key)
        case Statement(key=key, value=value):
            db.put(key, value)
    return None
