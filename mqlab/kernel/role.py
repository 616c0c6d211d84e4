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

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Protocol

from .maps import Map
from .text import Text
from .values import frozen


@frozen
class Caller:
    """A return address: the role that asked, the number of its connection, and the
    number it gave its request. An answer on a connection that broke is never delivered."""

    name: str
    conn: int = 0
    corr: int = 0


# ---- events ---------------------------------------------------------------------------


@frozen
class Request:
    """Somebody asks (over a connection, or a role of the same node)."""

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
    """The connection to `peer` broke. What was asked may still arrive; no answer will."""

    peer: str
    at_ms: int = 0


@frozen
class Call:
    """The application beside this client role calls it."""

    body: Any
    at_ms: int = 0


Event = Request | Response | Appended | AppendFailed | Fired | ConnectionLost | Call


# ---- effects --------------------------------------------------------------------------


@frozen
class Send:
    """Ask role `to`. `corr` tells this role's open requests to `to` apart."""

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
    """Write one key of a durable table; `value` None removes it."""

    table: str
    key: Any
    value: Any


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
    timer: str


@frozen
class Return:
    """The application's call returns with this value."""

    value: Any


Effect = Send | Reply | Append | Put | Truncate | Flush | SetTimer | CancelTimer | Return
Effects = tuple[Effect, ...]


# ---- the disk, and the role -----------------------------------------------------------


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
    """What the drivers need of a role. `describe_changes` tells, in words, what a step changed in
    memory (a frontier that moved, a state entered); most roles inherit `Quiet`."""

    def step(self, event: Event, disk: Disk) -> tuple[Any, Effects]: ...

    def describe_changes(self, old: Any) -> tuple[Text, ...]: ...


@frozen
class Quiet:
    """A role that has nothing to add to what its effects already tell."""

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
