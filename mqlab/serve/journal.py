"""The data folder: every durable effect, one after the other, in one file of ours.

    journal              frames, each with the body of an entry (`entries.py`)
    journal.new          for a moment, while it is written again
    journal.torn-OFFSET  what a stop had left after the frames, at that offset

`frames.py` says how they are laid out in the file, and what of its end a stop may leave.

A turn's effects are written with one `write` before its answers leave: killing the process
loses nothing that was acknowledged, because the operating system holds what was written. A
kill may cut the last frames short; they belong to a turn that was not answered. A power cut
may also take what was acknowledged shortly before it, or leave zeros in its place, unless
`fsync` followed the write; afterwards the file does not tell how much that was. At the next
start the rest is moved into a file beside, and the journal goes on after its last whole frame.
A journal that is damaged in any other way, or whose entries do not follow one another, is left
as it is, and is not served; `salvage` copies what is before the damage.

While a server runs the file only grows. At a start it is written again if more than half of
it is about what is no more: older entries of a compacted log's key, older values of tables,
deleted logs, entries that were deleted from a log's beginning.
"""

from __future__ import annotations

import logging
import mmap
import os
import re
import shutil
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import accumulate, count
from pathlib import Path

from ..kernel import frozen
from ..kernel.text import WordedError, Words, say_cause
from .adapter import Adapter
from .crc import crc32c
from .disk import Effect, Entries

# The frames of a journal, and what may follow the last good one.
#
#     file     head, then frames
#     head     "mqlab.journal/2 ", the broker's name, a line break
#              "mqlab.journal/1\n" of an older version, which did not say whose it is
#     frame    length 4 · CRC-32C 4 · body
#
# A stop leaves the file in one of few ways, and only these may be cut off at the next start:
#
#   *torn*    the last frame is shorter than it says: a process was killed while it wrote.
#   *zeros*   the file was made longer, but a power cut came before its bytes reached the disk:
#             zeros from the end of a frame, or from the beginning of a sector inside one.
#
# Everything else is *damage*: a frame that is all there but does not fit its checksum, or good
# frames after a bad one. No stop of ours does that, a failing disk or a careless hand does. What
# follows the bad frame was acknowledged to a client, so it is not for this program to throw away.
#
# A frame of no bytes is none: the CRC-32C of nothing is 0, so zeros would be full of them.


MAGIC = b"mqlab.journal/2 "
OLDER = b"mqlab.journal/1\n"
HEAD = re.compile(re.escape(MAGIC) + rb"([a-z_]{1,40})\n")
LONGEST_HEAD = 64
FRAME = struct.Struct(">II")
LIMIT = 256 << 20  # bytes: no frame is longer
SECTOR = 512  # bytes a disk writes together, or not at all
CHUNK = 1 << 16


@frozen
class Head:
    """How a journal begins. `broker`: whose it is, "" where it does not say."""

    size: int
    broker: str


def write_head(broker: str) -> bytes:
    return MAGIC + broker.encode() + b"\n"


def read_head(start: bytes) -> Head:
    """The head of a file that begins so. Raises ValueError where it is no journal's."""
    if start.startswith(OLDER):
        return Head(len(OLDER), "")
    head = HEAD.match(start)
    if head is None:
        raise ValueError("not the head of a journal")
    return Head(head.end(), head[1].decode())


def pack_frame(body: bytes) -> tuple[bytes, bytes]:
    """A frame's head and its body."""
    return FRAME.pack(len(body), crc32c(body)), body


def read_frames(path: Path) -> Iterator[tuple[int, bytes]]:
    """(offset, body) of every good frame from the beginning on, up to the first that is not."""
    with open(path, "rb") as file:
        at = read_head(file.read(LONGEST_HEAD)).size
        file.seek(at)
        while len(head := file.read(FRAME.size)) == FRAME.size:
            size, crc = FRAME.unpack(head)
            body = file.read(size) if 0 < size <= LIMIT else b""
            if not body or len(body) != size or crc32c(body) != crc:
                return
            yield at, body
            at += FRAME.size + size


