"""The lines of a history: what clients sent, got as answers and read. README.md describes each
field.

A file is read line by line, and refused with the number of the first line that is no event. Several
files, one per process, are merged by time; two lines of one process keep their order.
"""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, ClassVar

from ..kernel.text import BadValue, Text, tr

VERSION = 1
HEAD = "history"
ALLOWED = "allowed"
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
COMMIT, ABORT = "commit", "abort"
KINDS: dict[type, Text] = {str: tr("a text"), int: tr("a whole number")}
#: more than any offset or time of a broker
MOST = 1 << 63


class HistoryError(BadValue):
    """A file that is no history; the message names the line and what was expected there."""


@dataclass(frozen=True, slots=True)
class Event:
    """`time`: nanoseconds since 1970; `line`: where it is in its file, 1 for the head.
    `process`: who notes it; `allowed`: by field, the values that a file may have there."""

    time: int
    process: str
    line: int = 0
    name: ClassVar[str] = ""
    allowed: ClassVar[dict[str, tuple[str, ...]]] = {}


@dataclass(frozen=True, slots=True)
class Init(Event):
    """A producer has taken over `identity`, such as Kafka's transactional.id. `asked`: when it has
    asked for it, in nanoseconds since 1970; 0: not noted."""

    identity: str = ""
    asked: int = 0
    name: ClassVar[str] = "init"


@dataclass(frozen=True, slots=True)
class Send(Event):
    txn: str = ""
    topic: str = ""
    partition: int = 0
    value: str = ""
    name: ClassVar[str] = "send"


@dataclass(frozen=True, slots=True)
class End(Event):
    """A producer asks for the end of a transaction; `how`: commit or abort."""

    txn: str = ""
    how: str = ""
    name: ClassVar[str] = "end"
    allowed: ClassVar[dict[str, tuple[str, ...]]] = {"how": (COMMIT, ABORT)}


@dataclass(frozen=True, slots=True)
class Ended(Event):
    """What was reported to the producer; `outcome`: committed, aborted or unknown."""

    txn: str = ""
    outcome: str = ""
    error: str = ""
    name: ClassVar[str] = "ended"
    allowed: ClassVar[dict[str, tuple[str, ...]]] = {"outcome": (COMMITTED, ABORTED, UNKNOWN)}


@dataclass(frozen=True, slots=True)
class Assign(Event):
    """A reader begins; `isolation`: read_committed or read_uncommitted."""

    isolation: str = ""
    name: ClassVar[str] = "assign"


@dataclass(frozen=True, slots=True)
class Read(Event):
    topic: str = ""
    partition: int = 0
    offset: int = 0
    value: str = ""
    name: ClassVar[str] = "read"


@dataclass(frozen=True, slots=True)
class Drained(Event):
    topic: str = ""
    partition: int = 0
    end: int = 0
    name: ClassVar[str] = "drained"


EVENTS: dict[str, type[Event]] = {
    event.name: event for event in (Init, Send, End, Ended, Assign, Read, Drained)
}


# ---- writing ---------------------------------------------------------------------------


class Writer:
    """A history of one process, line by line: what is in the file survives a kill of the
    process, because each line is handed to the operating system at once."""

    def __init__(self, path: Path, process: str, tool: str) -> None:
        self.process = process
        self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1)
        self._write({HEAD: VERSION, "tool": tool})

    def write(self, event: type[Event], **values: Any) -> None:
        """An event of now."""
        self._write(to_dict(event(time.time_ns(), self.process, **values)))

    def close(self) -> None:
        self._file.close()

    def _write(self, values: dict[str, Any]) -> None:
        self._file.write(json.dumps(values, ensure_ascii=True) + "\n")


def to_dict(event: Event) -> dict[str, Any]:
    """An event as its line says it."""
    values = asdict(event)
    del values["line"]
    return {
        "time": values.pop("time"),
        "process": values.pop("process"),
        "event": event.name,
    } | values


def merge(paths: Iterable[Path], out: Path, tool: str) -> None:
    """One history of several, sorted by time."""
    histories = [list(read(path)) for path in paths]
    with out.open("w", encoding="utf-8") as file:
        file.write(json.dumps({HEAD: VERSION, "tool": tool}) + "\n")
        for event in heapq.merge(*histories, key=lambda event: event.time):
            file.write(json.dumps(to_dict(event), ensure_ascii=True) + "\n")


# ---- reading ---------------------------------------------------------------------------


def read_allowed(path: Path) -> tuple[str, ...]:
    """The anomalies that the head of a file says its system may show; none where there is no head,
    of which `read` complains. HistoryError where it says so in another form."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        try:
            head = _decode(file.readline(), path, 1)
        except HistoryError:
            return ()
    allowed = head.get(ALLOWED, [])
    if not isinstance(allowed, list) or not all(isinstance(one, str) for one in allowed):
        raise HistoryError('{}: line 1: "{}": expected a list of texts', path, ALLOWED)
    return tuple(allowed)


def read(path: Path) -> Iterator[Event]:
    """The events of a file. HistoryError where it is no history; a last line that was not
    finished is left out."""
    with path.open(encoding="utf-8-sig", errors="strict") as file:
        try:
            yield from _read(file, path)
        except UnicodeDecodeError as error:
            raise HistoryError("{} is not text (UTF-8): give a history", path) from error


def _read(file: IO[str], path: Path) -> Iterator[Event]:
    """Yield the events of a history file, after checking its head. A last line that is cut off is
    dropped, since its writer was killed, even if it is the head. Raises HistoryError, with the
    number of the line."""
    number = 0
    for number, line in enumerate(file, 1):
        try:
            values = _decode(line, path, number)
        except HistoryError:
            # the begin of an event, cut off; any other text was never a line of a history
            if line.startswith("{") and not line.endswith("\n"):
                break
            raise
        if number == 1:
            if values.get(HEAD) != VERSION:
                raise HistoryError('{}: line 1: expected {{"history": {}, …}}', path, VERSION)
            continue
        try:
            yield _parse(values, number)
        except HistoryError as error:
            raise HistoryError("{}: line {}: {}", path, number, error) from None
    if number == 0:
        raise HistoryError("{} is empty: a history begins with its head", path)


def _decode(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise HistoryError("{}: line {}: expected a JSON object", path, number)
    return values


def _parse(values: dict[str, Any], number: int) -> Event:
    name = values.pop("event", None)
    if not isinstance(name, str) or name not in EVENTS:
        raise HistoryError('"event": expected one of {}', ", ".join(EVENTS))
    kind = EVENTS[name]
    wanted = [field.name for field in fields(kind) if field.name != "line"]
    for key in wanted:
        _check(values, key, int if key in NUMBERS else str)
        among = kind.allowed.get(key)
        if among and values[key] not in among:
            raise HistoryError(
                '"{}": expected {}', key, Text(" or ".join(among), " 或 ".join(among))
            )
    return kind(line=number, **{key: values[key] for key in wanted})


NUMBERS = {"time", "partition", "offset", "end", "asked"}
#: what a line may leave out, and what that means
OPTIONAL: dict[str, str | int] = {"error": "", "asked": 0}


def _check(values: dict[str, Any], key: str, kind: type) -> None:
    if key in OPTIONAL:
        values.setdefault(key, OPTIONAL[key])
    value = values.get(key)
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value < MOST):
        raise HistoryError('"{}": expected {}', key, KINDS[kind])
