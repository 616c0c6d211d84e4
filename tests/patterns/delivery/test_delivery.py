"""The shop's decisions: what it does about silence."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import (
    UNKNOWN,
    Append,
    Appended,
    Call,
    Caller,
    CancelTimer,
    ConnectionLost,
    Fired,
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


@pytest.mark.parametrize("silence", [Fired("retry"), ConnectionLost("queue")])
def test_silence_makes_it_send_the_same_order_again(silence):
    _, effects = after(make_shop(), CALL, silence)
    assert effects == (SENT, SetTimer("retry", 100))


@pytest.mark.parametrize("silence", [Fired("retry"), ConnectionLost("queue")])
def test_after_the_acknowledgement_silence_means_nothing(silence):
    assert after(make_shop(), CALL, ACK, silence) == (make_shop(), ())


def test_a_second_acknowledgement_ends_no_other_call():
    other = Call(SendOrder(OTHER))
    shop, effects = after(make_shop(), CALL, Fired("retry"), ACK, other, ACK)
    assert effects == ()
    assert shop.waiting == OTHER


def test_without_sending_again_nobody_waits_and_the_outcome_is_unknown():
    shop, (sent, returned) = after(make_shop("send_again"), CALL)
    assert sent == SENT
    assert isinstance(returned, Return)
    assert returned.value.status == UNKNOWN
    assert shop.unheard == ("580538",)


def test_without_sending_again_a_broken_connection_ends_all_hope():
    start = make_shop("send_again")
    shop, effects = after(start, CALL, Call(SendOrder(OTHER)), ConnectionLost("queue"))
    assert effects == ()
    assert shop.given_up == ("580538", "580539")
    assert not shop.unheard
    (said,) = shop.describe_changes(start)
    assert "580538, 580539" in said.en
    assert "580538, 580539" in said.zh


def test_what_was_acknowledged_is_not_given_up():
    shop, _ = after(make_shop("send_again"), CALL, ACK, ConnectionLost("queue"))
    assert not shop.given_up
    assert shop.describe_changes(make_shop("send_again")) == ()


# ---- The queue's decisions: when it acknowledges, what it recognises, what it hands out

SHOP, BOOKS = Caller("shop"), Caller("accounting")
QUEUE_ACK = Reply(SHOP, PublishResponse("580538"))
GIVEN = FetchResponse(0, ORDER)


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

    def fetch(self, offset=-1):
        return self.do(Request(BOOKS, Fetch(offset)))


def test_it_writes_first_and_acknowledges_what_is_safe():
    queue = QueueNode()
    assert queue.publish() == (Append(ORDERS, Message(ORDER, 0)),)
    assert queue.do(Appended(ORDERS, 1)) == (QUEUE_ACK,)


def test_an_order_that_it_has_is_acknowledged_and_not_written():
    queue = QueueNode()
    queue.publish()
    queue.do(Appended(ORDERS, 1))
    assert queue.publish() == (QUEUE_ACK,)


def test_an_order_that_is_not_safe_yet_is_acknowledged_when_it_is():
    queue = QueueNode()
    queue.publish()
    assert queue.publish() == ()
    assert queue.do(Appended(ORDERS, 1)) == (QUEUE_ACK, QUEUE_ACK)


def test_a_number_decides_and_not_the_amount():
    queue = QueueNode()
    queue.publish()
    twin = Order("580540", ORDER.pence)
    assert queue.publish(twin) == (Append(ORDERS, Message(twin, 1)),)


def test_without_recognising_the_same_order_lies_at_two_offsets():
    queue = QueueNode("recognise")
    queue.publish()
    assert queue.publish() == (Append(ORDERS, Message(ORDER, 1)),)


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


def test_without_appending_first_a_restart_has_forgotten_what_was_acknowledged():
    queue = QueueNode("append_first")
    queue.publish()
    queue.restart()
    assert queue.role.unwritten == ()
    assert not list(queue.disk.log(ORDERS).read(0))


def test_a_fetch_is_answered_when_its_message_is_safe():
    queue = QueueNode()
    assert queue.fetch() == ()
    queue.publish()
    assert queue.do(Appended(ORDERS, 1)) == (QUEUE_ACK, Reply(BOOKS, GIVEN))


def test_what_was_handed_out_before_is_called_so():
    queue = QueueNode()
    queue.publish()
    queue.do(Appended(ORDERS, 1))
    assert queue.fetch(0) == (Reply(BOOKS, GIVEN),)
    assert queue.fetch(0) == (Reply(BOOKS, FetchResponse(0, ORDER, again=True)),)


def test_a_fetch_without_an_offset_goes_on_at_the_committed_position():
    queue = QueueNode()
    for order, end in ((ORDER, 1), (OTHER, 2)):
        queue.publish(order)
        queue.do(Appended(ORDERS, end))
    kept, reply = queue.do(Request(BOOKS, Commit(1)))
    assert (kept, reply) == (Put("positions", "accounting", 1), Reply(BOOKS, CommitResponse(1)))
    assert queue.fetch() == (Reply(BOOKS, FetchResponse(1, OTHER)),)


def test_a_late_commit_does_not_undo_a_newer_one():
    queue = QueueNode()
    queue.do(Request(BOOKS, Commit(2)))
    kept, _ = queue.do(Request(BOOKS, Commit(1)))
    assert kept == Put("positions", "accounting", 2)


def test_a_committed_position_keeps_nobody_from_an_older_offset():
    queue = QueueNode()
    queue.publish()
    queue.do(Appended(ORDERS, 1))
    queue.do(Request(BOOKS, Commit(1)))
    assert queue.fetch(0) == (Reply(BOOKS, GIVEN),)


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


@pytest.mark.parametrize("given", [(), ("give",)], ids=["the fetch", "the commit"])
def test_what_waits_when_the_connection_breaks_is_asked_again(given):
    node = AccountingNode(TWO_WRITES)
    for _ in given:
        node.give()
    (again,) = node.do(ConnectionLost("queue"))
    assert again == (COMMITTED if given else node.first[0])


def test_a_position_of_its_own_outlives_a_restart_and_the_queues_does_not():
    own, other = AccountingNode(DeliveryConfig(on=ON)), AccountingNode(TWO_WRITES)
    for node in (own, other):
        node.give()
    assert own.restart() == (NEXT,)
    assert other.restart() == (Send("queue", Fetch()),)


def test_what_lies_below_its_own_position_is_skipped():
    node = AccountingNode(DeliveryConfig(on=ON))
    node.give()
    assert node.give() == (NEXT,)


def test_without_a_position_of_its_own_the_same_order_is_counted_again():
    node = AccountingNode(TWO_WRITES)
    node.give()
    node.confirm()
    counted, _ = node.give()
    assert counted == Append("books", Booking(ORDER, 1), notify=False)


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


def test_rewinding_counts_everything_after_the_older_place_again():
    story = "run shop: send 580538:31678, send 580539:31073\nrun accounting: seek 0"

    def books(line):
        last = scenario(f"# x\nsystem {line}\n{story}").snapshot(-1)
        return [cell.label for cell in last.logs[1].cells]

    assert books("delivery off=one_write") == ["580538", "580539"] * 2
    assert books("delivery") == ["580538", "580539"], "accounting knows its own position"


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
