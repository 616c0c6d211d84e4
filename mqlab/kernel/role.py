"""Roles: who takes part, what happens to them, what they may ask for.

A *role* (a transaction coordinator, a partition leader, a producer …) is one frozen
dataclass with two methods:

    step(event, disk)               -> (role', effects)
    recover(config, disk, at_ms)    -> (role, effects)      after a start or a restart

Inside there is no clock, no randomness, no I/O, no loop over a set. Whatever a role wants
done it returns as **effects, an ordered list, and the order is the lesson**: the machine
may stop after any prefix of it, and `recover` must then make sense of the disk.

`disk` may only be read. A record appended in this step is on this node's disk when its
turn comes; that it is *safe* the role learns by a later event, `Appended`. What must wait
for safety (an answer to a client, a marker) belongs in the step of that event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from enum import Enum
from typing import Any, Protocol

from .maps import Map, frozen
from .text import Text, phrase_word


@frozen
class Caller:
    """A return address: the role that asked, the number of its connection, and the number it gave
    its request. An answer on a connection that broke is never delivered. `conn`, `corr`: these
    numbers."""

    name: str
    conn: int = 0
    corr: int = 0


# ---- events --------------------------------------------------------------------------


@frozen
class Request:
    """A request arrives (over a connection, or from a role of the same node)."""

    caller: Caller
    body: Any
    at_ms: int = 0


@frozen
class Response:
    """An answer to the request this role sent as number `corr` to `peer`."""

    peer: str
    corr: int
    body: Any
    at_ms: int = 0


@frozen
class Appended:
    """Everything below offset `end` of this role's `log` is safe (replicated)."""

    log: str
    end: int
    at_ms: int = 0


@frozen
class AppendFailed:
    """The record at offset `end - 1` could not be made safe."""

    log: str
    end: int
    error: str
    at_ms: int = 0


@frozen
class Fired:
    """A timer this role set has run out."""

    timer: str
    at_ms: int = 0


@frozen
class ConnectionLost:
    """The connection to `peer` broke. What was asked may still arrive; no answer will. `refused`:
    there was none, since `peer` is down, and what was asked has not arrived."""

    peer: str
    at_ms: int = 0
    refused: bool = False


@frozen
class Call:
    """The application beside this client role calls it."""

    body: Any
    at_ms: int = 0


Event = Request | Response | Appended | AppendFailed | Fired | ConnectionLost | Call


# ---- effects -------------------------------------------------------------------------


@frozen
class Send:
    """Ask role `to`. `corr` distinguishes this role's open requests to `to`."""

    to: str
    body: Any
    corr: int = 0


@frozen
class Reply:
    """Answer a request."""

    caller: Caller
    body: Any


@frozen
class Append:
    """Write `entry` at the end of this role's own `log` (`entry.base` must be its end).

    `notify`: this node is the only replica, so `Appended` follows as an event of its own.
    """

    log: str
    entry: Any
    notify: bool = True


@frozen
class Put:
    """Write one key of a durable table; `value` None removes it. `synced`: at once, so that a power
    cut does not undo it."""

    table: str
    key: Any
    value: Any
    synced: bool = False


@frozen
class Truncate:
    """Cut `log` back to `end`."""

    log: str
    end: int


@frozen
class Flush:
    """fsync: what is on the disk now survives a power cut too."""


@frozen
class SetTimer:
    """Wake me after `after_ms`; setting a pending timer again replaces it."""

    timer: str
    after_ms: int


@frozen
class CancelTimer:
    """Take back a timer that has not fired; `timer`: its name."""

    timer: str


@frozen
class Return:
    """The application's call returns with this value."""

    value: Any


Effect = Send | Reply | Append | Put | Truncate | Flush | SetTimer | CancelTimer | Return
Effects = tuple[Effect, ...]


# ---- the disk, and the role ----------------------------------------------------------


