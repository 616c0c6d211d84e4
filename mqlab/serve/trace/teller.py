"""What observers share: lanes, parts of a picture, a fact's words. Steps and facts are counted, and
a fact is shown only of participants that have a lane, its words made only where a follower
listens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Generic, TypeVar

from ...kernel import (
    Caller,
    Effect,
    Effects,
    Event,
    Fact,
    FactKind,
    Lane,
    Light,
    Send,
    Telling,
    Text,
    Words,
    escape_unseen,
    shorten,
    tr,
)
from ...kernel.claims import Claim
from ...kernel.run import RECOVERED, TIMER, describe_effect, new_fact
from ...kernel.story import BROKER, FAULTS, tell
from ...kernel.text import NOTHING
from ...kernel.trace import plain_of
from .live import Dropped, Killed, Outside, Step

# ---- Texts that a client has had a part in: made short, with nothing unseen in them --

LONGEST = 300  # characters of a fact: a client's id may have 32,767
TITLE = 60  # characters of a name


def clip(text: Text) -> Text:
    """The words of a fact."""
    en, zh = (escape_unseen(shorten(words, LONGEST)) for words in (text.en, text.zh))
    return Text(en, zh)


def cut(name: str) -> str:
    """A name that a client chose."""
    return escape_unseen(shorten(name, TITLE))


# ---- Who is in the live picture: a few clients, and a few roles of each kind there is
#
# A server sees connections, people know programs, and a program has several connections, one
# after the other and two at a time. So a lane is a client's, called as the client calls itself, and
# all its connections are drawn there. Connections of one client share its work: one asks the
# coordinator, another sends records. Where two that are open ask for the same, there are two
# programs
# of one name, such as a producer and the zombie before it, and each has a lane.
#
# The broker says which kinds of roles there are, from left to right after the clients, and how
# a role's lane is headed. A place is given to the first one that comes, and taken only from one
# that
# has been silent for long, so that the picture does not flicker when more are at work than there is
# room for.

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
            heads = (self.head(kind, name) for name in self.list_names(kind))
            lanes += [replace(head, part=BROKER) for head in heads]
        return tuple(lanes)


def _natural(name: str) -> tuple[str, int]:
    head, _, number = name.rpartition("-")
    return (head, int(number)) if number.isdigit() else (name, 0)


Listener = Callable[[Fact], None]

CLOSED = Words("connection closed")
WHY_CLOSED = Words(
    "The client has closed its connection, or has died: to a broker both look the same."
)

LOST = Words("lost with its connection: {what}")
SHORT_LOST = tr("lost")
WHY_LOST = tr(
    "Nobody but the client knows that it asked: it finds its connection closed, and no answer."
)
NODE_KILLED = Words("killed, with every role of this node")
UNHEARD = Words("killed, with every role of this node, before the answer to {what} has left")
SHORT_UNHEARD = tr("killed, its answer unsent")
WHY_KILLED = tr("Memory is gone and every connection is broken; what was written is found again.")


class Teller:
    """`facts`, `steps`: how many there were so far. A broker's observer says `explain`."""

    def __init__(self, lanes: Lanes, started_ms: int) -> None:
        self.lanes = lanes
        self.facts = 0
        self.steps = 0
        self.held: dict[Caller, int] = {}
        self._started_ms = started_ms
        self._listener: Listener | None = None
        self._at_ms = 0

    def explain(self, fact: Fact) -> Text:
        """One sentence why, where the step's own telling has none."""
        raise NotImplementedError

    def tell_step(self, name: str, role: Any, event: Event | None, effects: Effects) -> None:
        """Draw a step of the role `name` into the model, and tell its facts. `role`: as it is after
        the step; `event`: None where it has just started."""
        raise NotImplementedError

    def note_step(self, name: str, role: Any, event: Event | None, effects: Effects) -> None:
        """Update the model by a step that is not told: only what a later picture needs is kept."""
        raise NotImplementedError

    def take(self, step: Step, listener: Listener | None = None) -> None:
        """Draw the next recorded step into the model; its facts are counted, and worded where a
        `listener` follows."""
        at_ms, name, role, event, effects = step
        self._count(at_ms, listener)
        if role is None or isinstance(role, Outside):
            self._from_outside(name, role)
        else:
            self.tell_step(name, role, event, effects)

    def skip(self, step: Step) -> None:
        """Update the model by a step that has left the ring of recorded steps before it was to be
        drawn. It counts as one fact at least, so that a follower sees by the numbers that it missed
        some."""
        at_ms, name, role, event, effects = step
        self._count(at_ms, None)
        self.facts += 1
        if role is None or isinstance(role, Outside):
            self._from_outside(name, role)
        else:
            self.note_step(name, role, event, effects)

    def _say_why(self, fact: Fact, telling: Telling) -> Text:
        """One sentence, that of the step itself where it has one."""
        return telling.why if telling.why.en else self.explain(fact)

    def _count(self, at_ms: int, listener: Listener | None) -> None:
        """A step begins: notify `listener`."""
        self.steps += 1
        self._at_ms, self._listener = at_ms - self._started_ms, listener

    def _fact(self, node: str, peer: str, effect: Effect, meaning: Callable[[], Telling]) -> None:
        """An effect's fact, if all participants in it have a lane; its words only where a follower
        listens."""
        admit, step = self.lanes.admit, self.steps
        request = type(effect.body).__name__ if isinstance(effect, Send) else ""
        if not admit(node, step, request) or (peer != DISK and not admit(peer, step)):
            return
        if self._listener is None:
            self.facts += 1
        elif (fact := describe_effect(node, effect)) is not None:
            self._add(fact, meaning())

    def _add(self, fact: Fact, telling: Telling) -> None:
        """Count one fact, and give it to the listener (where there is one) with lanes in place of
        names, its number, its time, and what `telling` says of it: its transaction, whether its row
        is folded away, a short label, the reason, the stage of the transaction, a sentence for the
        level *Story*; texts are cut to LONGEST characters."""
        self.facts += 1
        if self._listener is not None:
            self._listener(
                replace(
                    fact,
                    node=self.lanes.find(fact.node),
                    peer=self.lanes.find(fact.peer),
                    index=self.facts,
                    step=self.steps,
                    text=clip(fact.text),
                    txn=telling.txn,
                    fold=fact.fold or telling.fold,
                    label=clip(telling.label),
                    why=clip(why := self._say_why(fact, telling)),
                    stage=str(telling.stage or ""),
                    story=clip(self._tell(fact, telling, why)),
                    at_ms=self._at_ms,
                )
            )

    def _tell(self, fact: Fact, telling: Telling, why: Text) -> Text:
        lanes = self.lanes.draw() if telling.story or fact.kind in FAULTS else ()
        return tell(fact, telling.story, lanes, txn=telling.txn, what=telling.record, why=why)

    def _add_recovery(self, name: str, role: Any) -> None:
        for text in role.describe_changes(None) or (RECOVERED(),):
            self._add(new_fact(FactKind.RECOVERY, name, text, body=text.made), Telling())

    def _add_timer(self, name: str, timer: str) -> None:
        self._add(new_fact(FactKind.TIMER, name, TIMER(name=timer), body=timer), Telling())

    def _add_change(self, name: str, text: Text, telling: Telling | None = None) -> None:
        change = new_fact(FactKind.CHANGE, name, text, body=text.made)
        self._add(change, telling or Telling())

    def _from_outside(self, name: str, what: Outside | None) -> None:
        """Tell what happened from outside the roles: `what` is a crash of the node on which the
        role `name` is, which ends the connections of all clients; a request of the client `name`
        dropped at the gate, which ends its connection; or None where that client has gone."""
        if isinstance(what, Killed):
            for client in list(self.lanes.conns):
                self.lanes.end_client(client)
            self.held.clear()
            # the lane that tells of it: of that role, else of the first role drawn; kinds of roles
            # are numbered from 1, in the order of `most`
            kinds = range(1, len(self.lanes.most) + 1)
            roles = [role for kind in kinds for role in self.lanes.list_names(kind)]
            if roles:
                node = name if name in roles else roles[0]
                text = UNHEARD(what=what.unanswered) if what.unanswered.en else NODE_KILLED()
                telling = Telling(
                    label=SHORT_UNHEARD if what.unanswered.en else NOTHING, why=WHY_KILLED
                )
                self._add(new_fact(FactKind.KILL, node, text), telling)
        elif isinstance(what, Dropped):
            lane, _ = self.lanes.end_client(name)
            if lane:
                lost = new_fact(FactKind.BREAK, lane, LOST(what=what.text), what.to)
                self._add(lost, Telling(label=SHORT_LOST, why=WHY_LOST))
        else:
            self._end_client(name)
        # requests that waited at the gate go with their client
        self.held = {who: fact for who, fact in self.held.items() if who.name != name}

    def _end_client(self, conn: str) -> None:
        """A connection has ended: it is shown of a client that has a lane, and is of interest where
        it was the client's last."""
        lane, stays = self.lanes.end_client(conn)
        if lane:
            closed = new_fact(FactKind.CLOSE, lane, CLOSED())
            self._add(closed, Telling(fold=stays, why=WHY_CLOSED()))
        self.lanes.forget_clients()


