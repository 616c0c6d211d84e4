"""A broker's data folder, also while the broker is down: what `log.dirs` names, a folder above it,
the folder of one partition, or one segment.

Of each partition the last segment is read, from the newest snapshot of its producers on, and what
is around its frontiers; of a large one, therefore, a small part. The coordinator's and the
groups' logs are read from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ...kernel import Text, Words, replace
from ...kernel.text import say_cause, tr
from ...real.kafka.wire import Unknown
from ..reading import Ask, Gap, LogRead, Position, Reading, Txn, Unreadable
from .internal import (
    GROUPS,
    STATES,
    Own,
    State,
    join_states,
    read_committed,
    read_state,
)  # fmt: skip
from .scan import AHEAD, AROUND, COMMIT, Labels, Open, Row, Scan
from .segments import LOG_STARTS, NOT_SERVED, PASSED, Partition, label_batch, open_batch

FOLDER = re.compile(r"(.+)-(\d+)")
MOST_GAPS = 40
MOST_SHOWN = 200  # offsets that were asked for and are drawn
EVERY = 200_000  # batches between two lines of progress

NO_FOLDER = Words(
    "{path} is no data folder of Kafka: it holds no folder such as orders-0 with a .log file; "
    "name what log.dirs says in the broker's server.properties, or one partition's folder"
)
NOT_ASKED = Words(
    "{path} holds no {topic}; it holds {known}: name one of these with --topic, or leave it out"
)
TWICE = Words("it is in {n} folders, the copies of {n} brokers; the longest was read")
SOME = Words("{n} more files are damaged")
NO_LOG = tr("its folder has no .log file: all that was in it is missing here")
NO_STATE = tr("no folder of __transaction_state is there: the coordinator of these transactions "
              "is another broker, so which of them hang cannot be said")  # fmt: skip
NO_GROUPS = tr("no folder of __consumer_offsets is there: the groups' coordinator is another "
               "broker")  # fmt: skip
ONLY_ASKED = tr("something else was asked for")
BEFORE = Words("what comes before offset {first} was not counted")
ONLY_METADATA = Words(
    "{path} holds only the cluster's metadata (__cluster_metadata), in which there are no "
    "transactions: name what log.dirs says in a broker's server.properties, not metadata.log.dir"
)
REMOTE = Words(
    "offsets {first} to {last} are in tiered storage, not in this folder, and were not read"
)


class Folder:
    """What is read of a folder, step by step."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.gaps: dict[tuple[str, str], Gap] = {}
        self.places = find_partitions(Path(ask.target), self._note_copies)
        self.labels = Labels()
        self.states: dict[str, State] = {}
        self.parts: dict[str, int] = {}  # transactional id: the part of the log where it was read
        self.committed: dict[tuple[str, str, int], int] = {}
        # by (group, topic, partition): what the open transaction of each producer would commit
        self.pending: dict[tuple[str, str, int], dict[int, int]] = {}

    def tell(self, file: str, what: Text) -> None:
        """Damage; each once."""
        self.gaps.setdefault((file, what.en), Gap(Text(file), what, failed=True))

    def _note_copies(self, name: str, copies: int) -> None:
        why = TWICE(n=copies) if copies else NO_LOG
        self.gaps[name, ""] = Gap(Text(name), NOT_SERVED if copies < 0 else why, failed=not copies)

    def partition(self, topic: str, number: int) -> Partition:
        path = self.places[topic, number]
        only = path if path.is_file() else None
        folder = path.parent if only else path
        return Partition(folder, f"{topic}-{number}", self.tell, only)

    def read(self) -> Reading:
        """Read the coordinators' logs first, then the partitions that were asked for: which
        transactions are open in them, how far a read_committed consumer gets, and which files are
        damaged. Raises Unreadable where the folder has no such partition."""
        wanted = self._choose_partitions()
        opens: list[Txn] = []
        logs: list[LogRead] = []
        scans: dict[str, Scan] = {}
        for topic, number in self._list_partitions(STATES):
            self.ask.say(f"{STATES}-{number}")
            partition = self.partition(topic, number)
            # a gap where a file beside the log, such as a snapshot, was written at a later offset
            partition.check_end(self._read_states(partition, number))
        for topic, number in self._list_partitions(GROUPS):
            self.ask.say(f"{GROUPS}-{number}")
            partition = self.partition(topic, number)
            scan = self._read_groups(partition)
            partition.check_end(scan.end)
            opens += scan.list_open(self.labels)
        for index, (topic, number) in enumerate(wanted, 1):
            self.ask.say(f"{topic}-{number} ({index}/{len(wanted)})")
            scan, log = self._read_log(self.partition(topic, number), f"{topic}-{number}")
            scans[scan.name] = scan
            opens += scan.list_open(self.labels)
            logs.append(log)
        txns = join_states(self.states.values(), opens, self.labels)
        positions, unread = self._join_positions(scans, txns)
        facts = Own(tuple(self.states.values()), self._holds_all_states(), unread, live=False)
        return Reading(
            "kafka", self.ask.target, self.ask.now_ms, tuple(logs), tuple(txns), positions,
            self._list_gaps(), facts,
        )  # fmt: skip

    def _choose_partitions(self) -> list[tuple[str, int]]:
        ask = self.ask
        internal = (STATES, GROUPS, "__cluster_metadata")
        found = [p for p in self.places if ask.wants(*p) and (ask.topic or p[0] not in internal)]
        if {topic for topic, _ in self.places} == {"__cluster_metadata"}:
            raise Unreadable(ONLY_METADATA(path=ask.target))
        if not found and (ask.topic or not self.places):
            known = ", ".join(sorted({topic for topic, _ in self.places}))
            wanted = f"{ask.topic}-{ask.partition}" if ask.partition >= 0 else ask.topic
            raise Unreadable(NOT_ASKED(path=ask.target, topic=wanted, known=known))
        return sorted(found)

    def _list_partitions(self, topic: str) -> list[tuple[str, int]]:
        return sorted(place for place in self.places if place[0] == topic)

    def _holds_all_states(self) -> bool:
        """Whether the coordinator's log is here in full, as far as one can see: nothing of it is
        damaged, and no number is missing, as it is on a broker of several that keep it in parts, or
        in a copy of the first parts."""
        numbers = [number for _, number in self._list_partitions(STATES)]
        whole = bool(numbers) and numbers == list(range(len(numbers)))
        # Each id is where its hash says, of as many parts as there are in all.
        whole = whole and all(find_part(one, len(numbers)) == at for one, at in self.parts.items())
        return whole and not any(
            gap.failed and name.startswith(STATES) for (name, _), gap in self.gaps.items()
        )

    # ---- the coordinators' logs ----------------------------------------------------------

    def _read_states(self, part: Partition, number: int) -> int:
        """Collect the latest state of each transactional id from one partition of
        `__transaction_state` (`number`) into `states`, and that number into `parts`; a tombstone
        removes both. Returns the offset after the last batch, 0 where there is none."""
        end = 0
        for batch in part.read():
            end = batch[0].last + 1
            for record in open_batch(batch, self.tell) if not batch[0].control else ():
                try:
                    state = read_state(record.key or b"", record.value, batch[0].place)
                except Unknown as error:
                    self.tell(batch[0].place, Text(str(error)))
                    continue
                if state is not None and state.state:
                    self.states[state.txn_id], self.parts[state.txn_id] = state, number
                elif state is not None:  # a tombstone: the id was deleted
                    self.states.pop(state.txn_id, None)
                    self.parts.pop(state.txn_id, None)
        return end

    def _read_groups(self, part: Partition) -> Scan:
        """Collect the groups' committed offsets from one partition of `__consumer_offsets` into
        `committed`, and those that an open transaction would commit into `pending`, both by (group,
        topic, partition). Returns the partition's `Scan`, which knows its end and its open
        transactions."""
        scan = Scan(part.name, str(part.folder))
        # by producer id and place, the positions in its open transaction, with where they are
        of_open_txns: dict[int, dict[tuple[str, str, int], tuple[int, int]]] = {}
        written: dict[tuple[str, str, int], int] = {}  # by place, where the one that counts is
        for batch in part.read():
            row = batch[0]
            scan.take(row)
            if row.control:  # the marker that ends the producer's transaction
                held = of_open_txns.pop(row.pid, {})
                for place, (at, offset) in held.items() if row.control == COMMIT else ():
                    if at > written.get(place, -1):  # else one that was written later counts
                        self.committed[place], written[place] = offset, at
                continue
            for record in open_batch(batch, self.tell):
                try:
                    position = read_committed(record.key or b"", record.value)
                except Unknown as error:
                    self.tell(row.place, Text(str(error)))
                    continue
                if position is None:
                    continue
                place = position.group, position.topic, position.partition
                if position.offset < 0:  # deleted, and what is pending of it too
                    self.committed.pop(place, None)
                    for held in of_open_txns.values():
                        held.pop(place, None)
                elif row.transactional:
                    of_open_txns.setdefault(row.pid, {})[place] = row.base, position.offset
                else:
                    self.committed[place], written[place] = position.offset, row.base
        for pid, positions_of_txn in of_open_txns.items():
            for place, (_, offset) in positions_of_txn.items():
                self.pending.setdefault(place, {})[pid] = offset
        return scan

    def _join_positions(
        self, scans: dict[str, Scan], txns: list[Txn]
    ) -> tuple[tuple[Position, ...], dict[tuple[str, str], tuple[int, int]]]:
        """Return the groups' positions in the logs that were asked for, with what is pending in a
        transaction, and, by (group, log), what the group has still to read, where that is known:
        (records, offsets that hold none for it). `scans`: by log; `txns`: all that are open, of
        which those seen in `__consumer_offsets` hold offsets back."""
        label_of = {txn.owner: txn.label for txn in txns if txn.seen.startswith(GROUPS)}
        positions, unread = [], {}
        for key in sorted(self.committed.keys() | self.pending.keys()):
            group, topic, number = key
            # -1: nothing is committed, but something is pending
            offset, name = self.committed.get(key, -1), f"{topic}-{number}"
            pending = self.pending.get(key, {})
            if not self.ask.wants(topic, number) or (offset < 0 and not pending):
                continue
            scan = scans.get(name)
            labels = tuple(label_of.get(str(pid), str(pid)) for pid in pending)
            more = tuple(("would become", str(to)) for to in pending.values())
            end = scan.end if scan else -1
            # "": a log does not say in which state the group is
            positions.append(Position(group, name, offset, end, "", labels, GROUPS, more))
            if scan and offset >= 0 and (count := scan.count_left(offset)):
                unread[group, name] = count
        return tuple(positions), unread

    # ---- a partition ---------------------------------------------------------------------

    def _read_log(self, part: Partition, name: str) -> tuple[Scan, LogRead]:
        """Read a partition's log from its newest usable snapshot of producers on, then the batches
        around its LSO and its end and those that were asked for. Returns its scan (what is open in
        it, and its offsets) and what is shown of it. `name`: TOPIC-NUMBER."""
        ask = self.ask
        # the snapshot says what was open at offset `scan_from`
        scan_from, open_txns = part.read_snapshot(part.bases[-1] if part.bases else 0)
        # records before `start` were deleted, with their segment or by DeleteRecords
        kept_from = part.read_checkpoint(LOG_STARTS)
        start = max([0, *part.bases[:1], kept_from])
        if 0 <= kept_from < start:  # noted of a log with tiered storage
            why = REMOTE(first=kept_from, last=start - 1)
            self.gaps[name, "remote"] = Gap(Text(name), why)
        scan = Scan(name, str(part.folder), start, scan_from)
        scan.opens = {txn.pid: txn for txn in open_txns}
        self._scan_partition(scan, part, scan_from, last=-1)
        part.check_end(scan.end)
        for pid, first, last in part.read_aborted():
            if last < scan_from:
                scan.note_aborted(pid, first, last)
        # what was asked for is counted by a scan of its own, since the first begins later
        counted, shown = None, ask.span(MOST_SHOWN)
        if shown:
            counted = Scan(name, "", start)
            self._scan_partition(counted, part, ask.first, ask.last)
        elif scan.start < scan_from:
            # the report says that what is before this offset was not read
            self.gaps[name, ""] = Gap(Text(name), BEFORE(first=scan_from))
        # by base offset, the batches around the LSO and the end, and those asked for
        spans = [range(max(at - AROUND, 0), at + AHEAD) for at in (scan.first_open, scan.end)]
        kept = {
            batch[0].base: label_batch(batch, self.tell) if ask.payloads else batch[0]
            for span in (*spans, shown)
            for batch in (part.read(span[0], span[-1]) if span else ())
        }
        scan.opens = {pid: _with_first_batch(txn, kept) for pid, txn in scan.opens.items()}
        return scan, scan.read(self.labels, kept.values(), asked=shown, counted=counted)

    def _scan_partition(self, scan: Scan, part: Partition, first: int, last: int) -> None:
        for number, (row, _) in enumerate(part.read(first, last), 1):
            scan.take(row)
            if number % EVERY == 0:
                self.ask.say(f"{scan.name}: {row.base}")

    def _list_gaps(self) -> tuple[Gap, ...]:
        """List what was not read, and why: the damage found, coordinators' logs that are not in
        this folder, and partitions that were not asked for. After MOST_GAPS a last one says how
        many more there are."""
        gaps = list(self.gaps.values())
        if not self._list_partitions(STATES):
            gaps.append(Gap(Text(STATES), NO_STATE))
        if not self._list_partitions(GROUPS):
            gaps.append(Gap(Text(GROUPS), NO_GROUPS))
        if self.ask.topic:  # else all were asked for
            others = {f"{t}-{n}" for t, n in self.places if not self.ask.wants(t, n)}
            # (the broker's own logs are read for what they say, whatever was asked for)
            others = {name for name in others if not name.startswith("__")}
            if others:
                names = Text(", ".join(sorted(others)[:4]) + (" …" if len(others) > 4 else ""))
                gaps.append(Gap(names, ONLY_ASKED))
        if len(gaps) > MOST_GAPS:
            hidden = len(gaps) - MOST_GAPS
            gaps = [*gaps[:MOST_GAPS], Gap(Text("…"), SOME(n=hidden), failed=True)]
        return tuple(gaps)


