"""A broker adapter: what the server needs to serve a protocol.

The server knows sockets, turns, timers, a disk and a journal. It knows no broker. Whatever
depends on the broker it asks an `Adapter`, a value made of plain functions, which
`serve/<broker>/adapter.py` makes:

    frames      how the bytes of one connection become requests, and answers become bytes
    push        how a message to a client becomes bytes, where the protocol has such
    front       the role that gets clients' requests; it may hand parts of it to others
    starting    the roles to start, in order; some of them read along another role's log
    change      roles and logs that come and go with a key of a durable table (Kafka's `topics`)
    gone        who answers a message to a role that is no more
    keeping     how each log is kept: as it is, or only the latest entry of each key
    entries     how an effect becomes bytes of the journal, and is made from them again
    observe     who makes the live trace's picture of what the roles do
    held        the messages whose requests the gate can hold, by name (`serve/gate.py`);
                its observer then knows what comes from outside (`trace/live.py`)
    weigh       bytes that effects hand out and the live trace therefore keeps alive

`Frames` says what a connection may do: several requests in flight, pushes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..kernel import Append, Disk, Effects, Event, Put, Quiet, Text, frozen, worded
from ..kernel.text import WordedError
from .disk import Effect, Entries, Keeping, ServerDisk
from .trace.live import Observer

# ---- What a protocol defines about one connection ---------------------------------------
#
# **Requests.** `Frames` cuts bytes into frames and reads them. It says how many requests of one
# client may be in flight at once, and whether their answers leave in the order of the requests
# (Kafka: one at a time) or as they come. A request that is `one_way` is never answered, and counts
# as none.
#
# **Pushes.** Where an adapter has `push`, a role may `Send` to a client by the name of its
# connection ("conn-3", the name in `Caller.name`; such an adapter gives no role a name like that).
# The message becomes a frame of its own, which leaves at the end of the turn, in the order of
# the effects and whatever requests of that client are in flight. Where the protocol lets the
# client answer it, the answer comes back to the role as `Response("conn-3", corr, body)`, in
# any order, or never.
#
#     the client does not read    Its unsent bytes are bounded. Beyond the bound a push is not
#                                 sent and not kept, and its role gets Response("conn-3",
#                                 corr, Unsent(body)). When the client has read what is in flight,
#                                 each such role gets Response("conn-3", 0, Drained()),
#                                 once: then is the time to try again. No role has to ask meanwhile.
#     too many pushes unanswered  The client is cut off.
#     the client has gone         The front and every role that has pushed to it get
#                                 `ConnectionLost("conn-3")`, once. A role that pushes after that
#                                 hears it at once. Until the server ends, no other
#                                 connection is called "conn-3".
#
# RocketMQ's check-back (the broker asks a producer what became of its transaction) and Pulsar's
# message flow (a broker sends as many messages as a consumer has permitted) are such pushes.


class BadFrame(WordedError):
    """Bytes that are no message of the protocol: the connection is closed."""


class Refused(Exception):
    """A request that is answered without asking any role; `frame` is the answer. `last`: the
    connection closes after it."""

    def __init__(self, frame: bytes, why: str | Text, last: bool = False) -> None:
        super().__init__(why)
        self.frame = frame
        self.last = last


class Hangup:
    """In the place of an answer: close the connection, because of `why`."""

    def __init__(self, why: str | Text) -> None:
        self.why = why


@worded("unsent, the client does not read")
class Unsent:
    """In the place of an answer to a push: the client does not read, `body` was not sent."""

    body: Any


@worded("the client reads again")
class Drained:
    """In the place of an answer to a push that was not sent: the client reads again."""


@dataclass(slots=True)
class ClientRequest:
    """A request. `tag`: what `write` needs to know of it (a correlation id). `one_way`: it has
    no answer. `waits`: it may wait for long, so its client may go without a word. `last`: the
    connection closes after its answer."""

    body: Any
    tag: int = 0
    one_way: bool = False
    waits: bool = False
    last: bool = False


@dataclass(slots=True)
class PushAnswer:
    """A client's answer to push number `number` on its connection."""

    number: int
    body: Any


