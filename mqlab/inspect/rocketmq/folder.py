"""A store folder, of a broker that runs or that is down. A message is found as the broker finds
it: a queue's entry says where in the commit log it is. Only what is asked for is read, an entry
and a message at a time, so a store of any size needs the same memory.

    commitlog/NAME                 messages; a file's name is the offset at which it begins
    consumequeue/TOPIC/QUEUE/NAME  entries of 20 bytes: place 8 · size 4 · hash of the tag 8
    config/*.json                  topics, positions; what was there before ends in .bak
    checkpoint                     when the last message that is surely on the disk was stored

Files are written full of zeros first, so a queue ends where its entries have no size.

Source: ConsumeQueue, MappedFileQueue, StoreCheckpoint, ConfigManager (4.9.7, 5.5.0).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ...kernel import Text, Words, tr
from ...rocketmq.remoting import MessageRecord, RemotingError, decode_json, decode_record
from ..asking import Refused, parse_settings
from ..reading import Ask, Gap, Unreadable, open_file, read_file
from .remote import Bounds, Places, parse_places

ENTRY = struct.Struct(">qiq")
TIME = struct.Struct(">q")
MOST_MESSAGE, MOST_CONFIG = 8 << 20, 64 << 20
QUEUE_FILE = 300_000 * ENTRY.size  # mappedFileSizeConsumeQueue, where broker.conf has no other
NUMBERED = re.compile(r"\d{20}")
DOWN = tr("only a running broker knows")
NO_SETTINGS = tr("there is no broker.conf beside the store; RocketMQ's defaults are taken")
IN_ROCKSDB = tr(
    "its queues are in RocksDB (storeType=defaultRocksDB), which is not read; start the broker, "
    "and name its HOST:PORT"
)
NO_QUEUES = tr(
    "there is no consumequeue, which is needed to find messages; a broker rebuilds it from the "
    "commit log when it starts"
)
NO_FILE = Words("there is no {name}")
DAMAGED = Words("it is damaged ({why})")
OLDER = Words("it is damaged ({why}); what it said before is taken, from {name}.bak")
CUT = Words(
    "the file of its entries from offset {at} has {size:,} bytes of {full:,} and no empty entry at "
    "its end: it is cut, and entries may be missing"
)
LOST = Words("entries that lead to no message: {n}, the first at offset {at}: {why}")
ELSEWHERE = tr("another message is there")
BEYOND = tr("the commit log has no such place")


class Files:
    """A log in files that are named by the byte at which each begins."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.starts: list[int] = []
        with suppress(OSError):
            names = (file.name for file in folder.iterdir() if NUMBERED.fullmatch(file.name))
            self.starts = sorted(map(int, names))
        self.first = self.starts[0] if self.starts else 0

    def read(self, at: int, size: int) -> bytes:
        """Fewer bytes where there are no more. Raises OSError."""
        number = bisect_right(self.starts, at) - 1
        if number < 0:
            return b""
        with open_file(self._path(number)) as file:
            file.seek(at - self.starts[number])
            return file.read(size)

    def end(self) -> int:
        """Where the last file ends."""
        return self.starts[-1] + self._path(-1).stat().st_size if self.starts else 0

    def _path(self, number: int) -> Path:
        return self._folder / f"{self.starts[number]:020d}"


