"""Which record belongs to which transaction, and what became of it: read off the commit log."""

from __future__ import annotations

import re
from itertools import count, pairwise
from pathlib import Path

from mqlab.kernel import Trace, replace, translate
from mqlab.kernel.run import Run
from mqlab.registry import SYSTEMS, scenario
from mqlab.rocketmq import RocketMQSystem
from mqlab.rocketmq.broker import WAITING
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
from mqlab.rocketmq.picture import why, words
from mqlab.rocketmq.picture import words as sentences
from mqlab.rocketmq.picture.snapshot import TERMS, draw_graph, draw_halves, draw_ops, draw_queue
from mqlab.rocketmq.picture.view import Book, read_book
from mqlab.rocketmq.states import PREVIOUS, HalfState, TransactionType
from mqlab.scenario import load

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


# ---- What a picture of RocketMQ says: every visible step has its sentence, every word its own

FOLDER = Path(__file__).parents[3] / "datasets" / "scenarios" / "rocketmq"
ELSEWHERE = {"TRANS_CHECK_MAX_TIME_TOPIC"}  # there is none before something is parked


def trace_of(text: str) -> Trace:
    return scenario(f"# A story.\nsystem rocketmq persist_ms=0 {text}")


def test_every_word_stands_in_the_picture_as_it_is_written_there() -> None:
    snapshot = Run(RocketMQSystem()).snapshots[0]
    names = {lane.title.en for lane in snapshot.lanes} | {log.name for log in snapshot.logs}
    names |= {lane.subtitle.en for lane in snapshot.lanes if lane.subtitle}
    names |= {frontier.name for log in snapshot.logs for frontier in log.frontiers}
    names |= {state.name for graph in snapshot.graphs for state in graph.states}
    assert {name.en for name in TERMS} - names == ELSEWHERE


def test_all_that_is_said_is_said_in_chinese_too() -> None:
    said = [
        w
        for module in (words, sentences, why)
        for w in vars(module).values()
        if isinstance(w, words.Words)
    ]
    assert len(said) > 50
    same = {"broker"}
    assert [
        w.en for w in said if not re.search("[一-鿿]", translate(w.en)) and w.en not in same
    ] == []


def test_the_row_is_no_bookkeeping_and_lights_in_the_table() -> None:
    trace = trace_of("\nrun app: send-in-transaction orders-0 A")
    (at,) = [i for i, fact in enumerate(trace, 1) if fact.label.en == "row A = paid"]
    row = trace.facts[at - 1]
    assert (row.fold, row.txn) == (False, "T1")
    before, after = (
        next(t for t in trace.snapshot(i).tables if t.name == words.DATABASE_TABLE())
        for i in (at - 1, at)
    )
    assert (before.rows, after.rows) == ((), (("A", "paid"),))


def test_a_question_says_which_of_how_many_it_is_and_whose_turn_comes_next() -> None:
    trace = trace_of(
        "check_max=3 early=on producers=app:g,twin:g\n"
        "run app: listener UNKNOW UNKNOW, send-in-transaction orders-0 A\n"
        "at 30000\nfire broker check"
    )
    (asked,) = [fact for fact in trace if fact.label.en.startswith("check A")]
    assert asked.label.en == "check A (1 of 3)"
    group = next(t for t in trace.snapshot(-1).tables if t.name == words.GROUP_TABLE())
    other = {"app": "twin", "twin": "app"}[asked.peer]
    assert [row[0] for row in group.rows if row[2]] == [other]
    undecided = [fact for fact in trace if fact.text.en.startswith("EndTransaction NOT_TYPE")]
    assert {fact.label.en for fact in undecided} - {""} == {"UNKNOW A"}, "as RocketMQ spells it"


def test_a_late_end_and_an_end_that_waits_are_told_as_what_they_are() -> None:
    trace = trace_of(
        "\nlate app→broker EndTransaction#1\nrun app: send-in-transaction orders-0 A\n"
        "release app→broker EndTransaction#1"
    )
    late = next(fact for fact in trace if fact.kind == "late")
    waits = next(
        fact for fact in trace if fact.text.en.startswith("ends that wait for their op record: 0")
    )
    assert (late.txn, late.why) == ("T1", why.LATE())
    assert (waits.txn, waits.why) == ("T1", why.CHANGES[WAITING]())


def test_lights_are_judged_when_a_round_is_over() -> None:
    """Inside a round the broker's place is ahead of the copies that it is about to write."""
    trace = trace_of(
        "\nrun app: send-in-transaction orders-0 A\nat 1\nkill broker\nrestart broker\n"
        "at 30000\nfire broker check"
    )
    assert all(light.ok for snapshot in trace.snapshots for light in snapshot.lights)


def test_a_record_stands_in_its_strip_from_the_fact_that_wrote_it() -> None:
    """Its entry in the consume queue is written right after it and is not told."""
    trace = trace_of("\nrun app: send-in-transaction orders-0 A")
    for at, fact in enumerate(trace, 1):
        if fact.kind == "append":
            held = [sum(len(log.cells) for log in trace.snapshot(i).logs) for i in (at - 1, at)]
            assert held[1] == held[0] + 1, fact.line()


def test_what_is_sent_back_and_given_up_has_its_strips_and_the_groups_place() -> None:
    trace = load(FOLDER / "consumer-always-fails.scn", SYSTEMS).run.trace
    logs = {log.name: log for log in trace.snapshot(-1).logs}
    assert [cell.label for cell in logs["%RETRY%shop"].cells] == ["o1", "o1"]
    assert [(f.name, f.at) for f in logs["%RETRY%shop"].frontiers] == [("shop", 2)]
    assert [cell.label for cell in logs["%DLQ%shop"].cells] == ["o1"]
    assert {"%RETRY%shop", "%DLQ%shop"} & {log.name for log in trace.snapshot(0).logs} == set()
    assert [reader.note.en for reader in trace.snapshot(-1).readers] == [
        "o1 is in the dead letter queue"
    ]


def test_what_a_consumer_has_applied_and_how_often_it_came() -> None:
    trace = trace_of(
        "consumers=shop\nrun app: send-in-transaction orders-0 A, end COMMIT_MESSAGE A\n"
        "run shop: consume"
    )
    (reader,) = trace.snapshot(-1).readers
    assert reader.note.en == "A came 2 times, applied once"
    assert [(got.label, got.txn) for got in reader.got] == [("A", "T1")]


def test_the_half_topic_is_drawn_again_for_a_consumer_of_it() -> None:
    trace = scenario(
        "system order_service topic=orders,RMQ_SYS_TRANS_HALF_TOPIC consumers=spy\n"
        "run app: send-in-transaction orders-0 A\nrun spy: consume\n"
    )
    flags = {log.name: [flag.name for flag in log.frontiers] for log in trace.snapshot(-1).logs}
    assert flags["RMQ_SYS_TRANS_HALF_TOPIC"] == ["check cursor"]
    assert flags["RMQ_SYS_TRANS_HALF_TOPIC-0"] == ["spy"]
