"""Histories of Pulsar's and RocketMQ's own Java clients: of real brokers, and of broken servers.

They are recorded, since the clients' jars come from Maven; datasets/recordings/README.md says how.
"""

from __future__ import annotations

import json

import pytest

from mqlab.check.checker import ABORTED_READ, DIRTY_READ, DUPLICATE, REORDERED
from mqlab.check.history import End, HistoryError, read, read_allowed
from mqlab.cli import main
from mqlab.cli.check import check_file
from mqlab.places import RECORDINGS
from mqlab.real.program import RealBrokerError
from mqlab.real.rocketmq import history as rocketmq
from mqlab.serve.pulsar import serve as serve_pulsar
from mqlab.serve.rocketmq import serve as serve_rocketmq

HISTORIES = RECORDINGS / "histories"
WHOLE = ("pulsar-4.2.4", "rocketmq-5.5.0", "pulsar-whole", "rocketmq-whole")
FOUND = {
    "pulsar-off-max_read_position": {ABORTED_READ, DIRTY_READ},
    "pulsar-off-filter_aborted": {ABORTED_READ, DIRTY_READ},
    "rocketmq-off-half_topic": {ABORTED_READ, DIRTY_READ},
    "rocketmq-off-op_topic": {DUPLICATE},
}


def test_each_recording_is_judged():
    assert {path.stem for path in HISTORIES.glob("*.jsonl")} == {*WHOLE, *FOUND}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_broker_passes(name):
    report = check_file(HISTORIES / f"{name}.jsonl")
    assert report.findings == ()
    assert report.counts["committed"] > 8 and report.counts["aborted"] > 3
    assert not any("may be lost" in str(one) for one in report.undecided), "all was drained"


@pytest.mark.parametrize("name", sorted(FOUND))
def test_a_broken_server_is_found_out(name):
    found = {one.anomaly for one in check_file(HISTORIES / f"{name}.jsonl").findings}
    assert found == FOUND[name]


def test_what_a_system_does_not_promise_is_named_and_not_judged(tmp_path):
    """A RocketMQ message is where its decision came."""
    path = HISTORIES / "rocketmq-5.5.0.jsonl"
    assert read_allowed(path) == (REORDERED,)
    assert any(REORDERED in str(one) for one in check_file(path).undecided)
    head, *lines = path.read_text().splitlines(keepends=True)
    strict = {key: value for key, value in json.loads(head).items() if key != "allowed"}
    other = tmp_path / "strict.jsonl"
    other.write_text(json.dumps(strict) + "\n" + "".join(lines))
    assert {one.anomaly for one in check_file(other).findings} == {REORDERED}


def test_a_head_that_allows_no_list_is_refused(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text('{"history": 1, "allowed": "all"}\n')
    with pytest.raises(HistoryError, match="expected a list of texts"):
        read_allowed(path)


def test_what_was_tried_is_what_the_history_shows():
    """A producer that decides when it is asked does so long after, or after others were sent."""
    events = [*read(HISTORIES / "rocketmq-5.5.0.jsonl")]
    sent = {one.txn: one.time for one in events if one.name == "send"}
    ends = [one for one in events if isinstance(one, End)]
    late = [one for one in ends if one.time - sent[one.txn] > 1_000_000_000]
    how = {one.txn: one.how for one in ends}
    done = [*rocketmq.count_tried(sent, how).values()]
    assert done == [[*how.values()].count("abort"), len(late)] and min(done) > 2


# ---- the command -----------------------------------------------------------------------


@pytest.mark.parametrize("broker", ["pulsar", "rocketmq"])
def test_an_address_where_nobody_answers(capsys, tmp_path, monkeypatch, broker):
    monkeypatch.chdir(tmp_path)
    assert main(["check", broker, "127.0.0.1:1"]) == 2
    assert "no broker answers at 127.0.0.1:1" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_a_client_that_ends_early_leaves_the_history_so_far(capsys, tmp_path, monkeypatch):
    """The Java client itself is asked by `make real`; here it dies after so many lines."""
    path = tmp_path / "history.jsonl"
    lines = (HISTORIES / "pulsar-4.2.4.jsonl").read_text().splitlines(keepends=True)[:40]

    def die(address, prefix, to, transactions):
        to.write_text("".join(lines))
        raise RealBrokerError("the Java client ended early: TimeoutException")

    monkeypatch.setattr("mqlab.real.pulsar.history.write_history", die)
    with serve_pulsar() as broker:
        assert main(["check", "pulsar", broker.address, "--history", str(path)]) == 2
        assert main(["check", "pulsar", broker.address, "--history", str(path)]) == 2
    told = capsys.readouterr()
    assert "writing to topics that begin with mqlab-check-" in told.out
    assert "ended early: TimeoutException; the lines above" in told.err
    assert "tried: a transaction was aborted 1×, a transaction was left open" in told.out
    assert "never tried by this command: stops of clients and brokers" in told.out
    assert "exists already" in told.err
    assert len([*read(path)]) == 39


@pytest.mark.parametrize("address", ["localhost", ":1", "localhost:x", "http://localhost"])
def test_what_is_no_address(capsys, address):
    assert main(["check", "pulsar", address]) == 2
    assert f"{address} is no address: name a broker" in capsys.readouterr().err


@pytest.mark.parametrize("broker", ["kafka", "pulsar"])
def test_a_history_that_cannot_be_written_is_refused_before_anything_is(capsys, broker):
    history = "/no/such/folder/x.jsonl"
    assert main(["check", broker, "127.0.0.1:1", "--history", history]) == 2
    told = capsys.readouterr()
    assert "cannot write to /no/such/folder: name another" in told.err and not told.out


@pytest.mark.parametrize("number", ["0", "10001"])
def test_how_many_transactions(capsys, number):
    assert main(["check", "pulsar", "127.0.0.1:1", "--transactions", number]) == 2
    assert "expected 1 to 10000" in capsys.readouterr().err


@pytest.mark.parametrize("serve", [serve_pulsar, serve_rocketmq])
def test_a_safeguard_that_there_is_not(serve):
    with pytest.raises(Exception, match="no safeguard 'all'; there are: "), serve(off=("all",)):
        pass
