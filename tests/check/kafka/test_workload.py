"""The workload against this project's server: a whole one passes, a broken one is found out."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from mqlab.check.checker import (
    ABORTED_READ,
    DIRTY_READ,
    DUPLICATE,
    LOST,
    NON_MONOTONIC,
    REORDERED,
    TORN,
    ZOMBIE,
    check,
)
from mqlab.check.history import ABORTED, Ended, Read, Send, read
from mqlab.check.kafka import story, workload
from mqlab.check.kafka.workload import Settings, SettingsError, Workload, read_settings
from mqlab.cli import main
from mqlab.serve.kafka import serve

from .broken import serve_broken

SECONDS = 7
FEW = 3  # for a fault that each few transactions meet


class Clock:
    """A workload's time: it stands still until writers have committed and the reader has read so
    much, however long this machine needs for that. Then `then` is done."""

    def __init__(self):
        self.load, self.began, self.reads, self.then = None, None, 1, lambda: None

    def now(self):
        if self.began is None and self.is_at_work():
            self.then()
            self.began = time.monotonic()
        return 0.0 if self.began is None else time.monotonic() - self.began

    def is_at_work(self):
        """Or one of them was refused, and nothing else will come."""
        if self.load is None or self.load.read_errors():
            return self.load is not None
        noted = "".join(path.read_text() for path in self.load.folder.glob("*.jsonl"))
        return '"committed"' in noted and noted.count('"read"') >= self.reads


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    found = Clock()
    patched = SimpleNamespace(monotonic=found.now, sleep=time.sleep)
    monkeypatch.setattr(workload, "time", patched)
    run = Workload.run

    def watched(load):
        found.load = load
        run(load)

    monkeypatch.setattr(Workload, "run", watched)
    return found


def run(address, tmp_path, *more, seconds=SECONDS):
    """The exit code and the report of `mqlab check kafka`."""
    path = tmp_path / "history.jsonl"
    words = ["check", "kafka", address, "--seconds", str(seconds), "--history", str(path), *more]
    return main(words), check(read(path)), [*read(path)]


def test_a_whole_server_passes(tmp_path, capsys):
    tried = re.compile(r"tried: a writer continued after .* \d+×, a writer was killed")
    with serve() as broker:
        for folder in "abc":  # again where the machine was too busy for a successor to begin
            (tmp_path / folder).mkdir()
            status, report, events = run(broker.address, tmp_path / folder)
            assert (status, report.findings) == (0, ())
            if tried.search(out := capsys.readouterr().out) and report.counts["aborted"]:
                break
    assert report.counts["committed"] and report.counts["aborted"]
    assert "kill" in out and "pause" in out and "found nothing" in out
    assert tried.search(out)
    assert "a connection was cut under a writer" in out and "never tried by this command:" in out
    topics = {event.topic for event in events if event.name == "send"}
    assert len(topics) == 2 and all(topic.startswith("mqlab-check-") for topic in topics)
    assert {event.process for event in events if event.name == "drained"} == {"last reader"}
    lives = {event.process.partition(".")[2] for event in events if event.name == "send"}
    assert lives - {"0"}, "a writer that was killed was started again, and went on"


OFF = [("lso", DIRTY_READ), ("aborted_index", ABORTED_READ), ("epoch_fencing", ZOMBIE)]


@pytest.mark.parametrize(("off", "anomaly"), OFF)
def test_a_broken_server_is_found_out(tmp_path, capsys, off, anomaly):
    with serve(off=(off,)) as broker:
        status, report, _ = run(broker.address, tmp_path)
    assert status == 1
    assert anomaly in {finding.anomaly for finding in report.findings}
    assert f"FOUND {anomaly}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "anomaly", "also"),
    [
        ("lost", LOST, ()),
        ("torn", TORN, (LOST,)),  # of a transaction that stands in forgetful partitions only
        ("reordered", REORDERED, ()),
        ("repeated", NON_MONOTONIC, ()),
    ],
)
def test_a_fault_that_no_safeguard_brings_is_found_with_its_lines(
    tmp_path, capsys, fault, anomaly, also
):
    with serve_broken(fault) as address:
        status, report, events = run(address, tmp_path, seconds=FEW)
    assert status == 1
    assert {finding.anomaly for finding in report.findings} - {*also} == {anomaly}
    out = capsys.readouterr().out
    assert f"FOUND {anomaly}" in out
    lines = {event.line: event for event in events}
    for finding in report.findings:
        assert len(finding.events) >= 2
        assert all(lines[event.line] == event for event in finding.events)
    assert f"    line {report.findings[0].events[0].line}: process=" in out


@pytest.mark.parametrize("off", [(), ("sequence_check",)])
def test_a_write_whose_answer_is_lost_comes_twice_only_without_sequence_numbers(tmp_path, off):
    with serve_broken("answers", *(("--off", *off) if off else ())) as address:
        status, report, _ = run(address, tmp_path, seconds=FEW)
    assert (status, {one.anomaly for one in report.findings}) == (
        (1, {DUPLICATE}) if off else (0, set())
    )


CUT = """
import socket
from mqlab.check.kafka.writer import cut_connections
with socket.create_server(("127.0.0.1", 0)) as server:
    one = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    print(cut_connections(), one.recv(1), other.recv(1))
