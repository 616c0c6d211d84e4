"""Folders of real brokers of two versions, healthy parts and damaged ones: what is found, and that
damaged files cost themselves and nothing else. What is expected is what `damage.py` has done."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from kio.records.readers import crc32c  # type: ignore[attr-defined]

from mqlab.inspect import Report, Unreadable
from mqlab.inspect.kafka.folder import find_part
from mqlab.inspect.kafka.scan import Row, Scan
from mqlab.inspect.kafka.segments import Partition
from mqlab.real.kafka.batches import CONTROL, TRANSACTIONAL, batch, record
from tests.inspect.folders import VERSIONS, list_found, look, unpack

ALL = [
    ("hanging", "orders-0"),
    ("zombie", "stock-0"),
    ("overdue", "bill-app"),
    ("overdue", "pay-app"),
    ("pending-offset", "billing"),
    ("aborted-share", "refunds-0"),
    ("lag-of-markers", "auditors"),
]
LOG = "node-1/orders-0/00000000000000000000.log"


def show(report: Report) -> dict[str, list[str]]:
    """Each log's cells: the label, the transaction's, and whether it is hidden or aborted."""
    return {
        log.name: [
            c.label + ("" if c.readable else "?") + ("!" if c.aborted else "") for c in log.cells
        ]
        for log in report.reading.logs
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_all_that_was_broken_is_found(version: str, tmp_path: Path) -> None:
    report = look(unpack(version, tmp_path), payloads=True)
    assert list_found(report) == ALL
    assert report.exit_code == 1 and not report.reading.gaps
    assert show(report)["orders-0"] == ["o1", "o2", "C", "o3!", "A", "h1?", "h2?", "o4?", "C?"]
    assert [(f.name, f.at) for f in report.reading.logs[1].frontiers] == [("LSO", 5), ("HW", 9)]
    hanging, zombie = report.findings[:2]
    assert hanging.commands[0].endswith("abort --topic orders --partition 0 --start-offset 5")
    assert hanging.evidence[0].source == "orders-0/00000000000000000000.log position: 311"
    assert "state=Empty producerEpoch=1" in zombie.evidence[1].line


@pytest.mark.parametrize("version", VERSIONS)
def test_a_decided_transaction_whose_leader_died(version: str, tmp_path: Path) -> None:
    report = look(unpack(version, tmp_path, "decided"))
    assert list_found(report) == [("markers-missing", "split-app")]
    assert "state=PrepareCommit" in report.findings[0].evidence[0].line
    own, coordinator = (txn for txn in report.reading.txns)
    assert own.label == coordinator.label and own.seen == "split-0"


def test_no_payload_unless_asked(tmp_path: Path) -> None:
    report = look(unpack("4.3.1", tmp_path))
    assert {c.label for log in report.reading.logs for c in log.cells} == {"·", "C", "A"}


def test_one_topic_and_some_offsets(tmp_path: Path) -> None:
    report = look(unpack("4.3.1", tmp_path), topic="refunds", first=4, last=9)
    assert [log.name for log in report.reading.logs] == ["refunds-0"]
    assert dict(report.reading.logs[0].counts) == {
        "records": 6,
        "markers": 1,
        "aborted": 3,
    }  # whole batches
    assert "orders-0" in str(report.reading.gaps[0].what)
    assert list_found(report) == [("overdue", "bill-app"), ("overdue", "pay-app")]
    one = look(tmp_path / "node-1" / "stock-0")
    assert [log.name for log in one.reading.logs] == ["stock-0"]
    assert [gap.what.en for gap in one.reading.gaps] == [
        "__transaction_state",
        "__consumer_offsets",
    ]
    with pytest.raises(Unreadable, match=r"holds no nix; it holds .*audit, orders"):
        look(tmp_path, topic="nix")


def test_one_segment(tmp_path: Path) -> None:
    report = look(unpack("4.3.1", tmp_path) / LOG, payloads=True)
    assert [c.label for c in report.reading.logs[0].cells][:3] == ["o1", "o2", "C"]
    assert report.reading.logs[0].name == "orders-0"


def test_a_healthy_log_has_nothing(tmp_path: Path) -> None:
    root = unpack("4.3.1", tmp_path)
    internal = ("__transaction_state", "__consumer_offsets")
    for name in ("orders", "stock", "payments", "refunds", *internal):
        for path in (root / "node-1" / f"{name}-0").iterdir():
            path.unlink()
    report = look(root)
    assert not report.findings and report.exit_code == 0
    assert "Nothing found" in str(report) and "__transaction_state" in str(report)


def test_without_its_coordinator_a_transaction_is_not_called_hanging(tmp_path: Path) -> None:
    """Two of the partitions of a coordinator's log lie on another broker."""
    root = unpack("4.3.1", tmp_path)
    log = root / "node-1/__transaction_state-0"
    first = shutil.copytree(log, root / "node-1/__transaction_state-1")
    assert ("hanging", "orders-0") not in list_found(look(root))  # parts 0 and 1 of more
    shutil.rmtree(first)
    log.rename(root / "node-1/__transaction_state-2")
    assert ("hanging", "orders-0") not in list_found(look(root))


