"""Shop, table, relay and broker of an outbox, each against its disk."""

import pytest

from mqlab.kernel import (
    Caller,
    Config,
    ConnectionLost,
    Fired,
    MemoryDisk,
    Request,
    Response,
    Send,
    SetTimer,
)
from mqlab.patterns.outbox.claims import SAFEGUARDS
from mqlab.patterns.outbox.roles import (
    DATABASE,
    ORDERS,
    Marked,
    MarkSent,
    OutboxRow,
    PlaceOrder,
    Publish,
    PublishResponse,
    ReadOutbox,
    Relay,
    Shop,
)
from mqlab.patterns.records import read_records
from tests.patterns.running import bodies, run

ON = Config(on=frozenset(SAFEGUARDS))
RELAY = Caller("relay")


def without(name):
    return Config(on=ON.on - {name})


def order(txn="T1"):
    return Request(Caller("app", corr=int(txn[1:])), PlaceOrder(txn))


def ask(body, caller=RELAY):
    return Request(caller, body)


def entries(disk, log=DATABASE):
    return [str(record) for record in read_records(disk, log)]


def relay(config=ON):
    return Relay.recover(config, "shop", "broker", ORDERS, MemoryDisk(), 0)


def test_an_order_is_stored_once_even_while_it_runs():
    _, disk, effects = run(Shop(ON, slow=("T1",)), order(), order())
    assert [str(body) for body in bodies(effects)] == ["failed this order is known"]
    _, disk, effects = run(Shop(ON), order(), order())
    assert entries(disk) == ["ordered T1 #0"]
    assert [str(body) for body in bodies(effects)] == ["failed this order is known"]


def test_the_oldest_row_is_given_until_it_is_marked():
    shop, disk, _ = run(Shop(ON), order(), order("T2"))
    for _ in range(2):
        assert bodies(run(shop, ask(ReadOutbox()), disk=disk)[2]) == [OutboxRow("T1", 0)]
    shop, disk, effects = run(shop, ask(MarkSent("T1")), ask(MarkSent("T1")), disk=disk)
    assert bodies(effects) == [Marked()] and entries(disk)[-2:] == ["ordered T2 #1", "sent T1"]
    assert bodies(run(shop, ask(ReadOutbox()), disk=disk)[2]) == [OutboxRow("T2", 1)]


@pytest.mark.parametrize(
    ("missing", "first"),
    [
        ("", [Publish(ORDERS, "T1")]),
        ("marked_when_stored", [MarkSent("T1"), Publish(ORDERS, "T1")]),
    ],
)
def test_when_a_relay_marks(missing, first):
    role, _ = relay(without(missing))
    role, _, effects = run(role, Response("shop", 0, OutboxRow("T1", 0)))
    assert bodies(effects) == first
    # an answer to the early mark that comes late does not make it read once more
    role = run(role, Response("broker", 0, PublishResponse("T1")))[0]
    assert len(run(role, Response("shop", 0, Marked()))[2]) == (missing == "")


def test_a_relay_with_one_number_reads_behind_it_after_a_restart_too():
    role, _ = relay(without("marks_each_row"))
    row = Response("shop", 0, OutboxRow("T2", 1))
    _, disk, effects = run(role, row, Response("broker", 0, PublishResponse("T2")))
    assert bodies(effects) == [ReadOutbox(1)]
    again = Relay.recover(role.config, "shop", "broker", ORDERS, disk, 0)[1]
    assert again == (Send("shop", ReadOutbox(1)),)


def test_a_relay_asks_again_only_where_it_waits():
    role, _ = relay()
    assert run(role, ConnectionLost("broker"))[2] == ()
    role, _, effects = run(role, ConnectionLost("shop"))
    assert [type(effect) for effect in effects] == [SetTimer]
    assert bodies(run(role, Fired("retry"))[2]) == [ReadOutbox()]
