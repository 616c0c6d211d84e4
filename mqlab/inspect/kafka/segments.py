"""The files of one partition: segments, their index, the producers' snapshots, the aborted ones.

    00000000000000000042.log        batches, from offset 42 on
    00000000000000000042.index      pairs of 4 bytes: offset - 42, position in the .log
    00000000000000000042.snapshot   each producer, as it was before offset 42
    00000000000000000042.txnindex   each aborted transaction whose marker is in the .log

A segment is read in pieces, and only where it is asked for: a file of 1 GB needs no more memory
than one of 1 MB. Every checksum that is passed is compared. Damage is reported and stepped over.

Source: LogSegment, OffsetIndex, ProducerStateManager, AbortedTxn (storage, Kafka 4.3).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from ...kernel import Text, Words, escape_unseen, replace
from ...kernel.text import match_words, say_cause, shorten, tr
from ...serve.crc import crc32c
from ...serve.kafka.wire.bodies import Record, decode_records
from ...serve.kafka.wire.compression import Unreadable, decompress
from ...serve.kafka.wire.validation import (
    CHECKED_FROM,
    COMPRESSION,
    CONTROL,
    HEAD,
    MAGIC,
    TRANSACTIONAL,
    Head,
)  # fmt: skip
from ..reading import open_file, read_file
from .scan import ABORT, COMMIT, Open, Row

HIGH_WATERMARKS, LOG_STARTS = "replication-offset-checkpoint", "log-start-offset-checkpoint"
#: the name of a partition's folder that the broker does not serve
PASSED = re.compile(r".+-\d+\.[0-9a-f]{32}-(delete|future|stray)")
PIECE = 1 << 20  # bytes that are read at once; a larger batch is checked, and not opened
OPENED = 8 << 20  # bytes of the records of a batch that are opened
LABELLED = 10_000  # records of a batch that is shown with labels
LABEL = 12  # letters of a payload in a picture
ABORTED = struct.Struct(">hqqqq")
PRODUCER = struct.Struct(">qhiqiqiq")
ENTRY = struct.Struct(">II")

NOT_SERVED = tr("its folder was not read: the broker is deleting the partition (-delete), copying "
"it from another disk (-future), or has no assignment for it (-stray)")  # fmt: skip
TORN = Words("ends inside a batch at byte {at}: a broker that stops while it writes leaves it "
"like this, and cuts it off when it starts")  # fmt: skip
FLIPPED = Words(
    "the batch at byte {at} does not match its checksum: some of its bytes have changed; it was "
    "skipped"
)
STRANGE = Words("no batch begins at byte {at}; bytes {at} to {to} were not read")
OLD = Words("contains messages of format {magic}, as brokers before 0.11 wrote them: these have "
"no transactions, and were skipped")  # fmt: skip
SHORT = Words(
    "its last batch ends before offset {end}, and {file} beside it was written at offset {at}: "
    "what came between is lost"
)
NO_FILE = Words("cannot be read: {why}")
OTHER = tr("is not what Kafka writes into such a file, or of a version that is not known here")
CUT = tr("ends inside an entry, which was not read: an aborted transaction may be missing")
LARGE = Words("the batch at byte {at} has more than {size:,} bytes: its records were not opened")
#: what the server's code says in English of records that it cannot open
FLAWS = (
    Words("there is no compression {}"), Words("not {}"), Words("{} that is cut short"),
    Words("snappy without a length"), Words("more than {} bytes when opened"),
    Words("a number without an end"), Words("a batch ends inside a record"),
    Words("there is more than {} records"), Words("a record ends outside its batch"),
    Words("a record is not as long as it says"), Words("a negative number of headers"),
    Words("a header without a key"), Words("a record of a negative length"),
)  # fmt: skip

Tell = Callable[[str, Text], None]
"""Is called for damage: (which file, what)."""
Batch = tuple[Row, bytes]
"""With its bytes; b"" of one that is too large."""


class Partition:
    """The files of one partition, in its folder. `name`: how evidence calls them; `only`: of its
    segments this one."""

    def __init__(self, folder: Path, name: str, tell: Tell, only: Path | None = None) -> None:
        self.folder, self.name, self.tell, self.only = folder, name, tell, only
        found = [only] if only else sorted(folder.glob("*.log"))
        self.segments = [path for path in found if path.stem.isdecimal()]
        self.bases = [int(path.stem) for path in self.segments]
        # Before the segments: a broker that runs may write both while they are read.
        self.high_watermark = self.read_checkpoint(HIGH_WATERMARKS)

    def read(self, first: int = 0, last: int = -1) -> Iterator[Batch]:
        """The batches that hold offsets `first` to `last` (-1: all)."""
        begin = max(bisect_right(self.bases, first) - 1, 0)
        for path, base in zip(self.segments[begin:], self.bases[begin:], strict=True):
            if 0 <= last < base:
                return
            for row, data in self._segment(path, self._seek(path, base, first)):
                if 0 <= last < row.base:
                    return
                if row.last >= first:
                    yield row, data

    def _segment(self, path: Path, at: int) -> Iterator[Batch]:
        """The batches from byte `at` on, as far as there are any."""
        name = f"{self.name}/{path.name}"
        try:
            with open_file(path, PIECE) as file:
                size = path.stat().st_size
                yield from read_batches(file, size, name, self.tell, at, int(path.stem))
        except OSError as error:
            self.tell(name, NO_FILE(why=say_cause(error)))

    def _seek(self, path: Path, base: int, offset: int) -> int:
        """Return the byte in segment `path` at which a batch at or before `offset` begins, by a
        binary search in the segment's index; 0, the segment's begin, where the index is missing or
        wrong. `base`: the segment's first offset."""
        if offset <= base:
            return 0
        try:
            with open_file(path.with_suffix(".index")) as file:
                count = path.with_suffix(".index").stat().st_size // ENTRY.size
                low, high, found_byte = 0, count, 0
                while low < high:
                    middle = (low + high) // 2
                    file.seek(middle * ENTRY.size)
                    # an entry: an offset less `base`, and where in the .log its batch begins
                    relative, byte = ENTRY.unpack(file.read(ENTRY.size))
                    if (relative, byte) != (0, 0) and base + relative <= offset:
                        low, found_byte = middle + 1, byte
                    else:  # zeros at the end are room that was set aside
                        high = middle
            with open_file(path) as log:
                log.seek(found_byte)
                start = log.read(HEAD.size)
            # the index may be wrong: is there such a batch?
            is_batch = len(start) == HEAD.size and base <= Head.of(start).base <= offset
            return found_byte if is_batch and start[16] == MAGIC else 0
        except (OSError, struct.error):
            return 0

    def check_end(self, end: int) -> None:
        """Neither a snapshot, which is written at the end of the log, nor the high watermark comes
        after its end. `end`: of the last batch; after it an empty segment may begin."""
        end = max([end, *self.bases[-1:]])
        found = [(int(path.stem), path.name) for path in self.folder.glob("*.snapshot")
                 if path.stem.isdecimal()]  # fmt: skip
        at, file = max([*found, (self.high_watermark, HIGH_WATERMARKS)])
        if end < at and not self.only:
            self.tell(self.name, SHORT(end=end, file=file, at=at))

    def read_checkpoint(self, file: str) -> int:
        """This partition's offset in checkpoint `file` of the data folder; -1 where that is not
        there, lacks the partition, or is damaged (then `tell` is called). Its lines are a version,
        a number, and so many times `topic partition offset`; a broker that has just started has
        made it empty (OffsetCheckpointFile, CheckpointReadBuffer#read)."""
        try:
            lines = read_file(self.folder.parent / file).decode().splitlines()
            version, count, *rows = lines or ["0", "0"]
            found = {f"{topic}-{number}": int(at) for topic, number, at in map(str.split, rows)}
            if int(version) or int(count) != len(rows):
                raise ValueError(version)
        except FileNotFoundError:
            return -1
        except (OSError, ValueError):
            self.tell(file, OTHER)
            return -1
        return found.get(self.name, -1)

    # ---- the other files -----------------------------------------------------------------

    def read_snapshot(self, upto: int) -> tuple[int, list[Open]]:
        """Return (offset, the transactions open at it) of the newest producer snapshot at or before
        offset `upto` that can be read. Without one: the partition's first offset (0 of a partition
        without a segment), and nothing open."""
        # (a name is the offset, with leading zeros)
        paths = sorted(self.folder.glob("*.snapshot"), key=lambda path: path.name)
        for path in reversed([p for p in paths if p.stem.isdecimal() and int(p.stem) <= upto]):
            name = f"{self.name}/{path.name}"
            try:
                data = read_file(path)
                # a head of 10 bytes, whose checksum is of what comes after it; 46 for each producer
                version, crc, count = struct.unpack_from(">hIi", data)
                if version == 1 and crc == crc32c(data[6:]) and len(data) == 10 + 46 * count:
                    rows = PRODUCER.iter_unpack(data[10:])
                    # r: producer id, epoch, …, [5] time of its last batch, …, [7] first offset of
                    # its open transaction (-1: none is open)
                    opens = [Open(r[0], r[1], r[7], r[5], name) for r in rows if r[7] >= 0]
                    return int(path.stem), opens
                self.tell(name, OTHER)
            except OSError as error:
                self.tell(name, NO_FILE(why=say_cause(error)))
            except struct.error:
                self.tell(name, OTHER)
        return (self.bases[0] if self.bases else 0), []

    def read_aborted(self) -> Iterator[tuple[int, int, int]]:
        """(producer id, first, last offset) of each transaction in the .txnindex files."""
        for path in sorted(self.folder.glob("*.txnindex")):
            try:
                with open_file(path) as file:
                    if path.stat().st_size % ABORTED.size:
                        self.tell(f"{self.name}/{path.name}", CUT)
                    while len(data := file.read(ABORTED.size)) == ABORTED.size:
                        version, pid, first, last, _ = ABORTED.unpack(data)
                        if version != 0 or not 0 <= first <= last:
                            self.tell(f"{self.name}/{path.name}", OTHER)
                            break
                        yield pid, first, last
            except OSError as error:
                self.tell(f"{self.name}/{path.name}", NO_FILE(why=say_cause(error)))


