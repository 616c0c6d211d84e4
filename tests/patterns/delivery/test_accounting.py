"""Accounting's decisions: in which order an amount and a position become durable."""

import pytest

from mqlab.kernel import Append, Call, ConnectionLost, MemoryDisk, Put, Response, Return, Send
from mqlab.patterns.delivery.claims import SAFEGUARDS
from mqlab.patterns.delivery.roles import (
    Accounting,
    Booking,
    Commit,
    CommitResponse,
    DeliveryConfig,
    Fetch,
    FetchResponse,
    Order,
    Seek,
)

ORDER = Order("580538", 31678)
COUNTED = Append("books", Booking(ORDER, 0), notify=False)
TOGETHER = Append("books", Booking(ORDER, 0, position=1), notify=False)
COMMITTED, NOTED = Send("queue", Commit(1)), Put("notes", "queue", 1)
NEXT = Send("queue", Fetch(1))
ON = frozenset(SAFEGUARDS)
TWO_WRITES = DeliveryConfig(on=ON - {"one_write"})


class Node:
    """Accounting with its disk; `do` gives the effects of an event."""

    def __init__(self, config):
        self.config, self.disk = config, MemoryDisk()
        self.first = self.restart()

    def restart(self):
        self.role, effects = Accounting.recover(self.config, self.disk, 0)
        return effects

    def do(self, event):
        self.role, effects = self.role.step(event, self.disk)
        for effect in effects:
            self.disk = self.disk.apply(effect)
        return effects

    def give(self, offset=0, order=ORDER, corr=0):
        return self.do(Response("queue", corr, FetchResponse(offset, order)))

    def confirm(self):
        return self.do(Response("queue", 0, CommitResponse(1)))


@pytest.mark.parametrize(
    ("config", "first", "given", "confirmed"),
    [
        (DeliveryConfig(on=ON), Fetch(0), (TOGETHER, NEXT), None),
        (TWO_WRITES, Fetch(), (COUNTED, COMMITTED), (NEXT,)),
        (
            DeliveryConfig(on=ON - {"one_write"}, commit="before"),
            Fetch(),
            (COMMITTED,),
            (COUNTED, NEXT),
        ),
        (
            DeliveryConfig(on=ON, order=(("consume", ("count", "note")),)),
            Fetch(0),
            (COUNTED, NOTED, NEXT),
            None,
        ),
        (
            DeliveryConfig(on=ON, order=(("consume", ("note", "count", "commit")),)),
            Fetch(0),
            (NOTED, COUNTED, COMMITTED),
            (NEXT,),
        ),
    ],
    ids=["one write", "count first", "commit first", "noted after", "noted before"],
)
def test_the_pieces_are_done_in_their_order(config, first, given, confirmed):
    node = Node(config)
    assert node.first == (Send("queue", first),)
    assert node.give() == given
    if confirmed is not None:
        assert node.confirm() == confirmed


@pytest.mark.parametrize("given", [(), ("give",)], ids=["the fetch", "the commit"])
def test_what_waits_when_the_connection_breaks_is_asked_again(given):
    node = Node(TWO_WRITES)
    for _ in given:
        node.give()
    (again,) = node.do(ConnectionLost("queue"))
    assert again == (COMMITTED if given else node.first[0])


def test_a_position_of_its_own_outlives_a_restart_and_the_queues_does_not():
    own, other = Node(DeliveryConfig(on=ON)), Node(TWO_WRITES)
    for node in (own, other):
        node.give()
    assert own.restart() == (NEXT,)
    assert other.restart() == (Send("queue", Fetch()),)


def test_what_lies_below_its_own_position_is_skipped():
    node = Node(DeliveryConfig(on=ON))
    node.give()
    assert node.give() == (NEXT,)


def test_without_a_position_of_its_own_the_same_order_is_counted_again():
    node = Node(TWO_WRITES)
    node.give()
    node.confirm()
    counted, _ = node.give()
    assert counted == Append("books", Booking(ORDER, 1), notify=False)


def test_a_seek_asks_from_there_and_no_answer_from_before_it_counts():
    node = Node(TWO_WRITES)
    asked, returned = node.do(Call(Seek(0)))
    assert asked == Send("queue", Fetch(0), 1)
    assert isinstance(returned, Return)
    assert returned.value.ok
    assert node.give() == ()
    assert node.give(corr=1) == (COUNTED, Send("queue", Commit(1), 1))