@pytest.mark.parametrize(
    ("txn_id", "number"),
    [("hello", 99_162_322), ("polygenelubricants", 0), ("", 0), ("\U0001f600", 1_772_899)],
)
def test_an_id_is_in_the_part_that_java_finds(txn_id: str, number: int) -> None:
    assert find_part(txn_id, 1 << 31) == number


def test_a_snapshot_tells_of_a_transaction_that_began_long_ago(tmp_path: Path) -> None:
    """The segment that holds its first batch is gone from the part that is read."""
    root = unpack("4.3.1", tmp_path)
    folder = root / "node-1/orders-0"
    data = (folder / "00000000000000000000.log").read_bytes()
    at = 390  # where offset 7 stands
    (folder / "00000000000000000000.log").write_bytes(data[:at])
    (folder / "00000000000000000007.log").write_bytes(data[at:])
    report = look(root, payloads=True)
    assert list_found(report) == ALL
    assert show(report)["orders-0"][-4:] == ["h1?", "h2?", "o4?", "C?"]
    snapshot = folder / "00000000000000000007.snapshot"
    snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"\1")
    report = look(root)
    assert list_found(report) == ALL  # the segments are read instead
    assert "00000000000000000007.snapshot" in str(report.reading.gaps[0].what)


# ---- damaged files -----------------------------------------------------------------------


def test_a_torn_end_is_told_and_the_rest_shown(tmp_path: Path) -> None:
    path = unpack("4.3.1", tmp_path) / LOG
    path.write_bytes(path.read_bytes()[:-10])
    report = look(tmp_path, payloads=True)
    assert show(report)["orders-0"][-1] == "o4?"
    assert "ends inside a batch at byte 462" in str(report)


@pytest.mark.parametrize(
    ("file", "data", "what", "says", "found"),
    [
        ("refunds-0/{}.txnindex", lambda d: d[:50], "refunds-0/{}.txnindex",
         "ends inside an entry", {"hanging", "zombie", "overdue"}),
        ("orders-0/{}.log", lambda d: b"", "orders-0",
         "offset 0, and replication-offset-checkpoint", {"zombie", "overdue"}),
        ("orders-0/{}.log", None, "orders-0", "its folder has no .log file", {"zombie", "overdue"}),
        # Of a coordinator whose log is not whole, it cannot be said that it knows a producer not.
        ("__transaction_state-0/{}.log", lambda d: bytes(3000), "__transaction_state-0",
         "what came between is lost", {"overdue"}),
        ("__transaction_state-0/{}.log", lambda d: d[:70] + b"?" + d[71:],
         "__transaction_state-0/{}.log", "does not match its checksum", {"zombie", "overdue"}),
        # No snapshot is beside this one: its end is known by the high watermark only.
        ("stock-0/{}.log", lambda d: b"", "stock-0", "offset 0, and replication-offset-checkpoint",
         {"hanging", "overdue"}),
        ("log-start-offset-checkpoint", lambda d: b"0\n2\norders-0 4\n",
         "log-start-offset-checkpoint", "is not what Kafka writes",
         {"hanging", "zombie", "overdue"}),
    ],
)  # fmt: skip
def test_a_file_that_is_cut_emptied_or_gone_is_told(  # type: ignore[no-untyped-def]
    file, data, what, says, found, tmp_path
) -> None:
    root, first = unpack("4.3.1", tmp_path), "0" * 20
    path = root / "node-1" / file.format(first)
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data(path.read_bytes()))
    report = look(root)
    told = {str(gap.what): str(gap.why) for gap in report.reading.gaps if gap.failed}
    assert says in told[what.format(first)]
    of_txns = {"hanging", "zombie", "overdue"}
    assert {kind for kind, _ in list_found(report)} & of_txns == found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name")
