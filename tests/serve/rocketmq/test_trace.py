"""The live trace: a follower sees a transaction as a lesson shows it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.kernel import Map
from mqlab.rocketmq.claims import SERVED
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC
from mqlab.rocketmq.log import HALF_KEY, Stored
from mqlab.rocketmq.messages import TRAN_MSG, UNIQ_KEY, Message
from mqlab.rocketmq.picture.why import ROUND
from mqlab.rocketmq.states import TransactionType
from mqlab.serve.rocketmq import serve
from mqlab.serve.rocketmq.trace.model import READERS, TXNS, Model
from mqlab.serve.rocketmq.trace.observer import Observer
from mqlab.serve.trace.teller import MOST
from tests.serve.live import asked, list_texts, played
from tests.serve.rocketmq.raw import Raw

COMMIT, GROUP = 8, "order-service"


def test_a_transaction_as_a_follower_sees_it() -> None:
    with serve(release="4.9") as broker, Raw(broker.address) as client:
        asked(broker)
        client.beat("c1", (GROUP,))
        client.end(client.half("orders", b"paid", GROUP, "k1", KEYS="o1"), GROUP, COMMIT)
        client.read("orders")
        trace = played(asked(broker))
        told = [(fact.node, fact.text.en, fact.txn) for fact in trace]
        assert told == [
            ("broker", "half offset 0, op offset 0", ""),
            ("broker", f"producers of {GROUP}: conn-1", ""),
            (GROUP, "SendMessage half orders-0 paid", "T1"),
            ("broker", "half paid @0", "T1"),
            ("broker", "SEND_OK @0", "T1"),
            (GROUP, f"EndTransaction COMMIT paid {GROUP} half@0 log@0", "T1"),
            ("broker", "message paid @0 in orders-0", "T1"),
            ("broker", "op 0 @0", "T1"),
            ("broker", "ok", "T1"),
            ("broker", "paid", "T1"),
        ]
        assert all(fact.why.en and fact.why.zh for fact in trace)
        snapshot = trace.snapshot(len(trace))
        assert [lane.name for lane in snapshot.lanes] == [GROUP, "broker"]
        assert snapshot.lanes[0].title.en == GROUP
        logs = {log.name: [(cell.label, cell.txn) for cell in log.cells] for log in snapshot.logs}
        assert logs == {
            "RMQ_SYS_TRANS_HALF_TOPIC": [("paid", "T1")],
            "RMQ_SYS_TRANS_OP_HALF_TOPIC": [("0", "T1")],
            "orders-0": [("paid", "T1")],
        }
        assert [got.label for got in snapshot.readers[0].got] == ["paid"]
        assert snapshot.graphs[0].path == ("half", "committed")
        assert snapshot.tables[0].rows == (("conn-1", GROUP, "asked next"),)
        assert [(light.name, light.ok) for light in snapshot.lights] == [
            (claim.name, True) for claim in SERVED
        ]


def test_a_client_that_only_pulls_is_a_consumer() -> None:
    with serve() as broker, Raw(broker.address) as client, Raw(broker.address) as other:
        asked(broker)
        client.put("orders", b"paid", group=GROUP)
        other.pull("orders", 0, "billing")
        trace = played(asked(broker))
        lanes = {lane.name: lane.subtitle.en for lane in trace.snapshot(len(trace)).lanes}
        assert lanes == {GROUP: "producer", "billing": "consumer", "broker": "master"}


def test_a_question_and_its_answer() -> None:
    with serve(check_interval_ms=50, timeout_ms=0, op_batch_ms=20) as broker:
        with Raw(broker.address) as client:
            asked(broker)
            client.beat("c1", (GROUP,))
            client.half("orders", b"paid", GROUP, "k1")
            client.answer_check(client.wait_for_checks(1)[0], GROUP, COMMIT)
            client.read("orders")
            trace = played(asked(broker))
        questions = [fact for fact in trace if fact.text.en.startswith("CheckTransactionState")]
        assert {(q.node, q.peer, q.txn) for q in questions} == {("broker", GROUP, "T1")}
        rounds = [fact.why.en for fact in trace if fact.text.en == "timer check"]
        assert rounds and set(rounds) == {ROUND.en}
        ends = [fact for fact in trace if fact.text.en.startswith("EndTransaction")]
        assert "from check" in ends[0].text.en
        half, *copies = trace.snapshot(len(trace)).logs[0].cells
        assert half.label == "paid"
        assert [(copy.label, copy.kind) for copy in copies] == [
            (f"paid ({n})", "copy") for n in range(1, len(questions) + 1)
        ], "one for each question: a slow client is asked again"
        assert all(light.ok for snapshot in trace.snapshots for light in snapshot.lights)


def in_transaction(topic: str, **more: Any) -> Stored:
    properties = Map([(TRAN_MSG, "true"), (UNIQ_KEY, "k")])
    return Stored(0, Message(topic, 0, "o1", properties, **more), 0)


def red(model: Model, *moments: tuple[int, tuple[int, ...]]) -> set[str]:
    """The lights that are red after these steps, each leaving the check at a place of the half
    topic, and ends that wait to be recorded."""
    for half_offset, ops in moments:
        broker: Any = SimpleNamespace(offsets=Map([(HALF_KEY, half_offset)]), ops=ops)
        model.note_step(broker)
    return {light["name"] for light in model.draw()["lights"] if not light["ok"]}


@pytest.mark.parametrize(
    ("moments", "lost"),
    [
        ([(0, ())], set()),
        ([(0, (0,)), (1, (0,))], set()),
        ([(1, ())], {"no half message lost"}),
        ([(1, (0,)), (1, ())], {"no half message lost"}),
        ([(1, ()), (0, ())], {"no half message lost"}),
    ],
    ids=["open", "ended", "passed over", "end forgotten", "once red always red"],
)
def test_a_half_that_is_lost_turns_its_light_red(
    moments: list[tuple[int, tuple[int, ...]]], lost: set[str]
) -> None:
    for topics, expected in (((HALF_TOPIC,), lost), ((HALF_TOPIC, DISCARD_TOPIC), set())):
        model = Model()
        for topic in topics:
            model.note_message(in_transaction(topic))
        assert red(model, *moments) == expected, "what is parked is not lost"


def test_what_lies_undecided_where_consumers_read_turns_its_light_red() -> None:
    model = Model()
    model.note_message(in_transaction("orders", sys_flag=TransactionType.COMMIT_TYPE))
    model.note_message(in_transaction("%RETRY%shop"))
    assert red(model, (0, ())) == set()
    model.note_message(in_transaction("orders"))
    assert red(model, (0, ())) == {"clean read"}


def test_notes_are_bounded() -> None:
    """A thousand transactions go by; names go on, what is kept does not grow."""
    observer = Observer(0, lambda log: None)
    model = observer.model
    for i in range(1_000):
        half = Message(HALF_TOPIC, 0, f"m{i}", Map([(TRAN_MSG, "true"), (UNIQ_KEY, f"k{i}")]))
        model.note_message(Stored(i, half, i))
        model.note_given(f"conn-{i}", (Stored(i, half, i),))
    assert len(model.book.txns) == TXNS == len(model.book.places)
    assert model.book.name_next() == "T1001"
    assert len(model.tails) == 1 and len(model.tails[f"{HALF_TOPIC}-0"].cells) <= MOST
    assert len(model.readers) == READERS


def test_names_that_a_client_chose_do_no_harm() -> None:
    with serve() as broker, Raw(broker.address) as client:
        client.beat("c\x1b[2J" * 900, ("g\u202e" * 900,))
        client.put("orders", b"\x1b[2J\xff", group="g\n" * 900, KEYS="\u202e" * 400)
        lines = asked(broker)
        assert all(map(str.isprintable, list_texts(lines)))
        assert max(len(fact.text.en) for fact in played(lines)) <= 300 * len("\\u202e")
