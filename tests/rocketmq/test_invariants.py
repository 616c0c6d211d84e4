"""A broker or a round of the check whose memory is broken trips over it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mqlab.kernel import Caller, FactKind, Fired, MemoryDisk, Run, Trace
from mqlab.recordings.evidence import add_evidence
from mqlab.rocketmq import RocketMQSystem
from mqlab.rocketmq.broker import Broker, Waiting
from mqlab.rocketmq.broker.timer import read_progress
from mqlab.rocketmq.check import _Round
from mqlab.rocketmq.evidence import CONTRADICTIONS, WITNESS, profile_of
from mqlab.rocketmq.group import Producers
from mqlab.rocketmq.log import PERSIST
from mqlab.rocketmq.messages import CheckTransactionState, SendMessageResponse
from mqlab.scenario import load
from tests.rocketmq.driven import SYSTEMS, drive, queue
from tests.rocketmq.queues import DISCARD, HALF, OP, in_queue, make_config


@pytest.mark.parametrize(
    ("copied", "flush", "copy", "sound"),
    [
        (None, True, False, True),
        (3, False, True, True),
        (None, False, False, False),
        (4, False, True, False),
    ],
    ids=["for the disk", "for the slave", "for nothing", "for what the slave has"],
)
def test_an_answer_waits_only_for_what_its_record_lacks(copied, flush, copy, sound):
    waiting = Waiting(3, Caller("app"), SendMessageResponse(), flush, copy)
    broker = Broker(make_config(), copied=copied, waiting=(waiting,))
    if sound:
        assert broker.step(Fired(PERSIST), MemoryDisk())[0].waiting == (waiting,)
        return
    with pytest.raises(AssertionError, match="app"):
        broker.step(Fired(PERSIST), MemoryDisk())
    assert replace(broker, waiting=()).step(Fired(PERSIST), MemoryDisk())


def test_a_round_does_not_leave_an_op_record_that_names_a_half_behind():
    this = _Round(make_config(), MemoryDisk(), 0, 0, 0, Producers())
    this.named, this.done = {0: [], 1: [5]}, [0]
    this.check_invariants()
    this.done = [0, 1]
    with pytest.raises(AssertionError, match="5"):
        this.check_invariants()


# ---- The evidence of narrated lines: recorded only where a recording of their release says so

SCENARIOS = Path(__file__).parents[2] / "datasets" / "scenarios" / "rocketmq"
RECORDED = "recorded on RocketMQ 5.5.0"
OLDER = "recorded on RocketMQ 4.9.7"


def judged(name: str, called: str = "") -> Trace:
    trace = load(SCENARIOS / f"{name}.scn", {"rocketmq": RocketMQSystem}).run.trace
    return add_evidence(trace, called or name, WITNESS)


def evidence(name: str, called: str = "") -> dict[str, str]:
    return {" ".join(fact.line().split()): fact.evidence.en for fact in judged(name, called)}


def test_answers_and_what_is_sent_one_way_are_recorded_and_the_brokers_disk_is_not() -> None:
    lines = evidence("check-commits")
    for line in (
        "app → broker SendMessage half orders-0 o1",
        "broker ⇒ app SEND_OK @0",
        "broker → app CheckTransactionState o1 (1)",
        "app → broker EndTransaction COMMIT o1 from check",
    ):
        assert RECORDED in lines[line], line
    assert RECORDED not in lines["broker ▮ disk half o1 (1) @1"]
    assert lines["broker ⏲ timer check"] == "model"


def test_the_recording_of_another_scenario_is_no_evidence() -> None:
    assert not any(RECORDED in said for said in evidence("check-commits", "no-such-story").values())


def test_a_question_that_no_recording_of_the_name_holds_is_the_models() -> None:
    """Told under the name of a story in which nobody is asked."""
    lines = evidence("check-commits", "commit")
    assert lines["broker → app CheckTransactionState o1 (1)"] == "model"
    assert RECORDED in lines["broker ⇒ app SEND_OK @0"]


def test_stories_of_4_9_are_judged_by_its_own_recordings() -> None:
    assert profile_of("rocketmq release=4.9 check_max=3") == "4.9"
    assert profile_of("rocketmq check_max=3") == "5.5"
    lines = evidence("rollback-then-commit")
    assert OLDER in lines["app → broker EndTransaction ROLLBACK o1"]
    assert OLDER in lines["broker ⇒ app SEND_OK @0"]
    assert lines["broker ▮ disk op 0 @1"] == "model"
    lines |= evidence("op-kept-by-4.9", "op-lost-by-a-kill")
    assert lines["app → broker EndTransaction COMMIT o1"] == OLDER
    assert not any(RECORDED in said for said in lines.values())


@pytest.mark.parametrize("name", ["commit", "check-commits", "never-resolved", "check-rolls-back"])
def test_every_question_of_these_stories_is_recorded(name: str) -> None:
    trace = judged(name)
    asked = [f for f in trace if f.kind is FactKind.SEND and f.peer == "broker"]
    model = [f.text.en for f in asked if RECORDED not in f.evidence.en]
    # In these programs nobody answers an UNKNOW check with anything.
    assert set(model) <= {"EndTransaction NOT_TYPE o1 from check"}


def test_what_articles_say_otherwise_is_said_where_it_is_told() -> None:
    told = [f for f in judged("never-resolved") if "contradicts many articles" in f.evidence.en]
    assert any("without limit" in f.why.en for f in told)
    assert all("许多文章" in f.why.zh for f in told)


def test_nothing_is_said_against_articles_where_a_rollback_is_told() -> None:
    """An article says that the step which copies a half has nothing to do then; RocketMQ agrees."""
    rollback = [f for f in judged("rollback") if "EndTransaction ROLLBACK" in f.line()]
    assert rollback and not any("contradicts" in f.evidence.en for f in rollback)


def test_nothing_is_said_against_articles_that_none_of_them_says() -> None:
    """None says that a half is marked as prepared, or that an exception rolls back by itself."""
    facts = [fact for name in ("commit", "local-transaction-throws") for fact in judged(name)]
    assert not any("contradicts" in fact.evidence.en for fact in facts)


def test_every_contradiction_is_met_in_some_story() -> None:
    names = ("never-resolved", "rollback", "commit", "local-transaction-throws")
    facts = [fact for name in names for fact in judged(name)]
    for row in CONTRADICTIONS:
        assert any(row.meets(fact) for fact in facts), row


# ---- What released brokers (4.9.7, 5.5.0) leave behind after the same stories, queue by queue
#
# Of each row: what lies in the half topic, with the number of checks of each copy; the bodies of op
# records; what was delivered; what was parked; the two offsets of the check service; how many
# questions went out. Where a scenario tells a recorded program step by step, the recording itself
# is compared (tests/oracle/rocketmq).

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios" / "rocketmq"


@dataclass(frozen=True)
class Left:
    """What a story leaves behind."""

    halves: list[str]
    ops: list[str]
    delivered: list[str]
    parked: list[str]
    progress: tuple[int, int]
    checks: int


def read_left(run: Run) -> Left:
    asked = [
        fact
        for fact in run.facts
        if fact.kind is FactKind.SEND and isinstance(fact.body, CheckTransactionState)
    ]
    ops = [stored.message.body for stored in in_queue(run.world.disk("broker"), OP)]
    progress = read_progress(run.world.role("broker").offsets)
    return Left(
        queue(run, HALF), ops, queue(run, "orders-0"), queue(run, DISCARD), progress, len(asked)
    )


ROWS = {
    "slave-not-available": Left(["o1"], ["0"], [], [], (1, 1), 0),
    "late-commit-delivers-twice": Left(
        ["o1", "o1 (1)"], ["1,0,"], ["hello", "o1 (1)", "o1"], [], (2, 1), 1
    ),
    "rollback-then-commit": Left(["o1"], ["0", "0"], ["o1"], [], (1, 2), 0),
    "wrong-ends": Left(["o1"], [], [], [], (0, 0), 0),
    "delay-level-ignored": Left(["o1"], ["0"], ["o1"], [], (0, 0), 0),
    "delay-level-refused": Left([], [], [], [], (0, 0), 0),
    "around-a-pending-half": Left(
        ["pending", "o1", "o2", "pending (1)"], ["1,2,"], ["o1", "o2"], [], (3, 1), 1
    ),
    "immunity-commit-too-late": Left(
        ["o1", "o1 (1)", "o1 (2)", "o1 (3)"], ["0,"], ["o1", "o1 (3)"], [], (3, 1), 1
    ),
    "immunity-shorter": Left(["quick", "plain", "quick (1)"], [], [], [], (1, 0), 1),
    "nobody-to-ask": Left(["o1", "o1 (1)", "o1 (2)"], [], [], ["o1 (2)"], (3, 0), 0),
    "op-lost-by-a-kill": Left(["o1", "o1 (1)"], [], ["o1", "o1 (1)"], [], (1, 0), 1),
    "op-kept-by-4.9": Left(["o1"], ["0"], ["o1"], [], (1, 1), 0),
    "op-batch-too-slow": Left(["o1", "o1 (1)"], [], ["o1", "o1 (1)"], [], (1, 0), 1),
    "commit-after-discard": Left(["o1", "o1 (1)"], [], ["o1"], ["o1 (1)"], (2, 0), 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_story_leaves_what_the_real_broker_leaves(name: str) -> None:
    assert read_left(load(FOLDER / f"{name}.scn", SYSTEMS).run) == ROWS[name]


def execute(order, db, memory):
    return ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW", "UNKNOW", "UNKNOW")[int(order) % 5]


def check(order_id, db, memory):
    return ("", "", "COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW")[int(order_id) % 5]


@pytest.mark.parametrize("release", ["4.9", "5.5"])
def test_ten_messages_in_five_ways(release: str) -> None:
    """TransactionalMsgIT#testMessageVisibility: message i commits, rolls back, commits when it is
    asked, rolls back when it is asked, or never says anything, by i modulo 5."""
    sends = ", ".join(f"send-in-transaction orders-0 {n}" for n in range(10))
    lines = [f"system rocketmq release={release} check_max=3 check_interval_ms=7000"]
    lines += ["", f"run app: {sends}", "at 3000"]
    lines += ["fire broker op batch"] * (release == "5.5")
    for n in range(1, 5):
        lines += [f"at {7_000 * n}", "fire broker check"]
        lines += ["fire broker op batch"] * (release == "5.5" and n == 1)
    left = read_left(drive("\n".join(lines), execute=execute, check=check))
    assert left.checks == 10
    assert left.delivered == ["0", "5", "2 (1)", "7 (1)"]
    named = [n for body in left.ops for n in body.strip(",").split(",")]
    assert named[:4] == ["0", "1", "5", "6"]
    copies = [left.halves[int(n)] for n in named[4:]]
    assert copies == ["2 (1)", "3 (1)", "7 (1)", "8 (1)"]
    assert len(left.halves) == 20 and left.progress[0] == 20
    assert left.parked == ["4 (3)", "9 (3)"]
