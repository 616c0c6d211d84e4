"""What a picture needs to know of a world, in words every broker shares.

A `Snapshot` is what `System.snapshot(world)` gives after each fact: lanes, logs with
their frontiers, what each reader would get now, state graphs, internal tables, the
lights of the invariants and the money. Views draw Snapshots and know no broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .maps import frozen
from .text import NOTHING, Text


@frozen
class Lane:
    """A participant of the space-time diagram. `name` is the role's address. `part`: of what it is
    a part for those who see it from outside, such as a broker; NOTHING for what is a part by
    itself. `subtitle`: a line below the name; `up`: the node runs."""

    name: str
    title: Text
    subtitle: Text = NOTHING
    up: bool = True
    part: Text = NOTHING


class Word(str):
    """A label that is a word of the model's own, which a picture says in its language; any other
    is a record's content. A saved trace does not distinguish them."""

    __slots__ = ()


@frozen
class Cell:
    """One offset of a log.

    `kind`: "data" (square), "control" (diamond) or "copy": data that is earlier in
    this log too, and was written again because a log cannot be changed (paler square).
    `txn`: "T1", "T2" … or "" outside any transaction. `readable`: a reader of committed data
    may see it now. `aborted`: data of an aborted transaction (struck through, stays in the log).
    """

    offset: int
    label: str
    kind: str = "data"
    txn: str = ""
    readable: bool = True
    aborted: bool = False


@frozen
class Frontier:
    """A named position in a log: it is drawn before the cell with offset `at`. `inclusive`: its
    system calls it by the offset of the last cell before it."""

    name: str
    at: int
    inclusive: bool = False


@frozen
class Stretch:
    """The offsets `first` to `last` of a log, with which a reader is done, or which transaction
    `txn` has taken for it until that ends. `refused`: a transaction that asked for them as well
    and was refused because they are taken."""

    first: int
    last: int
    txn: str = ""
    refused: str = ""


@frozen
class Progress:
    """How far one reader of a log has come, where the owner of the log knows it offset by offset: a
    row below the cells. Before offset `at` it is done with everything. `stretches`: what is done,
    pending or refused after that."""

    name: str
    at: int
    stretches: tuple[Stretch, ...] = ()


@frozen
class Log:
    """A row of cells; `start` is the first offset drawn (a long log is windowed).

    `ends`: the log whose transactions this log's control records end, where that is not the log
    itself: a marker comes after its data, but RocketMQ's op messages are in a topic of their own
    and speak of the half topic. `progress`: a row for each reader. `frontiers`: high watermark,
    last stable offset …"""

    name: str
    cells: tuple[Cell, ...] = ()
    frontiers: tuple[Frontier, ...] = ()
    start: int = 0
    ends: str = ""
    progress: tuple[Progress, ...] = ()


@frozen
class Got:
    """A record that a reader has been given."""

    log: str
    label: str
    txn: str = ""


@frozen
class Reader:
    """What one isolation level or subscription gets now; `note` says what is odd. `log`: what it
    reads, where it reads one log only; readers of one name are distinguished by it. `plain`: what
    it is, for a reader who does not know the name. `half`: it holds a part of a transaction now.
    `got`: the records that it gets."""

    name: str
    got: tuple[Got, ...] = ()
    note: Text = NOTHING
    log: str = ""
    plain: Text = NOTHING
    half: bool = False


@frozen
class Table:
    """An internal table, rows sorted by key (the first column). `columns`: their names."""

    name: Text
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


@frozen
class GraphState:
    """A state of a state graph with its place on a grid of columns and rows."""

    name: str
    column: int
    row: int


@frozen
class Graph:
    """A state machine drawn from its transition table.

    `path`: the states visited so far, the last one is the current state ("" entries never appear).
    `txn` colours the path. `edges`: (from, to)."""

    title: Text
    states: tuple[GraphState, ...]
    edges: tuple[tuple[str, str], ...]
    path: tuple[str, ...] = ()
    txn: str = ""


@frozen
class Light:
    """An invariant: `ok` is false from the step that breaks it. `sentence`: what must be true."""

    name: str
    sentence: Text
    ok: bool = True


@frozen
class Money:
    """The money that should be (`due`) and the money that is (`seen`), in pence or cents; what
    each of them is in words (`owed`, `shown`).

    `missing` of what is due will never come, `extra` of what is seen should not be there. What else
    is between the two sums is not settled yet: something is still in flight. `currency`: its
    sign."""

    due: int
    seen: int
    owed: Text
    shown: Text
    missing: int = 0
    extra: int = 0
    currency: str = "£"

    @property
    def right(self) -> bool:
        """Whether nothing is lost and nothing is counted twice."""
        return not self.missing and not self.extra


@frozen
class Snapshot:
    """One position of the slider, without the space-time history (that is the facts). `lanes`,
    `logs`, `readers`, `graphs`, `tables`: what is drawn; `lights`: the invariants; `money`: what is
    due and what is seen."""

    lanes: tuple[Lane, ...] = ()
    logs: tuple[Log, ...] = ()
    readers: tuple[Reader, ...] = ()
    graphs: tuple[Graph, ...] = ()
    tables: tuple[Table, ...] = ()
    lights: tuple[Light, ...] = ()
    money: Money | None = None


Part = Callable[[str, str, Callable[[], Any]], Any]
"""How a part of a Snapshot is made: (what, of which, how). Who draws one picture after the other
of what goes on may give the part that it has made before."""


def draw_part(what: str, of: str, make: Callable[[], Any]) -> Any:
    """A lesson's worlds are many: each part is made."""
    return make()
