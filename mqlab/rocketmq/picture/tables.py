"""What is no queue, as rows of text: the database, who can be asked, what waits in memory.

table                        made from                                    key
database                     the database's one table                     order
producer group               the broker's memory, by heartbeats           client
op records in memory only    the broker's memory (5.1 and later)          place of the half
timers                       the broker's node                            timer
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...kernel import Table
from ..broker.checking import CHECK
from ..check.ops import OP_BATCH
from ..group import Producers
from ..log.offsets import PERSIST
from . import words
from .transactions import Book
from .view import Limits

DATABASE_COLUMNS = ("order", "row")
GROUP_COLUMNS = ("client", "producer group", "")
WAITING_COLUMNS = ("half @", "order")
TIMER_COLUMNS = ("timer", "after", "")
ALL = Limits()
#: the broker's timers, by the settings that they follow
SETTINGS = {
    CHECK: "transactionCheckInterval",
    OP_BATCH: "transactionOpBatchInterval",
    PERSIST: "flushConsumerOffsetInterval",
}


def draw_rows(rows: Iterable[tuple[str, str]]) -> Table:
    return Table(words.DATABASE_TABLE(), DATABASE_COLUMNS, tuple(sorted(rows)))


def draw_group(producers: Producers, limits: Limits = ALL) -> Table:
    """Everybody who has sent a heartbeat; the mark stands at the one whose turn is next."""
    rows = []
    for group, clients in producers.groups.items():
        next_one = clients[producers.counter % len(clients)]
        rows += [
            (client, limits.cut(group), words.ASKED_NEXT().en if client == next_one else "")
            for client in clients
        ]
    return Table(words.GROUP_TABLE(), GROUP_COLUMNS, tuple(rows[: limits.rows]))


def draw_waiting(ops: Sequence[int], book: Book, limits: Limits = ALL) -> Table:
    """Ends that are not recorded yet; a kill forgets them."""
    rows = []
    for place in ops[: limits.rows]:
        txn = book.at_place(place)
        rows.append((str(place), txn.order if txn is not None else ""))
    return Table(words.WAITING_TABLE(), WAITING_COLUMNS, tuple(rows))


def draw_timers(timers: Iterable[tuple[str, int]]) -> Table:
    """The next one to run out stands first."""
    rows = tuple((name, f"{ms / 1000:g} s", SETTINGS.get(name, "")) for name, ms in timers)
    return Table(words.TIMERS_TABLE(), TIMER_COLUMNS, rows)
