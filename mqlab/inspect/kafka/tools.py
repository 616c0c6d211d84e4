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
from collections.abc import Callable, Iterable, Iterator
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
FIELD = re.compile(r"(\w+): (\S+)")
MARKER = re.compile(r"headerKeys: \[[^\]]*\] endTxnMarker: (COMMIT|ABORT) ")
BODY = re.compile(r"headerKeys: \[[^\]]*\](?: key: (.*?))?(?: payload: (.*))?$")
OLD_STATE = re.compile(
    r"producerId:(-?\d+),producerEpoch:(-?\d+),state=(\w+),partitions=\[(.*)\],"
    r"txnLastUpdateTimestamp=(-?\d+),txnTimeoutMs=(-?\d+)"
)
OLD_KEY = "transaction_metadata::transactionalId="
GROUP_HEAD = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET")
GROUP_ROW = re.compile(r"(.+?)\s+(\S+)\s+(\d+)\s+(\d+|-)\s+(\d+|-)\s+(-?\d+|-)(?:\s|$)")

UNKNOWN_TEXT = (
    "{path} is nothing that kafka-dump-log.sh, kafka-transactions.sh or kafka-consumer-groups.sh "
    "--describe prints; it begins with “{first}”: hand in what one of these has printed"
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
        elif self._file:
            self._dumped(line, place)
            return
        elif not self._take and (match := GROUP_ROW.match(line)):
            self._take_group(match, place)
        else:
            return
        self.known += 1

    # ---- dumps ---------------------------------------------------------------------------

    def _open_file(self, path: str) -> None:
        self._file, self._take = path, None
        name = PurePath(path).parent.name or path
        topic, _, number = name.rpartition("-")
        wanted = not number.isdecimal() or topic in (STATES, GROUPS)
        wanted = wanted or self.ask.wants(topic, int(number))
        self._scan = self.scans.setdefault(name, Scan(name, path)) if wanted else None

    def _dumped(self, line: str, place: str) -> None:
        scan = self._scan
        if scan is None:
            return
        if line.startswith("baseOffset: "):
            self._close_row()
            fields = dict(FIELD.findall(line))
            if fields.get("isvalid") == "false":
                self.gaps[place] = Gap(
                    Text(scan.name), INVALID(at=fields.get("position", "?")), failed=True
                )
                return
            self._row = _row_of(fields, self._file)
        elif line.lstrip("\t ").startswith("| offset: ") and self._row is not None:
            self._record(line, place)
        elif line.startswith("producerId: "):
            fields = dict(FIELD.findall(line))
            first = re.search(r"currentTxnFirstOffset: OptionalLong\[(\d+)\]", line)
            if first:
                pid, epoch = _int(fields["producerId"]), _int(fields.get("producerEpoch"))
                stamp = _int(fields.get("lastTimestamp"))
                scan.opens[pid] = Open(pid, epoch, int(first[1]), stamp, f"{self._file}, {place}")
                scan.end = max(scan.end, int(first[1]) + 1)
        elif line.startswith("version: ") and "firstOffset: " in line:
            fields = dict(FIELD.findall(line))
            pid, first_at = _int(fields.get("producerId")), _int(fields.get("firstOffset"))
            scan.note_aborted(pid, first_at, _int(fields.get("lastOffset")))
        else:
            return
        self.known += 1

    def _record(self, line: str, place: str) -> None:
        assert self._row is not None
        if self._row.control:
            if match := MARKER.search(line + " "):
                control = COMMIT if match[1] == "COMMIT" else ABORT
                self._row = replace(self._row, control=control)
            return
        match = BODY.search(line)
        key, payload = (match[1], match[2]) if match else (None, None)
        assert self._scan is not None
        if self._scan.name.startswith(STATES):
            self._take_state(key or "", payload or "", place)
        elif self._scan.name.startswith(GROUPS):
            self._take_committed(key or "", payload or "", self._row, place)
        elif self.ask.payloads and len(self._row.labels) <= self._row.last - self._row.base:
            label = write_label((key or "").encode() or None, (payload or "").encode())
            self._row = replace(self._row, labels=(*self._row.labels, label))

    def _close_row(self) -> None:
        row, self._row = self._row, None
        if row is None or self._scan is None:
            return
        if row.control == "?":
            self.gaps[self._scan.name] = Gap(Text(self._scan.name), PLAIN_DUMP)
        if not self._scan.tail:
            self._scan.start = row.base
        self._scan.take(row)

    def _take_state(self, key: str, payload: str, place: str) -> None:
        source = f"{self._file}, {place}"
        if key.startswith(OLD_KEY):
            txn_id = key[len(OLD_KEY) :]
            if match := OLD_STATE.fullmatch(payload):
                pid, epoch, state, parts, update, timeout = match.groups()
                # This form has no start: the last update of what goes on is not before it.
                found = (txn_id, int(pid), int(epoch), int(timeout), state, int(update))
                names = tuple(filter(None, parts.split(",")))
                self.states[txn_id] = State(*found, int(update), names, source)
            else:
                self.states.pop(txn_id, None)
        elif found_key := _json(key, "transactionalId"):
            txn_id, data = str(found_key["transactionalId"]), _json(payload, "producerId")
            if not data:
                self.states.pop(txn_id, None)
                return
            names = tuple(
                f"{one['topic']}-{number}"
                for one in data.get("transactionPartitions") or ()
                for number in one["partitionIds"]
            )
            self.states[txn_id] = State(
                txn_id,
                data["producerId"],
                data["producerEpoch"],
                data["transactionTimeoutMs"],
                STATE_OF.get(data["transactionStatus"], "?"),
                data["transactionLastUpdateTimestampMs"],
                data["transactionStartTimestampMs"],
                names,
                source,
            )

    def _take_committed(self, key: str, payload: str, row: Row, place: str) -> None:
        found, data = _json(key, "group"), _json(payload, "offset")
        if not found or not data or "topic" not in found:
            return
        group, name = str(found["group"]), f"{found['topic']}-{found['partition']}"
        old = self.positions.get((group, name), Position(group, name, -1))
        if row.transactional:
            label = self.labels[row.pid, row.epoch]
            more = (("would become", str(data["offset"])),)
            new = replace(old, pending=(*old.pending, label), more=more)
        else:
            new = replace(old, at=int(data["offset"]))
        self.positions[group, name] = replace(new, source=f"{self._file}, {place}")

    # ---- tables --------------------------------------------------------------------------

    def _find_table(self, cells: list[str]) -> Callable[[dict[str, str], str], None] | None:
        for columns, take in (
            ({"TransactionalId", "Coordinator", "TransactionState"}, self._take_listed),
            ({"TransactionalId", "TransactionTimeoutMs"}, self._take_described),
            ({"ProducerId", "CurrentTransactionStartOffset"}, self._take_producer),
            ({"Topic", "StartOffset", "Duration(min)"}, self._take_hanging),
        ):
            if columns <= {*cells}:
                self.listed = self.listed or take == self._take_listed
                return take
        return None

    def _take_listed(self, row: dict[str, str], place: str) -> None:
        txn_id = row["TransactionalId"]
        state = State(txn_id, _int(row["ProducerId"]), state=row["TransactionState"], source=place)
        self.states.setdefault(txn_id, state)

    def _take_described(self, row: dict[str, str], place: str) -> None:
        txn_id, start = row["TransactionalId"], _int(row.get("CurrentTransactionStartTimeMs"))
        lasted = _int(row.get("TransactionDurationMs"))
        if min(start, lasted) >= 0:
            self.at_ms = max(self.at_ms, start + lasted)
        self.states[txn_id] = State(
            txn_id,
            _int(row.get("ProducerId")),
            _int(row.get("ProducerEpoch")),
            _int(row.get("TransactionTimeoutMs")),
            row.get("TransactionState", ""),
            start_ms=start,
            partitions=tuple(filter(None, row.get("TopicPartitions", "").split(","))),
            source=place,
        )

    def _take_producer(self, row: dict[str, str], place: str) -> None:
        first = _int(row["CurrentTransactionStartOffset"])
        ask, name = self.ask, "?"
        if ask.topic and ask.partition >= 0:
            name = f"{ask.topic}-{ask.partition}"
        else:
            self.gaps["?"] = Gap(tr("the partition"), NO_PLACE)
        scan = self.scans.setdefault(name, Scan(name, place))
        if first >= 0:
            pid = _int(row["ProducerId"])
            stamp = _int(row.get("LastTimestamp"))
            scan.opens[pid] = Open(pid, _int(row.get("ProducerEpoch")), first, stamp, place)
            scan.end = max(scan.end, first + 1)

    def _take_hanging(self, row: dict[str, str], place: str) -> None:
        name, pid = f"{row['Topic']}-{row.get('Partition', '')}", _int(row.get("ProducerId"))
        stamp, epoch = _int(row.get("LastTimestamp")), _int(row.get("ProducerEpoch"))
        lasted = _int(row.get("Duration(min)"))
        if min(stamp, lasted) >= 0:
            self.at_ms = max(self.at_ms, stamp + 60_000 * lasted)
        self.hanging.append(
            Txn(
                self.labels[pid, epoch], "", HANGING_STATE, name, (name,), str(pid), epoch,
                _int(row["StartOffset"]), stamp, source=place,
            )
        )  # fmt: skip

    def _take_group(self, match: re.Match[str], place: str) -> None:
        group, topic, number, at, end, _ = match.groups()
        if self.ask.wants(topic, int(number)):
            name = f"{topic}-{number}"
            old = self.positions.get((group, name), Position(group, name, -1))
            new = replace(old, at=_int(at), end=_int(end), source=place)
            self.positions[group, name] = new

    # ---- all of it -----------------------------------------------------------------------

    def reading(self, name: str, at_ms: int) -> Reading:
        scans = {key: scan for key, scan in self.scans.items() if not key.startswith("__")}
        found = {(txn.owner, txn.seen) for txn in self.hanging}
        opens = [
            txn
            for scan in self.scans.values()
            for txn in scan.list_open(self.labels)
            if (txn.owner, txn.seen) not in found
        ]
        txns = join_states(self.states.values(), [*self.hanging, *opens], self.labels)
        open_now = {txn.label for txn in opens}
        left, positions = {}, []
        for (group, log), one in sorted(self.positions.items()):
            scan = scans.get(log)
            pending = tuple(label for label in one.pending if label in open_now)
            end = scan.end if scan and one.end < 0 else one.end
            positions.append(
                replace(one, end=end, pending=pending, more=one.more if pending else ())
            )
            if scan and one.at >= 0 and scan.end == end and (count := scan.count_left(one.at)):
                left[group, log] = count
        if opens and not self.states:
            self.gaps["coordinator"] = Gap(Text(STATES), NO_COORDINATOR)
        if any(one.state == "Ongoing" and one.epoch < 0 for one in self.states.values()):
            self.gaps["times"] = Gap(tr("ages"), NO_TIMES)
        own = Own(tuple(self.states.values()), self.listed, left, live=False)
        logs = tuple(scan.read(self.labels) for scan in scans.values() if scan.tail)
        return Reading(
            "kafka", name, self.at_ms or at_ms, logs, tuple(txns), tuple(positions),
            tuple(self.gaps.values()), own,
        )  # fmt: skip


def _row_of(fields: dict[str, str], file: str) -> Row:
    pid = _int(fields.get("producerId"))
    return Row(
        _int(fields.get("baseOffset")),
        _int(fields.get("lastOffset")),
        pid,
        _int(fields.get("producerEpoch")),
        fields.get("isTransactional") == "true" and pid >= 0,
        "?" if fields.get("isControl") == "true" else "",
        _int(fields.get("CreateTime", fields.get("LogAppendTime"))),
        (),
        file,
        _int(fields.get("position")),
    )


def _int(text: str | None) -> int:
    """-1 for what is no number, such as None."""
    return int(text) if text and re.fullmatch(r"-?\d{1,19}", text) else -1


def _json(text: str, wanted: str) -> dict[str, Any]:
    """The data of a decoder's record, where it has this field."""
    try:
        found = json.loads(text)
        data = found.get("data") if isinstance(found, dict) else None
        return data if isinstance(data, dict) and wanted in data else {}
    except (ValueError, RecursionError):
        return {}


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Lines, of which each is cut where it is too long."""
    while data := stream.readline(LONGEST):
        yield data.decode("utf-8", "backslashreplace")


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
        raise Unreadable(f"{name} cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{name} is not as a tool of Kafka prints it: {error}") from error
    if not tools.known:
        raise Unreadable(UNKNOWN_TEXT.format(path=name, first=shorten(first, 60)))
    return tools.reading(name, at_ms)
