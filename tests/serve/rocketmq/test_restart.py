"""What a kill leaves: everything that was acknowledged, and every half that nobody has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.rocketmq.remoting import RequestCode
from mqlab.serve.rocketmq import serve
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

COMMIT, ROLLBACK = 8, 12
GROUP = "order-service"


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
            client.end(client.half("orders", b"committed", GROUP, "k1"), GROUP, COMMIT)
            client.end(client.half("orders", b"rolled back", GROUP, "k2"), GROUP, ROLLBACK)
            client.half("orders", b"open", GROUP, "k3")
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            assert bodies(client.read("orders", 1)) == ["plain 值"]
            assert bodies(client.read("orders"))[0] == "committed"
            assert "orders" not in bodies(client.read("orders"))
            client.beat("c1", (GROUP,))
            answered = set()
            while "open" not in bodies(client.read("orders")):
                check = client.wait_for_checks(len(answered) + 1)[len(answered)]
                answered.add(check.fields["commitLogOffset"])
                key = check.fields["transactionId"]
                client.answer_check(check, GROUP, ROLLBACK if key == "k2" else COMMIT)
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


def test_started_twice_everything_is_where_it_was(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            for i in range(50):
                client.put("orders", f"m{i}".encode(), queue=i % 2)
        for _ in range(2):
            broker.kill()
            broker.restart()
            with Raw(broker.address) as client:
                assert bodies(client.read("orders", 0)) == [f"m{i}" for i in range(0, 50, 2)]
                assert bodies(client.read("orders", 1)) == [f"m{i}" for i in range(1, 50, 2)]
