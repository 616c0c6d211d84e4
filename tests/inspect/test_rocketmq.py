"""`mqlab inspect rocketmq`: the folders that real brokers have left, damaged further here, and
this project's own server. Brokers that run: `running.py`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mqlab.inspect import Ask, Gap, Report, Unreadable, inspect_broker
from mqlab.inspect.rocketmq.halves import ROCKSDB_HALF, read_source
from mqlab.inspect.show import write_page
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from mqlab.rocketmq.remoting import MessageRecord
from mqlab.serve.process import start_broker
from tests.oracle.rocketmq.client import COMMIT, PROFILES, ROLLBACK, Lab, Producer, Target

from .damage_rocketmq import FOLDER

VERSIONS = ("5.5.0", "4.9.7")
PARKED, NEARLY, NOBODY, DEAD, LAG, STALLED, UNDECIDED = (
    "parked", "nearly-parked", "nobody-to-ask", "dead-letters", "lag", "check-stalled", "undecided"
)  # fmt: skip

ALL_TXNS = {("app-given-up", "set aside"), ("app-one-left", "undecided"),
            ("ghost-abandoned", "undecided")}  # fmt: skip


@pytest.fixture(params=VERSIONS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.unpack_archive(FOLDER / f"rocketmq-{request.param}" / "damaged.tar.xz", tmp_path)
    return tmp_path


def read(target: Path | str, **more: Any) -> Report:
    return inspect_broker("rocketmq", str(target), say=lambda line: None, **more)


def found(report: Report) -> dict[str, str]:
    return {finding.kind.name: finding.where for finding in report.findings}


def failed(report: Report) -> list[str]:
    return [f"{gap.what}: {gap.why}" for gap in report.reading.gaps if gap.failed]


def test_a_folder_shows_what_is_parked_nearly_so_dead_and_unread(store: Path) -> None:
    report = read(store)
    assert found(report) == {
        PARKED: "order-service", NEARLY: "order-service", DEAD: "%DLQ%billing", LAG: "billing"
    }  # fmt: skip
    parked, nearly, _, lag = report.findings
    assert [e.line.split()[0] for e in parked.evidence] == ["UNIQ_KEY=app-given-up"]
    assert [e.line.split()[0] for e in nearly.evidence] == ["UNIQ_KEY=app-one-left"]
    assert "2 of 3" in nearly.says.en and "consumerOffset=1 " in lag.evidence[0].line
    assert {(t.name, t.state) for t in report.reading.txns} == ALL_TXNS
    assert (report.exit_code, failed(report)) == (1, [])


def test_bodies_are_shown_only_where_they_were_asked_for(store: Path) -> None:
    text, page = str(read(store, topic="orders")), write_page(read(store, topic="orders"))
    assert "poisoned" not in text + page
    shown = read(store, topic="orders", payloads=True)
    labels = {cell.label for log in shown.reading.logs for cell in log.cells}
    assert {"poisoned", "one-left (2)"} <= labels


def test_offsets_pick_the_messages(store: Path) -> None:
    report = read(store, topic="orders:0", offsets="1..1")
    (log,) = (log for log in report.reading.logs if log.name == "orders-0")
    assert [cell.offset for cell in log.cells] == [1]


def test_a_check_that_does_not_come_by_is_found(store: Path) -> None:
    """Were its interval what RocketMQ's is, in a store whose last message is a minute younger."""
    conf = store / "broker.conf"
    conf.write_text(conf.read_text().replace("transactionCheckInterval=3600000",
                                             "transactionCheckInterval=10000"))  # fmt: skip
    report = read(store)
    assert {STALLED, UNDECIDED} <= found(report).keys()
    assert found(report)[STALLED] == HALF_TOPIC


def queue_of(store: Path, topic: str) -> Path:
    return next((store / "store" / "consumequeue" / topic / "0").iterdir())


def log_of(store: Path) -> Path:
    return store / "store" / "commitlog" / f"{0:020d}"