"""


def test_a_writer_cuts_its_own_connections():
    said = subprocess.run([sys.executable, "-c", CUT], capture_output=True, text=True, timeout=60)
    assert said.stdout.split()[1:] == ["b''", "b''"] and int(said.stdout.split()[0]) >= 2


def test_what_there_was_no_time_for_is_said(tmp_path):
    load = Workload("127.0.0.1:1", Settings(), tmp_path, seconds=1)
    done, missing, never = map(str, load.tell_tried())
    assert done == "tried: nothing" and "too short" in missing and "after its successor" in missing
    (tmp_path / "w0.0.cut").write_text("2\n1\n")
    load.tried["kill"] = 3
    done, missing, never = map(str, load.tell_tried())
    assert "a writer was killed 3×" in done and "answers are lost 2×" in done
    assert "killed" not in missing.partition("a reader")[0] and "failovers" in never


def test_a_users_own_settings_reach_the_clients(tmp_path, capsys):
    config = tmp_path / "client.properties"
    config.write_text("# mine\nconsumer.isolation.level=read_uncommitted\nproducer.linger.ms=1\n")
    with serve() as broker:
        status, report, events = run(broker.address, tmp_path, "--config", str(config))
    assert (status, report.findings) == (0, ()), "who asks for uncommitted messages may get them"
    aborted = {one.txn for one in events if isinstance(one, Ended) and one.outcome == ABORTED}
    sent = {one.value for one in events if isinstance(one, Send) and one.txn in aborted}
    assert sent & {one.value for one in events if isinstance(one, Read)}, "and it gets aborted ones"
    assert any("read_uncommitted" in str(sentence) for sentence in report.undecided)


def test_a_cluster_that_dies_leaves_the_history_so_far(tmp_path, capsys, clock):
    with serve() as broker:
        clock.then = broker.stop
        load = Workload(broker.address, Settings(), tmp_path, seconds=1, say=lambda line: None)
        load.prepare()
        load.run()
        assert not load.drain()
    load.keep(tmp_path / "all.json")
    report = check(read(tmp_path / "all.json"))
    assert report.counts["send"] > 0 and report.findings == ()


def test_a_cluster_that_comes_back_empty_has_lost_what_was_committed(tmp_path, capsys, clock):
    """In memory, and a client's question makes the topics again, with one partition each."""
    with serve() as broker:

        def lose_all():
            broker.kill()
            broker.restart()

        clock.reads, clock.then = 100, lose_all
        status, report, events = run(broker.address, tmp_path, seconds=4)
    assert status == 1
    lost = [str(one.sentence) for one in report.findings if one.anomaly == LOST]
    assert any("was committed, but none of its messages is there" in one for one in lost)
    assert any("ends before offset" in one for one in lost)
    gone = {(e.topic, e.partition): e.end for e in events if e.name == "drained"}
    assert len(gone) == 4, "a partition that is no more is drained: nothing is there"
    out = capsys.readouterr().out
    assert "FOUND lost" in out and "ends before offset" in out


