"""Counting from outside: frames by a proxy, flushes by what strace tells; and what was recorded."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from types import SimpleNamespace

import pytest

from mqlab.cli import main
from mqlab.real.program import RealBrokerError
from mqlab.recordings.costs import MOMENTS, OTHERS, Cost, Costs, Spent, load, load_costs, save
from mqlab.registry.cases.prices import BULK
from mqlab.registry.prices import UNKNOWN, compare_real, list_real_reasons, tabulate_real
from tests.oracle.counting import Proxy, count_flushes
from tests.oracle.measuring import Priced, measure, take_fewest

RECORDED = load_costs()
SIZES = [(1, 1), (2, 3), (3, 7)]


def echo(server):
    """Answers each frame with itself."""
    client, _ = server.accept()
    with client:
        while data := client.recv(1 << 16):
            client.sendall(data)


def frame(words: bytes) -> bytes:
    return struct.pack(">i", len(words)) + words


def heard(client: socket.socket, words: bytes) -> None:
    wanted = frame(words)
    assert client.recv(len(wanted), socket.MSG_WAITALL) == wanted


@pytest.fixture
def proxied():
    """A proxy before an echo, and a connection to it; a frame is called as it says."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Proxy(lambda: lambda frame, up: frame.decode()) as proxy,
    ):
        threading.Thread(target=echo, args=(server,), daemon=True).start()
        host, _, port = proxy.front(f"127.0.0.1:{server.getsockname()[1]}").rpartition(":")
        with socket.create_connection((host, int(port)), 10) as client:
            yield proxy, client


def test_frames_are_counted_both_ways_however_they_come(proxied):
    proxy, client = proxied
    both = frame(b"Ask") + frame(b"End")
    for byte in both:
        client.sendall(bytes([byte]))
    heard(client, b"Ask")
    heard(client, b"End")
    assert proxy.counts() == {"Ask": 2, "End": 2}


def test_an_answer_may_be_held_too(proxied):
    proxy, client = proxied
    proxy.hold("End", answers=True)
    client.sendall(frame(b"Ask") + frame(b"End"))
    heard(client, b"Ask")
    proxy.wait_for_held("End")
    assert proxy.counts()["End"] == 1, "the request has passed, the answer has not"
    proxy.hold()
    heard(client, b"End")


@pytest.mark.parametrize("counted", [False, True])
def test_a_held_frame_waits_and_counts_once(proxied, counted):
    proxy, client = proxied
    proxy.hold("End", counted=counted)
    client.sendall(frame(b"Ask") + frame(b"End"))
    heard(client, b"Ask")
    proxy.wait_for_held("End")
    assert proxy.counts()["End"] == int(counted)
    proxy.hold()
    heard(client, b"End")
    assert proxy.counts() == {"Ask": 2, "End": 2}


def test_flushes_are_told_by_their_file():
    told = [
        "12 fdatasync(7</data/orders-0/0.log> <unfinished ...>",
        "13 msync(0x7f0000001000, 4096, MS_SYNC) = 0",
        "12 <... fdatasync resumed>) = 0",
        "12 fsync(8</data/checkpoint>) = 0",
        "14 msync(0x1000, 10, MS_SYNC) = 0",
    ]
    maps = ["7f0000000000-7f0000002000 rw-s 00000000 08:01 42     /data/commitlog/00 (deleted)"]
    assert count_flushes(told, maps, lambda path: path.split(" ")[0]) == {
        "/data/orders-0/0.log": 1,
        "/data/commitlog/00": 1,
        "/data/checkpoint": 1,
        "": 1,
    }


def test_of_flushes_the_fewest_count_and_those_of_timers_are_in_no_sum():
    rounds = [
        Spent({"End": 2}, {"log": 3}, {"log": 4, OTHERS: 9}),
        Spent({"End": 2}, {"log": 2}, {"log": 5}),
    ]
    fewest = take_fewest(rounds)
    assert fewest == Spent({"End": 2}, {"log": 2}, {"log": 4})
    assert str(rounds[0]) == "2 / 3 / 4"
    assert str(take_fewest([*rounds, Spent({"End": 2}, {"log": 2}, None)])) == "2 / 2 / ?"


