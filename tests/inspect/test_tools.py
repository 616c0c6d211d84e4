"""What Kafka's own tools printed, of two versions, each output by itself and together."""

from __future__ import annotations

import io
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.inspect import Report, Unreadable
from tests.inspect.folders import DATA, NOW_MS, VERSIONS, list_found, look, read_output

OVERDUE = [("overdue", "pay-app")]
OUTPUTS = {
    "list": [],
    "describe": OVERDUE,
    "describe-producers": [("overdue", "?")],
    "find-hanging": [("hanging", "orders-0")],
    "groups": [],
    "dump-orders": [("overdue", "orders-0")],
    "dump-plain": [("overdue", "orders-0")],
    "dump-snapshot": [("overdue", "orders-0")],
    "dump-txnindex": [],
    "dump-state": OVERDUE,
    "dump-offsets": [("overdue", "__consumer_offsets-0"), ("pending-offset", "billing")],
}
WRITTEN_MS = 1_795_939_177_279
BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: 0 lastSequence: 0 producerId: 1 "
    "producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: true isControl: {1} position: 0 "
    f"CreateTime: {WRITTEN_MS} size: 70 magic: 2 compresscodec: none crc: 1 isvalid: true"
)
RECORD = (
    f"| offset: {{0}} CreateTime: {WRITTEN_MS} keySize: -1 valueSize: 1 sequence: 0 headerKeys: []"
)
DUMPING = "Dumping /data/orders-0/00000000000000000000.log"
OF_ORDERS = [DUMPING, BATCH.format(0, "false"), f"{RECORD.format(0)} payload: y"]
END_OF_ORDERS = [
    DUMPING, BATCH.format(1, "true"), f"{RECORD.format(1)} endTxnMarker: COMMIT coordinatorEpoch: 0"
]  # fmt: skip


def look_at(tmp_path: Path, version: str, *names: str, **asked: object) -> Report:
    """Several outputs in one file."""
    together = tmp_path / "all.txt"
    together.write_text("\n".join(read_output(version, name) for name in names))
    return look(together, **asked)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OUTPUTS)
