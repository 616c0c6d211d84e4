"""What Pulsar's picture draws, at moments of its stories that a reader would point at."""

import sys
from functools import cache
from pathlib import Path

import pytest

from mqlab.kernel import Append, FactKind, Named, Put, Send, Stretch
from mqlab.pulsar.config import CURSORS
from mqlab.pulsar.messages import EndTxnOnPartition, Flow, LedgerEntry, TxnID
from mqlab.pulsar.picture import why
from mqlab.pulsar.picture.meaning import name_effect
from mqlab.pulsar.picture.snapshot import TERMS
from mqlab.pulsar.picture.why import IN_MEMORY
from mqlab.pulsar.states import PREVIOUS, MarkerType, TxnAction
from mqlab.registry import SYSTEMS, run_scenario
from mqlab.scenario import load

STORIES = Path(__file__).parents[3] / "datasets" / "scenarios" / "pulsar"
OPEN = "new-transaction t1, send orders-0 a txn=t1, send orders-0 b"


@cache
def last(text):
    return run_scenario(f"system pulsar clients=app,shop\n{text}").snapshots[-1]


def log(snapshot, name):
    return next(log for log in snapshot.logs if log.name == name)


def flags(snapshot, name="orders-0"):
    return {frontier.name: frontier.at for frontier in log(snapshot, name).frontiers}


def table(snapshot, name):
    return next((table.rows for table in snapshot.tables if table.name.en == name), None)


def test_an_open_transaction_hides_what_lies_behind_it_too() -> None:
    snapshot = last(f"run app: {OPEN}")
    assert [(c.label, c.txn, c.readable) for c in log(snapshot, "orders-0").cells] == [
        ("a", "T1", False),
        ("b", "", False),
    ]
    assert flags(snapshot) == {"maxReadPosition": 0}
    assert table(snapshot, "Transaction buffers") == (("orders-0", "Ready", "T1@0", "", "-1"),)
    assert table(snapshot, "Live transactions of the coordinator") == (
        ("T1", "(0,0)", "OPEN", "orders-0"),
    )
    assert snapshot.graphs[0].path == ("OPEN",)


def test_a_commit_marker_takes_a_place_and_the_flag_goes_behind_it() -> None:
    snapshot = last(f"run app: {OPEN}, commit t1")
    cells = log(snapshot, "orders-0").cells
    assert [(c.label, c.kind, c.readable) for c in cells] == [
        ("a", "data", True),
        ("b", "data", True),
        ("C", "control", True),
    ]
    assert flags(snapshot) == {"maxReadPosition": 3}
    assert snapshot.graphs[0].path == ("OPEN", "COMMITTING", "COMMITTED")
    records = [cell.label for cell in log(snapshot, "__transaction_log_0").cells]
    assert records == ["new", "part", "→C", "C"]
    assert table(snapshot, "Live transactions of the coordinator") == ()


def test_what_was_aborted_stays_and_is_struck_through() -> None:
    snapshot = last(f"run app: {OPEN}, abort t1")
    assert [(c.label, c.aborted) for c in log(snapshot, "orders-0").cells] == [
        ("a", True),
        ("b", False),
        ("A", False),
    ]
    assert table(snapshot, "Transaction buffers") == (("orders-0", "Ready", "", "T1", "2"),)


def test_a_consumer_has_what_it_was_sent_until_it_acknowledges() -> None:
    begin = "run shop: subscribe orders-0 s from=earliest\nrun app: send orders-0 a"
    (queued,) = last(begin).readers
    assert (queued.name, queued.note.en) == ("s · shop", "1 in its queue, not received yet")
    assert [got.label for got in queued.got] == ["a"]
    (held,) = last(f"{begin}\nrun shop: receive s").readers
    assert (held.note.en, [got.label for got in held.got]) == ("", ["a"])
    (done,) = last(f"{begin}\nrun shop: receive s, ack s").readers
    assert done.got == ()


def test_a_pending_acknowledgement_has_its_row_and_its_holder() -> None:
    begin = "run shop: subscribe orders-0 s from=earliest\nrun app: send orders-0 a"
    taken = f"{begin}\nrun shop: receive s, new-transaction t1"
    one = last(f"{taken}, ack s txn=t1")
    assert table(one, "Pending acknowledgements") == (("orders-0/s", "0", "T1"),)
    upto = last(f"{taken}, ack-cumulative s txn=t1")
    assert table(upto, "Pending acknowledgements") == (("orders-0/s", "≤ 0", "T1"),)
    assert table(last(taken), "Pending acknowledgements") is None
    assert table(one, "Timers of the coordinator") == (("timeout (0,0)", "60.001 s"),)


def test_a_partition_that_is_down_shows_its_messages_and_no_maxreadposition() -> None:
    snapshot = last(f"run app: {OPEN}\nkill orders-0")
    assert [cell.label for cell in log(snapshot, "orders-0").cells] == ["a", "b"]
    assert flags(snapshot) == {}
    assert table(snapshot, "Transaction buffers") == ()
    assert [lane.up for lane in snapshot.lanes] == [True, True, True, False]


