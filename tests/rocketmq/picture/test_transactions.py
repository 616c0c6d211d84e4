"""Which record belongs to which transaction, and what became of it: read off the commit log."""

from __future__ import annotations

from itertools import count, pairwise

from mqlab.kernel import replace
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from mqlab.rocketmq.log import Stored
from mqlab.rocketmq.messages import (
    CHECK_TIMES,
    PGROUP,
    TAGS,
    TRAN_MSG,
    UNIQ_KEY,
    Message,
    Properties,
)
from mqlab.rocketmq.picture.snapshot import draw_graph, draw_halves, draw_ops, draw_queue
from mqlab.rocketmq.picture.view import Book, read_book
from mqlab.rocketmq.states import PREVIOUS, HalfState, TransactionType

S = HalfState


def message(topic: str, key: str, times: int = 0, prepared: int = -1) -> Message:
    made = Message(topic, 0, f"order {key}").put((TRAN_MSG, "true"), (PGROUP, "g"), (UNIQ_KEY, key))
    if prepared >= 0:
        made = replace(made, sys_flag=TransactionType.COMMIT_TYPE, prepared_offset=prepared)
    return made.put((CHECK_TIMES, str(times))) if times else made


def half(key: str, times: int = 0) -> Message:
    return message(HALF_TOPIC, key, times)


def op(body: str) -> Message:
    return Message(OP_TOPIC, 0, body, Properties([(TAGS, "d")]))


def delivered(key: str, prepared: int) -> Message:
    return message("orders", key, prepared=prepared)


def written(*messages: Message) -> list[Stored]:
    """As a commit log holds them."""
    numbers: dict[str, count[int]] = {}
    return [
        Stored(i, m, next(numbers.setdefault(m.queue, count()))) for i, m in enumerate(messages)
    ]


def paths(*messages: Message) -> dict[str, tuple[HalfState, ...]]:
    return {txn.name: txn.path for txn in read_book(written(*messages)).txns.values()}


def test_transactions_are_numbered_as_their_halves_come_to_lie_there() -> None:
    found = paths(half("b"), half("a"), delivered("b", 0))
    assert found == {"T1": (S.HALF, S.COMMITTED), "T2": (S.HALF,)}


def test_a_copy_and_an_op_record_lead_to_the_same_transaction() -> None:
    book = read_book(written(half("a"), half("b"), half("a", 1), op("1,2,")))
    txn = book.at_place(2)
    assert txn is not None
    assert (txn.name, txn.halves, txn.ended, txn.times) == ("T1", (0, 2), (2,), 1)
    assert txn.path == (S.HALF, S.ASKED, S.ROLLED_BACK)


def test_an_op_record_after_the_message_is_no_rollback() -> None:
    assert paths(half("a"), delivered("a", 0), op("0")) == {"T1": (S.HALF, S.COMMITTED)}


def test_a_rollback_and_a_later_commit_both_show() -> None:
    book = read_book(written(half("a"), op("0"), delivered("a", 0), op("0")))
    (txn,) = book.txns.values()
    assert txn.path == (S.HALF, S.ROLLED_BACK, S.COMMITTED)
    assert txn.rolled_back
    assert txn.delivered == 1


def test_what_is_delivered_from_a_copy_made_afterwards_is_told_apart() -> None:
    """A late end delivers a second time too, but its copy was there before."""
    late = read_book(written(half("a"), half("a", 1), delivered("a", 0), delivered("a", 1)))
    lost = read_book(written(half("a"), delivered("a", 0), half("a", 1), delivered("a", 2)))
    assert [txn.delivered for book in (late, lost) for txn in book.txns.values()] == [2, 2]
    assert [txn.again for book in (late, lost) for txn in book.txns.values()] == [0, 1]


def test_a_parked_half_is_discarded_and_can_be_committed_all_the_same() -> None:
    parked = message(DISCARD_TOPIC, "a", 1)
    found = paths(half("a"), half("a", 1), parked, delivered("a", 1))
    assert found == {"T1": (S.HALF, S.ASKED, S.DISCARDED, S.COMMITTED)}


def test_every_way_is_allowed_by_the_table_of_states() -> None:
    parked = message(DISCARD_TOPIC, "a", 1)
    ways = [
        paths(half("a"), op("0"), delivered("a", 0)),
        paths(half("a"), half("a", 1), parked, delivered("a", 1)),
        paths(half("a"), delivered("a", 0), half("a", 1), op("1")),
    ]
    for way in ways:
        for path in way.values():
            assert all(old in PREVIOUS[new] for old, new in pairwise(path))


def test_ordinary_messages_and_what_is_sent_back_are_no_transactions() -> None:
    plain = Message("orders", 0, "hello").put((UNIQ_KEY, "p"))
    again = message("%RETRY%stock", "a")
    book = read_book(written(plain, again))
    assert book.txns == {}
    assert book.name(plain) == ""
    assert book.name(half("x")) == "T1", "it is under way, and will be the first"


def test_strips_show_what_is_open_what_came_to_nothing_and_which_copy_it_is() -> None:
    records = written(half("a"), half("b"), half("c"), half("a", 1), op("1,"), delivered("c", 2))
    book = read_book(records)
    by_topic = {t: [r for r in records if r.message.topic == t] for t in (HALF_TOPIC, OP_TOPIC)}
    halves = draw_halves(by_topic[HALF_TOPIC], book, 3)
    assert [(c.label, c.txn, c.readable, c.aborted, c.kind) for c in halves.cells] == [
        ("order a", "T1", False, False, "data"),
        ("order b", "T2", False, True, "data"),
        ("order c", "T3", True, False, "data"),
        ("order a (1)", "T1", False, False, "copy"),
    ]
    assert [(f.name, f.at) for f in halves.frontiers] == [("check cursor", 3)]
    ops = draw_ops(by_topic[OP_TOPIC], book, 0)
    assert [(c.kind, c.label, c.txn) for c in ops.cells] == [("control", "1", "T2")]
    assert ops.ends == halves.name
    queue = draw_queue("orders-0", records[-1:], book)
    assert [(c.txn, c.readable) for c in queue.cells] == [("T3", True)]


def test_the_graph_shows_the_half_that_is_open_and_how_often_it_was_asked_about() -> None:
    book = read_book(written(half("a"), half("b"), delivered("a", 0), half("b", 1)))
    graph = draw_graph(book.txns.values(), 15)
    assert graph.txn == "T2"
    assert graph.path == ("half", "asked")
    assert graph.title.en == "Half message of T2: asked 1 of 15 times"
    assert draw_graph(Book().txns.values(), 15).path == ()
