"""The data folder: every durable effect, one after the other, in one file of ours.

    file     "mqlab.journal/1\n", then frames
    frame    length 4 · CRC-32C 4 · body
    body     "D" log · base · a client's batch as it came        (the common case)
             "J" JSON of any other effect

A turn's effects are written with one `write` before its answers leave: killing the process
loses nothing that was acknowledged, because the operating system holds what was written.
`fsync` after it is for power cuts. A stop may cut the last frames short; they belong to a
turn nobody was told about, and the file is cut back to the last whole frame.

While a server runs the file only grows. At a start it is written anew if more than half of
it is about what is no more: older records of a transactional id, values of tables, deleted
topics. Nothing in it is executed: an effect is rebuilt from names listed here.
"""

from __future__ import annotations

import json
import logging
import os
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..kafka.coordinator import Entry, StateRecord
from ..kafka.group import GroupMetadata, Member, Offsets
from ..kafka.leader import index_of
from ..kafka.messages import Position
from ..kafka.states import TxnState
from ..kernel import Append, Put, Truncate
from ..storage import AbortedTxn, Batch
from .broker.topic import Topic
from .wire.crc import crc32c
from .wire.records import Records, parsed

log = logging.getLogger("mqlab.serve")

MAGIC = b"mqlab.journal/1\n"
FRAME = struct.Struct(">II")
DATA = struct.Struct(">cHq")  # kind, length of the log's name, base offset
BYTES = "bytes"
SMALL = 1 << 20  # a journal of less than this is not worth writing anew
TOGETHER = 1_000  # parts written at once
LIMIT = 256 << 20  # no frame is longer; what says so is torn
Effect = Append | Put | Truncate

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Batch,
        Entry,
        StateRecord,
        AbortedTxn,
        Offsets,
        Position,
        Topic,
        GroupMetadata,
        Member,
    )
}


class JournalError(Exception):
    """The data folder cannot be used; the message says why and what to do."""


class Journal:
    """Opens (or begins) the journal of a data folder, which no other process may use."""

    def __init__(self, folder: Path, fsync: bool = False) -> None:
        self.path = folder / "journal"
        self.fsync = fsync
        self._parts: list[bytes] = []
        self._live = Living()
        self._size = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = _opened(self.path)
        except OSError as error:
            raise JournalError(f"cannot use the data folder {folder}: {error.strerror}") from error

    def replay(self) -> Iterator[Effect]:
        """Every effect there is, in order; the torn end is cut off afterwards."""
        with open(self.path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise JournalError(f"{self.path} is no journal of this version: use another folder")
            whole = len(MAGIC)
            while len(head := file.read(FRAME.size)) == FRAME.size:
                size, crc = FRAME.unpack(head)
                body = file.read(size) if size <= LIMIT else b""
                if len(body) != size or crc32c(body) != crc:
                    break
                effect = decoded(body)
                self._live.note(effect, FRAME.size + size)
                yield effect
                whole += FRAME.size + size
        end = os.fstat(self._file).st_size
        if end > whole:
            log.warning("%s: cutting off %d bytes of an unfinished turn", self.path, end - whole)
            os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)
        self._size = whole

    @property
    def mostly_dead(self) -> bool:
        """Whether more than half of what was replayed is about what is no more."""
        return self._size > SMALL and self._live.bytes * 2 < self._size

    def rewrite(self, effects: Iterable[Effect]) -> None:
        """Put these effects in the place of all there are: in a file beside, and then by one
        renaming, so that a stop leaves the one or the other. Where there is no room for it,
        the journal stays as it is."""
        old, beside = self._file, self.path.with_suffix(".new")
        try:
            beside.unlink(missing_ok=True)
            self._file = _opened(beside)
            os.lseek(self._file, 0, os.SEEK_END)
            for effect in effects:
                self.note(effect)
                if len(self._parts) > TOGETHER:
                    self.write()
            self.write()
            self._sync()
            beside.replace(self.path)
            _sync_folder(self.path.parent)
            os.close(old)
        except OSError as error:
            log.warning("%s cannot be written anew: %s", self.path, error.strerror)
            self._parts.clear()
            if self._file != old:
                os.close(self._file)
            self._file = old

    def note(self, effect: Effect) -> None:
        """Remember an effect; `write` makes it durable."""
        body = encoded(effect)
        self._parts += (FRAME.pack(len(body), crc32c(body)), body)

    def write(self) -> None:
        """Raises OSError when the disk does not take it: then nothing may be answered."""
        if not self._parts:
            return
        data = memoryview(b"".join(self._parts))
        self._parts.clear()
        while data:
            data = data[os.write(self._file, data) :]
        if self.fsync:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