def test_each_output_by_itself(name: str, version: str, tmp_path: Path) -> None:
    copy = tmp_path / "output.txt"
    copy.write_text(read_output(version, name), "utf-8")
    # A dump prints no time: it is as old as its file. Long after the damage, all is overdue.
    os.utime(copy, (NOW_MS / 1000, NOW_MS / 1000))
    report = look(copy)
    found = [one for one in list_found(report) if one != ("overdue", "bill-app")]
    assert found == OUTPUTS[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_coordinator_and_the_partition_together(version: str, tmp_path: Path) -> None:
    """Now it can be said that the transaction hangs: its producer is not in the list."""
    report = look_at(tmp_path, version, "list", "describe-producers", topic="orders", partition=0)
    assert list_found(report) == [("hanging", "orders-0")]
    assert report.findings[0].evidence[0].source.startswith("all.txt:")
    assert report.findings[0].commands[0].endswith("--partition 0 --start-offset 5")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dump_is_drawn_as_the_folder_is(version: str, tmp_path: Path) -> None:
    report = look_at(tmp_path, version, "dump-orders", payloads=True)
    log = report.reading.logs[0]
    assert [c.label for c in log.cells] == ["o1", "o2", "C", "o3", "A", "h1", "h2", "o4", "C"]
    assert [c.aborted for c in log.cells] == [i == 3 for i in range(9)]
    assert [(f.name, f.at) for f in log.frontiers] == [("LSO", 5), ("HW", 9)]
    plain = look_at(tmp_path, version, "dump-plain")
    assert [c.label for c in plain.reading.logs[0].cells][2] == "?"
    assert "--print-data-log" in str(plain)
    assert {c.label for c in look_at(tmp_path, version, "dump-orders").reading.logs[0].cells} == {
        "·", "C", "A"
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pending_position_and_its_holder(version: str, tmp_path: Path) -> None:
    report = look_at(tmp_path, version, "dump-offsets", "dump-state", "groups")
    finding = next(one for one in report.findings if one.kind.name == "pending-offset")
    assert finding.where == "billing" and "bill-app" in finding.says.en
    assert [(p.group, p.at, p.end) for p in report.reading.positions] == [
        ("auditors", 2, 3), ("billing", 1, 9)
    ]  # fmt: skip


def test_payloads_cannot_pretend(tmp_path: Path) -> None:
    """A record may hold what looks like a marker, a batch's head, or another file."""
    text = read_output("4.3.1", "dump-orders")
    evil = "h1 endTxnMarker: ABORT coordinatorEpoch: 0 isControl: true"
    path = tmp_path / "dump.txt"
    path.write_text(text.replace("payload: h1", f"payload: {evil}"), "utf-8")
    report = look(path, payloads=True)
    assert list_found(report) == [("overdue", "orders-0")]
    assert [c.kind for c in report.reading.logs[0].cells].count("control") == 3


def test_an_invalid_batch_is_told(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    text = read_output("4.3.1", "dump-plain")
    path.write_text(text.replace("isvalid: true", "isvalid: false", 1), "utf-8")
    report = look(path)
    assert report.reading.gaps[0].failed and "byte 0" in str(report.reading.gaps[0].why)


@pytest.mark.parametrize(
    "text", [b"", b"hello\nworld\n", b"\xff\xfe\x00" * 99, b"[]", b"a\tb\tc\n"]
)
def test_text_of_something_else(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(text)
    with pytest.raises(Unreadable, match=r"give what one of these printed"):
        look(path)


@pytest.mark.parametrize("name", ["dump-orders", "dump-state", "dump-offsets"])
def test_wrapped_and_cut_lines_are_told_and_utf16_is_read(name: str, tmp_path: Path) -> None:
    """As a terminal wraps them, and as a Windows shell writes them into a file."""
    text, path = read_output("4.3.1", name), tmp_path / "x.txt"
    path.write_text(text)
    whole = list_found(look(path))
    for data in (text.encode("utf-16"), text.replace("\n", "\r\n").encode("utf-8-sig"),
                 text.replace("\n", "\r").encode()):  # fmt: skip
        path.write_bytes(data)
        assert list_found(look(path)) == whole
    wrapped = "\n".join(line[at : at + 100] for line in text.splitlines()
                        for at in range(0, len(line), 100))  # fmt: skip
    for torn in (wrapped, text[: int(text.rindex("headerKeys"))]):
        path.write_text(torn)
        report = look(path)
        (gap,) = (gap for gap in report.reading.gaps if gap.failed)
        assert "wrapped or cut?" in str(gap.why) and report.exit_code > 0


@pytest.mark.parametrize("name", ["dump-state", "dump-offsets", "describe", "groups"])
def test_cut_and_garbled_output_ends_in_a_sentence_or_a_report(name: str, tmp_path: Path) -> None:
    data = read_output("4.3.1", name).encode()
    path = tmp_path / "x.txt"
    for at in range(0, len(data), max(len(data) // 60, 1)):
        path.write_bytes(data[:at] + b"\x00{]\t" + data[at + 9 :])
        try:
            assert str(look(path))
        except Unreadable as error:
            assert "prints" in str(error) or "give what" in str(error)


def test_the_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = read_output("3.9.1", "find-hanging").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["inspect", "kafka", "-", "--lang", "en"]) == 1
    assert "Hanging transaction · orders-0" in capsys.readouterr().out


def look_at_text(tmp_path: Path, *lines: str, **asked: object) -> Report:
    path = tmp_path / "output.txt"
    path.write_text("\n".join((*lines, "")), "utf-8")
    os.utime(path, (WRITTEN_MS / 1000 + 3_600, WRITTEN_MS / 1000 + 3_600))
    return look(path, **asked)


def test_a_position_of_a_dump_counts_once_its_transaction_has_committed(tmp_path: Path) -> None:
    """What 4.3.1 printed: 1 by the group itself, 3 committed, 2 aborted; group `gone` was deleted.
    A later transaction of the same producer, open elsewhere, holds none of these."""
    dump = (DATA / "kafka-4.3.1" / "positions.txt").read_text()
    report = look_at_text(tmp_path, dump, *OF_ORDERS)
    assert [(one.group, one.log, one.at, one.pending) for one in report.reading.positions] == [
        ("billing's group", "orders-0", 3, ())
    ]
    assert list_found(report) == [("overdue", "orders-0")]


def test_a_position_of_a_dump_is_the_one_that_was_written_last(tmp_path: Path) -> None:
    """A marker moves no position that a later record has moved; a tombstone removes what is pending
    too. Lines: (producer, offset; COMMIT: a marker)."""
    key = 'key: {"type":"1","data":{"group":"g","topic":"orders","partition":0}}'

    def read(*written: tuple[int, int | str | None]) -> list[tuple[int, bool]]:
        lines = [DUMPING.replace("orders", "__consumer_offsets")]
        for at, (pid, what) in enumerate(written):
            head = BATCH.format(at, str(what == "COMMIT").lower())
            head = head.replace("producerId: 1", f"producerId: {pid}")
            lines.append(head if pid >= 0 else head.replace("nal: true", "nal: false"))
            value = (
                f'{{"version":"4","data":{{"offset":{what}}}}}' if what is not None else "<DELETE>"
            )
            rest = "endTxnMarker: COMMIT " if what == "COMMIT" else f"{key} payload: {value}"
            lines.append(f"{RECORD.format(at)} {rest}")
        report = look_at_text(tmp_path, *lines)
        assert not [gap for gap in report.reading.gaps if gap.failed]
        return [(one.at, bool(one.pending)) for one in report.reading.positions]

    assert read((1, 5), (-1, 3)) == [(3, True)]
    assert read((1, 5), (-1, 3), (1, "COMMIT")) == [(3, False)]
    assert read((1, 5), (2, 7), (2, "COMMIT"), (1, "COMMIT")) == [(7, False)]
    assert read((-1, 3), (1, 5), (1, "COMMIT")) == [(5, False)]
    assert read((1, 5), (-1, None)) == read((1, 5), (-1, None), (1, "COMMIT")) == []
    assert read((1, 5), (-1, None), (1, 6), (1, "COMMIT")) == [(6, False)]


def test_positions_as_3_6_printed_them(tmp_path: Path) -> None:
    """Its kafka-dump-log read the folder of 3.9.1; 3.8.1 prints of it what 3.9.1 does."""
    old, new = (
        look_at_text(tmp_path, (DATA / "kafka-3.6.2" / "dump-offsets.txt").read_text()),
        look_at(tmp_path, "3.9.1", "dump-offsets"),
    )
    assert [replace(one, source="") for one in old.reading.positions] == [
        replace(one, source="") for one in new.reading.positions
    ]
    assert list_found(old) == list_found(new) != []


def test_positions_as_releases_before_3_8_print_them(tmp_path: Path) -> None:
    head = read_output("4.3.1", "dump-offsets").splitlines()[:4]
    old = f"{head[3].partition(' key: ')[0]} key: offset_commit::group=g,partition=my-topic-7"
    for payload, at in (("offset=42", 42), ("offset=42,metadata=x", 42), ("<DELETE>", None)):
        report = look_at_text(tmp_path, *head[:3], f"{old} payload: {payload}")
        places = [(one.group, one.log, one.at) for one in report.reading.positions]
        assert places == ([("g", "my-topic-7", at)] if at else [])
    assert look_at_text(tmp_path, *head[:3], f"{old} payload: of another kind").exit_code == 2


@pytest.mark.parametrize("epoch", ["7", "-"])
def test_columns_are_read_by_their_names(epoch: str, tmp_path: Path) -> None:
    """4.x has a column more with --verbose. Kafka 1.x has none for the group: that is refused."""
    head = "GROUP    TOPIC   PARTITION  LEADER-EPOCH  CURRENT-OFFSET  LOG-END-OFFSET  LAG  HOST"
    row = f"a group  orders  0          {epoch}             100             900             800  -"
    for before in ("", "    "):  # as a report quotes it
        (one,) = look_at_text(tmp_path, before + head, before + row).reading.positions
        assert (one.group, one.log, one.at, one.end) == ("a group", "orders-0", 100, 900)
    report = look_at_text(tmp_path, head, row, "", "Consumer group 'x' has no active members.")
    assert report.exit_code == 0
    assert look_at_text(tmp_path, head, row, row[:30]).exit_code == 2
    old = ("TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG", "orders  0  100  900  800")
    with pytest.raises(Unreadable):
        look_at_text(tmp_path, *old)


def test_a_table_copied_from_a_terminal_has_blanks_for_tabs(tmp_path: Path) -> None:
    shown = read_output("4.3.1", "find-hanging").expandtabs().replace("-1  ", "3   ")
    report = look_at_text(tmp_path, shown)
    assert list_found(report) == [("hanging", "orders-0")]
    assert not report.reading.positions


def test_a_dump_out_of_order_or_twice_opens_nothing_again(tmp_path: Path) -> None:
    first, later = OF_ORDERS, [line.replace("0000.log", "0001.log") for line in END_OF_ORDERS]
    assert list_found(look_at_text(tmp_path, *first)) == [("overdue", "orders-0")]
    for lines in ((*first, *later), (*first, *later, *first, *later), (*later, *first)):
        report = look_at_text(tmp_path, *lines)
        assert list_found(report) == []
        assert report.exit_code == 2 * (lines != (*first, *later))


WARNING = "[2026-11-28 12:00:00,123] WARN [AdminClient clientId=a-1] Connection to node -1 (b:9092)"
GROUPS = """
Consumer group 'old' has no active members.

GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
old      orders  0          5               9               4    -            -     -

Warning: Consumer group 'billing' is rebalancing.

GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST       CLIENT-ID
billing  orders  0          9               9               0    c-1-7f       /10.0.0.1  c$
billing  orders  1          -               3               -    c-1-7f       /10.0.0.1  ops@c-1 $
"""


def test_what_else_is_printed_among_the_lines_of_a_tool(tmp_path: Path) -> None:
    """Warnings, a shell's prompt, colours, indexes and the first line of 2.x; no row is lost."""
    report = look_at_text(tmp_path, *GROUPS.splitlines())
    assert [(p.group, p.log, p.at) for p in report.reading.positions] == [
        ("billing", "orders-0", 9), ("billing", "orders-1", -1), ("old", "orders-0", 5)
    ]  # fmt: skip
    assert report.exit_code == 0 and not report.reading.gaps
    first, *rest = read_output("4.3.1", "find-hanging").splitlines()
    jvm = "OpenJDK 64-Bit Server VM warning: Options -Xverify:none and -noverify were deprecated"
    prompt = "ops@broker-1:~$ bin/kafka-transactions.sh --bootstrap-server b:9092 find-hanging"
    report = look_at_text(tmp_path, prompt, first, WARNING, *rest, jvm, "[ops@b-1 ~]$ ")
    assert list_found(report) == [("hanging", "orders-0")] and not report.reading.gaps
    index = ["Dumping /data/orders-0/0.index", "offset: 26 position: 4096",
             "Dumping /data/orders-0/0.timeindex",
             f"timestamp: {WRITTEN_MS} offset: 8"]  # fmt: skip
    dump = [OF_ORDERS[0], WARNING, "Starting offset: 0", *OF_ORDERS[1:], *index]
    for lines in (dump, [f"\x1b[1;32m{line}\x1b[0m" for line in dump]):
        report = look_at_text(tmp_path, *lines)
        assert list_found(report) == [("overdue", "orders-0")]
        assert not [gap for gap in report.reading.gaps if gap.failed]


def test_what_a_tool_could_not_do_is_told(tmp_path: Path) -> None:
    error = "Error: Consumer group 'nope' does not exist."
    report = look_at_text(tmp_path, *GROUPS.splitlines(), error)
    (gap,) = report.reading.gaps
    assert error in str(gap.why) and report.exit_code == 2 and len(report.reading.positions) == 3
    for line in (error, f"[2026-11-28 12:00:00,123] ERROR {error}"):
        with pytest.raises(Unreadable, match=r"output.txt: the tool reports: .*nope"):
            look_at_text(tmp_path, line)


def test_a_snapshot_as_2_x_prints_it(tmp_path: Path) -> None:
    """An Option of Scala, where Java prints an OptionalLong; no time but the last batch's."""
    new = read_output("3.9.1", "dump-snapshot")
    old = new.replace("OptionalLong[5]", "Some(5)").replace("OptionalLong.empty", "None")
    old = re.sub(r"lastTimestamp: \d+ ", "", old)
    assert "Some(5)" in old and list_found(look_at_text(tmp_path, old)) == OUTPUTS["dump-snapshot"]


def test_a_compacted_log_as_2_x_decodes_it(tmp_path: Path) -> None:
    """What DumpLogSegments of 2.3 writes: keys without braces, a Set of Scala, and that offsets are
    missing, which compaction does; bytes at the end that are no batch are told."""
    head, state = f"{RECORD.format(0)} key: ", "__transaction_state-0"
    plain = BATCH.format(0, "false").replace("isTransactional: true", "isTransactional: false")
    dump = [DUMPING.replace("orders-0", state), "Starting offset: 0", plain,
            f"{head}transactionalId=pay payload: producerId:1,producerEpoch:0,state=Ongoing,"
            f"partitions=Set(orders-0, stock-1),txnLastUpdateTimestamp={WRITTEN_MS},"
            "txnTimeoutMs=60000",
            "Non-consecutive offsets in /data/__transaction_state-0/0.log",
            "  0 is followed by 4",
            DUMPING.replace("orders", "__consumer_offsets"),
            plain, f"{head}offset::a:group:my-topic-3:7 payload: 42:some metadata"]  # fmt: skip
    report = look_at_text(tmp_path, *dump)
    assert [t.where for t in report.reading.txns] == [("orders-0", "stock-1")]
    assert list_found(report) == [("overdue", "pay")]
    assert [(p.group, p.log, p.at) for p in report.reading.positions] == [
        ("a:group", "my-topic-3-7", 42)
    ]
    assert not report.reading.gaps
    (gap,) = look_at_text(
        tmp_path, *dump, "Found 20 invalid bytes at the end of 0.log"
    ).reading.gaps
    assert gap.failed and "Found 20 invalid bytes" in str(gap.why)


def test_an_open_transaction_without_its_partition_is_not_called_hanging(tmp_path: Path) -> None:
    """It may be in the one that its coordinator knows of."""
    of = ("ProducerId", "ProducerEpoch", "LastTimestamp", "CurrentTransactionStartOffset")
    row = ("4", "0", f"{1795893560202 - 16 * 60_000}", "0")
    shown = ("\t".join(of), "\t".join(row), read_output("4.3.1", "describe"))
    assert list_found(look_at_text(tmp_path, *shown)) == OVERDUE
    # Of two outputs it cannot be said which is which partition's.
    asked = {"topic": "stock", "partition": 0}
    assert list_found(look_at_text(tmp_path, *shown, **asked)) == [("hanging", "stock-0"), *OVERDUE]
    assert list_found(look_at_text(tmp_path, *shown[:2], *shown, **asked)) == OVERDUE


PLAIN = BATCH.replace("isTransactional: true", "isTransactional: false").format(0, "false")
FOREIGN = {
    "GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS\ng  c-1  /h  c  1": "without --state",
    "GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS": "without --state",
    "GROUP  TOPIC  PARTITION  START-OFFSET  LAG\ns  orders  0  5  4": "share groups",  # 4.2
    "GROUP  TOPIC  PARTITION  START-OFFSET\ns  orders  0  5": "share groups",  # 4.1
    "GROUP  TOPIC  PARTITION  OFFSET-LAG\na  orders  0  5": "streams groups",
    "orders:0:9\norders:1:3": "kafka-get-offsets.sh",
    '{"version":1,"brokers":[{"broker":1,"logDirs":[]}]}': "kafka-log-dirs.sh",
    "Topic: orders\tTopicId: x\tPartitionCount: 1": "kafka-topics.sh",
    "Dumping /data/orders-0/0.index\noffset: 26 position: 4096": "dump the .log",
    f"Dumping /data/__cluster_metadata-0/0.log\n{PLAIN}": "dump the .log",
    f"Dumping /data/__remote_log_metadata-3/0.log\n{PLAIN}": "dump the .log",
    f"Dumping /data/__share_group_state-3/0.log\n{PLAIN}": "dump the .log",
}


@pytest.mark.parametrize("text", FOREIGN)
def test_what_is_not_read_is_told_with_what_to_give_instead(text: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=FOREIGN[text]):
        look_at_text(tmp_path, text)
    report = look_at_text(tmp_path, *GROUPS.splitlines(), "", text)
    assert len(report.reading.positions) == 3
    # an index beside other outputs is nothing to tell
    assert report.exit_code == 2 * bool(report.reading.gaps) == 2 * (".index" not in text)


@pytest.mark.parametrize(("name", "option"), [
    ("dump-state", "--transaction-log-decoder"), ("dump-offsets", "--offsets-decoder")
])  # fmt: skip
def test_a_dump_of_an_internal_topic_without_its_decoder(
    name: str, option: str, tmp_path: Path
) -> None:
    """Without records, and with them as bytes: it is not said that nothing is in it."""
    decoded = read_output("4.3.1", name)
    heads = [line for line in decoded.splitlines() if not line.startswith("|")]
    as_bytes = re.sub(r" key: \{.*", " key: \0\1\0\4shop payload: \0\1\0\0", decoded)
    for text in ("\n".join(heads), as_bytes):
        failed = [gap for gap in look_at_text(tmp_path, text).reading.gaps if gap.failed]
        assert [option in str(gap.why) for gap in failed] == [True]


def test_a_dump_without_the_metadata_of_its_records(tmp_path: Path) -> None:
    """As --skip-record-metadata makes it: what a state or a position is can be read all the same;
    of a marker nothing is printed."""
    for name in ("dump-state", "dump-offsets", "dump-orders"):
        whole = read_output("4.3.1", name)
        bare = re.sub(r"(?m)^\| offset: .* headerKeys: \[\] (endTxn.*)?",
                      lambda match: "" if match[1] else "| ", whole)  # fmt: skip
        report, same = look_at_text(tmp_path, bare), look_at_text(tmp_path, whole)
        assert bare != whole and list_found(report) == list_found(same)
        assert len(report.reading.positions) == len(same.reading.positions)
        assert not [gap for gap in report.reading.gaps if gap.failed]
        assert ("--skip-record-metadata" in str(report)) == (name == "dump-orders")


def test_a_log_as_2_2_and_older_print_it(tmp_path: Path) -> None:
    """Each record with what its batch says, or batches that do not say which are markers; and
    messages without transactions."""

    def row(at: int, rest: str) -> str:
        return f"offset: {at} position: 0 CreateTime: {WRITTEN_MS} isvalid: true keysize: -1 {rest}"

    producer = "magic: 2 compresscodec: NONE producerId: 1 producerEpoch: 0"
    first = row(0, f"{producer} sequence: 0 isTransactional: true headerKeys: [] payload: y")
    marker = row(1, f"{producer} sequence: -1 isTransactional: true headerKeys: [] "
                 "endTxnMarker: ABORT coordinatorEpoch: 0")  # fmt: skip
    assert list_found(look_at_text(tmp_path, DUMPING, first)) == [("overdue", "orders-0")]
    report = look_at_text(tmp_path, DUMPING, "Starting offset: 0", first, marker)
    assert [(c.label, c.aborted) for c in report.reading.logs[0].cells] == [
        ("·", True), ("A", False)
    ]  # fmt: skip
    assert report.exit_code == 0
    heads = [BATCH.format(0, "x"), BATCH.format(1, "x").replace("Sequence: 0", "Sequence: -1")]
    heads = [head.replace(" isControl: x", "") for head in heads]
    assert list_found(look_at_text(tmp_path, DUMPING, heads[0])) == [("overdue", "orders-0")]
    assert list_found(look_at_text(tmp_path, DUMPING, *heads)) == []
    old = look_at_text(tmp_path, DUMPING, row(0, "magic: 1 compresscodec: NONE crc: 5"))
    assert old.exit_code == 2 and "format 1" in str(old.reading.gaps[0].why)


def test_what_docker_compose_and_kubectl_put_around_the_lines(tmp_path: Path) -> None:
    """A name before each line, of which those of two containers come mixed."""
    hanging, listed = read_output("4.3.1", "find-hanging"), read_output("4.3.1", "list")
    assert list_found(look_at_text(tmp_path, hanging, hanging)) == [("hanging", "orders-0")]
    for names in (("broker-1  |", "kafka.b-1 |"), ("[pod/b-0/kafka]", "[pod/b-1/kafka]")):
        mixed = [f"{name} {line}" for pair in zip(
            hanging.splitlines(), listed.splitlines(), strict=False
        ) for name, line in zip(names, pair, strict=True)]  # fmt: skip
        report = look_at_text(tmp_path, "Attaching to broker-1, kafka.b-1", *mixed)
        assert list_found(report) == [("hanging", "orders-0")]
        assert report.findings[0].evidence[0].source == "output.txt:4"
        assert not [gap for gap in report.reading.gaps if gap.failed]
    begin = 'Defaulted container "kafka" out of: kafka, init (init)'
    end = "command terminated with exit code 137"
    report = look_at_text(tmp_path, begin, *GROUPS.splitlines(), end)
    assert [end in str(gap.why) for gap in report.reading.gaps] == [True]


def test_a_list_that_may_be_older_or_filtered_makes_nothing_hang(tmp_path: Path) -> None:
    """It is printed at another time than the producers, or with --duration-filter; its states last
    for a moment."""
    listed = ["TransactionalId\tCoordinator\tProducerId\tTransactionState", "shop\t1\t7\t{}"]
    head = "ProducerId\tProducerEpoch\tLastTimestamp\tCurrentTransactionStartOffset"
    asked = {"topic": "orders", "partition": 0}

    def look_after(minutes: int, pid: int, state: str = "CompleteCommit") -> Report:
        began = WRITTEN_MS + 3_600_000 - minutes * 60_000
        rows = ("\n".join(listed).format(state), head, f"{pid}\t0\t{began}\t5")
        return look_at_text(tmp_path, *rows, **asked)

    for pid in (7, 8):
        assert list_found(look_after(16, pid)) == [("hanging", "orders-0")]
        report = look_after(14, pid)
        assert list_found(report) == [] and "--duration-filter" in str(report.reading.gaps[0].why)
    report = look_after(1, 7, "PrepareCommit")
    assert list_found(report) == [] and "print it again" in str(report.reading.gaps[0].why)


@pytest.mark.parametrize("ending", ["delete", "future", "stray"])
def test_a_dump_of_a_folder_that_the_broker_does_not_serve_is_named(
    ending: str, tmp_path: Path
) -> None:
    """As in `test_folder`: what was open in it when it was renamed holds nobody up."""
    name = f"orders-0.{'5f' * 16}-{ending}"
    renamed = [DUMPING.replace("orders-0", name), *OF_ORDERS[1:]]
    report = look_at_text(tmp_path, *OF_ORDERS, *END_OF_ORDERS[1:], *renamed)
    (gap,) = report.reading.gaps
    assert f"(-{ending})" in gap.why.en and not gap.failed and list_found(report) == []
    with pytest.raises(Unreadable, match=f"-{ending}"):
        look_at_text(tmp_path, *renamed)


def test_a_list_of_some_transactions_makes_nothing_hang(tmp_path: Path) -> None:
    """The line above it says so; a list of none is a list all the same."""
    head = "TransactionalId\tCoordinator\tProducerId\tTransactionState"
    of = "ProducerId\tProducerEpoch\tLastTimestamp\tCurrentTransactionStartOffset"
    row = f"7\t0\t{WRITTEN_MS + 2_400_000}\t5"  # 20 minutes ago
    ask = "$ bin/kafka-transactions.sh --bootstrap-server b:9092 list"
    asked = {"topic": "orders", "partition": 0}
    report = look_at_text(tmp_path, ask, head, of, row, **asked)
    assert list_found(report) == [("hanging", "orders-0")] and not report.reading.gaps
    options = ("--duration-filter 1", "--transactional-id-pattern 'shop.*'", "| grep O", "| tee t")
    for only, kind in zip(options, ["overdue"] * 3 + ["hanging"], strict=True):
        for prompt in ("$ ", "", "me@mac ~ % ", "sh-5.1# ", "PS C:\\kafka> .\\", "$ x \\\n> "):
            lines = (f"{prompt}{ask[2:]} {only}", head, of, row)
            assert list_found(look_at_text(tmp_path, *lines, **asked)) == [(kind, "orders-0")]


@pytest.mark.parametrize("name", ["dump-snapshot", "dump-offsets"])
def test_a_last_line_that_is_cut_is_told(name: str, tmp_path: Path) -> None:
    whole = read_output("4.3.1", name).rstrip()
    for lost in range(30, len(whole.splitlines()[-1]) - 60):
        cut = look_at_text(tmp_path, whole[:-lost])
        assert any(g.failed for g in cut.reading.gaps) or list_found(cut) == OUTPUTS[name], lost


def test_a_list_that_is_printed_again_says_what_is_so_now(tmp_path: Path) -> None:
    """As the report advises; what `describe` said of the same state says more, and stays."""
    head = "TransactionalId\tCoordinator\tProducerId\tTransactionState"
    lists = [(head, f"shop\t1\t7\t{state}") for state in ("PrepareCommit", "CompleteCommit")]
    assert "print it again" in str(look_at_text(tmp_path, *lists[0]).reading.gaps[0].why)
    assert not look_at_text(tmp_path, *lists[0], *lists[1]).reading.gaps
    described = read_output("4.3.1", "describe")
    for pid, state in ((4, "CompleteAbort"), (5, "Empty")):
        row = f"pay-app\t1\t{pid}\t{state}"
        assert list_found(look_at_text(tmp_path, described, head, row)) == []
    again = look_at_text(tmp_path, described, head, "pay-app\t1\t4\tOngoing")
    assert list_found(again) == OVERDUE


def test_what_compaction_has_left_of_a_batch_is_counted(tmp_path: Path) -> None:
    """An empty batch keeps its producer's sequence; the group has nothing left to read."""
    head = PLAIN.replace("lastOffset: 0 count: 1", "lastOffset: 9 count: 3")
    empty = PLAIN.replace("Offset: 0", "Offset: 10").replace("count: 1", "count: 0")
    group = ("GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG HOST", "g orders 0 10 11 1 -")
    report = look_at_text(tmp_path, DUMPING, head, empty, *group)
    (log,) = report.reading.logs
    assert dict(log.counts)["records"] == 3 and [c.offset for c in log.cells] == [*range(3, 10)]
    assert list_found(report) == [("lag-of-markers", "g")]
