"""The shop's decisions: what it does about silence."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import (
    Append,
    Appended,
    Call,
    Caller,
    CancelTimer,
    ConnectionLost,
    MemoryDisk,
    Put,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    replay,
)
from mqlab.patterns.delivery.claims import SAFEGUARDS
from mqlab.patterns.delivery.roles import (
    ORDERS,
    Accounting,
    Booking,
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
    Seek,
    SendOrder,
    Shop,
    Write,
)
from mqlab.registry import scenario, system
from tests.patterns.running import run

ORDER, OTHER = Order("580538", 31678), Order("580539", 31073)
CALL, ACK = Call(SendOrder(ORDER)), Response("queue", 0, PublishResponse("580538"))
SENT = Send("queue", Publish(ORDER))


def make_shop(*off):
    return Shop(DeliveryConfig(on=frozenset(SAFEGUARDS) - {*off}))


def after(shop, *events):
    """The shop and the effects of the last event."""
    shop, _, effects = run(shop, *events)
    return shop, effects


def test_an_order_returns_with_its_acknowledgement():
    shop, effects = after(make_shop(), CALL)
    assert effects == (SENT, SetTimer("retry", 100))
    shop, (cancelled, returned) = after(shop, ACK)
    assert cancelled == CancelTimer("retry")
    assert returned.value.ok
    assert shop == make_shop()


def test_without_sending_again_a_broken_connection_ends_all_hope():
    start = make_shop("send_again")
    shop, effects = after(start, CALL, Call(SendOrder(OTHER)), ConnectionLost("queue"))
    assert effects == ()
    assert shop.given_up == ("580538", "580539")
    assert not shop.unheard
    (said,) = shop.describe_changes(start)
    assert "580538, 580539" in said.en
    assert "580538, 580539" in said.zh


# ---- The queue's decisions: when it acknowledges, what it recognises, what it hands out

SHOP = Caller("shop")
QUEUE_ACK = Reply(SHOP, PublishResponse("580538"))


class Node:
    """A node with its disk, which runs one of the roles; `do` gives the effects of an event."""

    kind: type

    def __init__(self, config):
        self.config, self.disk = config, MemoryDisk()
        self.first = self.restart()

    def restart(self):
        self.role, effects = self.kind.recover(self.config, self.disk, 0)
        return effects

    def do(self, event):
        self.role, effects = self.role.step(event, self.disk)
        for effect in effects:
            self.disk = self.disk.apply(effect)
        return effects


class QueueNode(Node):
    kind = Queue

    def __init__(self, *off):
        super().__init__(DeliveryConfig(on=frozenset(SAFEGUARDS) - {*off}))

    def publish(self, order=ORDER):
        return self.do(Request(SHOP, Publish(order)))


def test_an_order_that_is_not_safe_yet_is_acknowledged_when_it_is():
    queue = QueueNode()
    queue.publish()
    assert queue.publish() == ()
    assert queue.do(Appended(ORDERS, 1)) == (QUEUE_ACK, QUEUE_ACK)


def test_what_is_in_the_log_is_known_after_a_restart():
    queue = QueueNode()
    queue.publish()
    queue.restart()
    assert queue.publish() == (QUEUE_ACK,)


def test_without_appending_first_the_acknowledgement_leaves_before_the_order_is_written():
    queue = QueueNode("append_first")
    ack, note = queue.publish()
    assert ack == QUEUE_ACK
    assert note == Send("queue", Write(ORDER))
    assert queue.role.unwritten == (ORDER,)
    assert queue.do(Request(Caller("queue"), note.body)) == (Append(ORDERS, Message(ORDER, 0)),)
    assert queue.role.unwritten == ()


# ---- Accounting's decisions: in which order an amount and a position become durable

COUNTED = Append("books", Booking(ORDER, 0), notify=False)
TOGETHER = Append("books", Booking(ORDER, 0, position=1), notify=False)
COMMITTED, NOTED = Send("queue", Commit(1)), Put("notes", "queue", 1)
NEXT = Send("queue", Fetch(1))
ON = frozenset(SAFEGUARDS)
TWO_WRITES = DeliveryConfig(on=ON - {"one_write"})


class AccountingNode(Node):
    kind = Accounting

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
    node = AccountingNode(config)
    assert node.first == (Send("queue", first),)
    assert node.give() == given
    if confirmed is not None:
        assert node.confirm() == confirmed


def test_a_seek_asks_from_there_and_no_answer_from_before_it_counts():
    node = AccountingNode(TWO_WRITES)
    asked, returned = node.do(Call(Seek(0)))
    assert asked == Send("queue", Fetch(0), 1)
    assert isinstance(returned, Return)
    assert returned.value.ok
    assert node.give() == ()
    assert node.give(corr=1) == (COUNTED, Send("queue", Commit(1), 1))


# ---- How often an order arrives: the three promises, over every schedule within a budget

TWO = "'shop=send 580538:31678; send 580539:31073'"
ONE = "'shop=send 580538:31678'"
MOST = "off=one_write,send_again commit=before"
LEAST = "off=one_write,recognise"
FAULTS = Budget(kills=1, breaks=1)


def broken(line, budget=FAULTS):
    verdict = explore(system(line), budget)
    assert verdict.complete
    assert not verdict.missing
    return {name: len(found.schedule) for name, found in verdict.counterexamples.items()}


@pytest.mark.parametrize(
    ("promise", "breaks"),
    [(MOST, {"none lost": 3}), (LEAST, {"counted once": 8}), ("", {})],
    ids=["at most once", "at least once", "exactly once"],
)
def test_a_promise_breaks_on_its_own_side_only(promise, breaks):
    assert broken(f"delivery {promise} {TWO}") == breaks


@pytest.mark.parametrize("again", [(), ("send_again",)])
@pytest.mark.parametrize("known", [(), ("recognise",)])
@pytest.mark.parametrize("together", [(), ("one_write",)])
def test_only_with_shop_queue_and_accounting_together_it_is_exactly_once(again, known, together):
    off = (*again, *known, *together)
    found = broken(f"delivery {ONE} off={','.join(off)}", Budget(kills=1, breaks=1, timers=1))
    assert bool(found) == bool(off)


def test_impatience_alone_counts_twice():
    """No fault at all: the shop only waits less long than the network takes."""
    assert broken(f"delivery off=recognise {ONE}", Budget(timers=1)) == {"counted once": 10}
    assert broken(f"delivery {ONE}", Budget(timers=2)) == {}


def test_without_a_fault_every_promise_is_kept_alike():
    for promise in (MOST, LEAST, ""):
        assert broken(f"delivery {promise} {TWO}", Budget()) == {}


def test_a_request_that_is_lost_and_an_answer_that_is_lost_look_alike_to_the_shop():
    """All that it hears is the same; what the queue holds is not."""

    def run(lost):
        return scenario(f"# x\nsystem delivery {LEAST}\nrun shop: send 580538:31678\n{lost}")

    def heard(trace):
        return [fact.text for fact in trace if fact.node == "shop"]

    request, answer = run("lose shop→queue Publish#1"), run("lose shop→queue ⇒Publish#1")
    assert heard(request) == heard(answer)
    assert [len(trace.snapshot(-1).logs[0].cells) for trace in (request, answer)] == [1, 2]


def test_the_picture_says_which_orders_are_lost_and_which_are_doubled():
    def last_of(line, broken):
        found = explore(system(line), FAULTS).counterexamples[broken]
        return replay(found.system, found.schedule).snapshot(-1)

    doubled = last_of(f"delivery {LEAST} {ONE}", "counted once")
    assert doubled.tables[0].rows == (("580538", "£316.78", "1×", "2×"),)
    assert (doubled.money.due, doubled.money.seen, doubled.money.extra) == (31678, 63356, 31678)
    lost = last_of(f"delivery {MOST} {ONE}", "none lost")
    assert lost.tables[0].rows == (("580538", "£316.78", "0×", "0×"),)
    assert (lost.money.seen, lost.money.missing) == (0, 31678)


def test_a_system_line_reads_back_to_an_equal_system():
    for promise in (MOST, LEAST, "order.consume=both,commit patience_ms=20"):
        made = system(f"delivery {promise} {TWO}")
        assert system(made.line()) == made