def find_part(txn_id: str, parts: int) -> int:
    """Of the coordinator's log the part that has this id: Java's hash of a text, of UTF-16."""
    units = txn_id.encode("utf-16-be", "replace")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + 256 * high + low) & 0xFFFFFFFF
    return min(found, (1 << 32) - found) % (1 << 31) % parts


def _with_first_batch(one: Open, kept: dict[int, Row]) -> Open:
    """With the batch that began it, where a snapshot was all that showed it."""
    row = kept.get(one.first)
    return replace(one, at_ms=row.at_ms, place=row.place) if row is not None else one


def find_partitions(root: Path, note: Callable[[str, int], None]) -> dict[tuple[str, int], Path]:
    """Find the partitions in a folder and two levels below it: (topic, partition) → its folder, or
    `root` itself where that is one segment. Of several copies of a partition the one with the
    longest log counts. `note` is called with a partition's name and its number of copies if that is
    not 1: 0 for a folder without a log, -1 for one that the broker does not serve. Raises
    Unreadable where there is none."""
    if root.is_file():
        parent = FOLDER.fullmatch(root.parent.name)
        # named by the folder that it is in, which may have been renamed
        return {(parent[1], int(parent[2])) if parent else (root.parent.name or "log", 0): root}
    copies_of: dict[tuple[str, int], list[Path]] = {}
    try:
        folders: dict[Path, Path] = {}
        for path in (root, *sorted(root.glob("*/")), *sorted(root.glob("*/*/"))):
            # A link may lead to a folder that is here already, even to the one that it is in.
            folders.setdefault(path.resolve(), path)
        for path in folders.values():
            match = FOLDER.fullmatch(path.name)
            if match and next(path.glob("[0-9]*.log"), None):
                copies_of.setdefault((match[1], int(match[2])), []).append(path)
            elif match and (path / "leader-epoch-checkpoint").exists():
                note(path.name, 0)  # a partition's folder, but no log in it
            elif PASSED.fullmatch(path.name):  # renamed: -delete, -future or -stray
                note(path.name, -1)
    except OSError as error:
        raise Unreadable("cannot read {}: {}", root, say_cause(error)) from error
    if not copies_of:
        raise Unreadable(NO_FOLDER(path=root))
    for (topic, number), copies in copies_of.items():
        if len(copies) > 1:
            note(f"{topic}-{number}", len(copies))
    return {place: max(copies, key=_copy_length) for place, copies in copies_of.items()}


def _copy_length(folder: Path) -> tuple[int, int]:
    """How far a copy goes: the first offset of its last segment, and the bytes in it."""
    last = max(folder.glob("[0-9]*.log"), key=lambda path: path.name)
    return int(last.stem) if last.stem.isdecimal() else 0, last.stat().st_size


def read_folder(ask: Ask) -> Reading:
    """Raises Unreadable."""
    return Folder(ask).read()