def test_what_a_client_is_told_of_its_transaction_has_its_colour() -> None:
    trace = run_scenario(
        "system pulsar\nrun app: new-transaction t1, send orders-0 a txn=t1, send orders-0 p, "
        "commit t1"
    ).trace
    told = {fact.text.en: fact.txn for fact in trace if fact.glyph in "☞⇒"}
    assert told["new-transaction t1: ok (0,0)"] == "T1"
    assert told["ok @0"] == told["send orders-0 a txn=t1: ok @0"] == "T1"
    assert told["ok @1"] == told["send orders-0 p: ok @1"] == ""
    assert told["commit t1: ok"] == "T1"


def test_the_graph_has_the_edges_of_the_state_table() -> None:
    edges = {(str(old), str(new)) for new, olds in PREVIOUS.items() for old in olds if old != new}
    assert set(last("run app: new-transaction t1").graphs[0].edges) == edges


def test_a_second_marker_says_that_it_changes_nothing() -> None:
    trace = load(STORIES / "marker-answer-lost.scn", SYSTEMS).run.trace
    markers = [
        fact.why.en
        for fact in trace
        if fact.kind is FactKind.APPEND and getattr(fact.body, "marker", None)
    ]
    assert len(markers) > 1
    assert "a second marker changes nothing" in markers[-1]
    assert "second marker" not in markers[0]


def test_a_message_of_an_ended_transaction_is_not_called_undecided() -> None:
    trace = load(STORIES / "late-write-of-an-aborted.scn", SYSTEMS).run.trace
    stored = [fact for fact in trace if fact.kind is FactKind.APPEND and fact.stage == "write"]
    assert [fact.why.en.partition(":")[0] for fact in stored][1:] == [
        "Its transaction has a marker here already"
    ]
    assert "not decided" in stored[0].story.en and "after the end" in stored[1].story.en
    receipts = [fact.why for fact in trace if fact.text.en == "ok @2"]
    assert receipts == [stored[1].why]


@pytest.mark.parametrize(
    ("effect", "called"),
    [
        (Append("orders-0", LedgerEntry(0, ("a",))), "the message"),
        (Append("orders-0", LedgerEntry(0, marker=MarkerType.TXN_COMMIT)), "the marker"),
        (Put(CURSORS, "s", None), "the cursor on the disk"),
        (
            Send("orders-0", EndTxnOnPartition(TxnID(0, 0), TxnAction.COMMIT, "orders-0", -1)),
            "the end for orders-0",
        ),
        (Send("orders-0", Flow("orders-0", "s", 1)), None),
    ],
    ids=str,
)
def test_effects_are_called_by_what_they_are(effect, called) -> None:
    named = name_effect(effect)
    assert (named.one.en if isinstance(named, Named) else None) == called


def test_labels_leave_out_what_their_row_shows_anyway() -> None:
    trace = run_scenario(
        "system pulsar clients=app,shop\nrun shop: subscribe orders-0 s\nrun app: send orders-0 a\n"
        "run shop: receive s, new-transaction t1, new-transaction t2, ack s txn=t1, "
        "ack s orders-0@0 txn=t2, send orders-0 b txn=t1, commit t1"
    ).trace
    labels = {fact.label.en for fact in trace}
    assert labels >= {
        "AddSubscriptionToTxn orders-0/s", "ACK 0", "TransactionConflict", "Send b", "b @1",
        "ack: TransactionConflictException", "COMMITTING", "EndTxnOnPartition commit",
        "EndTxnOnSubscription commit s", "commit marker @2",
    }  # fmt: skip
    assert not any("(0," in label for label in labels)


def test_what_a_message_or_a_subscription_is_called_explains_nothing():
    """Names that the narration's own words are made of."""
    trace = run_scenario(
        "system pulsar clients=app,shop\nrun shop: subscribe orders-0 buffers\n"
        "run app: send orders-0 maxReadPosition\nrun shop: receive buffers"
    ).trace
    changes = [fact for fact in trace if fact.kind is FactKind.CHANGE]
    named = [fact.why for fact in changes if "buffers:" in fact.text.en]
    assert len(named) == 2 and set(named) == {IN_MEMORY()}


# ---- What a subscription has acknowledged, as its row below the strip has it ---------

BEGIN = """system pulsar clients=app,shop
run shop: subscribe orders-0 s type={type}
run app: send orders-0 a, send orders-0 b, send orders-0 c, send orders-0 d
run shop: receive s, new-transaction t1, new-transaction t2
"""


def row(story, type="Shared"):
    """Of the one subscription, after the story: where its cursor stands, and its stretches."""
    run = run_scenario(BEGIN.format(type=type) + story)
    (progress,) = run.snapshots[-1].logs[0].progress
    return progress.at, progress.stretches


def test_what_is_acknowledged_is_filled_and_the_cursor_stops_at_the_first_gap() -> None:
    acked = "run shop: ack s orders-0@0, ack s orders-0@1, ack s orders-0@3"
    assert row(acked) == (2, (Stretch(0, 1), Stretch(3, 3)))


