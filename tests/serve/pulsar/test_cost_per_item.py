"""One client with many subscriptions, topics, transactions: what each costs does not depend on how
many there are. Counted is how much the maps of the broker hand out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqlab.kernel import Map
from mqlab.pulsar.messages import LedgerEntry, TransactionMetadataEntry, TxnID
from mqlab.serve import RunningBroker
from mqlab.serve.pulsar.front import FRONT, HANDLERS
from mqlab.serve.pulsar.trace import Model, Observer
from tests.bench import pulsar as bench
from tests.bench.pulsar import BODY, Sender, messages_per_second, transactions_per_second
from tests.serve.many import ALIKE, WALK, check_growth
from tests.serve.pulsar.many import CASES, prepare
from tests.serve.pulsar.raw import Raw, make_message
from tests.serve.pulsar.test_unread import TOPIC, Wire, make_driver
from tests.serve.started import note_senders

FEW, MANY = 100, 400
NAME = "persistent://public/default/{}"


class Counted:
    """How many pairs were handed out, of all maps together."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs = 0
        real = Map.items

        def items(map: Map[Any, Any]) -> list[tuple[Any, Any]]:
            self.pairs += len(map)
            return real(map)

        monkeypatch.setattr(Map, "items", items)

    def during(self, story: Callable[[], object]) -> int:
        before = self.pairs
        story()
        return self.pairs - before


def subscribe(wire: Wire, number: int, topic: str, name: str) -> None:
    fields = {"subscription": name, "subType": 1, "consumer_id": number, "initialPosition": 1}
    wire.tell("SUBSCRIBE", topic=topic, request_id=number, **fields)


def of_one_topic(wire: Wire, number: int) -> None:
    subscribe(wire, number, NAME.format("orders"), f"s{number}")


def of_many_topics(wire: Wire, number: int) -> None:
    subscribe(wire, number, NAME.format(f"t{number}"), "s")


def with_producer(wire: Wire, number: int) -> None:
    name = {"producer_id": number, "producer_name": f"p{number}", "request_id": number}
    wire.tell("PRODUCER", topic=NAME.format("orders"), **name)


@pytest.mark.parametrize("begin", [of_one_topic, of_many_topics, with_producer])
def test_a_client_with_many(monkeypatch: pytest.MonkeyPatch, begin: Callable[..., None]) -> None:
    """They come, and they go with their connection."""
    counted = Counted(monkeypatch)

    def cost(many: int) -> tuple[float, float]:
        driver, wire = make_driver()

        def come() -> None:
            for number in range(many):
                begin(wire, number)

        came = counted.during(come)
        gone = counted.during(lambda: driver.disconnect(f"conn-{wire.number}"))
        assert not len(driver.roles[FRONT].sessions.users)
        return came / many, gone / many

    few, more = cost(FEW), cost(MANY)
    assert more[0] <= few[0] + 2 and more[1] <= few[1] + 2, (few, more)


def test_each_gives_up_its_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)

    def cost(many: int) -> float:
        _, wire = make_driver()
        for number in range(many):
            of_one_topic(wire, number)

        def leave() -> None:
            for number in range(many):
                wire.tell("UNSUBSCRIBE", consumer_id=number, request_id=number)

        return counted.during(leave) / many

    assert cost(MANY) <= cost(FEW) + 2


def open_transactions(wire: Wire, topic: str, count: int) -> None:
    """Each has sent a message and acknowledged one."""
    subscribe(wire, 9, topic, "s")
    wire.tell("FLOW", consumer_id=9, messagePermits=count)
    wire.tell("TC_CLIENT_CONNECT_REQUEST", tc_id=0, request_id=1)
    for number in range(count):
        txn = {"txnid_most_bits": 0, "txnid_least_bits": number}
        wire.tell("NEW_TXN", txn_ttl_millis=600_000, tc_id=0, request_id=2)
        wire.tell("ADD_PARTITION_TO_TXN", partitions=[topic], request_id=3, **txn)
        message = make_message(b"x", number, **txn)
        wire.tell("SEND", message, producer_id=0, sequence_id=number, **txn)
        where = [{"topic": topic, "subscription": "s"}]
        wire.tell("ADD_SUBSCRIPTION_TO_TXN", subscription=where, request_id=4, **txn)
        id = {"ledgerId": 1, "entryId": number}
        wire.tell("ACK", consumer_id=9, ack_type=0, message_id=[id], request_id=5, **txn)


def test_a_picture_of_many_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables show some of them, and to draw one more fact costs no more than with few."""
    counted = Counted(monkeypatch)

    def draw(count: int) -> tuple[int, dict[str, Any]]:
        driver, wire = make_driver()
        open_transactions(wire, TOPIC, count)
        observer = Observer(0, driver.disk.log)
        for name, role in driver.roles.items():
            observer.take((0, name, role, None, ()))
        for base in range(count):
            entry = LedgerEntry(base, ("x",), "", base, TxnID(0, base))
            observer.model.note_entry(TOPIC, entry)
        observer.draw()
        wire.tell("NEW_TXN", txn_ttl_millis=600_000, tc_id=0, request_id=2)
        record = TransactionMetadataEntry(9 * count, "NEW", TxnID(0, count))
        observer.model.note_record("tc-0", record)
        observer.model.roles["tc-0"] = driver.roles["tc-0"].role
        cost = counted.during(observer.draw)
        return cost, observer.draw()

    few, _ = draw(FEW)
    more, snapshot = draw(MANY)
    assert more <= few
    rows = [table["rows"] for table in snapshot["tables"]]
    assert len(rows) == 3 and all(0 < len(some) <= Model.limits.rows for some in rows), rows
    assert max(len(cell) for some in rows for row in some for cell in row) < 200


# ---- What measures a server does what it says: transactions are committed, messages are there


def test_what_is_measured_has_happened(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    senders = note_senders(bench, monkeypatch)
    assert transactions_per_second(broker.address, 0.3) > 0
    assert messages_per_second(f"pulsar://{broker.address}", 300) > 0
    committed, plain = (sender.topic for sender in senders)
    with Raw(broker.address) as one, Raw(broker.address) as other:
        one.subscribe(committed)
        assert one.receive(1) == [BODY.decode()]
        other.subscribe(plain)
        assert len(other.receive(301, 1.0)) == 300


def test_a_refusal_is_no_figure(broker: RunningBroker) -> None:
    sender = Sender(broker.address)
    with pytest.raises(ConnectionError, match="does not exist"):
        sender.ask("PRODUCER", topic="persistent://public/none/t", producer_id=1)
    sender.close()


# ---- A command that names twice as many things takes twice as much work, not four times

#: commands that name at most one thing, or nothing that work is done for
SINGLE = {
    "CONNECT", "PING", "PONG", "PARTITIONED_METADATA", "LOOKUP", "GET_SCHEMA",
    "GET_OR_CREATE_SCHEMA", "PRODUCER", "CLOSE_PRODUCER", "SUBSCRIBE", "UNSUBSCRIBE",
    "CLOSE_CONSUMER", "SEEK", "SEND", "GET_LAST_MESSAGE_ID", "TC_CLIENT_CONNECT_REQUEST", "NEW_TXN",
}  # fmt: skip


@pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/pulsar")
@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    check_growth(prepare, name, WALK if name.startswith("GET_") else ALIKE)


def test_every_command_that_names_many_is_measured() -> None:
    named = {name.split(",")[0].split(" ")[0] for name in CASES}
    assert [name for name in HANDLERS if name not in named | SINGLE] == []
