"""The frames of a journal, and what may stand behind the last good one.

    file     head, then frames
    head     "mqlab.journal/2 ", the broker's name, a line break
             "mqlab.journal/1\\n" of an older version, which did not say whose it is
    frame    length 4 · CRC-32C 4 · body

A stop leaves the file in one of few ways, and only these may be cut off at the next start:

  *torn*    the last frame is shorter than it says: a process was killed while it wrote.
  *zeros*   the file was made longer, but a power cut came before its bytes reached the disk:
            zeros from the end of a frame, or from the beginning of a sector inside one.

Everything else is *damage*: a frame that is all there but does not fit its checksum, or good
frames behind a bad one. No stop of ours does that, a failing disk or a careless hand does. What
follows the bad frame was acknowledged to somebody, so it is not for this program to throw away.

A frame of no bytes is none: the CRC-32C of nothing is 0, so zeros would be full of them.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from ..kernel import frozen
from .crc import crc32c
from .entries import Entries

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
            return f"the entry at byte {at} is damaged, and a good one begins at byte {behind}"
        return "" if _torn(data, at, solid) else f"the entry at byte {at} is damaged"


def _torn(data: mmap.mmap, at: int, solid: int) -> bool:
    """Whether a stop explains the bytes at `at`, the last of which that is not 0 is before
    `solid`, and behind which no good frame begins."""
    left = len(data) - at - FRAME.size
    if left < 0:
        return True
    size, crc = FRAME.unpack_from(data, at)
    if size > LIMIT:
        return False
    if size > left:
        # A length that lies: the frame is whole, it ends with the file.
        return bool(left == 0 or crc32c(data[at + FRAME.size :]) != crc)
    return -(-solid // SECTOR) * SECTOR < len(data)


def _before_zeros(data: mmap.mmap, at: int) -> int:
    """The offset behind the last byte that is not 0; `at` where there is none."""
    end = len(data)
    while end > at:
        start = max(at, end - CHUNK)
        kept = data[start:end].rstrip(b"\0")
        if kept:
            return start + len(kept)
        end = start
    return at


def _next_frame(data: mmap.mmap, at: int, entries: Entries) -> int | None:
    """Where the first good frame behind `at` begins, at whatever byte that is."""
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
