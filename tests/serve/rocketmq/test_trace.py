"""The live trace: a follower sees a transaction as a lesson shows it."""

from __future__ import annotations

from mqlab.serve.rocketmq import serve
from tests.serve.live import asked, played
from tests.serve.rocketmq.raw import Raw

COMMIT, GROUP = 8, "order-service"


def test_a_transaction_as_a_follower_sees_it() -> None:
    with serve(release="4.9") as broker, Raw(broker.address) as client:
        asked(broker)
        client.beat("c1", (GROUP,))
        client.end(client.half("orders", b"paid", GROUP, "k1", KEYS="o1"), GROUP, COMMIT)
        client.read("orders")
        trace = played(asked(broker))
        said = [fact.text.en for fact in trace]
        kinds = [text.split(" ")[0] for text in said]
        assert kinds == [
            "half", "producers", "SendMessage", "half", "SEND_OK", "EndTransaction", "message",
            "op", "ok", "message",
        ]  # fmt: skip
        assert [fact.node for fact in trace][1:4] == ["broker", "conn-1", "broker"]
        snapshot = trace.snapshot(len(trace))
        assert [lane.name for lane in snapshot.lanes] == ["conn-1", "broker"]
        assert snapshot.lanes[0].title.en == GROUP
        logs = {log.name: [cell.label for cell in log.cells] for log in snapshot.logs}
        assert logs == {
            "RMQ_SYS_TRANS_HALF_TOPIC": ["paid"],
            "RMQ_SYS_TRANS_OP_HALF_TOPIC": ["0"],
            "orders-0": ["paid"],
        }


def test_names_that_a_client_chose_do_no_harm() -> None:
    with serve() as broker, Raw(broker.address) as client:
        client.beat("c\x1b[2J" * 900, ("g\u202e" * 900,))
        client.put("orders", b"\x1b[2J\xff", group="g\n" * 900, KEYS="\u202e" * 400)
        lines = asked(broker)
        texts = [str(played(lines)), str(lines[0]["snapshot"])]
        assert all("\x1b" not in text and "\u202e" not in text for text in texts)
        assert max(len(fact.text.en) for fact in played(lines)) <= 300 * len("\\u202e")
