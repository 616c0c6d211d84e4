"""A role of Kafka's whose memory is broken trips over it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mqlab.kafka import KafkaSystem
from mqlab.kafka.clients.calls import Commit
from mqlab.kafka.clients.producer import proceed
from mqlab.kafka.evidence import CONTRADICTIONS, WITNESS, profile_of
from mqlab.kafka.group import Group
from mqlab.kafka.group.members import Member
from mqlab.kafka.messages import EndTxn, ProduceResponse
from mqlab.kafka.replication import Leadership, Replica
from mqlab.kafka.replication.replica import ReplicaConfig
from mqlab.kernel import ConnectionLost, FactKind, Map, Trace
from mqlab.recordings.evidence import add_evidence
from mqlab.scenario import load, parse_script, perform, system_of
from tests.kafka.clients.driven import Client
from tests.kafka.group.groups import LOG, Broker

LED = Leadership("p", 1, 4, (1, 2))
REPLICA = Replica(
    ReplicaConfig(partition="p", number=1, logs=("p",)), led=Map([("p", LED)]), hw=Map([("p", 5)])
)


@pytest.mark.parametrize("fault", ["a later HW", "a position that is never safe"])
def test_a_group_coordinator_trips_over_its_memory(fault):
    broker = Broker()
    role, end = broker.role, broker.disk.log(LOG).end
    quiet = ConnectionLost("nobody")
    role.step(quiet, broker.disk)
    later = replace(role, part=role.part.advance(end + 1))
    lost = replace(role, timeline=((end + 1, role.committed.set("g", Map())),))
    with pytest.raises(AssertionError):
        (later if fault == "a later HW" else lost).step(quiet, broker.disk)


def test_no_generation_goes_back_and_only_a_member_leads():
    member = Member("m", "m")
    group = Group("g", generation=2).with_member(member)
    coordinator = Broker().role.with_group(group)
    assert coordinator.with_group(replace(group, generation=3)).groups["g"].generation == 3
    for broken in (replace(group, generation=1), replace(group, leader="n")):
        with pytest.raises(AssertionError):
            coordinator.with_group(broken)


@pytest.mark.parametrize(
    ("epoch", "isr", "hw", "sound"),
    [(4, (1, 2), 6, True), (5, (1, 2), 4, True), (4, (1, 2), 4, False), (4, (2,), 5, False)],
    ids=["it moves", "another epoch", "its HW goes back", "it is not in sync with itself"],
)
def test_a_leader_is_in_sync_and_its_high_watermark_does_not_go_back(epoch, isr, hw, sound):
    new = replace(
        REPLICA, led=Map([("p", replace(LED, epoch=epoch, isr=isr))]), hw=Map([("p", hw)])
    )
    if sound:
        new.check_invariants(REPLICA)
        return
    with pytest.raises(AssertionError):
        new.check_invariants(REPLICA)


def test_a_batch_is_under_way_only_inside_the_transaction():
    client = Client().begun().send("a")
    role = client.role
    (batch,) = role.flights
    proceed(role)
    with pytest.raises(AssertionError, match="o-0"):
        proceed(replace(role, added=()))
    ending = client.answer(ProduceResponse()).call(Commit()).role
    assert isinstance(ending.request.body, EndTxn)
    proceed(ending)
    with pytest.raises(AssertionError, match="EndTxn"):
        proceed(replace(ending, flights=(batch,)))


# ---- A broker reads the requests of one connection in turn: none before the last one is answered
#
# A new connection of the same client does not wait behind the broken one.

SENT = ("a", "b", "c", "d")
STORY = """system kafka partitions=1 replicas={replicas} readers=r
run app: init, begin, {sends}, commit
run r: poll orders-0
"""


@pytest.mark.parametrize("replicas", [1, 2])
def test_sends_behind_a_question_to_the_coordinator_keep_their_order(replicas):
    sends = ", ".join(f"send orders-0 {value}" for value in SENT)
    script = parse_script(STORY.format(replicas=replicas, sends=sends))
    facts = perform(script, system_of(script.system, {"kafka": KafkaSystem})).trace.facts
    lines = [fact.line() for fact in facts]
    assert not [line for line in lines if "OUT_OF_ORDER" in line]
    assert sum("AddPartitionsToTxn" in line for line in lines) == 1
    waited = [fact for fact in facts if fact.kind is FactKind.IDLE]
    assert [fact.text.en.partition(" epoch")[0] for fact in waited] == [
        f"Produce {value}" for value in SENT[1:]
    ]
    assert all("reads no further request" in fact.why.en for fact in waited)
    assert "read_committed: ok a, b, c, d" in lines[-1]


BROKEN = """system kafka partitions=1 claims=once
do run app init; begin; send orders-0 a; commit
do call app
do app>coordinator
do coordinator.
do app<coordinator
do call app
do call app
do break app orders-0
do app.
do app>orders-0
do app>orders-0#1
"""


def test_a_new_connection_does_not_wait_behind_the_broken_one():
    script = parse_script(BROKEN)
    facts = perform(script, system_of(script.system, {"kafka": KafkaSystem})).trace.facts
    assert sum("→ coordinator  AddPartitionsToTxn" in fact.line() for fact in facts) == 2
    assert not [fact.line() for fact in facts if fact.kind is FactKind.IDLE]


# ---- The evidence of narrated lines: recorded only where a recording says the same

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
