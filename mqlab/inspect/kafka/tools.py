"""What Kafka's own tools print, from a file or a pipe: one output, or several one after the other.

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
from .internal import DECIDED, GROUPS, STATE_OF, STATES, Own, State, join_states
from .judge import HANGING_STATE, MOST_MS, UNPLACED, compare_with_state
from .printed import FAILED, NOISE, OTHERS, read_lines, split_containers
from .scan import ABORT, COMMIT, Labels, Open, Row, Scan
from .segments import NOT_SERVED, OLD, PASSED, write_label

FIELD = re.compile(r"(\w+): (\S+)")
RECORD = ("| offset: ", "| key: ", "| payload: ")
MARKER = re.compile(r"headerKeys: \[[^\]]*\] endTxnMarker: (COMMIT|ABORT) ")
BODY = re.compile(r"headerKeys: \[[^\]]*\](?: key: (.*?))?(?: payload: (.*))?$")
OLD_STATE = re.compile(
    r"producerId:(-?\d+),producerEpoch:(-?\d+),state=(\w+),partitions=(?:\[|\w+\()(.*)[\])],"
    r"txnLastUpdateTimestamp=(-?\d+),txnTimeoutMs=(-?\d+)"
)
#: a whole line of a snapshot (2.x: Some, None), and where the open transaction of it begins
OPEN = re.compile(
    r"producerId: .*FirstOffset: (?:\w+[(\[](\d+)[)\]] .* timestamp: |\w+\.empty|None\b)"
)
NUMBERS = ("producerId", "producerEpoch", "transactionTimeoutMs",
           "transactionLastUpdateTimestampMs", "transactionStartTimestampMs")  # fmt: skip
OLD_KEY = re.compile("(transaction_metadata::)?transactionalId=")  # 2.x: the second only
OLD_PLACE = re.compile(r"offset(?:_commit::group=|::)(.*)(?:,partition=|:)(.+)[-:](\d+)")
OLD_OFFSET = re.compile(r"(?:offset=)?(\d+)(?=[,:]|$)")
#: a shell's line that lists some transactions only, or hands the list to a filter
FILTERED = re.compile(
    r"--(duration-filter|transactional-id-pattern)\b|kafka-transactions\S* .*list\b.*\|(?!\s*tee\b)"
)
DELETED = "<DELETE>"
#: a record as 2.2 and older print it, up to what may look like anything
OLD_RECORD = re.compile(r"offset: (\d+) position: \d+ (?:.*? headerKeys: \[|.*? isvalid: .*)")
DECODERS = {STATES: "--transaction-log-decoder", GROUPS: "--offsets-decoder"}
#: how the key of a decoded record begins
DECODED = re.compile(r"\{|transaction|offset|group|unknown|Unknown record|Error at offset")
#: what a column of `--describe` contains; the others up to LAG contain a number
GROUP_CELLS = {"GROUP": "(.+?)", "TOPIC": r"(\S+)"}

UNKNOWN_TEXT = Words(
    "{path} is nothing that kafka-dump-log.sh, kafka-transactions.sh or kafka-consumer-groups.sh "
    "--describe prints; it begins with “{first}”: give what one of these printed, with whole "
    "lines"
)
UNREAD = Words(
    "lines that were not understood: {n}, the first of them “{line}”. Were they wrapped or cut? "
    "Let the tool write to a file and use that file; the report may lack what these lines contain"
)
OTHER_TOOL = Words(
    "what {tool} prints is not read here: give what kafka-dump-log.sh, kafka-transactions.sh or "
    "kafka-consumer-groups.sh --describe prints"
)
OTHER_TABLE = Words(
    "a table with the columns {columns} is not read here: give what `kafka-consumer-groups.sh "
    "--describe` prints, without --state and --members; share groups and streams groups are not "
    "read"
)
OTHER_FILE = tr(
    "it contains neither an application's transactions nor a group's position, so it was not read: "
    "dump the .log of a topic, of __transaction_state or of __consumer_offsets"
)
UNDECODED = Words("its records are printed undecoded, and were not read: dump it with {option}")
ONLY_ASKED = tr("something else was asked for")
COORDINATORS = tr("the coordinators' states")
TOO_YOUNG = tr(
    "what they say does not fit a transaction that has been open for less than 15 min, which was "
    "not judged: they may be older than the other output, or a filter such as --duration-filter "
    "may have left it out. Print `describe-producers` first and `list` after it"
)
DECIDED_THEN = Words(
    "{ids} was decided when the list was printed, which is normal for a moment: print it again; if "
    "nothing has changed, a marker is missing, and `describe` says in which partitions"
)
PLAIN_DUMP = tr(
    "which markers commit and which abort is not printed: dump it with --print-data-log, and "
    "without --skip-record-metadata"
)
TOOL_FAILED = Words("the tool reports: {line}")
INVALID = Words("the dump says that the batch at byte {at} is not valid")
NO_COORDINATOR = tr("not given, so it cannot be said which open transactions hang: add what "
"`kafka-transactions.sh list` and `describe` print")  # fmt: skip
NO_TIMES = tr("`kafka-transactions.sh list` prints no times: `describe` does, for one id")
NO_PLACE = tr("`describe-producers` does not print its partition: name it with --topic T:P, and "
              "give one partition's output at a time")  # fmt: skip
AGAIN = Words(
    "offset {at} comes after a later one, and was skipped: give each dump once, of one broker, the "
    "one with the lowest offsets first"
)


class Tools:
    """What was found so far, table by table and dump by dump."""

    def __init__(self, ask: Ask) -> None:
        """Begin with nothing read. Lines of several tools, in any order, are then collected here:
        states of transactions, logs, groups' positions; `reading` joins them."""
        self.ask = ask
        self.labels = Labels()
        self.states: dict[str, State] = {}  # by transactional id
        self.scans: dict[str, Scan] = {}  # by log
        self.hanging: dict[tuple[str, int, int], Txn] = {}  # one that is listed again is no other
        self.positions: dict[tuple[str, str], Position] = {}  # by group and log
        self.written: dict[tuple[str, str], int] = {}  # of those of a dump, their record's offset
        #: by the log and the producer: positions of its open transaction, with where they are
        self.pending: dict[tuple[str, int], dict[tuple[str, str], tuple[int, Position]]] = {}
        self.gaps: dict[str, Gap] = {}
        self.at_ms = 0  # when it was printed; 0 where no line says so
        self.listed = False  # all transactional ids were listed, unless `filtered`
        self.filtered = False
        self.decoded: set[str] = set()  # internal logs of which records were printed decoded
        self.asked = 0  # outputs of `describe-producers`, and their rows
        self.producers: list[tuple[dict[str, str], str]] = []
        self.known = 0  # lines that were understood
        self.missed = 0  # lines that were not, and the first of them
        self.unread: tuple[str, str] | None = None
        self._row: Row | None = None  # the batch whose records follow
        self._passed = False  # the records that follow are of a batch that is passed over
        self._scan: Scan | None = None
        self._file = ""  # the segment that is dumped; "" within a table
        # what takes a row of the table that is printed, and the table's columns
        self._take: Callable[[dict[str, str], str], None] | None = None
        self._columns: list[str] = []
        self._group: re.Pattern[str] | None = None  # a row, if a group's table

    def read(self, lines: Iterable[tuple[int, str]], name: str) -> None:
        """`lines`: with their numbers; `name`: of their file, for evidence."""
        for number, line in lines:
            self._read_line(line.rstrip("\r\n"), f"{name}:{number}")
        self._close_row()

    def _read_line(self, line: str, place: str) -> None:
        """Take one line of a tool's output: the begin of a segment's dump or of a table, a row of
        the table, or a line of the dump. Inside a table or a dump, a line that is none of these is
        counted as missed; outside it is passed over. `place`: "all.txt:12", for evidence."""
        # What was copied from a terminal has blanks where the tool prints tabs.
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        in_record = line.lstrip().startswith(RECORD)  # of which any text may be part
        self.filtered = self.filtered or bool(FILTERED.search(line) and not in_record)
        if FAILED.match(line):
            why = TOOL_FAILED(line=shorten(line, 300))
            self.gaps.setdefault("tool", Gap(Text(place), why, failed=True))
            return
        if line.startswith("Dumping "):
            self._begin()
            self._open_file(line[len("Dumping ") :].strip())
            if self._scan is None:
                return
        elif (take := self._find_table(cells)) is not None:
            self._begin(take, [name for name in cells if name])
        elif cells[:1] == ["GROUP"]:
            self._begin()
            if not {"CURRENT-OFFSET", "LAG"} <= {*cells}:  # --members, --state, other groups
                return self._pass_over(place, OTHER_TABLE(columns=shorten(" ".join(cells), 80)))
            # a row of a group's table is cut by what its cells look like: a name may hold blanks
            self._take, self._columns = self._take_group, cells[: cells.index("LAG") + 1]
            row = r"\s+".join(GROUP_CELLS.get(name, r"(-?\d+|-)") for name in self._columns)
            self._group = re.compile(rf"\s*{row}(?:\s|$)")
        elif self._take and (values := self._cut_row(line, cells)):
            self._take(dict(zip(self._columns, values, strict=False)), place)
        elif not self._file and (tool := next((t for one, t in OTHERS if one.match(line)), "")):
            self._begin()
            return self._pass_over(tool, OTHER_TOOL(tool=tool))
        elif self._take and line.strip() and not NOISE.match(line):
            return self._note_missed(line, place)
        elif self._file:
            return self._read_dumped(line, place)
        else:
            return
        self.known += 1

    def _begin(
        self, take: Callable[[dict[str, str], str], None] | None = None, columns: Sequence[str] = ()
    ) -> None:
        """Another table, or dump."""
        self._close_row()
        self._take, self._columns, self._group, self._file = take, [*columns], None, ""

    def _cut_row(self, line: str, cells: Sequence[str]) -> Sequence[str]:
        """None of it where it is no row of this table."""
        if self._group:
            match = self._group.match(line)
            return match.groups() if match else ()
        whole = len(cells) >= len(self._columns) if "\t" in line else False
        return cells if whole or len(cells) == len(self._columns) else ()

    def _note_missed(self, line: str, place: str) -> None:
        """Count a line of a dump or a table that is not as a tool prints it; the first is kept."""
        self.unread = self.unread or (place, shorten(line, 60))
        self.missed += 1

    def _pass_over(self, what: str, why: Text) -> None:
        """Say once that something is not read."""
        self.gaps.setdefault(what, Gap(Text(what), why, failed=True))

    # ---- dumps ---------------------------------------------------------------------------

    def _open_file(self, path: str) -> None:
        self._file, self._take = path, None
        name = PurePath(path).parent.name or path
        topic, _, number = name.rpartition("-")
        of_use = topic in (STATES, GROUPS) or not topic.startswith("__")
        wanted = not number.isdecimal() or topic in (STATES, GROUPS)
        wanted = wanted or self.ask.wants(topic, int(number))
        # no transactions in these
        use = of_use and not path.endswith((".index", ".timeindex", ".checkpoint"))
        passed = PASSED.fullmatch(name) is not None
        use = use and not passed
        self._scan = self.scans.setdefault(name, Scan(name, path)) if wanted and use else None
        if passed:
            self.gaps.setdefault(name, Gap(Text(name), NOT_SERVED))
        elif not wanted:
            self.gaps.setdefault(name, Gap(Text(name), ONLY_ASKED))
        elif not use:
            self.gaps.setdefault(path, Gap(Text(path), OTHER_FILE, failed=not of_use))

    def _read_dumped(self, line: str, place: str) -> None:
        """Add a line of `kafka-dump-log.sh` to the scan of the log that is dumped: the head of a
        batch, a record of that batch, or a line of a producer snapshot or an index of aborted
        transactions. A batch that is not valid, or was read before, is passed over with its
        records, and `gaps` says so. `place`: where the line is, as "all.txt:7"."""
        scan, fields = self._scan, dict(FIELD.findall(line))
        if scan is None:  # a file that was not asked for, or an index, where no transaction is
            return
        if line.startswith("baseOffset: "):
            self._close_row()
            # unless the batch is taken below (`_row`), the records that follow are passed over
            self._passed = True
            if fields.get("isvalid") == "false":
                why = INVALID(at=fields.get("position", "?"))
                self.gaps[place] = Gap(Text(scan.name), why, failed=True)
                return
            if "isvalid" not in fields:  # cut off
                return self._note_missed(line, place)
            row = _row_of(fields, self._file)
            if scan.tail and row.base <= scan.tail[-1].last:
                why = AGAIN(at=row.base)
                self.gaps.setdefault(f"again {scan.name}", Gap(Text(scan.name), why, failed=True))
            else:
                self._row, self._passed = row, False
        elif old := OLD_RECORD.match(line):
            self._read_old_record(scan, old, line, place)
        elif line.lstrip().startswith(RECORD) and (self._row is not None or self._passed):
            if self._row is not None:
                self._read_record(self._row, scan, line, place)
        elif first := OPEN.match(line):  # a producer snapshot
            if first[1]:
                stamp = "lastTimestamp" if "lastTimestamp" in fields else "timestamp"  # 2.x
                self._open(scan, fields, int(first[1]), stamp, f"{self._file}, {place}")
        elif line.startswith("version: ") and "firstOffset: " in line:  # an aborted transaction
            pid, first_at, last = _ints(fields, "producerId", "firstOffset", "lastOffset")
            scan.note_aborted(pid, first_at, last)
        elif line.strip() and not NOISE.match(line):
            return self._note_missed(line, place)
        else:
            return
        self.known += 1

    def _read_old_record(self, scan: Scan, match: re.Match[str], line: str, place: str) -> None:
        """A record as 2.2 and older print it, with what its batch says; of a format before 2 it
        has no transaction."""
        self._close_row()
        fields = dict(FIELD.findall(match[0])) | {"baseOffset": match[1], "lastOffset": match[1]}
        if "producerId" not in fields:
            self._passed = True
            return self._pass_over(scan.name, OLD(magic=fields.get("magic", "?")))
        self._row = _row_of(fields | {"baseSequence": fields.get("sequence", "")}, self._file)
        self._read_record(self._row, scan, line, place)

    def _open(self, scan: Scan, row: dict[str, str], first: int, stamp: str, place: str) -> None:
        """A producer's open transaction, however its columns begin."""
        # names begin with a capital letter in a table
        row = {name[:1].lower() + name[1:]: value for name, value in row.items()}
        pid, epoch, at_ms = _ints(row, "producerId", "producerEpoch", stamp)
        scan.opens[pid] = Open(pid, epoch, first, at_ms, place)
        scan.end = max(scan.end, first + 1)

    def _read_record(self, row: Row, scan: Scan, line: str, place: str) -> None:
        """Take a record of the batch `row` in a dump: which marker it is, a transaction's state, a
        group's position, or, where payloads were asked for, a label for the picture. What is not
        printed like a record is counted as missed."""
        if line.startswith(RECORD[1:]):  # of --skip-record-metadata
            line = f"headerKeys: [] {line[2:]}"
        if "headerKeys: [" not in line:
            return self._note_missed(line, place)
        if row.control:
            # MARKER ends in a blank, and the line may end with the word
            if match := MARKER.search(line + " "):
                self._row = replace(row, control=COMMIT if match[1] == "COMMIT" else ABORT)
            return
        match = BODY.search(line)
        key, payload = (match[1] or "", match[2] or "") if match else ("", "")
        internal = scan.name.startswith((STATES, GROUPS))
        if internal and DECODED.match(key):
            self.decoded.add(scan.name)
        elif internal and key and scan.name not in self.decoded:
            return
        # an internal record that is not printed whole
        cut = any(one[:1] == "{" and not one.endswith(("}}", '"}')) for one in (key, payload))
        if internal and (not key or cut):
            self._note_missed(line, place)
        elif scan.name.startswith(STATES):
            self._take_state(key, payload, f"{self._file}, {place}")
        elif scan.name.startswith(GROUPS):
            self._take_committed(key, payload, row, scan.name, f"{self._file}, {place}")
        # no more labels than the batch has offsets
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
            held = self.pending.pop((scan.name, row.pid), {}) if row.control else {}
            for key, (at, one) in held.items() if row.control == COMMIT else ():
                if at > self.written.get(key, -1):  # else one that was written later counts
                    self.positions[key], self.written[key] = one, at

    def _take_state(self, key: str, payload: str, place: str) -> None:
        """Note a transaction's state from a record of `__transaction_state`, as the older or the
        newer decoder prints it; a deleted id is forgotten. The older one does not print when the
        transaction began, so the last update takes its place. `place`: where that is, for
        evidence."""
        key_fields = _json(key, "transactionalId")
        txn_id = str(key_fields.get("transactionalId", OLD_KEY.sub("", key, count=1)))
        if match := OLD_STATE.fullmatch(payload):
            # producer id, epoch, timeout, last update, and that again for the start
            numbers = [int(match[n]) for n in (1, 2, 6, 5, 5)]
            names = tuple(filter(None, map(str.strip, match[4].split(","))))
            self.states[txn_id] = _state(txn_id, numbers, match[3], names, place)
        elif data := _json(payload, "producerId"):
            topics = data.get("transactionPartitions") or ()
            names = tuple(f"{one['topic']}-{n}" for one in topics for n in one["partitionIds"])
            state = STATE_OF.get(data["transactionStatus"], "?")
            numbers = [int(data[what]) for what in NUMBERS]
            self.states[txn_id] = _state(txn_id, numbers, state, names, place)
        elif payload == DELETED:
            self.states.pop(txn_id, None)
        else:
            self._note_missed(payload, place)

    def _take_committed(self, key: str, payload: str, row: Row, log: str, place: str) -> None:
        """Note a group's committed offset from a record of `__consumer_offsets`, as the older or
        the newer decoder prints it; a deleted one is forgotten, pending ones of it too. One that a
        transaction wrote is pending until that has committed. `payload` is the record's value,
        `place` where it is printed; `row`: the record's batch; `log`: the partition's name."""
        key_fields, data = _json(key, "topic"), _json(payload, "offset")
        old_key, match = OLD_PLACE.fullmatch(key), OLD_OFFSET.match(payload)
        if not key_fields and not old_key:  # of a group, not of its position
            return
        group, topic, number = old_key.groups() if old_key else (
            str(key_fields["group"]), key_fields["topic"], key_fields["partition"]
        )  # fmt: skip
        # -1: the offset is deleted, or the text is no offset
        offset = int(data["offset"]) if data else int(match[1]) if match else -1
        if offset < 0 and payload != DELETED:
            return self._note_missed(payload, place)
        position = Position(group, f"{topic}-{number}", offset, source=place)
        place_of = position.group, position.log
        if offset < 0:
            self.positions.pop(place_of, None)
            for held in self.pending.values():
                held.pop(place_of, None)
        elif row.transactional:
            self.pending.setdefault((log, row.pid), {})[place_of] = row.base, position
        else:
            self.positions[place_of], self.written[place_of] = position, row.base

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
        self.asked += found == self._take_producer
        return found

    def _take_listed(self, row: dict[str, str], place: str) -> None:
        txn_id, state = row["TransactionalId"], row["TransactionState"]
        (pid,) = _ints(row, "ProducerId")
        known = self.states.get(txn_id)
        # what `describe` has said of the same state says more
        if known is None or (known.pid, known.state) != (pid, state):
            self.states[txn_id] = State(txn_id, pid, state=state, source=place)

    def _take_described(self, row: dict[str, str], place: str) -> None:
        txn_id = row["TransactionalId"]
        numbers = _ints(row, "ProducerId", "ProducerEpoch", "TransactionTimeoutMs")
        start, lasted = _ints(row, "CurrentTransactionStartTimeMs", "TransactionDurationMs")
        self._note_time(start, lasted)
        names = tuple(filter(None, row.get("TopicPartitions", "").split(",")))
        state = row.get("TransactionState", "")
        self.states[txn_id] = _state(txn_id, (*numbers, -1, start), state, names, place)

    def _take_producer(self, row: dict[str, str], place: str) -> None:
        self.producers.append((row, place))

    def _place_producers(self) -> None:
        ask = self.ask
        name = f"{ask.topic}-{ask.partition}"
        if self.producers and (not ask.topic or ask.partition < 0 or self.asked > 1):
            name = UNPLACED
            self.gaps[name] = Gap(tr("the partition"), NO_PLACE)
        for row, place in self.producers:
            (first,) = _ints(row, "CurrentTransactionStartOffset")
            if first >= 0:
                scan = self.scans.setdefault(name, Scan(name, place))
                self._open(scan, row, first, "lastTimestamp", place)

    def _take_hanging(self, row: dict[str, str], place: str) -> None:
        name = f"{row['Topic']}-{row.get('Partition', '')}"
        pid, epoch, first = _ints(row, "ProducerId", "ProducerEpoch", "StartOffset")
        stamp, lasted = _ints(row, "LastTimestamp", "Duration(min)")
        self._note_time(stamp, 60_000 * lasted)
        label = self.labels[pid, epoch]
        self.hanging[name, pid, first] = Txn(
            label, "", HANGING_STATE, name, (name,), str(pid), epoch, first, stamp, -1, place
        )

    def _note_time(self, start: int, lasted: int) -> None:
        if min(start, lasted) >= 0:
            self.at_ms = max(self.at_ms, start + lasted)

    def _take_group(self, row: dict[str, str], place: str) -> None:
        group, topic, number = row["GROUP"], row["TOPIC"], _number(row["PARTITION"])
        if number >= 0 and self.ask.wants(topic, number):
            at, end = _ints(row, "CURRENT-OFFSET", "LOG-END-OFFSET")
            one = Position(group, f"{topic}-{number}", at, end, source=place)
            self.positions[one.group, one.log] = one

    # ---- all of it -----------------------------------------------------------------------

    def reading(self, name: str, at_ms: int) -> Reading:
        """Join all that the texts have said into a Reading: which transactions are open where, with
        their coordinator's state, and the groups' positions. `name`: where the texts come from;
        `at_ms`: the time of the reading, where they do not say when they were printed."""
        self._place_producers()  # what describe-producers has said of a single partition
        for log, log_scan in self.scans.items():
            option = next((o for topic, o in DECODERS.items() if log.startswith(topic)), "")
            if option and log_scan.records and log not in self.decoded:
                self._pass_over(log, UNDECODED(option=option))
        # (`__consumer_offsets` and `__transaction_state` are not shown as logs)
        scans = {key: scan for key, scan in self.scans.items() if not key.startswith("__")}
        # those that find-hanging has named are in `self.hanging` already
        hanging = {(txn.owner, txn.seen) for txn in self.hanging.values()}
        opens = [txn for scan in self.scans.values() for txn in scan.list_open(self.labels)
                 if (txn.owner, txn.seen) not in hanging]  # fmt: skip
        txns = join_states(self.states.values(), [*self.hanging.values(), *opens], self.labels)
        # by group and log: (label of the transaction, offset that it would commit)
        pending_of: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for (log, pid), offsets in self.pending.items():
            # (a scan keeps MOST_OPEN open transactions, so one may be missing)
            if opened := self.scans[log].opens.get(pid):
                label = self.labels[pid, opened.epoch]
                for key, (_, one) in offsets.items():
                    pending_of.setdefault(key, []).append((label, str(one.at)))
                    # -1: no offset is committed there
                    self.positions.setdefault(key, replace(one, at=-1))
        still_to_read, positions = {}, []
        for key, one in sorted(self.positions.items()):
            scan = scans.get(one.log)
            end = scan.end if scan and one.end < 0 else one.end  # -1: it is unknown
            pending = tuple(label for label, _ in pending_of.get(key, ()))
            would_become = tuple(("would become", offset) for _, offset in pending_of.get(key, ()))
            positions.append(replace(one, end=end, pending=pending, more=would_become))
            # only where the dump reaches the end that the group's table says
            if scan and one.at >= 0 and scan.end == end and (count := scan.count_left(one.at)):
                still_to_read[key] = count
        if opens and not self.states and not self.listed:
            self.gaps["coordinator"] = Gap(Text(STATES), NO_COORDINATOR)
        if any(one.state == "Ongoing" and one.epoch < 0 for one in self.states.values()):
            self.gaps["times"] = Gap(tr("ages"), NO_TIMES)
        if self.unread:
            place, line = self.unread
            self.gaps["unread"] = Gap(Text(place), UNREAD(n=self.missed, line=line), failed=True)
        then = [s.txn_id for s in self.states.values() if s.state in DECIDED and s.epoch < 0]
        if then:  # one look at a state that a running cluster leaves within a moment
            self.gaps["then"] = Gap(Text(STATES), DECIDED_THEN(ids=", ".join(then[:4])))
        states = tuple(one for one in self.states.values() if one.txn_id not in then)
        whole = self.listed and not self.filtered
        facts = Own(states, whole, still_to_read, live=False, sure_after_ms=MOST_MS)
        at_ms, state_of = self.at_ms or at_ms, {str(one.pid): one for one in states}
        pairs = [(txn, state_of.get(txn.owner)) for txn in txns if txn.seen != STATES]
        sure, all_of = facts, replace(facts, sure_after_ms=-1)
        if any(compare_with_state(*pair, sure, at_ms) != compare_with_state(*pair, all_of, at_ms)
               for pair in pairs):  # fmt: skip
            self.gaps["young"] = Gap(COORDINATORS, TOO_YOUNG)
        logs = tuple(scan.read(self.labels) for scan in scans.values() if scan.tail)
        return Reading(
            "kafka", name, at_ms, logs, tuple(txns), tuple(positions),
            tuple(gap for gap in self.gaps.values() if gap.why is not OTHER_FILE or gap.failed),
            facts,
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
    # 2.0 does not print it; of what a producer writes in a transaction, batches have a sequence
    control = fields.get("isControl") or str(transactional and seq < 0).lower()
    at_ms = _number(fields.get("CreateTime", fields.get("LogAppendTime")))
    control = "?" if control == "true" else ""
    row = Row(base, last, pid, epoch, transactional, control, at_ms, (), file, at, seq)
    return replace(row, count=_number(fields.get("count")))


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


def read_tools(ask: Ask, stream: BinaryIO, name: str, at_ms: int) -> Reading:
    """Read what Kafka's command-line tools have printed, from `stream`. `name`: where it comes
    from; `at_ms`: when it was printed, where it does not say. Raises Unreadable where the stream
    cannot be read, or no line in it is one that a tool prints."""
    tools, first = Tools(ask), ""  # `first`: the first line that is not empty

    def keep_first() -> Iterator[tuple[int, str]]:
        nonlocal first
        for number, line in read_lines(stream):
            first = first or line.strip()
            yield number, line

    try:
        for lines in split_containers(keep_first()):
            tools.read(lines, PurePath(name).name)
    except OSError as error:
        raise Unreadable("cannot read {}: {}", name, error.strerror) from error
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable("{} is not the output of a Kafka tool: {}", name, error) from error
    if not tools.known and tools.gaps:
        raise Unreadable("{}: {}", name, next(iter(tools.gaps.values())).why)
    if not tools.known:
        raise Unreadable(UNKNOWN_TEXT(path=name, first=shorten(first, 60)))
    return tools.reading(name, at_ms)
