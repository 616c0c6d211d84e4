"""The queue's decisions: when it acknowledges, what it recognises, what it hands out."""

from mqlab.kernel import Append, Appended, Caller, MemoryDisk, Put, Reply, Request, Send
from mqlab.patterns.delivery.claims import SAFEGUARDS
from mqlab.patterns.delivery.roles import (
    ORDERS,
    Commit,
    CommitResponse,
    DeliveryConfig,
    Fetch,
    FetchResponse,
    Message,
    Order,
    Publish,
    PublishResponse,
    Queue,
    Write,
)

ORDER, OTHER = Order("580538", 31678), Order("580539", 31073)
SHOP, BOOKS = Caller("shop"), Caller("accounting")
ACK = Reply(SHOP, PublishResponse("580538"))
GIVEN = FetchResponse(0, ORDER)


class Node:
    """A queue with its disk; `do` gives the effects of an event."""

    def __init__(self, *off):
        self.config = DeliveryConfig(on=frozenset(SAFEGUARDS) - {*off})
        self.disk = MemoryDisk()
        self.restart()

    def restart(self):
        self.role, _ = Queue.recover(self.config, self.disk, 0)

    def do(self, event):
        self.role, effects = self.role.step(event, self.disk)
        for effect in effects:
            self.disk = self.disk.apply(effect)
        return effects

    def publish(self, order=ORDER):
        return self.do(Request(SHOP, Publish(order)))

    def fetch(self, offset=-1):
        return self.do(Request(BOOKS, Fetch(offset)))


def test_it_writes_first_and_acknowledges_what_is_safe():
    queue = Node()
    assert queue.publish() == (Append(ORDERS, Message(ORDER, 0)),)
    assert queue.do(Appended(ORDERS, 1)) == (ACK,)


def test_an_order_that_it_has_is_acknowledged_and_not_written():
    queue = Node()
    queue.publish()
    queue.do(Appended(ORDERS, 1))
    assert queue.publish() == (ACK,)


def test_an_order_that_is_not_safe_yet_is_acknowledged_when_it_is():
    queue = Node()
    queue.publish()
    assert queue.publish() == ()
    assert queue.do(Appended(ORDERS, 1)) == (ACK, ACK)


def test_a_number_decides_and_not_the_amount():
    queue = Node()
    queue.publish()
    twin = Order("580540", ORDER.pence)
    assert queue.publish(twin) == (Append(ORDERS, Message(twin, 1)),)


def test_without_recognising_the_same_order_lies_at_two_offsets():
    queue = Node("recognise")
    queue.publish()
    assert queue.publish() == (Append(ORDERS, Message(ORDER, 1)),)


def test_what_is_in_the_log_is_known_after_a_restart():
    queue = Node()
    queue.publish()
    queue.restart()
    assert queue.publish() == (ACK,)


def test_without_appending_first_the_acknowledgement_leaves_before_the_order_is_written():
    queue = Node("append_first")
    ack, note = queue.publish()
    assert ack == ACK
    assert note == Send("queue", Write(ORDER))
    assert queue.role.unwritten == (ORDER,)
    assert queue.do(Request(Caller("queue"), note.body)) == (Append(ORDERS, Message(ORDER, 0)),)
    assert queue.role.unwritten == ()


def test_without_appending_first_a_restart_has_forgotten_what_was_acknowledged():
    queue = Node("append_first")
    queue.publish()
    queue.restart()
    assert queue.role.unwritten == ()
    assert not list(queue.disk.log(ORDERS).read(0))


def test_a_fetch_is_answered_when_its_message_is_safe():
    queue = Node()
    assert queue.fetch() == ()
    queue.publish()
    assert queue.do(Appended(ORDERS, 1)) == (ACK, Reply(BOOKS, GIVEN))


def test_what_was_handed_out_before_is_called_so():
    queue = Node()
    queue.publish()
    queue.do(Appended(ORDERS, 1))
    assert queue.fetch(0) == (Reply(BOOKS, GIVEN),)
    assert queue.fetch(0) == (Reply(BOOKS, FetchResponse(0, ORDER, again=True)),)


def test_a_fetch_without_an_offset_goes_on_at_the_committed_position():
    queue = Node()
    for order, end in ((ORDER, 1), (OTHER, 2)):
        queue.publish(order)
        queue.do(Appended(ORDERS, end))
    kept, reply = queue.do(Request(BOOKS, Commit(1)))
    assert (kept, reply) == (Put("positions", "accounting", 1), Reply(BOOKS, CommitResponse(1)))
    assert queue.fetch() == (Reply(BOOKS, FetchResponse(1, OTHER)),)


def test_a_late_commit_does_not_undo_a_newer_one():
    queue = Node()
    queue.do(Request(BOOKS, Commit(2)))
    kept, _ = queue.do(Request(BOOKS, Commit(1)))
    assert kept == Put("positions", "accounting", 2)


def test_a_committed_position_keeps_nobody_from_an_older_offset():
    queue = Node()
    queue.publish()
    queue.do(Appended(ORDERS, 1))
    queue.do(Request(BOOKS, Commit(1)))
    assert queue.fetch(0) == (Reply(BOOKS, GIVEN),)
