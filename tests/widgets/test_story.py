"""What of a live trace has a row: repeats in one, polling in none, and each fact where one asks."""

from __future__ import annotations

from mqlab_widgets.predict import choose
from mqlab_widgets.views.common import find_lanes, plan, txn_classes
from mqlab_widgets.views.outcomes import MOST, find_outcomes, outcomes

from mqlab.kernel.snapshot import Cell, Lane, Log, Snapshot
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Fact, FactKind, Trace

BUSY = Text("the coordinator is at work on the transaction before")


def sent(index: int, text: str = "AddPartitionsToTxn {a}", txn: str = "T2") -> Fact:
    return Fact(
        index, index, "app", "→", Text(text), "coordinator", Text(text.partition(" ")[0]), txn,
        kind=FactKind.SEND,
    )  # fmt: skip


def answer(index: int, label: str, fold: bool = True) -> Fact:
    return Fact(
        index, index, "coordinator", "⇒", Text(label), "app", Text(label), "T2", fold, BUSY,
        kind=FactKind.REPLY,
    )  # fmt: skip


def retries(n: int) -> list[Fact]:
    """A request that is sent `n` times: all but the last answers say that it is too early."""
    facts: list[Fact] = []
    for i in range(n):
        last = i == n - 1
        facts.append(sent(2 * i + 1))
        facts.append(answer(2 * i + 2, "ok" if last else "CONCURRENT_TRANSACTIONS"))
    return facts


def test_a_request_that_is_sent_again_stands_in_one_row_that_counts() -> None:
    rows = choose(retries(13))
    assert [(at, fact.label.en) for at, fact in rows] == [(0, "AddPartitionsToTxn ×13")]
    assert rows[0][1].text.en == "AddPartitionsToTxn {a} ×13 ⇄ CONCURRENT_TRANSACTIONS ×12"
    assert rows[0][1].why == BUSY


def test_what_waits_for_the_transaction_before_is_its_own_once_it_is_let_in() -> None:
    facts = [sent(1, txn="T1"), answer(2, "CONCURRENT_TRANSACTIONS"), sent(3, txn="T2")]
    assert [(f.index, f.txn, f.label.en) for _, f in choose(facts)] == [
        (1, "T2", "AddPartitionsToTxn ×2")
    ]


def test_the_count_grows_while_one_watches_and_the_row_stays() -> None:
    facts = retries(5)
    for upto in range(1, len(facts)):
        (row,) = choose(facts[:upto])
        assert row[0] == 0 and row[1].index == 1
        times = (upto + 1) // 2
        assert row[1].label.en == "AddPartitionsToTxn" + (f" ×{times}" if times > 1 else "")


def test_nothing_is_lost_where_everything_is_asked_for() -> None:
    facts = [*retries(4), answer(9, "ok"), sent(10, "EndTxn commit"), answer(11, "ok", fold=False)]
    assert [at for at, _ in choose(facts, everything=True)] == list(range(len(facts)))
    assert [f.text for _, f in choose(facts, everything=True)] == [f.text for f in facts]
    assert not any(fact.fold for _, fact in choose(facts, everything=True))


def test_what_is_asked_anew_is_no_repeat() -> None:
    """Another request in between, an answer that is news: each has a row."""
    between = [sent(1), sent(2, "EndTxn commit"), sent(3)]
    assert [fact.index for _, fact in choose(between)] == [1, 2, 3]
    read = [answer(i, "1 record; commit", fold=False) for i in (1, 2)]
    assert len(choose(read)) == 2, "an answer with records is news each time"


def test_two_that_retry_in_turns_have_a_row_each() -> None:
    other = [
        Fact(f.index + 100, f.step, "shop", f.glyph, f.text, f.peer, f.label, "T3", kind=f.kind)
        for f in retries(3) if f.kind is FactKind.SEND
    ]  # fmt: skip
    mixed = [f for pair in zip(retries(3)[::2], other, strict=True) for f in pair]
    assert [f.label.en for _, f in choose(mixed)] == ["AddPartitionsToTxn ×3"] * 2


def test_a_hidden_lane_takes_with_it_what_is_sent_to_it() -> None:
    write = Fact(3, 3, "a", "▮", Text("1 record"), "disk", kind=FactKind.APPEND)
    facts = [sent(1), answer(2, "NO", fold=False), write]
    assert [f.index for _, f in choose(facts, hidden={"app"})] == [3]
    assert [f.index for _, f in choose(facts, hidden={"a"}, everything=True)] == [1, 2]


