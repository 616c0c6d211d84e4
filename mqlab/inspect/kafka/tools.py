"""What Kafka's own tools print, from a file or a pipe: one output, or several behind each other.

    kafka-dump-log.sh --files … --print-data-log      batches, snapshots, .txnindex; with
        --transaction-log-decoder, --offsets-decoder  the coordinator's and the groups' records
    kafka-transactions.sh list | describe | describe-producers | find-hanging
    kafka-consumer-groups.sh --describe

Read line by line, so that a dump may be long. A payload may look like anything: only fields in
front of it are trusted, and a marker only in a batch that says it is a control batch.

Tried on what 3.9 and 4.3 print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO

from ...kernel import Text, Words, replace
from ...kernel.text import shorten, tr
from ..reading import Ask, Gap, Position, Reading, Txn, Unreadable
from .internal import GROUPS, STATE_OF, STATES, Own, State, join_states
from .judge import HANGING_STATE
from .scan import ABORT, COMMIT, Labels, Open, Row, Scan
from .segments import write_label

LONGEST = 1 << 20  # bytes of a line
MOST_UTF16 = 256 << 20  # bytes of a text in UTF-16, which is read at once
FIELD = re.compile(r"(\w+): (\S+)")
MARKER = re.compile(r"headerKeys: \[[^\]]*\] endTxnMarker: (COMMIT|ABORT) ")
BODY = re.compile(r"headerKeys: \[[^\]]*\](?: key: (.*?))?(?: payload: (.*))?$")
OLD_STATE = re.compile(
    r"producerId:(-?\d+),producerEpoch:(-?\d+),state=(\w+),partitions=\[(.*)\],"
    r"txnLastUpdateTimestamp=(-?\d+),txnTimeoutMs=(-?\d+)"
)
OPEN = re.compile(r"currentTxnFirstOffset: OptionalLong\[(\d+)\]")
NUMBERS = ("producerId", "producerEpoch", "transactionTimeoutMs",
           "transactionLastUpdateTimestampMs", "transactionStartTimestampMs")  # fmt: skip
OLD_KEY = "transaction_metadata::transactionalId="
GROUP_HEAD = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET")
GROUP_ROW = re.compile(r"(.+?)\s+(\S+)\s+(\d+)\s+(\d+|-)\s+(\d+|-)\s+(-?\d+|-)(?:\s|$)")

UNKNOWN_TEXT = (
    "{path} is nothing that kafka-dump-log.sh, kafka-transactions.sh or kafka-consumer-groups.sh "
    "--describe prints; it begins with “{first}”: hand in what one of these has printed, its lines "
    "whole, neither wrapped nor cut"
)
UNREAD = Words(
    "lines that were not understood: {n}, the first of them “{line}”. Wrapped, or cut? Let the "
    "tool write into a file, and hand that in; what is said here may lack what they say"
)
PLAIN_DUMP = tr(
    "which markers commit and which abort is not printed: dump it with --print-data-log"
)
INVALID = Words("the dump says that the batch at byte {at} is not valid")
NO_COORDINATOR = tr("what the coordinator says is not in it: add what `kafka-transactions.sh list` "
                    "and `describe` print")  # fmt: skip
NO_TIMES = tr("`kafka-transactions.sh list` prints no times: `describe` does, for one id")
NO_PLACE = tr("`describe-producers` does not print its partition: name it with --topic T:P")


class Tools:
    """What was found so far, table by table and dump by dump."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.labels = Labels()
        self.states: dict[str, State] = {}
        self.scans: dict[str, Scan] = {}
        self.hanging: list[Txn] = []
        self.positions: dict[tuple[str, str], Position] = {}
        self.gaps: dict[str, Gap] = {}
        self.at_ms = 0
        self.listed = False
        self.known = 0  # lines that were understood
        self.missed = 0  # lines that were not, and the first of them
        self.unread: tuple[str, str] | None = None
        self._row: Row | None = None  # the batch whose records follow
        self._scan: Scan | None = None
        self._file = ""
        self._take: Callable[[dict[str, str], str], None] | None = None
        self._columns: list[str] = []

    def read(self, lines: Iterable[str]) -> None:
        for number, line in enumerate(lines, 1):
            self._line(line.rstrip("\r\n"), f"line {number}")
        self._close_row()

    def _line(self, line: str, place: str) -> None:
        cells = [cell.strip() for cell in line.split("\t")]
        if line.startswith("Dumping "):
            self._close_row()
            self._open_file(line[len("Dumping ") :].strip())
        elif (take := self._find_table(cells)) is not None:
            self._take, self._columns, self._file = take, cells, ""
        elif tuple(line.split()[:5]) == GROUP_HEAD:
            self._close_row()
            self._take, self._columns, self._file = None, [], ""
        elif self._take and len(cells) >= len(self._columns):
            self._take(dict(zip(self._columns, cells, strict=False)), place)
        elif self._take and line.strip():
            self._miss(line, place)
        elif self._file:
            self._dumped(line, place)
            return
        elif not self._take and (match := GROUP_ROW.match(line)):
            self._take_group(match, place)
        else:
            return
        self.known += 1

    def _miss(self, line: str, place: str) -> None:
        """Of a dump or a table, but no line as a tool prints it; a first one is told."""
        self.unread = self.unread or (place, shorten(line, 60))
        self.missed += 1

    # ---- dumps ---------------------------------------------------------------------------

    def _open_file(self, path: str) -> None:
        self._file, self._take = path, None
        name = PurePath(path).parent.name or path
        topic, _, number = name.rpartition("-")
        wanted = not number.isdecimal() or topic in (STATES, GROUPS)
        wanted = wanted or self.ask.wants(topic, int(number))
        self._scan = self.scans.setdefault(name, Scan(name, path)) if wanted else None

    def _dumped(self, line: str, place: str) -> None:
        """A line of `kafka-dump-log.sh`: the head of a batch, or a record of the batch before
        it."""
        scan, fields = self._scan, dict(FIELD.findall(line))
        if scan is None:
            return
        if line.startswith("baseOffset: "):
            self._close_row()
            if fields.get("isvalid") == "false":
                why = INVALID(at=fields.get("position", "?"))
                self.gaps[place] = Gap(Text(scan.name), why, failed=True)
                return
            if "isvalid" not in fields:  # the last of them
                return self._miss(line, place)
            self._row = _row_of(fields, self._file)
        elif line.lstrip().startswith("| offset: ") and self._row is not None:
            self._record(self._row, scan, line, place)
        elif line.startswith("producerId: "):
            if first := OPEN.search(line):
                self._open(scan, fields, int(first[1]), "lastTimestamp", f"{self._file}, {place}")
        elif line.startswith("version: ") and "firstOffset: " in line:
            pid, first_at, last = _ints(fields, "producerId", "firstOffset", "lastOffset")
            scan.note_aborted(pid, first_at, last)
        elif line.strip() and not line.startswith("Log starting offset: "):
            return self._miss(line, place)
        else:
            return
        self.known += 1

    def _open(self, scan: Scan, row: dict[str, str], first: int, stamp: str, place: str) -> None:
        """A producer's open transaction, however its columns begin."""
        row = {name[:1].lower() + name[1:]: value for name, value in row.items()}
        pid, epoch, at_ms = _ints(row, "producerId", "producerEpoch", stamp)
        scan.opens[pid] = Open(pid, epoch, first, at_ms, place)
        scan.end = max(scan.end, first + 1)

    def _record(self, row: Row, scan: Scan, line: str, place: str) -> None:
        if "headerKeys: [" not in line:
            return self._miss(line, place)
        if row.control:
            if match := MARKER.search(line + " "):
                self._row = replace(row, control=COMMIT if match[1] == "COMMIT" else ABORT)
            return
        match = BODY.search(line)
        key, payload = (match[1] or "", match[2] or "") if match else ("", "")
        internal = scan.name.startswith((STATES, GROUPS))
        if internal and (not key or (payload.startswith("{") and not _is_json(payload))):
            self._miss(line, place)
        elif scan.name.startswith(STATES):
            self._take_state(key, payload, f"{self._file}, {place}")
        elif scan.name.startswith(GROUPS):
            self._take_committed(key, payload, row, f"{self._file}, {place}")
        elif self.ask.payloads and len(row.labels) <= row.last - row.base:
            label = write_label(key.encode() or None, payload.encode())
            self._row = replace(row, labels=(*row.labels, label))

    def _close_row(self) -> None:
        row, scan, self._row = self._row, self._scan, None
        if row is not None and scan is not None:
            if row.control == "?":
                self.gaps[scan.name] = Gap(Text(scan.name), PLAIN_DUMP)
            scan.start = scan.start if scan.tail else row.base
            scan.take(row)

    def _take_state(self, key: str, payload: str, place: str) -> None:
        """Of both decoders: the older one writes no start, and what goes on is not younger than
        its last update."""
        found = _json(key, "transactionalId")
        txn_id = str(found.get("transactionalId", key.removeprefix(OLD_KEY)))
        if match := OLD_STATE.fullmatch(payload):
            numbers = [int(match[n]) for n in (1, 2, 6, 5, 5)]
            names = tuple(filter(None, match[4].split(",")))
            self.states[txn_id] = _state(txn_id, numbers, match[3], names, place)
        elif data := _json(payload, "producerId"):
            topics = data.get("transactionPartitions") or ()
            names = tuple(f"{one['topic']}-{n}" for one in topics for n in one["partitionIds"])
            state = STATE_OF.get(data["transactionStatus"], "?")
            numbers = [int(data[what]) for what in NUMBERS]
            self.states[txn_id] = _state(txn_id, numbers, state, names, place)
        else:
            self.states.pop(txn_id, None)

    def _take_committed(self, key: str, payload: str, row: Row, place: str) -> None:
        found, data = _json(key, "topic"), _json(payload, "offset")
        if found and data:
            group, name = str(found["group"]), f"{found['topic']}-{found['partition']}"
            old = self.positions.get((group, name), Position(group, name, -1))
            if row.transactional:
                pending = (*old.pending, self.labels[row.pid, row.epoch])
                old = replace(old, pending=pending, more=(("would become", str(data["offset"])),))
            else:
                old = replace(old, at=int(data["offset"]))
            self.positions[group, name] = replace(old, source=place)

    # ---- tables --------------------------------------------------------------------------

    def _find_table(self, cells: list[str]) -> Callable[[dict[str, str], str], None] | None:
        tables = (
            ({"TransactionalId", "Coordinator", "TransactionState"}, self._take_listed),
            ({"TransactionalId", "TransactionTimeoutMs"}, self._take_described),
            ({"ProducerId", "CurrentTransactionStartOffset"}, self._take_producer),
            ({"Topic", "StartOffset", "Duration(min)"}, self._take_hanging),
        )
        found = next((take for columns, take in tables if columns <= {*cells}), None)
        self.listed = self.listed or found == self._take_listed
        return found

    def _take_listed(self, row: dict[str, str], place: str) -> None:
        txn_id, state = row["TransactionalId"], row["TransactionState"]
        (pid,) = _ints(row, "ProducerId")
        self.states.setdefault(txn_id, State(txn_id, pid, state=state, source=place))

    def _take_described(self, row: dict[str, str], place: str) -> None:
        txn_id = row["TransactionalId"]
        numbers = _ints(row, "ProducerId", "ProducerEpoch", "TransactionTimeoutMs")
        start, lasted = _ints(row, "CurrentTransactionStartTimeMs", "TransactionDurationMs")
        self._note_time(start, lasted)
        names = tuple(filter(None, row.get("TopicPartitions", "").split(",")))
        state = row.get("TransactionState", "")
        self.states[txn_id] = _state(txn_id, (*numbers, -1, start), state, names, place)

    def _take_producer(self, row: dict[str, str], place: str) -> None:
        name = f"{self.ask.topic}-{self.ask.partition}"
        if not self.ask.topic or self.ask.partition < 0:
            name = "?"
            self.gaps[name] = Gap(tr("the partition"), NO_PLACE)
        scan = self.scans.setdefault(name, Scan(name, place))
        (first,) = _ints(row, "CurrentTransactionStartOffset")
        if first >= 0:
            self._open(scan, row, first, "lastTimestamp", place)

    def _take_hanging(self, row: dict[str, str], place: str) -> None:
        name = f"{row['Topic']}-{row.get('Partition', '')}"
        pid, epoch, first = _ints(row, "ProducerId", "ProducerEpoch", "StartOffset")
        stamp, lasted = _ints(row, "LastTimestamp", "Duration(min)")
        self._note_time(stamp, 60_000 * lasted)
        label = self.labels[pid, epoch]
        self.hanging.append(
            Txn(label, "", HANGING_STATE, name, (name,), str(pid), epoch, first, stamp, -1, place)
        )

    def _note_time(self, start: int, lasted: int) -> None:
        if min(start, lasted) >= 0:
            self.at_ms = max(self.at_ms, start + lasted)

    def _take_group(self, match: re.Match[str], place: str) -> None:
        group, topic, number, *_ = match.groups()
        if self.ask.wants(topic, int(number)):
            name = f"{topic}-{number}"
            old = self.positions.get((group, name), Position(group, name, -1))
            at, end = _number(match[4]), _number(match[5])
            self.positions[group, name] = replace(old, at=at, end=end, source=place)

    # ---- all of it -----------------------------------------------------------------------

    def reading(self, name: str, at_ms: int) -> Reading:
        """All that the texts have said, joined: who is open where, with its coordinator's state."""
        scans = {key: scan for key, scan in self.scans.items() if not key.startswith("__")}
        found = {(txn.owner, txn.seen) for txn in self.hanging}
        opens = [txn for scan in self.scans.values() for txn in scan.list_open(self.labels)
                 if (txn.owner, txn.seen) not in found]  # fmt: skip
        txns = join_states(self.states.values(), [*self.hanging, *opens], self.labels)
        open_now = {txn.label for txn in opens}
        left, positions = {}, []
        for (group, log), one in sorted(self.positions.items()):
            scan = scans.get(log)
            pending = tuple(label for label in one.pending if label in open_now)
            end = scan.end if scan and one.end < 0 else one.end
            more = one.more if pending else ()
            positions.append(replace(one, end=end, pending=pending, more=more))
            if scan and one.at >= 0 and scan.end == end and (count := scan.count_left(one.at)):
                left[group, log] = count
        if opens and not self.states:
            self.gaps["coordinator"] = Gap(Text(STATES), NO_COORDINATOR)
        if any(one.state == "Ongoing" and one.epoch < 0 for one in self.states.values()):
            self.gaps["times"] = Gap(tr("ages"), NO_TIMES)
        if self.unread:
            place, line = self.unread
            self.gaps["unread"] = Gap(Text(place), UNREAD(n=self.missed, line=line), failed=True)
        own = Own(tuple(self.states.values()), self.listed, left, live=False)
        logs = tuple(scan.read(self.labels) for scan in scans.values() if scan.tail)
        return Reading(
            "kafka", name, self.at_ms or at_ms, logs, tuple(txns), tuple(positions),
            tuple(self.gaps.values()), own,
        )  # fmt: skip