def find_damage(path: Path, at: int, entries: Entries) -> str:
    """What is wrong from byte `at` on, where no good frame begins; "" where a stop explains it.
    `entries` says what a body looks like."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        solid = _before_zeros(data, at)
        if solid == at:
            return ""
        behind = _next_frame(data, at, entries)
        if behind is not None:
            return str(DAMAGED_BEFORE(at, behind))
        return "" if _torn(data, at, solid) else str(DAMAGED_AT(at))


def _torn(data: mmap.mmap, at: int, solid: int) -> bool:
    """Whether a stop explains the bytes at `at`, the last of which that is not 0 is before
    `solid`, and after which no good frame begins."""
    left = len(data) - at - FRAME.size
    if left < 0:
        return True
    size, crc = FRAME.unpack_from(data, at)
    if size > LIMIT:
        return False
    if size > left:
        # A false length: the frame is whole, it ends with the file.
        return bool(left == 0 or crc32c(data[at + FRAME.size :]) != crc)
    return -(-solid // SECTOR) * SECTOR < len(data)


def _before_zeros(data: mmap.mmap, at: int) -> int:
    """The offset after the last byte that is not 0; `at` where there is none."""
    end = len(data)
    while end > at:
        start = max(at, end - CHUNK)
        kept = data[start:end].rstrip(b"\0")
        if kept:
            return start + len(kept)
        end = start
    return at


def _next_frame(data: mmap.mmap, at: int, entries: Entries) -> int | None:
    """Where the first good frame after `at` begins, at whatever byte that is."""
    marks = b"|".join(re.escape(mark) for mark in entries.marks)
    # where a frame may begin: its length is below LIMIT, its body begins as one may
    head = re.compile(rb"(?=[\x00-\x10].{7}(?:" + marks + rb"))", re.DOTALL)
    for match in head.finditer(data, at + 1):
        start = match.start()
        size, crc = FRAME.unpack_from(data, start)
        body = start + FRAME.size
        if body + size <= len(data) and entries.looks_whole(data, body, size):
            if crc32c(data[body : body + size]) == crc:
                return start
    return None


log = logging.getLogger("mqlab.serve")

BINARY = getattr(os, "O_BINARY", 0)  # Windows has texts too, whose line ends it changes
SMALL = 1 << 20  # a journal of less than this is not worth writing again
TOGETHER = 1_000  # parts written at once


DAMAGED_BEFORE = Words("the entry at byte {} is damaged, and a good one begins at byte {}")
DAMAGED_AT = Words("the entry at byte {} is damaged")
ZEROS = Words(
    "cut off {} zeros at the end. The machine stopped before the disk had what belongs there: "
    "answered requests may be lost, unless the server ran with --fsync"
)
TORN = Words(
    "cut off {} bytes at the end, which are no whole entry and are now in {}. If only the server "
    "was killed, nobody was told about them; if the machine stopped, answered requests may be lost "
    "too, unless the server ran with --fsync"
)


class JournalError(WordedError):
    """The data folder cannot be used; the message says why and what to do."""


class Journal:
    """Opens (or begins) the journal of a data folder, which no other process may use. `adapter`:
    of the broker whose journal it is."""

    def __init__(self, folder: Path, adapter: Adapter, fsync: bool = False) -> None:
        self.path = folder / "journal"
        self.fsync = fsync
        self._name = adapter.name
        self._entries = adapter.entries
        self._encode = adapter.entries.encode
        self._unwritten: list[bytes] = []
        self._size = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file, self._head = _open_journal(self.path, adapter.name)
        except OSError as error:
            raise JournalError(
                "cannot use the data folder {}: {}", folder, say_cause(error)
            ) from error

    def replay(self) -> Iterator[Effect]:
        """Every effect there is, in order; what a stop left after them is put aside.
        Raises JournalError where the file is damaged, and leaves it as it is."""
        for at, effect, size in read_effects(self.path, self._entries):
            yield effect
            self._size = at + size
        self._size = max(self._size, self._head.size)
        damage = find_damage(self.path, self._size, self._entries)
        if damage:
            raise self._damage_error(damage)
        self._put_torn_aside()
        os.lseek(self._file, self._size, os.SEEK_SET)

    def misfit(self, why: ValueError) -> JournalError:
        """The error for the effect that `replay` has just given, where it does not follow from
        those before it: frames that were doubled, moved or taken out."""
        return self._damage_error(describe_misfit(max(self._size, self._head.size), why))

    def _damage_error(self, damage: str) -> JournalError:
        return JournalError(
            "{}: {}. Nothing was changed. If there is a copy of this file, put it back; if not, "
            "`mqlab serve {} --data-dir {} --salvage-to NEW` writes everything before the damage "
            "into another folder",
            self.path, damage, self._name, self.path.parent,
        )  # fmt: skip

    def _put_torn_aside(self) -> None:
        """Cut the file back to its last whole frame; what was after it is kept in a file."""
        torn = os.fstat(self._file).st_size - self._size
        if not torn:
            return
        try:
            aside = _put_aside(self.path, self._size)
            os.ftruncate(self._file, self._size)
        except OSError as error:
            raise JournalError(
                "{} ends with {} bytes that are no whole entry, and there is no way to keep them "
                "beside it ({}): make room or give write access",
                self.path, torn, say_cause(error),
            ) from error  # fmt: skip
        log.warning("%s: %s", self.path, describe_torn(torn, aside))

    def is_mostly_dead(self, effects: Iterable[Effect]) -> bool:
        """Whether a journal of these effects, all that there still is, would be less than half
        as long as this one. They are read no further than needed to know."""
        if self._size <= SMALL:
            return False
        sizes = (FRAME.size + len(self._encode(effect)) for effect in effects)
        return all(total * 2 < self._size for total in accumulate(sizes))

    def rewrite(self, effects: Iterable[Effect]) -> None:
        """Compact the journal: write a new file that holds only `effects`, and rename it over the
        old one, so that a stop leaves either the one or the other. Where the disk refuses, the old
        journal stays as it is, and a warning is logged."""
        old_file, old_size, old_head = self._file, self._size, self._head
        new_path = self.path.with_suffix(".new")
        try:
            new_path.unlink(missing_ok=True)
            self._file, self._head = _create_journal(new_path, self._name)
            self._size = self._head.size
            for effect in effects:  # `note` and `write` now go to the new file
                self.note(effect)
                if len(self._unwritten) > TOGETHER:
                    self.write()
            self.write()
            self._sync()
            new_path.replace(self.path)
        except OSError as error:
            log.warning("%s", Words("{} cannot be written again: {}")(self.path, say_cause(error)))
            self._unwritten.clear()
            if self._file != old_file:  # the new file was created
                os.close(self._file)
            self._file, self._size, self._head = old_file, old_size, old_head
            with suppress(OSError):
                new_path.unlink(missing_ok=True)
            return
        os.close(old_file)
        with suppress(OSError):
            _sync_folder(self.path.parent)

    def note(self, effect: Effect) -> None:
        """Remember an effect; `write` makes it durable."""
        self._unwritten += pack_frame(self._encode(effect))

    def write(self) -> None:
        """Append this turn's entries to the file, and have the disk keep them (fsync) if the
        journal is set to. Raises OSError where that fails: what was written of them is cut off
        again if the disk allows it, and none of the turn's answers may leave."""
        if not self._unwritten:
            return
        unwritten_bytes = memoryview(b"".join(self._unwritten))
        self._unwritten.clear()
        size = len(unwritten_bytes)
        try:
            while unwritten_bytes:  # os.write may take only a part
                unwritten_bytes = unwritten_bytes[os.write(self._file, unwritten_bytes) :]
            if self.fsync:
                self._sync()
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
                os.lseek(self._file, self._size, os.SEEK_SET)
            raise
        self._size += size

    def _sync(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _open_journal(path: Path, broker: str) -> tuple[int, Head]:
    """The file, which no other process may use; begun where there is none. One that is there
    and is no journal of this broker is not touched."""
    if path.is_symlink():
        raise JournalError("{} is a link: name the folder that it points into", path)
    try:
        file = os.open(path, os.O_RDWR | BINARY)
    except FileNotFoundError:
        return _create_journal(path, broker)
    try:
        lock(file, path.parent)
        return file, check_head(file, path, broker)
    except JournalError:
        os.close(file)
        raise


def _create_journal(path: Path, broker: str) -> tuple[int, Head]:
    """A new journal. Raises OSError where there is a file of this name."""
    file, head = (
        os.open(path, os.O_RDWR | BINARY | os.O_CREAT | os.O_EXCL, 0o644),
        write_head(broker),
    )
    lock(file, path.parent)
    try:
        os.write(file, head)
        os.fsync(file)
    except OSError:
        os.close(file)
        path.unlink()
        raise
    return file, read_head(head)


def check_head(file: int, path: Path, broker: str) -> Head:
    """Return the head of an open journal file. Raises JournalError where the file is no journal, or
    is the journal of another broker than `broker`."""
    start = os.pread(file, LONGEST_HEAD, 0)
    # too short for any head, or a head without its line end
    if len(start) < len(OLDER) or (len(start) < LONGEST_HEAD and b"\n" not in start):
        raise JournalError(
            "{} holds {} bytes, too few for a journal, and was left as it is: if there is a copy "
            "of it, put it back; if nothing of yours was in it, delete it",
            path, len(start),
        )  # fmt: skip
    try:
        head = read_head(start)
    except ValueError as error:
        raise JournalError("{} is no journal of this version: use another folder", path) from error
    if head.broker not in (broker, ""):  # "": an older version did not say
        raise JournalError(
            "{0} is the data folder of another broker, {1}, and was left as it is: name another "
            "folder for {2}, or run `mqlab serve {1}`",
            path.parent, head.broker, broker,
        )  # fmt: skip
    return head


def read_effects(path: Path, entries: Entries) -> Iterator[tuple[int, Effect, int]]:
    """(offset, effect, bytes it takes) of every good frame. Raises JournalError for an entry
    that cannot be what this version wrote, though its checksum is right."""
    for at, body in read_frames(path):
        try:
            effect = entries.decode(body)
        except (ValueError, KeyError, TypeError, AssertionError, struct.error) as error:
            raise JournalError(
                "{}: the entry at byte {} was written by another version of mqlab, or for another "
                "broker: use that version, that broker, or another folder",
                path, at,
            ) from error  # fmt: skip
        yield at, effect, FRAME.size + len(body)


def describe_misfit(at: int, why: ValueError) -> str:
    """An entry at byte `at` that is whole, but not what follows the one before it."""
    return str(Words("the entry at byte {} does not follow from those before it ({})")(at, why))


def describe_torn(size: int, aside: Path | None) -> str:
    """What is known about the bytes that were cut off; `aside`: where they are, None where all
    of them are zeros. Only a machine that stops leaves zeros."""
    if aside is None:
        return str(ZEROS(size))
    return str(TORN(size, aside.name))


def _put_aside(path: Path, start: int) -> Path | None:
    """The file that now holds what `path` holds from `start` on; None where that is zeros."""
    with open(path, "rb") as file:
        file.seek(start)
        if not any(chunk.strip(b"\0") for chunk in iter(lambda: file.read(TOGETHER), b"")):
            return None
        file.seek(start)
        for number in count(1):
            aside = path.with_name(f"journal.torn-{start}" + (f".{number}" if number > 1 else ""))
            with suppress(FileExistsError), open(aside, "xb") as new:
                shutil.copyfileobj(file, new)
                new.flush()
                os.fsync(new.fileno())
                return aside
    return None


def _sync_folder(folder: Path) -> None:
    """A renaming is safe from a power cut only when its folder is flushed too."""
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        os.fsync(file)
        os.close(file)


def lock(file: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows: there the user must see to it
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise JournalError(
            "another server uses the data folder {}: stop it or name another folder", folder
        ) from error