def test_a_pending_message_is_outlined_for_its_holder_until_that_ends() -> None:
    taken = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@1 txn=t2"
    assert row(taken) == (0, (Stretch(0, 0, "T1"), Stretch(1, 1, "T2")))
    assert row(f"{taken}\nrun shop: commit t1, abort t2") == (1, (Stretch(0, 0),))


def test_a_cumulative_acknowledgement_is_one_stretch_from_the_cursor_on() -> None:
    upto = "run shop: ack s orders-0@0, ack-cumulative s orders-0@2 txn=t1"
    assert row(upto, "Failover") == (1, (Stretch(0, 0), Stretch(1, 2, "T1")))
    # it may go on, and nobody was refused then
    further = f"{upto}\nrun shop: ack-cumulative s orders-0@3 txn=t1"
    assert row(further, "Failover") == (1, (Stretch(0, 0), Stretch(1, 3, "T1")))


def test_what_nobody_has_sent_yet_is_not_drawn() -> None:
    pending = "run shop: ack s orders-0@1 orders-0@9 txn=t1"
    assert row(pending) == (0, (Stretch(1, 1, "T1"),))
    upto = "run shop: ack-cumulative s orders-0@99999999999 txn=t1"
    assert row(upto, "Failover") == (0, (Stretch(0, 3, "T1"),))


def test_who_was_refused_is_crossed_as_long_as_it_is_open() -> None:
    both = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 txn=t2"
    assert row(both)[1] == (Stretch(0, 0, "T1", refused="T2"),)
    assert row(f"{both}\nrun shop: abort t2")[1] == (Stretch(0, 0, "T1"),)
    twice = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 txn=t1"
    assert row(twice)[1] == (Stretch(0, 0, "T1", refused="T1"),)
    slot = "run shop: ack-cumulative s orders-0@0 txn=t1, ack-cumulative s orders-0@2 txn=t2"
    assert row(slot, "Failover")[1] == (Stretch(0, 0, "T1", refused="T2"),)


def test_who_was_refused_first_and_granted_later_is_not_crossed() -> None:
    first = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 orders-0@1 txn=t2, abort t1"
    assert row(f"{first}\nrun shop: ack s orders-0@0 txn=t2")[1] == (Stretch(0, 0, "T2"),)
    assert row(f"{first}\nrun shop: ack s orders-0@1 txn=t2")[1] == (Stretch(1, 1, "T2"),)


def test_a_cumulative_acknowledgement_that_goes_back_is_crossed_and_a_single_one_is_not() -> None:
    upto = "run shop: ack-cumulative s orders-0@2 txn=t1"
    back = f"{upto}, ack-cumulative s orders-0@1 txn=t1"
    assert row(back, "Failover")[1] == (Stretch(0, 2, "T1", refused="T1"),)
    single = f"{upto}, ack s orders-0@2 txn=t1"
    assert row(single, "Failover")[1] == (Stretch(0, 2, "T1"), Stretch(2, 2, "T1"))


def test_all_of_it_is_on_the_disk_of_a_partition_that_is_down() -> None:
    both = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 txn=t2, ack s orders-0@1"
    assert row(f"{both}\nkill orders-0") == row(both) != (0, ())


def test_a_plain_acknowledgement_takes_a_pending_message_away() -> None:
    assert row("run shop: ack s orders-0@0 txn=t1, ack s orders-0@0") == (1, (Stretch(0, 0),))


def test_messages_of_one_batch_may_have_several_holders() -> None:
    batch = "run app: send orders-0 x y\nrun shop: receive s\n"
    acked = "run shop: ack s orders-0@4:0 txn=t1, ack s orders-0@4:1 txn=t2"
    assert row(batch + acked)[1] == (Stretch(4, 4, "T1,T2"),)


# ---- Pulsar's words in its picture: each has a sentence in both languages, and stands in it

STORY = """system pulsar clients=app
run app: producer orders-0 access=Exclusive
run app: subscribe orders-0 s, send orders-0 a, receive s, new-transaction t1, ack s txn=t1
"""


def test_every_word_stands_in_the_picture_as_it_is_written_there() -> None:
    run = run_scenario(STORY)
    snapshot = run.snapshots[-1]
    names = {lane.subtitle.en for lane in snapshot.lanes}
    names |= {table.name.en for table in snapshot.tables}
    names |= {column for table in snapshot.tables for column in table.columns}
    names |= {log.name for log in snapshot.logs}
    names |= {frontier.name for log in snapshot.logs for frontier in log.frontiers}
    names |= {state.name for graph in snapshot.graphs for state in graph.states}
    assert {name.en for name in TERMS} <= names
    assert run.trace.terms == tuple(TERMS.items())


def test_each_message_that_has_a_sentence_is_there() -> None:
    """The table names messages by their classes; as it is for Kafka."""
    names = {name for key in list(sys.modules) if key.startswith("mqlab.pulsar") for name in
             vars(sys.modules[key])}  # fmt: skip
    listed = {
        name for table in ("requests",) for name in why.SENTENCES[table] if not name.isupper()
    }
    assert listed and listed <= names