class Store:
    """Asked as a broker is (`remote.py`). Raises Unreadable where this is none."""

    def __init__(self, path: Path, ask: Ask) -> None:
        self.name = str(path)
        self.gaps: list[Gap] = []
        self.newest = 0
        root = path if (path / "commitlog").is_dir() else path / "store"
        if next(root.glob("dledger-*/data/*"), None):
            raise Unreadable(
                "the messages in {} are in DLedger files (enableDLegerCommitLog=true), which are "
                "not read: start the broker, and name its HOST:PORT",
                path,
            )
        if not (root / "commitlog").is_dir():
            raise Unreadable(
                "{} has no commitlog: a RocketMQ store folder (storePathRootDir) has "
                "commitlog, consumequeue and config",
                path,
            )
        self._root, self._log = root, Files(root / "commitlog")
        self._queue = cache(lambda topic, n: Files(root / "consumequeue" / topic / str(n)))
        with suppress(OSError, struct.error):
            self.newest = TIME.unpack_from(read_file(root / "checkpoint")[:8])[0]

    @property
    def now_ms(self) -> int:
        """When the last message was stored: a broker that is down does not grow older."""
        return self.newest

    def settings(self) -> Mapping[str, str]:
        for folder in (self._root, self._root.parent, self._root.parent / "conf"):
            with suppress(OSError):
                # A comment may be of any encoding.
                return parse_settings(read_file(folder / "broker.conf").decode("utf-8", "replace"))
        raise Refused(NO_SETTINGS)

    def topics(self) -> Mapping[str, Any]:
        """Those that have queues."""
        if (self._root / "consumequeue" / "CURRENT").is_file():
            raise Refused(IN_ROCKSDB, failed=True)
        with suppress(OSError):
            return {folder.name: {} for folder in (self._root / "consumequeue").iterdir()}
        raise Refused(NO_QUEUES, failed=True)

    def places(self) -> Places:
        return parse_places(self._read_config_table("consumerOffset.json", "offsetTable"))

    def _read_config_table(self, name: str, key: str) -> Any:
        """Return the table `key` of a JSON file in the store's config folder, or of its backup
        where the file is missing or damaged (a gap), as the broker does too. Raises Refused where
        neither can be read."""
        why = None
        for path in (self._root / "config" / name, self._root / "config" / f"{name}.bak"):
            try:
                if path.stat().st_size > MOST_CONFIG:
                    raise RemotingError("{} bytes", path.stat().st_size)
                table = decode_json(read_file(path))[key]
                table.items()  # AttributeError where it is no table
            except FileNotFoundError:
                continue
            except (OSError, RemotingError, KeyError, TypeError, AttributeError) as error:
                why = why or str(error)
                continue
            if why is not None:
                self.gaps.append(Gap(Text(name), OLDER(why=why, name=name), failed=True))
            return table
        raise Refused(NO_FILE(name=name) if why is None else DAMAGED(why=why), failed=True)

    def bounds(self, topic: str) -> Bounds:
        folder = self._root / "consumequeue" / topic
        if "/" in topic or not folder.is_dir():
            return {}
        try:
            numbers = sorted(int(one.name) for one in folder.iterdir() if one.name.isdecimal())
            found = {number: self._bounds(self._queue(topic, number)) for number in numbers}
            for number, (_, end) in found.items():
                self._note_cut(f"{topic}-{number}", self._queue(topic, number), end)
            return found
        except OSError as error:
            raise Refused(DAMAGED(why=error.strerror or str(error)), failed=True) from error

    def _bounds(self, files: Files) -> tuple[int, int]:
        if not files.starts:
            return 0, 0
        low, high = files.first // ENTRY.size, files.end() // ENTRY.size
        last = files.starts[-1] // ENTRY.size
        end = bisect_left(range(last, high), True, key=lambda n: _entry(files, n)[1] <= 0) + last
        first = bisect_left(range(low, end), self._log.first, key=lambda n: _entry(files, n)[0])
        return low + first, end

    def _note_cut(self, queue: str, files: Files, end: int) -> None:
        """A gap where a queue's last file is full before its time: it is written full of zeros
        first, so that empty entries follow the last one."""
        if not files.starts:
            return
        start, has_empty = files.starts[-1], (end + 1) * ENTRY.size <= files.end()
        size, full = files.end() - start, self._queue_file_size
        if not has_empty and size + ENTRY.size <= full:
            why = CUT(at=start // ENTRY.size, size=size, full=full)
            self.gaps.append(Gap(Text(queue), why, failed=True))

    @cached_property
    def _queue_file_size(self) -> int:
        with suppress(Refused, KeyError, ValueError):
            return int(self.settings()["mappedFileSizeConsumeQueue"])
        return QUEUE_FILE

    def producers(self, groups: Collection[str]) -> frozenset[str]:
        raise Refused(DOWN)

    def readers(self, group: str) -> int:
        raise Refused(DOWN)

    def records(self, topic: str, queue: int, first: int, end: int) -> Iterator[MessageRecord]:
        """Yield the messages of a queue at offsets `first` to before `end`. Those that cannot be
        read, or are not what the queue says, are skipped and, after the last, noted as one gap;
        `newest` follows the times at which they were stored."""
        files = self._queue(topic, queue)
        problems: Counter[str] = Counter()
        first_lost = -1
        for offset in range(first, end):
            try:
                # an entry: place in the commit log, size, hash of the tag
                record = self._read(*_entry(files, offset)[:2])
                if (record.topic, record.queue_id, record.queue_offset) != (topic, queue, offset):
                    raise RemotingError(ELSEWHERE)
            except (OSError, RemotingError) as error:
                first_lost = offset if first_lost < 0 else first_lost
                problems[str(error)] += 1
                continue
            self.newest = max(self.newest, record.store_timestamp)
            yield record
        if problems:
            why = LOST(n=problems.total(), at=first_lost, why=next(iter(problems)))
            self.gaps.append(Gap(Text(f"{topic}-{queue}"), why, failed=True))

    def _read(self, at: int, size: int) -> MessageRecord:
        if not 0 < size <= MOST_MESSAGE:
            raise RemotingError(Words("an entry for {} bytes")(size))
        data = self._log.read(at, size)
        if len(data) < size:
            raise RemotingError(BEYOND)
        return decode_record(data)[0]


def _entry(files: Files, number: int) -> tuple[int, int, int]:
    """Zeros where it is torn."""
    data = files.read(number * ENTRY.size, ENTRY.size)
    return ENTRY.unpack(data) if len(data) == ENTRY.size else (0, 0, 0)