def read_batches(
    file: BinaryIO, size: int, name: str, tell: Tell, at: int = 0, least: int = 0
) -> Iterator[Batch]:
    """Yield the batches of a segment, or of what a fetch has brought, from byte `at` to `size`,
    each as (its head, its bytes; b"" if these are more than PIECE). Damage is reported to `tell`,
    with the file's `name`, and skipped. `least`: no batch begins before this offset; after each
    batch it is the next."""
    told_old = False
    file.seek(at)
    while at < size:
        # a batch begins with its base offset (8 bytes), its length from byte 12 on, and the format
        # that it is in (the magic, byte 16); one of an old format has 26 bytes at least
        head_bytes = file.read(HEAD.size)
        whole = 12 + int.from_bytes(head_bytes[8:12], "big")
        if len(head_bytes) == HEAD.size and head_bytes[16] < MAGIC and 26 <= whole <= size - at:
            if not told_old:
                tell(name, OLD(magic=head_bytes[16]))
            told_old, at = True, at + whole
            file.seek(at)
            continue
        if not any(head_bytes):  # zeros: room that was set aside
            return
        head = Head.of(head_bytes) if len(head_bytes) == HEAD.size else None
        if head is None or whole > size - at or not _fits(head, whole, least):
            next_at = _find_batch(file, at + 1, size)
            # where no whole batch follows, the writer was stopped within this one
            torn = not next_at and (head is None or (head.magic == MAGIC and whole > size - at))
            tell(name, TORN(at=at) if torn else STRANGE(at=at, to=next_at or size))
            if not next_at:
                return
            at = next_at
            file.seek(at)
            continue
        data = head_bytes + file.read(whole - HEAD.size) if whole <= PIECE else b""
        crc = crc32c(data[CHECKED_FROM:]) if data else _check(file, head_bytes, whole)
        if crc == head.crc:
            least = head.base + head.delta + 1
            yield _row(head, name, at, data), data
        else:
            tell(name, FLIPPED(at=at))
        at += whole