class Frames(Protocol):
    """The protocol of one connection. `client`: what the client calls itself, "" as long as
    it has not said so. `at_once`: so many of its requests may be in flight. `in_order`:
    answers leave in the order of the requests."""

    client: str
    at_once: int
    in_order: bool

    def cut(self, buffer: bytearray) -> bytes | None:
        """Take the next frame out of the buffer; None while it is not complete. Raises
        BadFrame or Refused as soon as it is clear that it never will be."""

    def read(self, frame: bytes) -> ClientRequest | PushAnswer:
        """What a frame says. Raises BadFrame or Refused."""

    def write(self, request: ClientRequest, answer: Any) -> bytes:
        """The frame of an answer."""

    def name(self, request: ClientRequest) -> str:
        """A request in a few words, for the server's log."""

    def refusals(self, answer: Any) -> Iterable[str]:
        """What an answer refuses, each in a word, for the server's log."""


@frozen
class Peer:
    """Both ends of a connection: (host, port) that the client has reached, and where it is."""

    here: tuple[str, int] = ("127.0.0.1", 0)
    there: tuple[str, int] = ("", 0)


# ---- roles ---------------------------------------------------------------------------


@frozen
class Start:
    """A role to start: `recover(disk, at_ms)` gives it, and its first effects. `reads`: a log
    of another role that it reads along; it gets `Appended` for each append to it, and keeps
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


class Nobody(Quiet):
    """Plays a role that is no more, where none ends for good."""

    def step(self, event: Event, disk: Disk) -> tuple[Nobody, Effects]:
        return self, ()


# ---- the adapter ------------------------------------------------------------------------


def count_nothing(effects: Effects) -> int:
    return 0


def change_nothing(table: str, key: Any, old: Any, new: Any) -> Change:
    return NO_CHANGE


@frozen
class Adapter:
    """A broker and its protocol, as the server needs them; the module's docstring says what each
    field is. `name`: as in `mqlab serve NAME`; `system`: the system line of the trace.
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


# What an effect does to the disk: the same while a server runs, when it starts again, and when a
# damaged journal is salvaged.


def keep(adapter: Adapter, disk: ServerDisk, effect: Effect) -> None:
    """Raises ValueError for an entry that does not belong where its log ends."""
    if isinstance(effect, Append):
        disk.append(effect.log, effect.entry)
    elif isinstance(effect, Put):
        put(adapter, disk, effect)
    else:
        disk.cut(effect.log, effect.end)


def put(adapter: Adapter, disk: ServerDisk, effect: Put) -> tuple[Change, int]:
    """A table's key: what it brings about, and how many bytes it freed."""
    old = disk.table(effect.table).get(effect.key)
    change = adapter.change(effect.table, effect.key, old, effect.value)
    freed = sum(disk.log(log).bytes for log in change.drop)
    disk.put(effect.table, effect.key, effect.value)
    for log_name in change.drop:
        disk.drop(log_name)
    return change, freed


# ---- What one server has room for: connections, and bytes of requests that are not whole yet
#
# Each connection is an open file, of which the system allows so many. Some must be left over: for
# the journal, for the live trace, and for those that the event loop accepts in one go before the
# limit is checked. When all places are taken the client that has been silent for longest gives way,
# as with Kafka's `connections.max.idle.ms`, only later.

log = logging.getLogger("mqlab.serve")

BACKLOG = 100  # connections that the event loop accepts in one go
SPARE = 40  # files for everything else
WANTED = 65_536  # files, where the system lets us ask for more
LEAST = 16
HELD = 256 << 20  # bytes of unfinished requests, of all clients together
HALF_S = 30.0  # how long an unfinished request may make no progress


def max_connections() -> int:
    """Return how many client connections this process has room for: the files that the system lets
    it open, less those that the server itself needs; LEAST in any case, WANTED where there is no
    limit. First raises the soft limit of open files as far as the hard one allows, to WANTED at
    most."""
    try:
        import resource
    except ImportError:  # not on Windows
        return WANTED
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit == resource.RLIM_INFINITY:
        return WANTED  # no limit: as many as this server would ask for
    wanted = WANTED if hard_limit == resource.RLIM_INFINITY else min(hard_limit, WANTED)
    if soft_limit < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard_limit))
            soft_limit = wanted
        except (OSError, ValueError):
            log.debug("the limit of %d open files stays", soft_limit)
    return max(soft_limit - BACKLOG - SPARE, LEAST)


def max_traces(places: int) -> int:
    """How many may ask for the live trace at once. Each may leave some 100 kB unread."""
    return min(max(places // 8, 8), 64)


def log_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The exception handler of the event loop: logs an error of the system in one line. It has no
    more files, say, and will try again in a second."""
    error = context.get("exception")
    if isinstance(error, OSError):
        log.warning("%s: %s", context.get("message", "the event loop"), error.strerror or error)
    else:
        loop.default_exception_handler(context)
