"""The server's disk: the logs and tables a role reads, kept in memory, grown in place.

It answers the same questions as a lesson's `MemoryDisk`, which is a value that is copied;
here a log is a list that only its driver appends to, so an append costs the same at any
length. What makes it survive a stop is `journal.py`.

There are two kinds of logs, and a broker's `Keeping` says which is of which kind:

    ServerLog      every entry. Beside batches of records a *time index*, the largest timestamp
                   so far, as Kafka's `.timeindex` is; a time is found by halving.
    CompactedLog   the latest entry of each key, and its offset: compacted as it is written.

A log may also begin later than it did: where a table of log starts is kept, the disk lets go
of what is before.
"""

from __future__ import annotations

import json
import logging
import struct
import time
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import copy
from dataclasses import fields
from enum import Enum
from itertools import accumulate, takewhile
from mmap import mmap
from operator import attrgetter
from typing import Any

from ..kernel import Append, Map, Put, Truncate, Words, escape_unseen, frozen, shorten, tr

RECENT = 2_000  # entries of a compacted log that are not cleaned yet
EMPTY: Map[Any, Any] = Map()


class NoBatch:
    """The type of batches where a broker's logs have none."""


@frozen
class Compaction:
    """`key(entry)`: of which only the latest entry is kept. `dead(entry)`: whether it is a
    tombstone, the end of its key."""

    key: Callable[[Any], Hashable]
    dead: Callable[[Any], bool]


def keep_all(log: str) -> Compaction | None:
    return None


@frozen
class Keeping:
    """How a broker's logs are kept. `batch`: the type of entries that have a `size` in bytes
    and the largest timestamp of their records, `at_ms`. `compaction(log)`: how that log is
    compacted, None where it keeps everything. `starts`: the table in which a role puts the
    offset at which a log begins, "" for none."""

    batch: type[Any] = NoBatch
    compaction: Callable[[str], Compaction | None] = keep_all
    starts: str = ""


class ServerLog:
    """Entries by offset. `stamps[i]`: the largest timestamp of entries 0 … i; `bytes`: of
    its batches, which are entries of type `batch`."""

    def __init__(self, batch: type[Any] = NoBatch) -> None:
        self.batch = batch
        self.start = 0
        self.end = 0
        self.bytes = 0
        self.entries: list[Any] = []
        self.bases: list[int] = []
        self.stamps: list[int] = []

    def append(self, entry: Any) -> None:
        self.entries.append(entry)
        self.bases.append(entry.base)
        self.end = entry.last + 1
        if isinstance(entry, self.batch):
            self.bytes += entry.size
            self.stamps.append(max(entry.at_ms, self.stamps[-1] if self.stamps else -1))

    def read(self, start: int, end: int | None = None) -> Iterator[Any]:
        """The entries that hold an offset in [start, end)."""
        i = max(bisect_right(self.bases, start) - 1, 0)
        entries, size = self.entries, len(self.entries)
        while i < size:
            entry = entries[i]
            if end is not None and entry.base >= end:
                return
            if entry.last >= start:
                yield entry
            i += 1

    def find_since(self, at_ms: int) -> int:
        """The offset before which every record is older than `at_ms`."""
        i = bisect_left(self.stamps, at_ms)
        return self.bases[i] if i < len(self.bases) else self.end

    @property
    def newest(self) -> int:
        """The largest timestamp, -1 for none."""
        return self.stamps[-1] if self.stamps else -1

    def trim(self, start: int) -> None:
        """Begin at `start`: the batch that holds it stays, those before it go."""
        self.start = max(self.start, start)
        self.end = max(self.end, start)
        gone = bisect_right(self.bases, start) - 1
        gone += gone == len(self.bases) - 1 and self.end == start
        if gone > 0:
            self.bytes -= sum(batch.size for batch in self.entries[:gone])
            del self.entries[:gone], self.bases[:gone]
            self.stamps = list(accumulate((batch.at_ms for batch in self.entries), max))

    def fits(self, base: int) -> bool:
        """Whether an entry may begin here: at the end, or, in a log that was trimmed and is
        read again, at or before its start."""
        return base == self.end or (not self.entries and base <= self.start)

    def cut(self, end: int) -> None:
        while self.entries and self.entries[-1].last >= end:
            self.bytes -= getattr(self.entries[-1], "size", 0)
            del self.entries[-1], self.bases[-1]
            if self.stamps:
                del self.stamps[-1]
        self.end = min(self.end, end)


