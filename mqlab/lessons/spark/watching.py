"""The money of a trial while it goes on: what the job should add up, and what it has so far.

Only who knows the orders can say this. To the broker amounts are bytes, so its live picture has
no money; the bench asks the topic (or the database) as accounting would, again and again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from ...kernel import Money
from .sink_runs import ADDED_UP, ORDERED

if TYPE_CHECKING:
    from ...spark.job import Row

Show = Callable[[Money], None]
EVERY_S = 1.0


def add_up(rows: Collection[Row], due_tenths: int, over: bool = False) -> Money:
    """A minute that is there again is counted twice. A minute that is not there is missing once the
    job is `over`."""
    seen = sum(row.tenths for row in rows)
    once = sum({row.minute: row.tenths for row in rows}.values())
    return Money(
        _pence(due_tenths),
        _pence(seen),
        ORDERED(),
        ADDED_UP(),
        missing=_pence(max(due_tenths - once, 0)) if over else 0,
        extra=_pence(max(seen - once, 0)),
    )


def _pence(tenths: int) -> int:
    return round(tenths / 10)


@contextmanager
def watch_money(read: Callable[[], Collection[Row]], due_tenths: int, show: Show) -> Iterator[None]:
    """While the block runs, show every second what `read` finds."""
    from ...spark import IncomeError

    over = Event()

    def ask() -> None:
        while not over.wait(EVERY_S):
            with suppress(IncomeError, OSError, sqlite3.Error):  # nothing is there yet
                show(add_up(read(), due_tenths))

    asker = Thread(target=ask, name="money", daemon=True)
    asker.start()
    try:
        yield
    finally:
        over.set()
        asker.join()
