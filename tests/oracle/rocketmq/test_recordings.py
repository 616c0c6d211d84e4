"""What real brokers answered: the files, and the engine beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kernel import FactKind, Trace
from mqlab.recordings.recording import Recording, load_recordings
from mqlab.rocketmq import RocketMQSystem
from mqlab.rocketmq.evidence import VERSIONS
from mqlab.scenario import load
from tests.oracle.compare import Outcome, judge
from tests.oracle.program import JAVA
from tests.oracle.rocketmq.hosts import OurHost
from tests.oracle.rocketmq.oracle import ROCKETMQ
from tests.oracle.runner import run_all, select_programs

SCENARIOS = Path(__file__).parents[3] / "datasets" / "scenarios" / "rocketmq"
EXAMPLES = Path(__file__).parents[3] / "datasets" / "recordings" / "EXAMPLES-rocketmq.md"
RECORDED = {
    name: recording
    for version in VERSIONS.values()
    for name, recording in load_recordings(f"rocketmq-{version}").items()
}


def told(name: str, profile: str = "5.5") -> Recording:
    return RECORDED[f"{profile}/{name}"]


def answers(name: str, asked: str, profile: str = "5.5") -> list[str]:
    """What came of the questions that begin so."""
    return [o.answered for o in told(name, profile).observations if o.asked.startswith(asked)]


def held(name: str, place: str, profile: str = "5.5") -> list[str]:
    """The messages of a queue as they were pulled last, without their half."""
    rows = {o.asked: o.answered for o in told(name, profile).observations if o.to == place}
    return [text.partition(" of half")[0] for text in rows.values() if text != "nothing"]


# ---- what they say -----------------------------------------------------------------------


@pytest.mark.parametrize("profile", VERSIONS)
def test_a_rollback_writes_an_op_record_and_a_later_commit_delivers(profile: str) -> None:
    assert held("rollback", "op", profile) and not held("rollback", "orders-0", profile)
    assert held("rollback-then-commit", "orders-0", profile) == ["message o1 @0"]
    assert answers("rollback-then-commit", "check round", profile) == [
        "half offset 1, op offset 0",
        "half offset 1, op offset 2",
    ]


@pytest.mark.parametrize("profile", VERSIONS)
def test_a_half_is_asked_about_three_times_and_parked(profile: str) -> None:
    checks = [f"CheckTransactionState o1 ({n})" for n in (1, 2, 3)]
    seen = [o.asked for o in told("never-resolved", profile).observations if o.who == "broker"]
    assert seen == [*checks, "CheckTransactionState"]
    assert held("never-resolved", "discard", profile) == ["discard o1 (3) @0"]
    assert len(held("commit-after-discard", "orders-0", profile)) == 2


def test_the_op_record_that_a_kill_takes_delivers_a_second_time_in_5_5_only() -> None:
    assert len(held("op-lost-by-a-kill", "orders-0", "5.5")) == 2
    assert len(held("op-lost-by-a-kill", "orders-0", "4.9")) == 1


def test_5_5_refuses_a_late_end_of_a_half_with_an_immunity_and_4_9_does_not() -> None:
    assert answers("immunity-late-end-refused", "EndTransaction", "5.5") == [
        "ILLEGAL_OPERATION",
        "ok",
        "ok",
    ]
    assert set(answers("immunity-late-end-refused", "EndTransaction", "4.9")) == {"ok"}


def test_seventeen_deliveries_and_then_the_dead_letter_queue() -> None:
    for profile in VERSIONS:
        assert answers("seventeen-deliveries", "deliveries", profile) == ["17"]
        rows = told("seventeen-deliveries", profile).observations
        levels = [re.sub(r".*DELAY=", "", o.answered) for o in rows if o.to == "%RETRY%"]
        assert levels == [str(n) for n in range(3, 19)]


def test_the_published_example_commits_three_of_ten_and_four_are_given_up() -> None:
    assert answers("java-example", "SendMessage half") == [f"SEND_OK @{n}" for n in range(10)]
    assert held("java-example", "TopicTest1234") == [
        "Hello RocketMQ 1; Hello RocketMQ 4; Hello RocketMQ 7"
    ]
    assert len(held("java-example", "discard")) == 4


def test_published_consumers_get_every_message_with_the_same_properties() -> None:
    received = answers("java-example-receive", "receives")
    assert received.pop(4) == "54 × TagA, of 54 places", "half of the queues, from a place in one"
    assert set(received) == {"128 × TagA, of 128 places"}
    pushed = [n.split(", ") for n in answers("java-example-receive", "properties")]
    assert all({"UNIQ_KEY", "CLUSTER", "MSG_REGION", "TRACE_ON"} <= set(names) for names in pushed)


def test_a_published_consumer_puts_messages_off_and_each_queue_keeps_its_order() -> None:
    per_queue = answers("java-example-order", "receives")
    assert per_queue == ["32 messages in order"] * 4
    assert answers("java-example-order", "messages that came again") == ["14"]


def test_published_examples_of_what_a_broker_refuses_by_its_settings() -> None:
    said = "1 accurate timer message is not enabled, timerWheelEnable is false"
    assert answers("java-example-send", "is refused") == [said]
    said = "1 The broker does not support consumer to filter message by SQL92"
    assert answers("java-example-filter", "is refused") == [said]
    assert answers("java-example-filter", "receives") == ["20 × TagA, 20 × TagC, of 40 places"]


def test_the_page_of_examples_lists_each_class_once_and_those_that_are_recorded_as_such() -> None:
    rows = [row.split("|") for row in EXAMPLES.read_text("utf-8").splitlines() if "|" in row]
    named = {row[2].strip(" `") for row in rows}
    listed = [name for row in rows for name in re.findall(r"`([a-z.]+\.[A-Z]\w+)`", row[1])]
    assert len(listed) == len(set(listed)) == 53
    recorded = {name for name in named if name.startswith("java-example")}
    here = {r.scenario for r in RECORDED.values() if r.scenario.startswith("java-example")}
    assert recorded == here
    speaking = {o.who for name in here for o in told(name).observations if "." in o.who}
    on_page = {c for row in rows for c in re.findall(r"`([\w.]+)`", row[1]) if "java-" in row[2]}
    assert speaking <= on_page


@pytest.mark.parametrize("profile", VERSIONS)
def test_a_batch_cannot_be_a_half_message(profile: str) -> None:
    said = answers("batch-in-a-transaction", "SendBatchMessage", profile)
    assert said == ["MESSAGE_ILLEGAL", "SEND_OK @0"]
    assert not held("batch-in-a-transaction", "half", profile)


def test_the_type_of_a_topic_hinders_no_client_of_the_broker_itself() -> None:
    assert held("topic-type", "normal-0") == ["message o1 @0"]
    assert held("topic-type", "transaction-0") == ["message p1 @0"]


@pytest.mark.parametrize("profile", VERSIONS)
def test_java_reads_every_body_as_it_was_written_whatever_its_codec_and_fate(profile: str) -> None:
    """Apart from the codec's name in the sysFlag all its fields are the same in each codec."""
    fates = ("ordinary", "committed", "retried", "dead", "asked about", "checked")
    every = []
    for codec, bits in (("zlib", "3"), ("lz4", "1"), ("zstd", "2")):
        rows = told(f"java-every-field-{codec}", profile).observations
        seen = [row for row in rows if row.who == "client"]
        sizes = [(fate, n) for fate in fates for n in ("1, 4095", "4096, 1048576")]
        assert [tuple(row.asked.split(": ")) for row in seen] == sizes
        assert all(row.answered.startswith("{body=as written, ") for row in seen)
        packed = [row.answered for row in seen if "1048576" in row.asked]
        assert all(f"sysFlag=0x{bits}0" in answered for answered in packed)
        every.append([row.answered.replace(f"=0x{bits}0", "=0x?0") for row in rows])
    assert every[0] == every[1] == every[2]


