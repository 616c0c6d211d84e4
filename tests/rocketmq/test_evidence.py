"""The evidence of narrated lines: recorded only where a recording of their release says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.kernel import FactKind, Trace
from mqlab.recordings.evidence import add_evidence
from mqlab.rocketmq import RocketMQSystem
from mqlab.rocketmq.evidence import CONTRADICTIONS, WITNESS, profile_of
from mqlab.scenario import load

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