def test_a_torn_commit_log_costs_what_lay_behind(store: Path) -> None:
    data = log_of(store).read_bytes()
    log_of(store).write_bytes(data[: len(data) // 2])
    report = read(store)
    assert any("the commit log has no such place" in line for line in failed(report))
    assert any(log.cells for log in report.reading.logs if log.name == HALF_TOPIC)


def test_flipped_bits_cost_one_message_and_are_told(store: Path) -> None:
    """In each half's body, and in the entry that leads to it."""
    before = read(store)
    data = bytearray(log_of(store).read_bytes())
    at = data.rindex(b"given-up\x1aTRANS_CHECK")  # the parked copy
    data[at] ^= 1
    log_of(store).write_bytes(data)
    report = read(store)
    assert PARKED in found(before) and PARKED not in found(report)
    assert any(DISCARD_TOPIC in line and "checksum" in line for line in failed(report))
    assert found(report).keys() == found(before).keys() - {PARKED}


def test_an_entry_that_leads_elsewhere_is_told(store: Path) -> None:
    half = queue_of(store, HALF_TOPIC)
    entries = bytearray(half.read_bytes())
    entries[160:172] = entries[0:12]  # the ninth points to the first
    half.write_bytes(entries)
    report = read(store)
    assert any("another message" in line for line in failed(report))
    assert NEARLY not in found(report)


@pytest.mark.parametrize("topic", [HALF_TOPIC, OP_TOPIC, "orders"])
def test_a_queue_that_has_lost_what_was_read_is_told(store: Path, topic: str) -> None:
    """By the positions: a group cannot have read what is not there."""
    queue = queue_of(store, topic)
    queue.write_bytes(b"")
    said = failed(read(store))
    assert any(line.startswith(topic) and "after the end, 0" in line for line in said)
    queue.unlink()
    queue.mkdir()
    assert any(line.startswith(topic) and "directory" in line for line in failed(read(store)))


@pytest.mark.parametrize("kept", [20, 30])
def test_a_queue_that_is_cut_is_told_without_a_position(store: Path, kept: int) -> None:
    """An entry that is missing, or half of it; but not where its file may be as small as that."""
    orders = queue_of(store, "orders")
    orders.write_bytes(orders.read_bytes()[:kept])
    for file in (store / "store" / "config").glob("consumerOffset.json*"):
        file.unlink()
    (said,) = [line for line in failed(read(store)) if line.startswith("orders")]
    assert f"from offset 0 has {kept} bytes of 600,000" in said
    (store / "store" / "broker.conf").write_text(f"mappedFileSizeConsumeQueue={kept}")
    assert not any(line.startswith("orders") for line in failed(read(store)))


def test_a_comment_in_another_encoding_costs_no_setting(store: Path) -> None:
    (conf,) = store.rglob("broker.conf")
    conf.write_bytes("# 检查\n".encode("gbk") + conf.read_bytes())
    assert NEARLY in found(read(store))


def test_damaged_positions_are_taken_from_the_backup_or_are_missing(store: Path) -> None:
    config = store / "store" / "config"
    good = (config / "consumerOffset.json").read_bytes()
    (config / "consumerOffset.json").write_bytes(good[:40])
    (config / "consumerOffset.json.bak").write_bytes(good)
    report = read(store)
    assert LAG in found(report) and any("consumerOffset.json.bak" in f for f in failed(report))
    (config / "consumerOffset.json.bak").unlink()
    report = read(store)
    assert LAG not in found(report) and PARKED in found(report)
    assert any("positions" in line for line in failed(report))
    assert {(t.name, t.state) for t in report.reading.txns} == ALL_TXNS


def test_what_a_store_keeps_in_rocksdb_is_told_and_never_nothing_found(store: Path) -> None:
    """As 5.5.0 leaves it with transRocksDBEnable, and with storeType=defaultRocksDB (`running.py`
    sees it do so)."""
    queues = store / "store" / "consumequeue"
    (queues / HALF_TOPIC).rename(queues / ROCKSDB_HALF)
    report = read(store)
    (said,) = (line for line in failed(report) if ROCKSDB_HALF in line)
    assert "half messages and copies" in said and "transWriteOriginTransHalfEnable=true" in said
    assert NEARLY not in found(report) and read(store, topic="orders").exit_code == 1
    shutil.rmtree(queues)
    assert any("rebuilds it from the commit log" in line for line in failed(read(store)))
    queues.mkdir()
    (queues / "CURRENT").write_text("MANIFEST-000005\n")
    report = read(store)
    assert (report.exit_code, report.findings) == (2, ())
    assert any("its queues are in RocksDB" in line for line in failed(report))
    (store / "broker.conf").unlink()
    with pytest.raises(Unreadable, match="its queues are in RocksDB"):
        read(store)


def test_the_check_decides_what_is_undecided(store: Path) -> None:
    """Of a half that it has passed nobody is asked any more."""
    config = store / "store" / "config" / "consumerOffset.json"
    text = config.read_text()
    at = f"{HALF_TOPIC}@CID_RMQ_SYS_TRANS"
    begin = text.index("8", text.index(at))
    config.write_text(text[:begin] + "10" + text[begin + 1 :])
    report = read(store)
    assert {(t.name, t.state) for t in report.reading.txns} == {("app-given-up", "set aside")}
    assert NEARLY not in found(report)


class Source:
    """A broker with these half messages, by their properties, and this op record."""

    name, now_ms = "broker", 100_000

    def __init__(self, halves: Sequence[dict[str, str]], ended: str) -> None:
        self.gaps: list[Gap] = []
        whose = {"PGROUP": "g", "UNIQ_KEY": "k", "REAL_TOPIC": "orders", "REAL_QID": "0"}
        rows = [MessageRecord(HALF_TOPIC, b"o1", whose | props, queue_offset=n)
                for n, props in enumerate(halves)]  # fmt: skip
        self._rows = {HALF_TOPIC: rows, OP_TOPIC: [MessageRecord(OP_TOPIC, ended.encode(), OP)]}

    def settings(self) -> dict[str, str]:
        return {}

    topics = places = settings

    def producers(self, groups: set[str]) -> frozenset[str]:
        return frozenset(groups)

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        return {0: (0, len(self._rows[topic]))} if topic in self._rows else {}

    def records(self, topic: str, queue: int, first: int, end: int) -> list[MessageRecord]:
        return self._rows.get(topic, [])[first:end]


OP = {"TAGS": "d"}


@pytest.mark.parametrize(("second", "ended", "left"), [
    ({}, "1,", [0]),  # the client has sent it twice, and knows of the second
    ({}, "0,1,", []),
    ({}, "", [0, 1]),
    ({"TRANSACTION_CHECK_TIMES": "1"}, "1,", []),  # put back for a check
    ({"TRANSACTION_CHECK_TIMES": "1"}, "", [1]),
    ({"TRANSACTION_CHECK_TIMES": "0"}, "1,", []),  # by resumeCheckHalfMessage
])  # fmt: skip
def test_a_half_that_was_sent_twice_is_two(
    second: dict[str, str], ended: str, left: list[int]
) -> None:
    """A retry of the client leaves two halves with one UNIQ_KEY; it ends the last of them, and the
    broker asks about the first."""
    reading = read_source(Source([{}, second], ended), Ask("broker"))  # type: ignore[arg-type]
    assert sorted(txn.first for txn in reading.txns) == left


def test_what_is_no_store_is_refused_in_a_sentence(store: Path, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="has no commitlog"):
        read(tmp_path / "store" / "config")
    with pytest.raises(Unreadable, match="what mqadmin prints is not read: name a running"):
        read(store / "broker.conf")
    with pytest.raises(Unreadable, match="neither a folder nor HOST:PORT"):
        read("nowhere")
    with pytest.raises(Unreadable, match="no broker answers"):
        read("127.0.0.1:9")
    ledger = shutil.copytree(store, tmp_path / "raft") / "store"
    (ledger / "dledger-n0").mkdir()
    (ledger / "commitlog").rename(ledger / "dledger-n0" / "data")
    for commitlog in ((), ("commitlog",)):  # which a broker leaves empty
        for name in commitlog:
            (ledger / name).mkdir()
        with pytest.raises(Unreadable, match=r"DLedger files .*start the broker"):
            read(ledger.parent)
    shutil.rmtree(store / "store" / "consumequeue")
    shutil.rmtree(store / "store" / "config")
    assert failed(read(store)), "nothing but a commit log"


def test_the_projects_own_server() -> None:
    options = ["--check-interval", "500", "--transaction-timeout", "500", "--check-max", "3"]
    with start_broker("rocketmq", [*options, "--op-batch-interval", "100"]) as server:
        lab = Lab(Target("mqlab", server.address, None), PROFILES["5.5"])  # type: ignore[arg-type]
        lab.topic("orders")
        producer = Producer(lab)
        producer.start()
        producer.end(producer.send("orders-0", "paid"), COMMIT)
        producer.end(producer.send("orders-0", "cancelled"), ROLLBACK)
        assert lab.wait_until(lambda: bool(lab.pull("op")))
        assert found(read(server.address)) == {}
        producer.send("orders-0", "unpaid")
        assert lab.wait_until(lambda: bool(lab.pull("discard")))
        report = read(server.address)
        assert found(report) == {PARKED: "order-service"}
        assert {OP_TOPIC, HALF_TOPIC, DISCARD_TOPIC, "orders-0"} == {
            log.name for log in report.reading.logs
        }
        lab.close()