class Uneven(Priced):
    """A broker that writes one entry more each round."""

    def __init__(self):
        super().__init__(SimpleNamespace(counts=Counter), "uneven-1")
        self.written = self.rounds = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def writes(self):
        return Counter({"log": self.written})

    def watch(self):
        return SimpleNamespace(why="nobody looked", counts=lambda: None, close=lambda: None)

    def open(self, prefix, partitions):
        self.rounds += 1

    def perform(self, partitions, orders):
        for moment in MOMENTS:
            self.written += self.rounds
            yield moment

    def close(self):
        pass


def test_rounds_that_differ_are_no_count(monkeypatch):
    monkeypatch.setattr("tests.oracle.measuring.QUIET_S", 0)
    with pytest.raises(RealBrokerError, match="two rounds differ"):
        measure(Uneven(), [(1, 1)])


def test_a_reader_who_never_sees_the_orders_is_told(monkeypatch):
    monkeypatch.setattr("tests.oracle.measuring.PATIENCE_S", 0.1)
    with pytest.raises(TimeoutError, match="no reader has seen the orders"):
        Uneven().wait_for_reader(lambda: 1, 2)


def test_costs_are_kept_in_a_file(tmp_path):
    spent = Spent({"End": 2}, {"log": 1}, None)
    costs = Costs("kafka-9", {"a": "b"}, (Cost(1, 1, spent, spent, spent),), "no strace")
    assert load(save(costs, tmp_path)) == costs
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match="count them again"):
        load(tmp_path / "other.json")


# ---- what was recorded -----------------------------------------------------------------


def test_three_real_brokers_were_counted():
    assert {one.broker for one in RECORDED.values()} == {
        "kafka-4.3.1",
        "pulsar-4.2.4",
        "rocketmq-5.5.0",
    }
    assert all(one.why == "" for one in RECORDED.values()), "flushes were counted, too"


@pytest.mark.parametrize(("partitions", "orders"), SIZES)
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_where_a_real_broker_differs_there_is_a_reason(name, partitions, orders):
    """All other counts are equal: what the formulas say is true of the real one."""
    bulk = BULK[name]
    for pairs in compare_real(bulk, RECORDED[name], partitions, orders).values():
        assert {pair.row for pair in pairs if pair.differs} <= set(bulk.reasons)
    one = {name: RECORDED[name]}
    assert not any(
        str(UNKNOWN) in line for line in list_real_reasons(BULK, one, partitions, orders)
    )


@pytest.mark.parametrize(("partitions", "orders"), SIZES)
def test_how_a_real_broker_grows(partitions, orders):
    """Kafka's coordinator sends one WriteTxnMarkers to one broker, whatever n is."""
    found = {row.partitions: row for row in RECORDED["kafka"].rows}[partitions].forgotten
    assert sum(found.messages.values()) == 2 * orders + 2 * partitions + 4
    assert sum(found.writes.values()) == orders + 2 * partitions + 2


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_what_a_reader_waits_for(name):
    """Kafka's and RocketMQ's client is told earlier; Pulsar's when all is done."""
    for row in RECORDED[name].rows:
        told, seen, forgotten = (sum(getattr(row, at).writes.values()) for at in MOMENTS)
        assert seen < forgotten
        assert (seen < told) is (name == "pulsar")


def test_a_difference_without_a_reason_says_so():
    spent = Spent({"Produce": 3}, {}, {})
    strange = {"kafka": Costs("kafka-9", {}, (Cost(1, 1, spent, spent, spent),))}
    lines = list_real_reasons(BULK, strange, 1, 1)
    assert f"* kafka, Produce: {UNKNOWN}" in lines
    rows = {row[0].strip(): row[1:] for row in tabulate_real(BULK, strange, 1, 1)}
    assert rows["Produce"] == ("2", "3 *")


def test_where_no_broker_can_be_had_the_recording_is_shown(capsys):
    """As where Maven is not reachable: the reason, and what was counted last."""
    assert main(["real", "kafka", "cost", "--version", "1.0"]) == 2
    told = capsys.readouterr()
    assert "kafka-4.3.1, until forgotten" in told.out
    assert "nothing was counted now" in told.err and "no Kafka 1.0 is pinned" in told.err
