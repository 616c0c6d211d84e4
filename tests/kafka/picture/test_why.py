"""A sentence why is found by what a fact is about; its words decide nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.kafka.clients.producer.flight import ILLEGAL_STATE, Kind, Trouble
from mqlab.kafka.group import membership
from mqlab.kafka.picture import why
from mqlab.kafka.picture.telling import Kind as NodeKind
from mqlab.kafka.replication.router import PAUSE
from mqlab.kafka.states import ProducerState
from mqlab.kernel import Fact, FactKind, Text
from mqlab.registry import SYSTEMS
from mqlab.scenario import load

STORIES = Path(__file__).parents[3] / "datasets" / "scenarios" / "kafka"


def test_a_client_that_has_ruined_itself_is_not_told_to_abort() -> None:
    """The error's name holds that of another state."""
    trace = load(STORIES / "producer-stray-record-poisons.scn", SYSTEMS).run.trace
    ruined = next(fact for fact in trace if fact.kind is FactKind.CHANGE)
    assert ruined.why == why.CHANGES[why.ENTERED, ProducerState.FATAL_ERROR]()
    assert trace.facts[-1].why == why.FAILURES[ILLEGAL_STATE]()


def test_an_error_is_the_clients_own_or_somebody_has_said_it() -> None:
    assert Trouble("ProducerFencedException", Kind.FATAL).meaning is Kind.FATAL
    assert Trouble(ILLEGAL_STATE, Kind.FATAL, own=True).meaning == ILLEGAL_STATE


@pytest.mark.parametrize(
    ("timer", "says"),
    [
        (membership.session_timer("g", "m"), "counts as gone"),
        (membership.join_timer("sync/g"), "left out of the new generation"),
        (membership.sync_timer("join/g"), "has not asked for its part"),
        (f"{PAUSE}orders-0", "looks for its leader"),
    ],
)
def test_a_timer_says_why(timer: str, says: str) -> None:
    fact = Fact(1, 1, "node", "⏲", Text("blah"), kind=FactKind.TIMER, body=timer)
    assert says in why.explain_fact(fact, lambda name: NodeKind.GROUP).en
