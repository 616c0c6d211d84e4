"""Who is in the live picture: a few clients, and a few roles of each kind there is.

The broker says which kinds there are, from left to right behind the clients, and how a role's
lane is headed. A place is given to whoever comes first, and taken only from one that has been
silent for long, so that the picture does not flicker when more are at work than there is room
for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...kernel import Lane, Text, Words
from .texts import cut

CLIENT = 0  # the first kind of lanes; the others are the broker's
CLIENTS = 4
SILENT = 1_000  # steps without a fact, after which a place may be taken

CONNECTION = Words("{what}, {name}", "{what}，{name}")


@dataclass
class Client:
    """A connection: whose it is, what kind of client it seems to be, whether it is open."""

    title: str
    what: Words
    up: bool = True


@dataclass
class Lanes:
    """`most`: how many lanes of each kind there is room for, from the second kind on;
    `kind_of(name)`: which of these kinds a role is of, from 1; `head(kind, name)`: its lane.
    `used`: by lane, the number of the step of its last fact. `changes` counts."""

    most: tuple[int, ...]
    kind_of: Callable[[str], int]
    head: Callable[[int, str], Lane]
    clients: dict[str, Client] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    _sorted: tuple[int, dict[int, list[str]]] | None = None

    def admit(self, name: str, step: int) -> bool:
        """Whether there is a lane for this participant, now that it wants one."""
        if name not in self.used:
            kind = self._kind(name)
            peers = [n for n in self.used if self._kind(n) == kind]
            if len(peers) >= (CLIENTS, *self.most)[kind] and not self._give_way(peers, step):
                return False
            self.changes += 1
        self.used[name] = step
        return True

    def _give_way(self, peers: list[str], step: int) -> bool:
        oldest = min(peers, key=lambda n: (self._up(n), self.used[n]))
        if self._up(oldest) and step - self.used[oldest] < SILENT:
            return False
        del self.used[oldest]
        return True

    def _up(self, name: str) -> bool:
        return name not in self.clients or self.clients[name].up

    def _kind(self, name: str) -> int:
        return CLIENT if name in self.clients else self.kind_of(name)

    def note_client(self, conn: str, title: str, what: Words) -> None:
        """A client has asked for something: it is known by its transactional id, if it has
        one, else by its client id."""
        old = self.clients.get(conn)
        if old is None or (old.title, old.what) != (title, what):
            self.clients[conn] = Client(title, what)
            self.changes += 1

    def end_client(self, conn: str) -> bool:
        """Whether the client that left has a lane, which now ends."""
        if conn not in self.used:
            self.clients.pop(conn, None)
            return False
        self.clients[conn].up = False
        self.changes += 1
        return True

    def forget_clients(self) -> None:
        """Forget clients that have left and have no lane any more."""
        gone = [n for n, c in self.clients.items() if not c.up and n not in self.used]
        for name in gone:
            del self.clients[name]

    def list_names(self, kind: int) -> list[str]:
        """The lanes of a kind, in the order of their numbers."""
        if self._sorted is None or self._sorted[0] != self.changes:
            by_kind: dict[int, list[str]] = {}
            for name in sorted(self.used, key=_natural):
                by_kind.setdefault(self._kind(name), []).append(name)
            self._sorted = self.changes, by_kind
        return self._sorted[1].get(kind, [])

    def draw(self) -> tuple[Lane, ...]:
        lanes = []
        for name in self.list_names(CLIENT):
            client = self.clients[name]
            subtitle = CONNECTION(what=client.what(), name=name)
            title = Text(cut(client.title or name))
            lanes.append(Lane(name, title, subtitle, client.up))
        for kind in range(1, len(self.most) + 1):
            lanes += [self.head(kind, name) for name in self.list_names(kind)]
        return tuple(lanes)


def _natural(name: str) -> tuple[str, int]:
    head, _, number = name.rpartition("-")
    return (head, int(number)) if number.isdigit() else (name, 0)
