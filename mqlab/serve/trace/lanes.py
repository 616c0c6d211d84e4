"""Who is in the live picture: a few clients, and a few roles of each kind there is.

A server hears of connections, people know programs, and a program has several connections, one
after the other and two at a time. So a lane is a client's, called as the client calls itself, and
all its connections are drawn there. Connections of one client share its work: one asks the
coordinator, another sends records. Where two that are open ask for the same, there are two programs
of one name, such as a producer and the zombie before it, and each has a lane.

The broker says which kinds of roles there are, from left to right behind the clients, and how
a role's lane is headed. A place is given to the first one that comes, and taken only from one that
has been silent for long, so that the picture does not flicker when more are at work than there is
room for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from ...kernel import Lane, Text, Words
from .texts import cut

CLIENT = 0  # the first kind of lanes; the others are the broker's
CLIENTS = 4
SILENT = 1_000  # steps without a fact, after which a place may be taken
DISK = "disk"  # whom a write goes to; no client is called so

HAS_LEFT = Words("{what}, has left")


@dataclass
class Connection:
    """What its client calls itself, what kind of client it seems to be, the lane it is drawn in
    ("": none yet) and the kinds of requests it has sent."""

    title: str
    what: Words
    lane: str = ""
    requests: set[str] = field(default_factory=set)


@dataclass
class Lanes:
    """`most`: how many lanes of each kind there is room for, from the second kind on;
    `kind_of(name)`: which of these kinds a role is of, from 1; `head(kind, name)`: its lane.
    `conns`: the connections that are open; `clients`: by lane, what each client is. `used`: by
    lane, the number of the step of its last fact. `changes` counts."""

    most: tuple[int, ...]
    kind_of: Callable[[str], int]
    head: Callable[[int, str], Lane]
    conns: dict[str, Connection] = field(default_factory=dict)
    clients: dict[str, Words] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    _sorted: tuple[int, dict[int, list[str]]] | None = None

    def admit(self, name: str, step: int, request: str = "") -> bool:
        """Whether there is a lane for this participant, now that it wants one. `request`: the kind
        of request that a connection sends."""
        if name in self.conns:
            name = self._place(name, request)
        if name not in self.used:
            kind = self._kind(name)
            peers = [n for n in self.used if self._kind(n) == kind]
            if len(peers) >= (CLIENTS, *self.most)[kind] and not self._give_way(peers, step):
                return False
            self.changes += 1
            if kind != CLIENT:
                self._rename(self.head(kind, name).name)
        self.used[name] = step
        return True

    def _give_way(self, peers: list[str], step: int) -> bool:
        oldest = min(peers, key=lambda n: (self._up(n), self.used[n]))
        if self._up(oldest) and step - self.used[oldest] < SILENT:
            return False
        del self.used[oldest]
        return True

    def _up(self, name: str) -> bool:
        return name not in self.clients or any(self._list_open(name))

    def _kind(self, name: str) -> int:
        return CLIENT if name in self.clients else self.kind_of(name)

    # -- clients and their connections -------------------------------------------------------

    def find(self, name: str) -> str:
        """The lane of a participant: a connection is drawn in its client's."""
        conn = self.conns.get(name)
        return conn.lane or cut(conn.title) or name if conn is not None else name

    def note_client(self, name: str, title: str, what: Words) -> None:
        """A client has asked for something on this connection: it is known by its transactional id
        or its group, if it has one, else by its client id."""
        conn = self.conns.setdefault(name, Connection(title, what))
        conn.title, conn.what = title, what
        if self.clients.get(conn.lane, what) != what:
            self.clients[conn.lane] = what
            self.changes += 1

    def end_client(self, name: str) -> tuple[str, bool]:
        """A connection has ended: its client's lane ("" where there is none), and whether the
        client has another."""
        conn = self.conns.pop(name, None)
        if conn is None or conn.lane not in self.used:
            return "", False
        self.changes += 1
        return conn.lane, self._up(conn.lane)

    def forget_clients(self) -> None:
        """Forget clients that have left and have no lane any more."""
        for name in [n for n in self.clients if n not in self.used and not self._up(n)]:
            del self.clients[name]

    def _place(self, name: str, request: str) -> str:
        conn = self.conns[name]
        if not conn.lane:
            names = self._list_names(cut(conn.title or name))
            conn.lane = next(n for n in names if not self._does(n, request))
            if self.clients.get(conn.lane) != conn.what or not self._list_open(conn.lane)[1:]:
                self.changes += 1
            self.clients[conn.lane] = conn.what
        conn.requests.add(request)
        return conn.lane

    def _list_names(self, title: str) -> Iterator[str]:
        """What lanes of this client may be called; no part of the broker is called so."""
        roles = [self.head(self._kind(n), n).name for n in self.used if n not in self.clients]
        for i in count(1):
            name = f"{title} ({i})" if i > 1 else title
            if name not in (DISK, *roles):
                yield name

    def _rename(self, name: str) -> None:
        """A part of the broker has the name of a client, which is called otherwise from now on."""
        if self.clients.pop(name, None) is not None:
            self.used.pop(name, None)
            for conn in self._list_open(name):
                conn.lane = ""

    def _does(self, lane: str, request: str) -> bool:
        """Whether a connection of this lane does such work already."""
        return bool(request) and any(request in conn.requests for conn in self._list_open(lane))

    def _list_open(self, lane: str) -> list[Connection]:
        return [conn for conn in self.conns.values() if conn.lane == lane]

    # -- the picture -------------------------------------------------------------------------

    def list_names(self, kind: int) -> list[str]:
        """The lanes of a kind, in the order of their numbers."""
        if self._sorted is None or self._sorted[0] != self.changes:
            by_kind: dict[int, list[str]] = {}
            for name in sorted(self.used, key=_natural):
                by_kind.setdefault(self._kind(name), []).append(name)
            self._sorted = self.changes, by_kind
        return self._sorted[1].get(kind, [])

    def draw(self) -> tuple[Lane, ...]:
        """A client that has left is not down: a broker cannot tell an end from a crash."""
        lanes = []
        for name in self.list_names(CLIENT):
            what = self.clients[name]()
            lanes.append(Lane(name, Text(name), what if self._up(name) else HAS_LEFT(what=what)))
        for kind in range(1, len(self.most) + 1):
            lanes += [self.head(kind, name) for name in self.list_names(kind)]
        return tuple(lanes)


def _natural(name: str) -> tuple[str, int]:
    head, _, number = name.rpartition("-")
    return (head, int(number)) if number.isdigit() else (name, 0)
