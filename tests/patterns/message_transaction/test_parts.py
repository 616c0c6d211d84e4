"""Shop, queue and consumer of a message transaction, each against its disk."""

from mqlab.kernel import Caller, Config, Reply, Request, Response
from mqlab.patterns.message_transaction.claims import SAFEGUARDS
from mqlab.patterns.message_transaction.roles import (
    ORDERS_LOG,
    Acknowledge,
    PlaceOrder,
    Poll,
    PollResponse,
    Publish,
    PublishResponse,
    Queue,
    Shop,
    find_next,
)
from mqlab.patterns.records import read_records
from tests.patterns.running import bodies, run

ON = Config(on=frozenset(SAFEGUARDS))
ORDER = Request(Caller("app"), PlaceOrder("T1"))
PUBLISH = Request(Caller("shop"), Publish("T1"))
POLL = Request(Caller("warehouse"), Poll())


def words(disk, log):
    return [record.what for record in read_records(disk, log)]


def test_what_the_queue_has_is_not_sent_again():
    stored = Response("queue", 0, PublishResponse("T1"))
    role, disk, _ = run(Shop(ON, "queue"), ORDER, stored, stored)
    assert words(disk, ORDERS_LOG) == ["ordered", "sent"]
    assert not role.outbox
    assert Shop.recover(ON, "queue", disk, 0)[1] == ()


def test_without_the_outbox_a_restart_knows_of_no_message():
    _, disk, _ = run(Shop(Config(on=ON.on - {"outbox"}), "queue"), ORDER)
    assert words(disk, ORDERS_LOG) == ["ordered"]
    assert Shop.recover(ON, "queue", disk, 0)[1] == ()


def test_an_order_is_stored_once():
    _, disk, effects = run(Shop(ON, "queue"), ORDER, ORDER)
    assert words(disk, ORDERS_LOG) == ["ordered"]
    assert [str(body) for body in bodies(effects)] == ["failed this order is known"]


def test_the_oldest_message_is_given_until_it_is_acknowledged():
    role, disk, effects = run(Queue(ON), PUBLISH, PUBLISH, POLL)
    assert bodies(effects) == [PollResponse("T1", 0)]
    role, disk, effects = run(role, POLL, disk=disk)
    assert bodies(effects) == [PollResponse("T1", 0)], "again"
    done = Request(Caller("warehouse"), Acknowledge("T1", 0))
    role, disk, effects = run(role, done, done, POLL, disk=disk)
    assert bodies(effects) == [PollResponse("T1", 1)], "acknowledged twice, moved once"
    assert find_next(Queue.recover(ON, disk, 0) and disk).base == 1


def test_who_polls_an_empty_queue_is_answered_when_there_is_something():
    late = Request(Caller("warehouse", conn=1), Poll())
    role, disk, effects = run(Queue(ON), POLL, late)
    assert not effects
    role, disk, effects = run(role, PUBLISH, disk=disk)
    given = [effect.caller.conn for effect in effects if isinstance(effect, Reply)]
    assert given == [0, 0, 1], "the shop, and both connections of the consumer"
    assert not role.waiting
