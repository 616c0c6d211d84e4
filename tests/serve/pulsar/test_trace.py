"""The live trace: a follower sees a transaction as a lesson shows it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.kernel import Map
from mqlab.pulsar.claims import LIT
from mqlab.pulsar.config import PulsarConfig
from mqlab.pulsar.messages import (
    AckPosition,
    LedgerEntry,
    MessageId,
    PushMessage,
    TransactionMetadataEntry,
    TxnID,
)
from mqlab.pulsar.pending_ack import PendingAck
from mqlab.pulsar.states import MarkerType, TxnStatus
from mqlab.pulsar.subscription import Subscription
from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.trace import READERS, TOPICS, TXNS, Model, name_lane
from mqlab.serve.trace.teller import MOST
from tests.serve.live import asked, list_texts, played
from tests.serve.pulsar.raw import COMMIT, Raw
from tests.serve.pulsar.test_unread import TOPIC as UNREAD
from tests.serve.pulsar.test_unread import make_driver

TOPIC = "persistent://public/default/orders"


def test_a_transaction_as_a_follower_sees_it() -> None:
    with serve() as broker, Raw(broker.address) as client:
        client.produce(TOPIC)
        client.subscribe(TOPIC)
        asked(broker)
        txn = client.begin()
        client.send_in(txn, TOPIC, "paid")
        client.end(txn, COMMIT)
        assert client.receive(1) == ["paid"]
        trace = played(asked(broker))
    told = [(fact.node, fact.text.en, fact.txn) for fact in trace]
    for fact in [
        ("billing", "NewTxn timeout=60000", ""),
        ("tc-0", "NEW (0,0)", "T1"),
        ("billing", "AddPartitionToTxn (0,0) orders", "T1"),
        ("billing", "Send paid in (0,0)", "T1"),
        ("orders", "paid in (0,0) @0", "T1"),
        ("billing", "EndTxn commit (0,0)", "T1"),
        ("tc-0", "COMMITTING (0,0)", "T1"),
        ("tc-0", "EndTxnOnPartition commit (0,0) lowWatermark=-1", "T1"),
        ("orders", "commit marker of (0,0) @1", "T1"),
        ("tc-0", "COMMITTED (0,0)", "T1"),
        ("orders", "Message paid @0", "T1"),
    ]:
        assert told.count(fact) == 1, fact
    assert told.index(("tc-0", "COMMITTING (0,0)", "T1")) < told.index(
        ("orders", "commit marker of (0,0) @1", "T1")
    )
    assert all(fact.why.en and fact.why.zh for fact in trace if not fact.fold)
    snapshot = trace.snapshot(len(trace))
    assert [lane.title.en for lane in snapshot.lanes] == ["billing", "tc-0", "orders"]
    assert [lane.name for lane in snapshot.lanes] == ["billing", "tc-0", "orders"]
    logs = {log.name: [(cell.label, cell.txn) for cell in log.cells] for log in snapshot.logs}
    assert logs["orders"] == [("paid", "T1"), ("C", "T1")]
    assert [label for label, _ in logs["__transaction_log_0"]] == ["new", "part", "→C", "C"]
    assert [got.label for got in snapshot.readers[0].got] == ["paid"]
    assert snapshot.graphs[0].path == ("OPEN", "COMMITTING", "COMMITTED")
    flags = {flag.name: flag.at for flag in snapshot.logs[0].frontiers}
    assert flags["maxReadPosition"] == 2
    assert [(light.name, light.ok) for light in snapshot.lights] == [(c.name, True) for c in LIT]


def test_who_has_a_topic_for_himself_is_drawn_as_in_a_lesson() -> None:
    driver, wire = make_driver()
    model = Model()
    model.note_entry(UNREAD, MESSAGE)

    def list_rows() -> list[Any]:
        model.roles[UNREAD] = driver.roles[UNREAD].role
        tables = model.draw()["tables"]
        return [
            row for table in tables if "topic epoch" in table["columns"] for row in table["rows"]
        ]

    assert list_rows() == []
    wire.tell("CLOSE_PRODUCER", producer_id=0, request_id=2)
    alone = {"producer_name": "shop", "producer_access_mode": 1}
    wire.tell("PRODUCER", topic=UNREAD, producer_id=1, request_id=3, **alone)
    assert list_rows() == [["unread", "0", "shop", ""]]


def test_notes_are_bounded() -> None:
    """A thousand transactions go by; names go on, what is kept does not grow."""
    model = Model()
    for i in range(1_000):
        txn = TxnID(0, i)
        model.note_record("tc-0", TransactionMetadataEntry(i, "NEW", txn))
        model.note_entry(f"topic{i % 50}", LedgerEntry(i, ("m",), "p", i, txn))
    assert len(model.written.begun) == TXNS
    assert model.written.name(TxnID(0, 999)) == "T1000"
    assert model.written.name(TxnID(0, 1)) == ""
    assert len(model.tails) == TOPICS and len(model.records["tc-0"].cells) <= MOST
    assert len(model.readers) <= READERS


@pytest.mark.parametrize("name", ["tc-0", "tc-9", "conn-1", "disk"])
def test_a_topic_that_is_called_as_a_part_of_the_broker_is_called_in_full(name: str) -> None:
    whole = f"persistent://public/default/{name}"
    assert name_lane(whole) == whole and name_lane(name) == name


T1, T2 = TxnID(0, 0), TxnID(0, 1)
NEW = TransactionMetadataEntry(0, "NEW", T1)
COMMITTING, COMMITTED = (
    TransactionMetadataEntry(at, "UPDATE", T1, status=status)
    for at, status in ((1, TxnStatus.COMMITTING), (2, TxnStatus.COMMITTED))
)
MESSAGE = LedgerEntry(0, ("m",), "shop", 0, T1)
MARKER = LedgerEntry(1, txn=T1, marker=MarkerType.TXN_COMMIT)
PUSH = PushMessage(MessageId("orders", 0), "billing", ("m",), 0, T1)


def find_red(*steps: Any, pending: PendingAck = PendingAck()) -> set[str]:
    """The lights that are red after this went by, with a subscription that holds `pending`."""
    model = Model()
    for step in steps:
        match step:
            case TransactionMetadataEntry():
                model.note_record("tc-0", step)
            case LedgerEntry():
                model.note_entry("orders", step)
            case PushMessage():
                model.note_sent("conn-1/billing", step)
    config = PulsarConfig()
    for now in (PendingAck(), pending):  # a picture each
        sub = Subscription(config, "orders", "billing", pending=now)
        topic: Any = SimpleNamespace(name="orders", subs=Map([("billing", sub)]))
        model.list_subs(topic)
    return {light.name for light in model.lights.draw() if not light.ok}


@pytest.mark.parametrize(
    ("steps", "red"),
    [
        ((NEW, MESSAGE, COMMITTING, MARKER, COMMITTED, PUSH), set()),
        ((NEW, MESSAGE, COMMITTING, MARKER, MESSAGE, COMMITTED), set()),
        ((MESSAGE, PUSH, COMMITTED), set()),
        ((NEW, MESSAGE, PUSH), {"clean read"}),
        ((NEW, MESSAGE, PUSH, COMMITTING, MARKER, COMMITTED), {"clean read"}),
        ((NEW, MESSAGE, COMMITTING, COMMITTED, MARKER), {"told to all"}),
    ],
    ids=["all is well", "a late word", "of before our time", "sent while it is open",
         "once red always red", "no marker"],
)  # fmt: skip
def test_lights(steps: tuple[Any, ...], red: set[str]) -> None:
    assert find_red(*steps) == red


def test_two_holders_of_a_message_turn_a_light_red() -> None:
    one, other = AckPosition(0), AckPosition(1)
    assert find_red(pending=PendingAck(of_txn=((T1, (one,)), (T2, (other,))))) == set()
    assert find_red(pending=PendingAck(of_txn=((T1, (one,)), (T2, (one,))))) == {"one holder"}


def test_names_that_a_client_chose_do_no_harm() -> None:
    with serve() as broker, Raw(broker.address) as client:
        bad = "\x1b[2J\u202e" * 50
        client.produce(TOPIC, producer_name=bad, producer_access_mode=1)
        client.subscribe(TOPIC, bad)
        client.send(bad)
        client.subscribe("persistent://public/default/\u202e", number=1)
        assert all(map(str.isprintable, list_texts(asked(broker, last=1_000))))