def test_a_transaction_keeps_its_colour_wherever_the_window_begins() -> None:
    facts = tuple(sent(i, f"EndTxn {i}", f"T{i}") for i in range(1, 20))
    empty = (Snapshot(),)
    whole = txn_classes(Trace("s", (), facts, empty * 20))
    part = txn_classes(Trace("s", (), facts[10:], empty * 10))
    assert part == {name: whole[name] for name in part} and len(set(whole.values())) == 6


def test_a_transaction_whose_last_fact_alone_is_left_is_not_drawn_as_open() -> None:
    """The picture begins in the midst of a run, with the last record about T1."""
    logs = (Log("a", (*cells("x", "C"), *cells("y", "C", txn="T2"))),)
    lanes = (Lane("coordinator", Text("coordinator")),)
    facts = tuple(
        Fact(i, i, "coordinator", "▮", Text("record"), "disk", txn=txn, kind=FactKind.APPEND)
        for i, txn in ((7, "T1"), (8, "T2"), (9, "T2"))
    )
    trace = Trace("s", (), facts, (Snapshot(lanes=lanes, logs=logs),) * 4)
    assert [(span.cls, span.first, span.last) for span in plan(trace, "en", True).spans] == [
        ("t2", 2, 3)
    ]


def test_a_lane_that_comes_later_stands_where_its_picture_has_it() -> None:
    a, b, c = (Lane(name, Text(name)) for name in "abc")
    left = Lane("a", Text("a"), Text("has left"))
    lanes = find_lanes([Snapshot(lanes=(b,)), Snapshot(lanes=(a, b, c)), Snapshot(lanes=(left, b))])
    assert lanes == [left, b, c]


def cells(*said: str, txn: str = "T1", **more: bool) -> tuple[Cell, ...]:
    return tuple(
        Cell(i, label, "control" if label in "CA" else "data", txn, **more)
        for i, label in enumerate(said)
    )


def test_what_became_of_a_transaction_is_read_off_the_logs() -> None:
    def tell(*logs: Log) -> str:
        return find_outcomes(logs)["T1"].tell()[0].en

    one, two = Log("a", cells("x", readable=False)), Log("b", cells("y", readable=False))
    assert tell(one, two) == "open: not read yet"
    half = Log("a", cells("x", "C"))
    assert tell(half, two) == "marker in 1 of 2"
    assert tell(half, Log("b", cells("y", "C"))) == "committed: read"
    assert tell(Log("a", cells("x", "A", aborted=True))) == "aborted: never read"
    assert find_outcomes([Log("a", cells("C"))]) == {}, "its records are out of sight"


def test_a_half_message_is_open_until_its_message_is_written() -> None:
    """RocketMQ's: what the op topic says of the half topic is no marker that a message awaits."""
    half, op = Log("half", cells("x", readable=False)), Log("op", cells("C"), ends="half")
    none, message = Log("op", ends="half"), Log("orders", cells("x"))
    for logs, said in {
        (half, none): "open: not read yet",
        (half, message, none): "committed: read",
        (half, message, op): "committed: read",
        (message, op): "committed: read",
        (Log("half", cells("x", aborted=True)), op): "aborted: never read",
    }.items():
        assert find_outcomes(logs)["T1"].tell()[0].en == said
        assert find_outcomes(logs)["T1"].shown == ["x"]


def test_what_a_coordinator_notes_in_its_log_is_no_record_of_a_transaction() -> None:
    """Pulsar's `__transaction_log_0` has four notes of each."""
    noted = Log("__transaction_log_0", cells("new", "part", "C"))
    assert find_outcomes([noted, Log("orders", cells("x", "C"))])["T1"].shown == ["x"]
    assert find_outcomes([noted]) == {}


def test_the_last_transactions_are_shown_newest_first() -> None:
    logs = tuple(Log(f"p{i}", cells(f"order-{i}", "C", txn=f"T{i}")) for i in range(8, 13))
    trace = Trace("s", (), (), (Snapshot(logs=logs),))
    groups = [node.key for node in outcomes(trace, 0).nodes if node.tag == "g"]
    assert groups == ["txn:T12", "txn:T11", "txn:T10", "txn:T9"] and len(groups) == MOST