@pytest.mark.parametrize(
    "name", ["orders-0/{}.log", "orders-0/{}.txnindex", "stock-0/{}.snapshot", "{}-checkpoint"]
)
def test_a_pipe_in_a_folder_is_not_waited_for(name: str, tmp_path: Path) -> None:
    file = "replication-offset" if name.startswith("{") else f"{0:020d}"
    path = unpack("4.3.1", tmp_path) / "node-1" / name.format(file)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    gaps = [gap for gap in look(tmp_path).reading.gaps if gap.failed]
    assert any(path.name in str(gap.what) for gap in gaps), gaps


def test_links_to_folders_that_are_there_are_no_copies(tmp_path: Path) -> None:
    root = unpack("4.3.1", tmp_path) / "node-1"
    whole = look(root)
    (root / "loop-0").symlink_to(root, target_is_directory=True)
    (root / "gone-0").symlink_to(root / "nowhere")
    linked = tmp_path / "linked"
    linked.symlink_to(root, target_is_directory=True)
    for folder in (root, linked):
        again = look(folder)
        assert list_found(again) == list_found(whole)
        assert [str(gap.what) for gap in again.reading.gaps] == [
            str(gap.what) for gap in whole.reading.gaps
        ]


def test_a_checkpoint_that_no_broker_has_written_yet_is_whole(tmp_path: Path) -> None:
    root = unpack("4.3.1", tmp_path, "decided") / "node-1"
    assert (root / "log-start-offset-checkpoint").stat().st_size == 0
    assert not [gap for gap in look(root).reading.gaps if "checkpoint" in str(gap.what)]