def _state(
    txn_id: str, numbers: Sequence[int], state: str, names: tuple[str, ...], source: str
) -> State:
    """`numbers`: producer id, epoch, timeout, last update, start."""
    pid, epoch, timeout_ms, update_ms, start_ms = numbers
    return State(txn_id, pid, epoch, timeout_ms, state, update_ms, start_ms, names, source)


def _row_of(fields: dict[str, str], file: str) -> Row:
    base, last, pid, epoch, at, seq = _ints(
        fields, "baseOffset", "lastOffset", "producerId", "producerEpoch", "position",
        "baseSequence",
    )  # fmt: skip
    transactional = fields.get("isTransactional") == "true" and pid >= 0
    control = "?" if fields.get("isControl") == "true" else ""
    at_ms = _number(fields.get("CreateTime", fields.get("LogAppendTime")))
    return Row(base, last, pid, epoch, transactional, control, at_ms, (), file, at, seq)


def _number(text: str | None) -> int:
    """-1 for what is no number, such as None."""
    return int(text) if text and re.fullmatch(r"-?\d{1,19}", text) else -1


def _ints(row: dict[str, str], *names: str) -> tuple[int, ...]:
    return tuple(_number(row.get(name)) for name in names)


def _json(text: str, wanted: str) -> dict[str, Any]:
    """The data of a decoder's record, where it has this field."""
    try:
        found = json.loads(text)
        data = found.get("data") if isinstance(found, dict) else None
        return data if isinstance(data, dict) and wanted in data else {}
    except (ValueError, RecursionError):
        return {}


def _is_json(text: str) -> bool:
    try:
        return bool(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Lines, of which each is cut where it is too long."""
    data = stream.readline(LONGEST).removeprefix(b"\xef\xbb\xbf")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as a Windows shell writes into a file
        text = data + stream.read(MOST_UTF16)
        yield from text.decode("utf-16", "backslashreplace").splitlines()
        return
    while data:
        yield data.decode("utf-8", "backslashreplace")
        data = stream.readline(LONGEST)


def read_tools(ask: Ask, stream: BinaryIO, name: str, at_ms: int) -> Reading:
    """Raises Unreadable. `at_ms`: when it was printed, where it does not say."""
    tools, first = Tools(ask), ""

    def keep_first() -> Iterator[str]:
        nonlocal first
        for line in _lines(stream):
            first = first or line.strip()
            yield line

    try:
        tools.read(keep_first())
    except OSError as error:
        raise Unreadable("cannot read {}: {}", name, error.strerror) from error
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable("{} is not the output of a Kafka tool: {}", name, error) from error
    if not tools.known:
        raise Unreadable(UNKNOWN_TEXT.format(path=name, first=shorten(first, 60)))
    return tools.reading(name, at_ms)