class CompactedLog:
    """The latest entry of each key, and whatever was written lately, for those who read
    along."""

    def __init__(self, compaction: Compaction) -> None:
        self.start = 0
        self.end = 0
        self.latest: dict[Hashable, Any] = {}
        self.recent: deque[Any] = deque(maxlen=RECENT)
        self._key = compaction.key
        self._dead = compaction.dead

    def append(self, entry: Any) -> None:
        self.recent.append(entry)
        self.latest[self._key(entry)] = entry
        self.end = entry.last + 1

    def read(self, start: int, end: int | None = None) -> Iterator[Any]:
        """The latest entry of each key as far as it is older than what is recent, then all
        that is recent: a cleaner never touches the end of a log."""
        uncleaned = self.recent[0].base if self.recent else self.end
        entries: list[Any] = []
        if start < uncleaned:
            old = (e for e in self.latest.values() if start <= e.base < uncleaned)
            entries = sorted(old, key=attrgetter("base"))
        entries += reversed(list(takewhile(lambda e: e.base >= start, reversed(self.recent))))
        return (entry for entry in entries if end is None or entry.base < end)

    @property
    def bytes(self) -> int:
        """Nothing: it is never deleted."""
        return 0

    def fits(self, base: int) -> bool:
        """Whether an entry may begin here: offsets grow, and what was replaced left gaps."""
        return base >= self.end

    def cut(self, end: int) -> None:
        raise ValueError("a compacted log cannot be cut back")

    def trim(self, start: int) -> None:
        raise ValueError("a compacted log is not deleted from")

    def list_kept(self) -> Iterator[Any]:
        """What a journal must hold of it: tombstones have done their work, except the last
        entry of all, which says where the log ends."""
        for entry in sorted(self.latest.values(), key=attrgetter("base")):
            if entry.last + 1 == self.end or not self._dead(entry):
                yield entry


NO_LOG = ServerLog()  # stands for every log nothing was written to; never appended to


class ServerDisk:
    """All logs and tables of the one node."""

    def __init__(self, keeping: Keeping = Keeping()) -> None:
        self._keeping = keeping
        self._logs: dict[str, ServerLog | CompactedLog] = {}
        self._tables: dict[str, Map[Any, Any]] = {}

    def log(self, name: str) -> ServerLog | CompactedLog:
        return self._logs.get(name, NO_LOG)

    def logs(self, prefix: str = "") -> tuple[str, ...]:
        return tuple(sorted(name for name in self._logs if name.startswith(prefix)))

    def table(self, name: str) -> Map[Any, Any]:
        return self._tables.get(name, EMPTY)

    # -- for the driver ----------------------------------------------------------------------

    def append(self, name: str, entry: Any) -> None:
        """Raises ValueError for an entry that does not belong at the log's end."""
        log = self._logs.get(name)
        if log is None:
            compaction = self._keeping.compaction(name)
            log = self._new() if compaction is None else CompactedLog(compaction)
            self._logs[name] = log
        if not log.fits(entry.base):
            raise ValueError(f"{name}: append at {entry.base}, but the end is {log.end}")
        log.append(entry)

    def effects(self) -> Iterator[Append | Put]:
        """Everything there is, as the effects that make it."""
        for table, values in sorted(self._tables.items()):
            for key, value in values.items():
                yield Put(table, key, value)
        for name, log in sorted(self._logs.items()):
            entries = log.list_kept() if isinstance(log, CompactedLog) else log.read(log.start)
            for entry in entries:
                yield Append(name, entry)

    def put(self, table: str, key: Any, value: Any) -> None:
        old = self.table(table)
        self._tables[table] = old.remove(key) if value is None else old.set(key, value)
        if table == self._keeping.starts and value is not None:
            if key not in self._logs:
                self._logs[key] = self._new()
            self._logs[key].trim(value)

    def cut(self, name: str, end: int) -> None:
        if name in self._logs:
            self._logs[name].cut(end)

    def drop(self, name: str) -> None:
        """Forget a log that is deleted."""
        self._logs.pop(name, None)
        starts = self._keeping.starts
        if name in self.table(starts):
            self.put(starts, name, None)

    def _new(self) -> ServerLog:
        return ServerLog(self._keeping.batch)