def test_deleted_records_are_neither_shown_nor_counted(tmp_path: Path) -> None:
    """DeleteRecords moves the first offset within a segment, whose bytes stay."""
    root = unpack("4.3.1", tmp_path)
    whole = {log.name: log for log in look(root).reading.logs}["orders-0"]
    (root / "node-1/log-start-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    rest = {log.name: log for log in look(root).reading.logs}["orders-0"]
    assert (whole.start, rest.start) == (0, 3) and whole.end == rest.end == 9
    assert show(look(root, payloads=True))["orders-0"] == ["o3!", "A", "h1?", "h2?", "o4?", "C?"]
    assert dict(whole.counts) == {"records": 6, "markers": 3, "aborted": 1}
    assert dict(rest.counts) == {"records": 4, "markers": 2, "aborted": 1}


def test_a_flipped_bit_costs_its_batch(tmp_path: Path) -> None:
    path = unpack("4.3.1", tmp_path) / LOG
    data = bytearray(path.read_bytes())
    data[230] ^= 4  # inside the record of o3
    path.write_bytes(data)
    report = look(tmp_path, payloads=True)
    assert show(report)["orders-0"] == ["o1", "o2", "C", "A", "h1?", "h2?", "o4?", "C?"]
    assert "byte 161 does not match its checksum" in str(report)
    assert ("hanging", "orders-0") in list_found(report)


@pytest.mark.parametrize("at", [161 + 8, 161 + 11, 161 + 16, 161 + 3])
def test_a_changed_head_costs_its_batch(at: int, tmp_path: Path) -> None:
    """Length, format, base offset: the next batch is found again."""
    path = unpack("4.3.1", tmp_path) / LOG
    data = bytearray(path.read_bytes())
    data[at] = 0x7F
    path.write_bytes(data)
    report = look(tmp_path, payloads=True)
    assert {*show(report)["orders-0"]} >= {"o1", "h1?", "h2?", "o4?"}
    assert report.reading.gaps and report.reading.gaps[0].failed
    assert ("hanging", "orders-0") in list_found(report)


def test_an_abort_is_not_advised_where_the_marker_may_be_damaged(tmp_path: Path) -> None:
    root = unpack("4.3.1", tmp_path)
    log = root / "node-1/audit-0/00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1])
    (found,) = [one for one in look(root).findings if one.where == "audit-0"]
    assert found.kind.name == "hanging" and "ends inside a batch" in found.evidence[-1].line
    assert " find-hanging " in found.commands[0] and " abort " not in found.commands[0]


def test_every_single_flip_is_survived(tmp_path: Path) -> None:
    """Of the coordinator's log, whose records are opened: no flip ends the run."""
    path = unpack("4.3.1", tmp_path) / "node-1/__transaction_state-0/00000000000000000000.log"
    data = path.read_bytes()
    for at in range(0, len(data), 37):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        report = look(tmp_path)
        assert ("aborted-share", "refunds-0") in list_found(report)


def test_messages_of_an_old_format(tmp_path: Path) -> None:
    folder = tmp_path / "old-0"
    folder.mkdir()
    old = struct.pack(">qiIbbq", 0, 22, 0, 1, 0, 0) + b"\xff" * 8
    new = bytearray(batch(at_ms=1))
    new[:8] = struct.pack(">q", 1)
    (folder / f"{0:020}.log").write_bytes(old + new)
    report = look(tmp_path)
    assert "format 1" in str(report) and report.reading.logs[0].end == 2


def test_room_set_aside_is_no_damage(tmp_path: Path) -> None:
    path = unpack("4.3.1", tmp_path) / LOG
    path.write_bytes(path.read_bytes() + bytes(5_000))
    assert not look(tmp_path).reading.gaps


@pytest.mark.parametrize("inside", [None, "x/readme.txt", "orders-0/readme.txt"])
def test_a_folder_of_something_else(inside: str | None, tmp_path: Path) -> None:
    if inside:
        (tmp_path / inside).parent.mkdir()
        (tmp_path / inside).write_text("hello", "utf-8")
    with pytest.raises(Unreadable, match=r"is no data folder of Kafka.*log\.dirs"):
        look(tmp_path)


# ---- pieces ------------------------------------------------------------------------------


def test_an_index_is_believed_where_a_batch_stands(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    told: list[object] = []
    data = [struct.pack(">q", i) + batch(record(b"x" * 100))[8:] for i in range(50)]
    data[5] = data[5][:-1] + b"y"  # is told where it is passed, and not where it is not
    path.write_bytes(b"".join(data))
    at = 30 * len(data[0])
    for entry, begin in (((30, at), at), ((30, at + 1), 0), ((60, at), 0), ((30, 1 << 30), 0)):
        told.clear()
        path.with_suffix(".index").write_bytes(struct.pack(">II", *entry) + bytes(80))
        part = Partition(tmp_path, "a-0", lambda *damage: told.append(damage))
        assert part._seek(path, 0, 40) == begin
        assert [row.base for row, _ in part.read(40, 42)] == [40, 41, 42]
        assert bool(told) == (begin == 0)


def test_a_position_moves_when_its_transaction_commits(tmp_path: Path) -> None:
    path = unpack("4.3.1", tmp_path) / "node-1/__consumer_offsets-0/00000000000000000000.log"
    before = path.read_bytes()
    for kind, at in ((1, 3), (0, 1)):
        key, value = struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0)
        marker = batch(record(value, key), bits=TRANSACTIONAL | CONTROL, pid=1001, epoch=0)
        path.write_bytes(before + struct.pack(">q", 3) + marker[8:])
        (billing,) = (p for p in look(tmp_path).reading.positions if p.group == "billing")
        assert (billing.at, billing.pending) == (at, ())


def test_the_position_that_was_written_last_counts(tmp_path: Path) -> None:
    """A commit marker moves no position that a later record has moved already; a tombstone removes
    what is pending too (OffsetMetadataManager#replay)."""
    log = tmp_path / "__consumer_offsets-0" / f"{0:020d}.log"
    log.parent.mkdir()
    key = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)
    marker = record(struct.pack(">hi", 0, 0), struct.pack(">hh", 0, 1))

    def write(*written: tuple[int, int | None]) -> list[tuple[int, bool]]:
        """(producer or -1, offset: a position, -1: a tombstone, None: a commit marker)"""
        rows = []
        for base, (pid, at) in enumerate(written):
            value = struct.pack(">hqhq", 3, at, 0, 0) if at and at > 0 else None
            what = marker if at is None else record(value, key)
            bits = (TRANSACTIONAL if pid >= 0 else 0) | (CONTROL if at is None else 0)
            epoch = 0 if pid >= 0 else -1
            rows.append(struct.pack(">q", base) + batch(what, bits=bits, pid=pid, epoch=epoch)[8:])
        log.write_bytes(b"".join(rows))
        return [(one.at, bool(one.pending)) for one in look(tmp_path).reading.positions]

    assert write((1, 5), (-1, 3)) == [(3, True)]
    assert write((1, 5), (-1, 3), (1, None)) == [(3, False)]
    assert write((1, 5), (2, 7), (2, None), (1, None)) == [(7, False)]
    assert write((-1, 3), (1, 5), (1, None)) == [(5, False)]
    assert write((1, 5), (-1, -1)) == write((1, 5), (-1, -1), (1, None)) == []
    assert write((1, 5), (-1, -1), (1, 6), (1, None)) == [(6, False)]