# What the brokers' live pictures are made of: parts that are made again only when they have
# changed, the end of a log, and texts that have room in a cell.

T = TypeVar("T")

MOST, LEAST = 40, 24  # cells kept of a log: beyond the one, it is cut to the other
LABEL = 12  # characters of a cell's text, or of a longer one:
HEAD, TAIL = 2, 5  # as many of its beginning and of its end
READABLE = 8 * LABEL  # bytes of a record that are looked at


class Same:
    """A value that is never changed, as a version: equal only to itself. To compare what is in it
    would cost its size."""

    __slots__ = ("what",)

    def __init__(self, what: Any) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)


class Lights:
    """The claims that are watched on a server that goes on. A light that went red stays red: the
    claim was broken since the server started, whatever comes after."""

    def __init__(self, claims: Sequence[Claim[Any]]) -> None:
        self.claims = claims
        self.red: set[str] = set()

    def judge(self, claim: Claim[Any], holds: bool) -> None:
        if not holds:
            self.red.add(claim.name)

    def draw(self) -> tuple[Light, ...]:
        return tuple(Light(c.name, c.words(), c.name not in self.red) for c in self.claims)


class Parts:
    """The parts of a Snapshot as plain JSON values, by name. An answer holds a change for each of
    hundreds of facts: parts that did not change stay the same objects, which a comparison sees at
    once, so a fact costs what it changed. `version(what, of)`: of what a part is made from."""

    def __init__(self, version: Callable[[str, str], Hashable] = lambda what, of: None) -> None:
        self.version = version
        self._made: dict[str, tuple[Hashable, Any]] = {}

    def make(self, name: str, version: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` makes, or what it made before where the version is the same."""
        old = self._made.get(name)
        if old is None or old[0] != version:
            value = make()
            # Equal is as good as unchanged, and quicker to compare from now on.
            if old is not None and old[1] == value:
                value = old[1]
            self._made[name] = old = (version, value)
        return old[1]

    def draw(self, what: str, of: str, make: Callable[[], Any]) -> Any:
        """A part as `kernel.snapshot.Part` says it."""
        version = self.version(what, of)
        return self.make(f"{what} {of}", version, lambda: plain_of(make()))


class LogTail(Generic[T]):
    """The end of a log. `changes` counts, so that a picture knows it is old."""

    def __init__(self) -> None:
        self.cells: deque[T] = deque()
        self.changes = 0

    def add(self, entry: T) -> None:
        self.changes += 1
        self.cells.append(entry)
        if len(self.cells) > MOST:
            # Several at once, so that a picture's cells do not all move at every append.
            while len(self.cells) > LEAST:
                self.cells.popleft()


def read_text(data: str | bytes | None) -> str:
    """The beginning of a record, "" where it is no text that can be shown."""
    try:
        text = data if isinstance(data, str) else (data or b"")[:READABLE].decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def label(text: str) -> str:
    """As much of a text as a cell has room for: of a longer one both ends, since what names have in
    common they begin with."""
    short = escape_unseen(text[: LABEL + 1])
    if len(text) <= LABEL and len(short) <= LABEL:
        return short
    return f"{short[:HEAD]}…{escape_unseen(text[-TAIL:])[-TAIL:]}"