# ---- What the server says of its clients: one line for each refusal and each abrupt end
#
# A client that is refused has done nothing wrong that its own log would explain: a fenced producer,
# a topic that is not there, bytes that are no request. What is a refusal, the protocol says
# (`Frames.refusals`). The same refusal is said once a connection, and a storm of lines is cut
# short, so that no client can fill a disk by being refused.

log = logging.getLogger("mqlab.serve")

FORMAT = "%(asctime)s %(levelname)s %(message)s"
LINES, WINDOW_S = 50, 10.0  # at most this number of lines per window of seconds
LEFT_OUT = Words("({n} lines were left out)")
NAME = 60  # characters of a client's name that are said


class Calm(logging.Filter):
    """Lets `LINES` lines through in `WINDOW_S` seconds, then says how many it left out. Of what
    `--verbose` asks for nothing is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._since = 0.0
        self._passed = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno <= logging.DEBUG:
            return True
        now = time.monotonic()
        if now - self._since > WINDOW_S:
            if self._left_out:
                record.msg = f"{LEFT_OUT(n=self._left_out)} {_say(record.msg)}"
            self._since, self._passed, self._left_out = now, 0, 0
        self._passed += 1
        if self._passed <= LINES:
            return True
        self._left_out += 1
        return False


class InWords(logging.Formatter):
    """Lines in the language that is spoken, where the catalogue has their words."""

    def format(self, record: logging.LogRecord) -> str:
        said = copy(record)
        said.msg = _say(record.msg)
        said.args = tuple(map(_say, record.args)) if isinstance(record.args, tuple) else record.args
        return super().format(said)


def _say(part: object) -> object:
    return str(tr(part, "log")) if isinstance(part, str) else part


def set_up(verbose: bool) -> None:
    """Lines go to standard error; `verbose`: each request too."""
    handler = logging.StreamHandler()
    handler.setFormatter(InWords(FORMAT))
    handler.addFilter(Calm())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    log.setLevel(logging.DEBUG if verbose else logging.INFO)


def name_of(client: str) -> str:
    """A client's own name, which may be anything, in one short line."""
    return escape_unseen(shorten(client, NAME)) or str(tr("a client without a name"))


# A journal's entries: effects as bytes, and bytes as effects.
#
#     body     "J" JSON of an effect
#              any other letter: a form of the broker's own, for what it writes most
#
# Nothing in a journal is executed: an effect is rebuilt from the kinds of values that the
# broker's adapter lists (`JsonForm`). An adapter without a form of its own uses `json_entries`.


BYTES = "bytes"
JSON_MARK = b'J["'  # how a JSON body begins
Effect = Append | Put | Truncate
#: fields of these types, as they are annotated, are read back as such or not at all
PLAIN = {"str": str, "int": int, "bool": bool}


#: a body of a message with its payload as it came: letter, length of the head 4 · head, a row of
#: JSON · the payload
HEADED = struct.Struct(">cI")


def ends_as_json(data: mmap, start: int, size: int) -> bool:
    return data[start + size - 1 : start + size] == b"]"


def write_headed(letter: bytes, row: tuple[Any, ...], payload: bytes) -> bytes:
    head = json.dumps(row, separators=(",", ":")).encode()
    return HEADED.pack(letter, len(head)) + head + payload


def read_headed(body: bytes) -> tuple[list[Any], bytes]:
    """The row, and the payload."""
    end = HEADED.size + HEADED.unpack_from(body)[1]
    return json.loads(body[HEADED.size : end]), body[end:]


def looks_headed(data: mmap, start: int, size: int) -> bool:
    """Whether these bytes look like a body of either kind, as `Entries.looks_whole` wants it."""
    if data[start : start + 1] == b"J":
        return ends_as_json(data, start, size)
    end = HEADED.size + (HEADED.unpack_from(data, start)[1] if size >= HEADED.size else size)
    return end <= size and ends_as_json(data, start, end)


@frozen
class Entries:
    """`encode` an effect; `decode` a body (raises ValueError, KeyError, TypeError,
    AssertionError or struct.error for one that this version did not write). To find whole entries
    after a damaged one: `marks`, how a body may begin, and `looks_whole(data, start, size)`,
    whether these bytes look like a body, which is quicker than a checksum of them."""

    encode: Callable[[Effect], bytes]
    decode: Callable[[bytes], Effect]
    marks: tuple[bytes, ...] = (JSON_MARK,)
    looks_whole: Callable[[mmap, int, int], bool] = ends_as_json