def test_what_a_reader_has_still_to_get() -> None:
    scan = Scan("a-0", "")
    for row in (Row(0, 1), Row(2, 4, 7, 0, True), Row(5, 5, 7, 0, True, "A"), Row(6, 6)):
        scan.take(row)
    assert [scan.count_left(at) for at in (0, 1, 2, 6, 7, 8)] == [
        (3, 4), (2, 4), (1, 4), (1, 0), (0, 0), None
    ]  # fmt: skip
    scan.take(Row(7, 7, 7, 0, True))
    assert scan.count_left(0) is None and scan.first_open == 7


# ---- large ones --------------------------------------------------------------------------

SEGMENT, LARGE = 1 << 30, 8 << 20
PROBE = """
import sys
from tests.inspect.folders import look
report = look(sys.argv[1], topic="big", **eval(sys.argv[2]))
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak, report.reading.logs[0].end)
"""


def write_large(folder: Path, segments: int) -> int:
    """A partition of sparse segments of 1 GB, in batches of 8 MB of nothing; its end."""
    folder.mkdir(parents=True)
    body = bytes(LARGE - 61)
    whole = batch(body, 100, at_ms=1)
    base = 0
    for _ in range(segments):
        with (folder / f"{base:020}.log").open("wb") as file:
            for at in range(0, SEGMENT, LARGE):
                file.seek(at)
                file.write(struct.pack(">q", base) + whole[8:61])
                base += 100
            file.truncate(SEGMENT)
    return base


@pytest.mark.skipif(sys.platform != "linux", reason="sparse files, and kB of memory")
def test_20_gigabytes_are_read_in_bounded_memory(tmp_path: Path) -> None:
    end = write_large(tmp_path / "big-0", 20)
    nobody = struct.pack(">hIi", 1, crc32c(bytes(4)), 0)
    (tmp_path / "big-0" / f"{end - SEGMENT // LARGE * 100:020}.snapshot").write_bytes(nobody)
    peaks = {}
    for asked in ("{}", "{'first': 130_000, 'last': 130_500}"):
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(tmp_path), asked],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peak, found = map(int, done.stdout.split())
        assert found == end
        peaks[asked] = peak
    assert max(peaks.values()) < 100_000, peaks  # kB


@pytest.mark.parametrize("ending", ["delete", "future", "stray"])
def test_a_folder_that_the_broker_does_not_serve_is_named(ending: str, tmp_path: Path) -> None:
    root = unpack("4.3.1", tmp_path)
    before = list_found(look(root))
    name = f"orders-0.{'5f' * 16}-{ending}"
    shutil.copytree(root / "node-1" / "orders-0", root / "node-1" / name)
    report = look(root)
    (gap,) = (gap for gap in report.reading.gaps if gap.what.en == name)
    assert f"(-{ending})" in gap.why.en and not gap.failed and list_found(report) == before


def test_what_compaction_has_left_is_counted(tmp_path: Path) -> None:
    """Of five offsets one record is left; the others are gaps."""
    (tmp_path / "a-0").mkdir()
    (tmp_path / "a-0" / f"{0:020d}.log").write_bytes(batch(record(), 1, delta=4))
    (log,) = look(tmp_path).reading.logs
    assert (log.end, dict(log.counts)) == (5, {"records": 1})


def test_a_folder_of_the_metadata_and_what_tiered_storage_has(tmp_path: Path) -> None:
    """KRaft's own log is no data; a broker notes where a log with tiered storage begins."""
    root = unpack("4.3.1", tmp_path) / "node-1"
    metadata = tmp_path / "controller" / "__cluster_metadata-0"
    shutil.copytree(root / "stock-0", metadata)
    for target in (metadata, metadata.parent):
        with pytest.raises(Unreadable, match=r"__cluster_metadata.*log\.dirs"):
            look(target)
    for path in (root / "refunds-0").glob("0000000000000000000?.*"):
        path.rename(path.with_stem("00000000000000000003"))
    for rows, gaps in (("0", []), ("1\nrefunds 0 1", ["offsets 1 to 2 are in tiered storage"])):
        (root / "log-start-offset-checkpoint").write_text(f"0\n{rows}\n")
        found = look(root, topic="refunds").reading.gaps
        said = [str(gap.why) for gap in found if gap.what.en == "refunds-0"]
        assert [why.partition(",")[0] for why in said if "tiered" in why] == gaps