def open_batch(batch: Batch, tell: Tell) -> list[Record]:
    """Its records; none where they cannot be opened, which is reported to `tell`."""
    row, data = batch
    if not data:
        tell(row.file, LARGE(at=row.at, size=PIECE))
        return []
    head = Head.of(data)
    try:
        body = decompress(head.bits & COMPRESSION, data[HEAD.size :], OPENED)
        return list(decode_records(body, head.count, head.base_ms))
    except Unreadable as error:
        why = str(error)
        tell(row.place, match_words(why, FLAWS) or Text(why))
        return []


def label_batch(batch: Batch, tell: Tell) -> Row:
    """The row with a label for each record: its key, else its value."""
    row = batch[0]
    if row.control:
        return row
    labels = [""] * (row.last - row.base + 1 if row.last - row.base < LABELLED else 0)
    for record in open_batch(batch, tell):
        if 0 <= record.delta < len(labels):
            labels[record.delta] = write_label(record.key, record.value)
    return replace(row, labels=tuple(labels))


def write_label(key: bytes | None, value: bytes | None) -> str:
    """What a picture shows of a record, where payloads are asked for."""
    return shorten(escape_unseen((key or value or b"").decode("utf-8", "backslashreplace")), LABEL)


def _fits(head: Head, whole: int, least: int) -> bool:
    """Whether these are the first bytes of a batch that may be here."""
    far = head.base - least
    return head.magic == MAGIC and whole >= HEAD.size and head.delta >= 0 and 0 <= far < 1 << 31


