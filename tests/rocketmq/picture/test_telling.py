"""What a picture of RocketMQ says: every visible step has its sentence, every word its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kernel import Trace, translate
from mqlab.kernel.run import Run
from mqlab.registry import SYSTEMS, scenario
from mqlab.rocketmq import RocketMQSystem
from mqlab.rocketmq.broker import WAITING
from mqlab.rocketmq.picture import why, words
from mqlab.rocketmq.picture import words as sentences
from mqlab.rocketmq.picture.snapshot import TERMS
from mqlab.scenario import load

FOLDER = Path(__file__).parents[3] / "datasets" / "scenarios" / "rocketmq"
SCENARIOS = sorted(FOLDER.rglob("*.scn"))
ELSEWHERE = {"TRANS_CHECK_MAX_TIME_TOPIC"}  # there is none before something is parked


def trace_of(text: str) -> Trace:
    return scenario(f"# A story.\nsystem rocketmq persist_ms=0 {text}")


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_every_visible_step_says_why_in_both_languages(path: Path) -> None:
    shown = [fact for fact in load(path, SYSTEMS).run.trace if not fact.fold]
    assert shown
    for fact in shown:
        assert fact.why.en.endswith("."), fact.line()
        assert re.search("[一-鿿]", fact.why.zh), fact.line()


def test_every_word_has_one_sentence_in_both_languages() -> None:
    for name, means in TERMS.items():
        assert re.fullmatch(r"[A-Z][^.]*\.", means.en), name
        assert re.search(r"[一-鿿]", means.zh) and means.zh.endswith("。"), name


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
