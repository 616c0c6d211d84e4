"""What was read of a broker, in words that every broker shares, and what was found in it.

    Ask  →  Reading  →  findings  →  Report (in `show.py`)

A broker's package has three kinds of parts. *Readers* (of a running broker, of its folder, of what
its tools have printed) make a `Reading` of an `Ask`; they only read. *Judges* are pure functions
from the Reading to findings. What is shown, in `show.py`, knows neither.

Whatever is in a Reading came from outside, names included: it is escaped where it is shown.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from ..kernel import NOTHING, Cell, Frontier, Text, frozen, tr
from ..kernel.text import WordedError


class Unreadable(WordedError):
    """One sentence: what is there instead of what was asked for, and what to do next."""


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """A file of a folder, to be read. OSError for what is none: a pipe or a device of that name
    would never end."""

    def open_regular(name: str, flags: int) -> int:
        file = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        mode = os.fstat(file).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # of a folder Python itself says what it is
            return file
        os.close(file)
        raise OSError(errno.EINVAL, str(tr("it is not a regular file")))

    return open(path, "rb", buffering=buffering, opener=open_regular)


def read_file(path: Path) -> bytes:
    """All of a file of a folder. OSError as `open_file`."""
    with open_file(path) as file:
        return file.read()


def say_nothing(line: str) -> None:
    """Progress that is not shown."""


@frozen
class Ask:
    """What is to be read. `target`: an address, a folder, a file, or "-" for the standard input.
    `first` to `last`: offsets (-1: as far as there are); `payloads`: keys and values may be shown;
    `config`: a file with a client's settings; `say`: is handed a line of progress now and then;
    `now_ms`: what time it is; ages are counted from it."""

    target: str
    topic: str = ""
    partition: int = -1
    first: int = 0
    last: int = -1
    payloads: bool = False
    config: str = ""
    say: Callable[[str], None] = say_nothing
    now_ms: int = 0

    def wants(self, topic: str, partition: int) -> bool:
        """Whether this log was asked for."""
        return self.topic in ("", topic) and self.partition in (-1, partition)

    def span(self, most: int = 1 << 62) -> range:
        """The offsets that were asked for, `most` of them; none where none were asked for."""
        if not self.first and self.last < 0:
            return range(0)
        return range(self.first, self.last + 1 if self.last >= 0 else self.first + most)[:most]


# ---- What was read -----------------------------------------------------------------------


@frozen
class LogRead:
    """A log from its first offset to the one before `end`, as far as it was read. `cells`: the
    records around each frontier, with gaps where they are far apart. `counts`: what was
    counted in it, as ("records", 12). `source`: where its bytes, or its numbers, come from.
    `rows`: the same records as its broker's package keeps them; not shown."""

    name: str
    start: int
    end: int
    frontiers: tuple[Frontier, ...] = ()
    cells: tuple[Cell, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    source: str = ""
    rows: tuple[Any, ...] = field(default=(), compare=False, repr=False)


@frozen
class Txn:
    """A transaction as one source sees it: its coordinator, or one log.

    `label`: "T1", its colour in the logs; `name`: the id that its application knows; `state`: the
    broker's own word; `seen`: who says so, a log's name or the coordinator's log; `where`: the
    logs that it takes part in, as far as `seen` knows; `owner`: who writes it, such as a producer
    id; `first`: where it begins in `seen`; times in ms, -1 where unknown; `more`: what else is
    known of it, as ("checks", "3")."""

    label: str
    name: str
    state: str
    seen: str
    where: tuple[str, ...] = ()
    owner: str = ""
    epoch: int = -1
    first: int = -1
    since_ms: int = -1
    timeout_ms: int = -1
    source: str = ""
    more: tuple[tuple[str, str], ...] = ()


@frozen
class Position:
    """How far a group, or a subscription, has come in a log: `at` is what it reads next, `end` the
    log's end. `pending`: the labels of the transactions that would move it."""

    group: str
    log: str
    at: int
    end: int = -1
    state: str = ""
    pending: tuple[str, ...] = ()
    source: str = ""
    more: tuple[tuple[str, str], ...] = ()


@frozen
class Gap:
    """What was not looked at, and why. `failed`: it was asked for and is damaged, or did not
    answer; a part that was left out on purpose, or for want of a right, is not."""

    what: Text
    why: Text
    failed: bool = False


@frozen
class Reading:
    """`source`: the address, the folder, or the file; `at_ms`: the time from which ages count.
    `own`: what only the judges of its broker know; it is not shown."""

    broker: str
    source: str
    at_ms: int
    logs: tuple[LogRead, ...] = ()
    txns: tuple[Txn, ...] = ()
    positions: tuple[Position, ...] = ()
    gaps: tuple[Gap, ...] = ()
    own: Any = field(default=None, compare=False, repr=False)


# ---- What was found ----------------------------------------------------------------------


@frozen
class Kind:
    """What can be found. `name`: for programs, as "hanging"; `title`: in words; `risk`: what it
    does to whom; `see`: what explains it, as "lab 07", or a scenario or incident by its name, as
    "kafka/hanging-transaction"."""

    name: str
    title: Text
    risk: Text
    see: tuple[str, ...] = ()


@frozen
class Evidence:
    """A line that was read, and where."""

    line: str
    source: str


@frozen
class Finding:
    """`where`: the log, the group or the transaction; `says`: the case in one sentence; `logs`:
    the logs that show it; `advice`: what to do, and `commands` the lines to type for it."""

    kind: Kind
    where: str
    says: Text
    evidence: tuple[Evidence, ...] = ()
    logs: tuple[str, ...] = ()
    advice: Text = NOTHING
    commands: tuple[str, ...] = ()