def test_an_address_where_nobody_answers(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mqlab.check.kafka.workload.ANSWER_S", 1.0)
    assert main(["check", "kafka", "127.0.0.1:1", "--seconds", "1"]) == 2
    assert "no Kafka broker answers at 127.0.0.1:1" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--seconds", "0"), "expected 1 to 86400"),
        (("--seconds", "nan"), "expected 1 to 86400"),
        (("--config", "absent"), "cannot read absent"),
        (("--history", "."), "exists already"),
    ],
)
def test_what_cannot_be_asked_for(capsys, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    assert main(["check", "kafka", "127.0.0.1:1", *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("line", ["producer.acks=some", "no.such.name=1", "consumer.x=1"])
def test_settings_that_the_client_refuses(capsys, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text(line + "\n")
    assert main(["check", "kafka", "127.0.0.1:1", "--config", "mine"]) == 2
    assert "confluent-kafka refuses these settings" in capsys.readouterr().err


def test_writers_that_may_not_write(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("mqlab.check.kafka.workload.TIMEOUT_MS", 999_999_999)
    with serve() as broker:
        status, _, _ = run(broker.address, tmp_path)
    assert status == 2
    told = capsys.readouterr().err
    assert "the writers could not write" in told and "INVALID_TRANSACTION_TIMEOUT" in told


@pytest.mark.parametrize(
    ("fault", "error", "sent"),
    [
        ("may-not-begin", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False),
        ("may-not-write", "TOPIC_AUTHORIZATION_FAILED", True),
        ("may-not-read", "TOPIC_AUTHORIZATION_FAILED", True),
    ],
)
def test_a_right_that_is_refused_is_told_and_the_history_kept(tmp_path, capsys, fault, error, sent):
    began = time.monotonic()
    with serve_broken(fault) as address:
        status, report, _ = run(address, tmp_path, seconds=400)
    assert status == 2 and time.monotonic() - began < 300, "it does not wait for a right"
    assert report.findings == () and bool(report.counts.get("send")) is sent
    told = capsys.readouterr()
    (line,) = [line for line in told.err.splitlines() if line.startswith("mqlab: ")]
    assert f"refuses a right, and says {error}: allow CREATE, READ and WRITE" in line
    assert ("the history tells so far" in line) is sent
    assert ": the history" in told.out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("linger.ms", "line 1: expected name=value"),
        ("producer.=1", "line 1: expected name=value"),
        ("transactional.id=mine", "set by the workload"),
        ("consumer.group.id=mine", "set by the workload"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path, line, told):
    path = tmp_path / "client.properties"
    path.write_text(line + "\n")
    with pytest.raises(SettingsError, match=told):
        read_settings(path)


def test_settings_of_each_kind(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text(
        "security.protocol = PLAINTEXT\n\nproducer.acks=all\nconsumer.check.crcs=true\n"
    )
    assert read_settings(path) == Settings(
        {"security.protocol": "PLAINTEXT"}, {"acks": "all"}, {"check.crcs": "true"}
    )


def test_a_reader_that_gives_up_is_closed(monkeypatch):
    closed = []
    reader = SimpleNamespace(
        assign=lambda partitions: None, poll=lambda seconds: None, close=lambda: closed.append(1)
    )
    monkeypatch.setattr("confluent_kafka.Consumer", lambda settings: reader)
    monkeypatch.setattr(story, "PATIENCE_S", 0)
    with pytest.raises(story.Unanswered, match="a reader did not come to the end"):
        story.Story(SimpleNamespace(address="localhost:1", trace_url=""), True).read_back()
    assert closed == [1]