# ---- the engine's server beside them ----------------------------------------------------

EVERY = [
    (program, profile)
    for program, profile in select_programs(ROCKETMQ, without=(JAVA,))
    if not OurHost().cannot(program)
]


@pytest.fixture(scope="module")
def outcomes(asked: set[str]) -> dict[str, Outcome]:
    """The programs that need no Java, each run against our server once, as both releases."""
    chosen = [(one, profile) for one, profile in EVERY if f"{profile}/{one.name}" in asked]
    found = [
        judge(came, RECORDED, OurHost().listed) for came in run_all(ROCKETMQ, chosen, OurHost())
    ]
    return {outcome.name: outcome for outcome in found}


@pytest.mark.spread("mqlab/rocketmq", "mqlab/kernel", "mqlab/real", "mqlab/serve", by="name")
@pytest.mark.parametrize("name", [f"{profile}/{program.name}" for program, profile in EVERY])
def test_the_server_answers_as_the_real_broker_did(name: str, outcomes: dict[str, Outcome]) -> None:
    assert outcomes[name].verdict in ("equal", "listed"), outcomes[name].text()


# ---- the engine's scenarios beside them --------------------------------------------------


def narrated(name: str) -> Trace:
    return load(SCENARIOS / f"{name}.scn", {"rocketmq": RocketMQSystem}).run.trace


def appended(trace: Trace, kind: str) -> list[str]:
    """What the engine has written into the half, op or discard topic, or into real ones, without
    the name of the queue."""
    lines = [fact.text.en for fact in trace.facts if fact.kind is FactKind.APPEND]
    found = [line.partition(" in ")[0] for line in lines if line.startswith(f"{kind} ")]
    return sorted(found, key=lambda line: int(line.rpartition("@")[2]))


#: scenarios that tell the story of the program of their name step by step
ALIKE = (
    "commit", "rollback", "check-commits", "check-rolls-back", "never-resolved",
    "local-transaction-throws", "broker-killed-after-offsets", "broker-killed-before-offsets",
    "slave-timeout",
)  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize(
    ("place", "kind"),
    [("half", "half"), ("op", "op"), ("discard", "discard"), ("orders-0", "message")],
)
def test_the_engine_writes_what_the_real_broker_wrote(name: str, place: str, kind: str) -> None:
    looked = [o for o in told(name).observations if o.to == place and o.asked.startswith("Pull")]
    if looked:
        assert appended(narrated(name), kind) == held(name, place)