class JsonForm:
    """Effects as JSON. `kinds`: the dataclasses that values may be of; a field that holds an
    enum is found by its default. A field of a kind may be added with a default: an older
    journal lacks it."""

    def __init__(self, kinds: Iterable[type], enums: dict[tuple[type, str], type[Enum]]) -> None:
        self._kinds = {kind.__name__: kind for kind in kinds}
        self._names = {kind: tuple(f.name for f in fields(kind)) for kind in self._kinds.values()}
        self._values = {kind: attrgetter(*names) for kind, names in self._names.items()}
        self._single = frozenset(kind for kind, names in self._names.items() if len(names) == 1)
        self._flat = frozenset({str, int, bool, type(None), *enums.values()})
        self._enums = enums
        self._plains = {
            kind: {f.name: PLAIN[f.type] for f in fields(kind) if f.type in PLAIN}
            for kind in self._kinds.values()
        }

    def encode(self, effect: Effect) -> bytes:
        match effect:
            case Append(log=name, entry=entry):
                plain: list[Any] = ["append", name, self._to_plain(entry)]
            case Put(table=table, key=key, value=value):
                plain = ["put", table, key, self._to_plain(value)]
            case Truncate(log=name, end=end):
                plain = ["truncate", name, end]
        return b"J" + json.dumps(plain, separators=(",", ":")).encode()

    def decode(self, body: bytes) -> Effect:
        match json.loads(body[1:]):
            case ["append", name, entry]:
                return Append(name, self._from_plain(entry))
            case ["put", table, key, value]:
                return Put(table, key, self._from_plain(value))
            case ["truncate", name, end]:
                return Truncate(name, end)
        raise ValueError("an entry of no kind there is")

    def _to_plain(self, value: Any) -> Any:
        """{"Entry": [its fields]}; tuples are lists."""
        kind = type(value)
        if kind in self._flat:
            return value
        if kind in self._single:  # of one field an attrgetter gives the value, not a tuple of it
            return {kind.__name__: [self._to_plain(self._values[kind](value))]}
        if kind in self._values:
            return {kind.__name__: [self._to_plain(v) for v in self._values[kind](value)]}
        if kind is tuple:
            return [self._to_plain(v) for v in value]
        if kind is bytes:
            return {BYTES: b64encode(value).decode()}
        raise TypeError(f"the journal has no form for a {kind.__name__}")

    def _from_plain(self, plain: Any) -> Any:
        """Rebuild a value from its JSON form: a list becomes a tuple, {"Name": [field values]} an
        instance of the class `Name`, {"bytes": …} bytes. Raises KeyError for a class and ValueError
        for a field that this version does not know, or for a value of another type."""
        if isinstance(plain, list):
            return tuple(self._from_plain(v) for v in plain)
        if not isinstance(plain, dict):
            return plain
        ((name, values),) = plain.items()  # one key: the class's name
        if name == BYTES:
            return b64decode(values)
        kind = self._kinds[name]  # KeyError: a class that this version does not know
        field_names = self._names[kind]
        if len(values) > len(field_names):
            raise ValueError(f"a {name} of a newer version of mqlab")
        # An older journal may lack the newest fields, which then have their defaults.
        kwargs = dict(zip(field_names, map(self._from_plain, values), strict=False))
        # an enum is kept as its value
        for field in field_names:
            if (kind, field) in self._enums and kwargs.get(field) is not None:
                kwargs[field] = self._enums[kind, field](kwargs[field])
        # fields that are plain texts, numbers or the like: their types
        for field, expected_type in self._plains[kind].items():
            if field in kwargs and not isinstance(kwargs[field], expected_type):
                raise ValueError(f"{field} of a {name} is no {expected_type.__name__}")
        return kind(**kwargs)


def json_entries(
    kinds: Iterable[type], enums: dict[tuple[type, str], type[Enum]] | None = None
) -> Entries:
    """All effects as JSON. `enums`: of a kind and the name of one of its fields, the enum."""
    form = JsonForm(kinds, enums or {})
    return Entries(form.encode, form.decode)