class LogView(Protocol):
    """A log as a role reads it, no matter who keeps it (memory here, a file in the server)."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    def read(self, start: int, end: int | None = None) -> Iterator[Any]: ...


class Disk(Protocol):
    """A disk as a role reads it."""

    def log(self, name: str) -> LogView: ...
    def logs(self, prefix: str = "") -> tuple[str, ...]: ...
    def table(self, name: str) -> Map[Any, Any]: ...


class Role(Protocol):
    """What the drivers need of a role. `describe_changes` reports, in words, what a step changed in
    memory (a frontier that moved, a state entered); most roles inherit `Quiet`."""

    def step(self, event: Event, disk: Disk) -> tuple[Any, Effects]: ...

    def describe_changes(self, old: Any) -> tuple[Text, ...]: ...


@frozen
class Quiet:
    """A role that has nothing to add to what its effects already show."""

    def describe_changes(self, old: Any) -> tuple[Text, ...]:
        return ()


@frozen
class Config:
    """What every role's configuration holds: the safeguards that are on, and, for an
    effect group of one step, another order than the role's own ("a Parsons exercise")."""

    on: frozenset[str] = frozenset()
    order: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())

    def arrange(self, step: str, **groups: Effects) -> Effects:
        """The groups' effects one after the other: as written, or as `order` says for
        this step. A group that `order` leaves out is not done at all."""
        for name, order in self.order:
            if name == step:
                return tuple(e for group in order for e in groups[group])
        return tuple(e for group in groups.values() for e in group)


# ---- What a call of an application gave back -----------------------------------------
#
# There are three kinds of outcome, and a careful application treats all three differently:
# `ok`, `failed` (definite: it did not happen) and `unknown` (indefinite: it may have). Maelstrom
# distinguishes its errors by the same two words (jepsen-io/maelstrom, doc/protocol.md, "Errors").
#
# An outcome keeps the call itself, so that a claim about an application asks the call for its
# fields, and does not parse its words.

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


@frozen
class Outcome:
    """`call`: the call as the application made it. `status`: `ok`, `failed` or `unknown`.
    `detail`: the error's name, or what was read. `meaning`: the same for programs, where they
    distinguish several: the error itself, its kind, a state; None where they need not. A call whose
    details hold words of the model's own says them by its `say_detail`."""

    call: object
    status: str = OK
    detail: str = ""
    meaning: object = None

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def result(self) -> str:
        """What came back, in words: `ok @7`, `failed InvalidTxnStateException`."""
        return f"{phrase_word(self.status)} {self.say_detail()}".rstrip()

    def say_detail(self) -> str:
        """The detail as a `phrase`."""
        if self.detail == "nothing":
            return phrase_word(self.detail)
        say = getattr(self.call, "say_detail", str) if self.ok else _say_failure
        return str(say(self.detail))

    def __str__(self) -> str:
        return f"{self.call}: {self.result}"


def _say_failure(why: str) -> str:
    """`InvalidTxnStateException, fatal`, `IllegalStateException: commit timed out`, or a sentence:
    the error is a name, and what follows is said in words."""
    for mark in (": ", ", "):
        error, _, rest = why.rpartition(mark)
        if error and (said := phrase_word(rest)) != rest:
            return f"{error}: {said}"
    return phrase_word(why)


def build_success(call: object, detail: str = "", meaning: object = None) -> Outcome:
    """It was done; `detail` says what was read, where something was."""
    return Outcome(call, OK, detail, meaning)


def build_failure(call: object, why: object, meaning: object = None) -> Outcome:
    """It was not done; `why` is an error, which says itself what it means, or a sentence."""
    return Outcome(call, FAILED, str(why), why if isinstance(why, Enum) else meaning)


# ---- Applications: what a client's owner wrote, as data ------------------------------
#
# A *client role* is the real client's state machine. The *application* beside it is either
# a tuple of calls with a program counter, or a Python function that is run again from its
# first line against the recorded results of its earlier calls. Both ways its state is just
# the list of results: hashable, and a crash starts it from line one.


class _Asked(BaseException):
    """Raised inside a learner's function at the first call that has no result yet."""

    def __init__(self, call: Any) -> None:
        self.call = call


class Asking:
    """What a function application is given: `client(call)` returns the call's result."""

    def __init__(self, results: tuple[Any, ...]) -> None:
        self._results = results
        self._next = 0

    def __call__(self, call: Any) -> Any:
        if self._next == len(self._results):
            raise _Asked(call)
        self._next += 1
        return self._results[self._next - 1]


Program = tuple[Any, ...] | Callable[[Asking], None]


@frozen
class AppState:
    """A program, the results so far, and whether a call is out. `waiting`: that."""

    program: Program = ()
    results: tuple[Any, ...] = ()
    waiting: bool = False

    def next_call(self) -> Any | None:
        """The call the application makes now; None while it waits and when it is done."""
        if self.waiting:
            return None
        if isinstance(self.program, tuple):
            done = len(self.results)
            return self.program[done] if done < len(self.program) else None
        try:
            self.program(Asking(self.results))
        except _Asked as asked:
            return asked.call
        return None
