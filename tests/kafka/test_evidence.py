"""The evidence of narrated lines: recorded only where a recording says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kafka import KafkaSystem
from mqlab.kafka.evidence import CONTRADICTIONS, WITNESS, profile_of
from mqlab.kernel import FactKind, Trace
from mqlab.recordings.evidence import add_evidence
from mqlab.scenario import load

SCENARIOS = Path(__file__).parents[2] / "datasets" / "scenarios" / "kafka"


def judged(name: str, called: str = "") -> Trace:
    trace = load(SCENARIOS / f"{name}.scn", {"kafka": KafkaSystem}).run.trace
    return add_evidence(trace, called or name, WITNESS)


def test_a_question_and_its_answer_are_recorded_and_what_brokers_say_is_not() -> None:
    trace = judged("basic-commit")
    by_line = {fact.line(): fact.evidence.en for fact in trace}
    assert by_line["app → orders-0  Produce a epoch=0 seq=0"] == "recorded on Kafka 4.3.1"
    assert by_line["coordinator → orders-0  WriteTxnMarkers commit epoch=1"] == "model"
    assert by_line["coordinator ▮ disk  CompleteCommit"] == "model"


def test_of_several_replicas_the_one_that_is_asked_counts() -> None:
    by_line = {fact.line(): fact.evidence.en for fact in judged("min-insync-replicas")}
    refused = "orders-0@1 ⇒ app  NOT_ENOUGH_REPLICAS"
    assert by_line[refused] == "recorded on Kafka 4.3.1"


def test_all_that_clients_ask_in_the_torn_read_is_recorded() -> None:
    """README's picture, in which the coordinator is killed between two markers."""
    asked = [fact for fact in judged("torn-read") if fact.node in {"app", "billing", "reader"}]
    messages = [fact for fact in asked if fact.kind is FactKind.SEND]
    assert len(messages) == 9
    assert all("recorded on Kafka 4.3.1" in fact.evidence.en for fact in messages)


def test_the_recording_of_another_scenario_is_no_evidence() -> None:
    assert not any("recorded" in f.evidence.en for f in judged("basic-commit", "no-such-story"))


def test_another_answer_than_the_recorded_one_is_the_models() -> None:
    """Told under the name of a story in which the producer is fenced, a commit that goes
    well is not recorded."""
    told = judged("basic-commit", "fenced-on-send")
    assert not any("recorded" in f.evidence.en for f in told if f.text.en == "ok epoch=1")


def test_a_contradiction_explains_itself_and_names_no_article_by_a_letter() -> None:
    (fact, *_) = [f for f in judged("basic-commit") if f.text.en.startswith("commit marker")]
    assert fact.evidence.en == "contradicts many articles"
    assert "Many articles say: “control messages are written by the client”." in fact.why.en
    assert "控制消息" in fact.why.zh
    for told in (*judged("basic-commit"), *judged("basic-abort")):
        assert not re.search(r"[Aa]rticles? [A-D]\b|文章 [A-D]", f"{told.evidence} {told.why.zh}")


def test_no_article_is_quoted_with_more_than_it_says() -> None:
    """They say that the broker sends the list of aborted transactions, that the consumer drops
    them, and that initialising raises the epoch; not that it is the broker who drops them, nor
    that nothing else raises it."""
    said = " ".join(row.says.en for row in CONTRADICTIONS)
    assert "filters" not in said and "only" not in said
    fetched = [f for f in judged("basic-abort") if f.glyph == "⇒" and "abort" in f.text.en]
    assert fetched and not any("contradicts" in f.evidence.en for f in fetched)


@pytest.mark.parametrize("row", CONTRADICTIONS, ids=lambda row: row.says.en)
def test_every_row_meets_a_fact_of_some_scenario(row) -> None:
    names = ("basic-commit", "basic-abort", "fenced-zombie")
    assert any(row.meets(fact) for name in names for fact in judged(name))


def test_a_trace_with_evidence_survives_its_json() -> None:
    trace = judged("basic-abort")
    assert Trace.from_json(trace.to_json()).facts == trace.facts


@pytest.mark.parametrize(
    ("line", "profile"),
    [
        ("kafka partitions=2", "tv2"),
        ("kafka client=legacy", "tv2-legacy"),
        ("kafka transaction_version=0 client=legacy", "tv0"),
    ],
)
def test_the_system_line_names_the_recordings(line: str, profile: str) -> None:
    assert profile_of(line) == profile


def test_what_articles_say_is_told_once_in_a_run() -> None:
    trace = judged("worked-example")
    odd = [f.why.en.partition("Many articles")[2] for f in trace if "contradicts" in f.evidence.en]
    assert len(odd) > 3 and len(odd) == len(set(odd))