class Living:
    """How many bytes of a journal are still about something: by table and key, by log and
    transactional id, by log."""

    def __init__(self) -> None:
        self._sizes: dict[Any, int] = {}
        self._topics: dict[str, Topic] = {}

    @property
    def bytes(self) -> int:
        return sum(self._sizes.values())

    def note(self, effect: Effect, size: int) -> None:
        match effect:
            case Append(log=name, entry=StateRecord(entry=entry)):
                self._sizes[name, entry.txn_id] = size
            case Append(log=name):
                self._sizes[name] = self._sizes.get(name, 0) + size
            case Put(table=table, key=key, value=value):
                self._sizes[table, key] = size
                if value is None:
                    self._gone(table, key)
                elif table == "topics":
                    self._topics[key] = value

    def _gone(self, table: str, key: Any) -> None:
        del self._sizes[table, key]
        topic = self._topics.pop(key, None) if table == "topics" else None
        for partition in topic.partitions if topic is not None else ():
            self._sizes.pop(partition, None)
            self._sizes.pop(index_of(partition), None)


def _opened(path: Path) -> int:
    """The file, which no other process may use; begun if it is new."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    _lock(file, path.parent)
    if os.fstat(file).st_size < len(MAGIC):
        os.ftruncate(file, 0)
        os.pwrite(file, MAGIC, 0)
        os.fsync(file)
    return file


def _sync_folder(folder: Path) -> None:
    """A renaming is safe from a power cut only when its folder is flushed too."""
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        os.fsync(file)
        os.close(file)


def _lock(file: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows: there the user must see to it
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise JournalError(
            f"another server uses the data folder {folder}: stop it or name another folder"
        ) from error


# ---- effects as bytes ---------------------------------------------------------------------


def encoded(effect: Effect) -> bytes:
    match effect:
        case Append(log=name, entry=Batch(records=Records(data=data), base=base)):
            where = name.encode()
            return DATA.pack(b"D", len(where), base) + where + data
        case Append(log=name, entry=entry):
            plain: list[Any] = ["append", name, _plain(entry)]
        case Put(table=table, key=key, value=value):
            plain = ["put", table, key, _plain(value)]
        case Truncate(log=name, end=end):
            plain = ["truncate", name, end]
    return b"J" + json.dumps(plain, separators=(",", ":")).encode()


def decoded(body: bytes) -> Effect:
    if body[:1] == b"D":
        _, size, base = DATA.unpack_from(body)
        name = body[DATA.size : DATA.size + size].decode()
        batch = parsed(body[DATA.size + size :])
        assert isinstance(batch, Batch), "only what was parsed is ever appended"
        return Append(name, _at(batch, base))
    match json.loads(body[1:]):
        case ["append", name, entry]:
            return Append(name, _value(entry))
        case ["put", table, key, value]:
            return Put(table, key, _value(value))
        case ["truncate", name, end]:
            return Truncate(name, end)
    raise JournalError("the journal holds an entry of another version")


def _at(batch: Batch, base: int) -> Batch:
    return Batch(
        batch.records, batch.count, base, batch.pid, batch.epoch, batch.first_seq,
        batch.transactional, at_ms=batch.at_ms, size=batch.size,
    )  # fmt: skip


#: how the fields of a kind are taken out of it, in order
FIELDS = {kind: attrgetter(*(f.name for f in fields(kind))) for kind in KINDS.values()}
FLAT = frozenset({str, int, bool, TxnState, type(None)})


def _plain(value: Any) -> Any:
    """{"Entry": [its fields]}; tuples are lists."""
    kind = type(value)
    if kind in FLAT:
        return value
    if kind in FIELDS:
        return {kind.__name__: [_plain(v) for v in FIELDS[kind](value)]}
    if kind is tuple:
        return [_plain(v) for v in value]
    if kind is bytes:
        return {BYTES: b64encode(value).decode()}
    raise TypeError(f"the journal has no form for a {kind.__name__}")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_value(v) for v in plain)
    if not isinstance(plain, dict):
        return plain
    ((name, values),) = plain.items()
    if name == BYTES:
        return b64decode(values)
    kind = KINDS[name]
    given = dict(zip((f.name for f in fields(kind)), map(_value, values), strict=True))
    if kind is Entry:
        given["state"] = TxnState(given["state"])
    return kind(**given)
