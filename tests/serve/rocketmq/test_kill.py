"""kill -9 in the middle of the work, twenty times: nothing acknowledged is lost, no half message is
forgotten, and what was rolled back is never delivered.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mqlab.rocketmq.remoting import RemotingCommand, RequestCode, decode_record
from mqlab.serve import RunningBroker
from mqlab.serve.rocketmq import serve
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies
from tests.serve.stubborn import KILLS, Stubborn, kill_under_load

TOPIC, GROUP = "orders", "order-service"
COMMIT, ROLLBACK = 8, 12
PATIENCE_S, INTERVAL_MS, SILENCE_S = 600, 600, 2.0
#: between two halves of a producer: a round's questions shall be answered long before the next
REST_S = 0.03


class Producer(Stubborn):
    """Sends halves. Of every four local transactions one is committed and said
    so, one is rolled back and said so, and of two the producer says nothing, so that the broker
    must ask. `meant`: what each half that was acknowledged is to come to."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__(address, f"producer {number}")
        self.number = number
        self.meant: dict[str, bool] = {}
        self.plain: list[str] = []
        self.count = 0

    def count_done(self) -> int:
        return len(self.meant)

    def work(self) -> None:
        with Raw(self.address) as client:
            self._work(client)

    def _work(self, client: Raw) -> None:
        client.beat(self.name, (GROUP,))
        while not self.over.is_set():
            self.count += 1
            name = f"{self.number}:{self.count}"
            said = client.put(TOPIC, f"plain {name}".encode())
            assert said.code == SUCCESS, said.remark
            self.plain.append(f"plain {name}")
            commit = self.count % 2 == 0
            half = client.half(TOPIC, name.encode(), GROUP, name)
            assert half.code == SUCCESS, half.remark
            self.meant[name] = commit
            if self.count % 4 < 2:
                client.end(half, GROUP, COMMIT if commit else ROLLBACK, oneway=True)
            answer_checks(client)
            self.over.wait(REST_S)


def answer_checks(client: Raw) -> None:
    """From the body alone, as a producer that was restarted must."""
    for check in client.checks:
        client.answer_check(check, GROUP, COMMIT if wants_commit(check) else ROLLBACK)
    client.checks.clear()


def wants_commit(check: RemotingCommand) -> bool:
    asked, _ = decode_record(check.body)
    return int(asked.body.decode().partition(":")[2]) % 2 == 0


@pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/rocketmq")
@pytest.mark.parametrize("release", ["5.5", "4.9"])
def test_killed_twenty_times_under_load(tmp_path: Path, release: str) -> None:
    """Rounds of checks are so far apart, and their questions so few, that a slow machine has
    answered one before the next. An answer that comes after the next round ends a copy which that
    round has already put back: the half is asked about again, and with enough of them for ever."""
    with serve(
        data_dir=tmp_path, release=release, check_interval_ms=INTERVAL_MS, timeout_ms=200,
        op_batch_ms=20, check_max=1_000,
    ) as broker:  # fmt: skip
        producers = [Producer(broker.address, number) for number in range(2)]
        kill_under_load(broker, producers, seed=7)
        got = end_what_is_open(broker, producers)
        for producer in producers:
            check_delivered(producer, got)


def end_what_is_open(broker: RunningBroker, producers: list[Producer]) -> list[str]:
    """A producer that only answers, until the broker is silent and all that was meant is
    delivered: what is delivered then."""
    until = time.monotonic() + PATIENCE_S
    wanted = {name for p in producers for name, commit in p.meant.items() if commit}
    with Raw(broker.address) as asked, Raw(broker.address) as reader:
        asked.beat("the last", (GROUP,))
        while time.monotonic() < until:
            try:
                asked.hear(SILENCE_S)
            except TimeoutError:
                got = bodies(reader.read(TOPIC))
                if wanted <= set(got):
                    return got
            answer_checks(asked)
        missing = sorted(wanted - set(bodies(reader.read(TOPIC))))
    raise AssertionError(f"the broker goes on asking, or has forgotten: {missing}")


def check_delivered(producer: Producer, got: list[str]) -> None:
    there = set(got)
    lost = [name for name in producer.plain if name not in there]
    forgotten = [name for name, commit in producer.meant.items() if commit and name not in there]
    wrong = [name for name, commit in producer.meant.items() if not commit and name in there]
    assert (lost, forgotten, wrong) == ([], [], [])
    assert len(producer.meant) > KILLS, "it has worked between the kills"


# ---- What a kill leaves: everything that was acknowledged, and every half that nobody has ended

RESTART_GROUP = "order-service"


@pytest.mark.parametrize("release", ["5.5", "4.9"])
@pytest.mark.parametrize("fsync", [False, True])
def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, release: str, fsync: bool) -> None:
    with serve(
        data_dir=tmp_path, fsync=fsync, release=release, check_interval_ms=100, timeout_ms=200,
        op_batch_ms=20,
    ) as broker:  # fmt: skip
        with Raw(broker.address) as client:
            client.create("orders", 2)
            client.put("orders", "plain 值".encode(), queue=1, KEYS="k", TAGS="a")
            client.end(
                client.half("orders", b"committed", RESTART_GROUP, "k1"), RESTART_GROUP, COMMIT
            )
            client.end(
                client.half("orders", b"rolled back", RESTART_GROUP, "k2"), RESTART_GROUP, ROLLBACK
            )
            client.half("orders", b"open", RESTART_GROUP, "k3")
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            assert bodies(client.read("orders", 1)) == ["plain 值"]
            assert bodies(client.read("orders"))[0] == "committed"
            assert "orders" not in bodies(client.read("orders"))
            client.beat("c1", (RESTART_GROUP,))
            answered = set()
            while "open" not in bodies(client.read("orders")):
                check = client.wait_for_checks(len(answered) + 1)[len(answered)]
                answered.add(check.fields["commitLogOffset"])
                key = check.fields["transactionId"]
                client.answer_check(check, RESTART_GROUP, ROLLBACK if key == "k2" else COMMIT)
            got = bodies(client.read("orders"))
            assert set(got) == {"committed", "open"}, "what was rolled back is not there"
            assert client.put("orders", b"after it").code == SUCCESS


def test_a_kill_turns_back_what_groups_have_reported_lately(tmp_path: Path) -> None:
    """Offsets are written every five seconds; an orderly stop is no kill, but writes none either:
    what was reported since is asked for again."""
    ask = {"consumerGroup": "g", "topic": "orders", "queueId": 0}
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            for i in range(3):
                client.put("orders", f"m{i}".encode())
            client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=2, **ask)
            said = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **ask)
            assert said.fields["offset"] == "2"
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            said = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, **ask)
            assert said.fields["offset"] == "0"
