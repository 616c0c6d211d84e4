"""A broker's home: what the server must be told in order to serve a protocol.

The server knows sockets, turns, timers, a disk and a journal. It knows no broker. Whatever
depends on the broker it asks a `Home`, a value made of plain functions, which
`serve/<broker>/home.py` makes:

    frames      how the bytes of one connection become requests, and answers become bytes
    push        how a message to a client becomes bytes, where the protocol has such
    front       the role that hears what clients ask; it may hand parts of it to others
    starting    the roles to start, in order; some of them read along another role's log
    change      roles and logs that come and go with a key of a durable table (Kafka's `topics`)
    gone        who answers a message to a role that is no more
    keeping     how each log is kept: as it is, or only the latest entry of each key
    entries     how an effect becomes bytes of the journal, and is made from them again
    observe     who makes the live trace's picture of what the roles do
    held        the messages whose requests the door can hold, by name (`serve/gate.py`);
                its observer then knows what comes from outside (`trace/outside.py`)
    weigh       bytes that effects hand out and the live trace therefore keeps alive

`protocol.py` says what a connection may do: several requests under way, pushes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..kernel import Effects, frozen
from .disk import Keeping, ServerDisk
from .entries import Entries
from .protocol import Frames, Peer
from .trace.observer import Observer


class ServeError(Exception):
    """The server cannot start; the message says why and what to do."""


def keep_on(
    safeguards: Iterable[str], off: Iterable[str], of_clients: Iterable[str] = ()
) -> frozenset[str]:
    """The safeguards that stay when these are switched off, to show real clients what each is for.
    `of_clients`: those that act in no server. Raises ServeError for one of these, and for one that
    there is not."""
    known, theirs = tuple(safeguards), tuple(of_clients)
    here = ", ".join(name for name in known if name not in theirs)
    for name in off:
        if name in theirs:
            why = f"safeguard {name!r} acts in the client, and a real client brings its own"
            raise ServeError(f"{why}; the server has: {here}")
        if name not in known:
            raise ServeError(f"no safeguard {name!r}; there are: {here}")
    return frozenset(known) - frozenset(off)


# ---- roles -----------------------------------------------------------------------------------


@frozen
class Start:
    """A role to start: `recover(disk, at_ms)` gives it, and its first effects. `reads`: a log
    of another role that it reads along; it hears `Appended` of each append to it, and keeps
    out of the live trace's picture."""

    name: str
    recover: Callable[[ServerDisk, int], tuple[Any, Effects]]
    reads: str = ""


@frozen
class Change:
    """What a new value of a durable table's key brings about: roles that begin, roles that
    end, logs that are dropped."""

    begin: tuple[Start, ...] = ()
    end: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


NO_CHANGE = Change()


# ---- the home --------------------------------------------------------------------------------


def count_nothing(effects: Effects) -> int:
    return 0


def change_nothing(table: str, key: Any, old: Any, new: Any) -> Change:
    return NO_CHANGE


@frozen
class Home:
    """See above. `name`: as in `mqlab serve NAME`; `system`: the system line of the trace.
    `push(number, body)`: the frame of a push, and whether the client may answer it, naming
    `number` (1, 2 … on each connection); None where the protocol has no pushes."""

    name: str
    system: str
    front: str
    frames: Callable[[Peer], Frames]
    starting: Callable[[ServerDisk], Iterable[Start]]
    gone: Any
    entries: Entries
    observe: Callable[[int, Callable[[str], Any]], Observer]
    keeping: Keeping = Keeping()
    change: Callable[[str, Any, Any, Any], Change] = change_nothing
    held: tuple[str, ...] = ()
    weigh: Callable[[Effects], int] = count_nothing
    push: Callable[[int, Any], tuple[bytes, bool]] | None = None