def _row(head: Head, name: str, at: int, data: bytes) -> Row:
    control = ""
    if head.bits & CONTROL:
        record = next(decode_records(data[HEAD.size :], 1, 0), None) if data else None
        kind = record.key[2:4] if record and record.key else b""
        control = {b"\0\0": ABORT, b"\0\1": COMMIT}.get(kind, "?")
    transactional = bool(head.bits & TRANSACTIONAL) and head.pid >= 0
    last = head.base + head.delta
    return Row(
        head.base, last, head.pid, head.epoch, transactional, control, head.base_ms, (), name, at,
        head.first_seq, head.count,
    )  # fmt: skip


def _check(file: BinaryIO, start: bytes, whole: int) -> int:
    """The checksum of a large batch of which `start` has been read."""
    crc, left = crc32c(start[CHECKED_FROM:]), whole - len(start)
    while left > 0:
        piece = file.read(min(PIECE, left))
        crc, left = crc32c(piece, crc), left - len(piece)
    return int(crc)


def _find_batch(file: BinaryIO, at: int, size: int) -> int:
    """Where the next whole batch begins, within a piece of the file; 0: nowhere."""
    file.seek(at)
    data = file.read(2 * PIECE)
    place = data.find(MAGIC, 16)
    while 0 <= place < PIECE:
        begin = place - 16
        whole = 12 + int.from_bytes(data[begin + 8 : begin + 12], "big")
        if HEAD.size <= whole <= len(data) - begin:
            crc = int.from_bytes(data[begin + 17 : begin + 21], "big")
            if crc == crc32c(data[begin + CHECKED_FROM : begin + whole]):
                return at + begin
        place = data.find(MAGIC, place + 1)
    return 0
