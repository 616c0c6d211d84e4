"""What a successor decides, and that it decides nothing before the last answer is there."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import Caller, Config, ConnectionLost, MemoryDisk, Reply, Request, Response, Send
from mqlab.patterns.three_phase.claims import SAFEGUARDS
from mqlab.patterns.three_phase.roles import (
    ABORTED,
    COMMITTED,
    PRECOMMITTED,
    UNCERTAIN,
    UNKNOWN_HERE,
    Abort,
    AskState,
    AskStateResponse,
    CanCommit,
    DoCommit,
    Participant,
    PreCommit,
    PreCommitResponse,
    Takeover,
    choose_outcome,
)
from mqlab.registry import system
from mqlab.registry.cases.patterns.three_phase import LINE, PARTIES
from tests.patterns.running import run

ON = Config(on=frozenset(SAFEGUARDS))
LINE_OF_THREE = ("tm", "orders", "stock", "money")
VOTE = Request(Caller("tm"), CanCommit("T1"))
TOLD = Request(Caller("tm"), PreCommit("T1"))


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        ([UNCERTAIN, COMMITTED], COMMITTED),
        ([PRECOMMITTED, COMMITTED], COMMITTED),
        ([UNCERTAIN, ABORTED], ABORTED),
        ([UNCERTAIN, UNKNOWN_HERE], ABORTED),
        ([UNCERTAIN, PRECOMMITTED], PRECOMMITTED),
        ([PRECOMMITTED], PRECOMMITTED),
        ([UNCERTAIN, UNCERTAIN], ABORTED),
        ([UNCERTAIN], ABORTED),
    ],
)
def test_the_rule(states, outcome):
    assert choose_outcome(states) == outcome
    assert choose_outcome(states[::-1]) == outcome


def test_an_answer_counts_once_and_a_stop_counts_as_none():
    asked = Takeover(("stock", "money"))
    once = asked.hear("stock", UNCERTAIN)
    assert once.hear("stock", PRECOMMITTED) == once
    assert once.give_up("money") == Takeover((), (UNCERTAIN,))


def take_part(*events, name="orders"):
    role, _ = Participant.recover(ON, LINE_OF_THREE, name, False, MemoryDisk(), 0)
    role, _, effects = run(role, *events)
    return role, [e for e in effects if isinstance(e, Send | Reply)]


def answer(peer, state):
    return Response(peer, 1, AskStateResponse("T1", state))


def test_it_asks_everybody_and_waits_for_the_last_answer():
    _, sent = take_part(VOTE, ConnectionLost("tm"))
    assert sent == [Send(name, AskState("T1"), corr=1) for name in ("stock", "money")]
    _, sent = take_part(VOTE, ConnectionLost("tm"), answer("stock", PRECOMMITTED))
    assert not sent


def test_it_tells_all_precommit_and_commits_when_they_have_acknowledged():
    heard = [VOTE, ConnectionLost("tm"), answer("stock", PRECOMMITTED), answer("money", UNCERTAIN)]
    role, sent = take_part(*heard)
    assert sent == [Send(name, PreCommit("T1")) for name in ("stock", "money")]
    assert role.states["T1"] == PRECOMMITTED
    role, sent = take_part(*heard, Response("stock", 0, PreCommitResponse("T1")))
    assert not sent
    role, sent = take_part(
        *heard, Response("stock", 0, PreCommitResponse("T1")), ConnectionLost("money")
    )
    assert sent == [Send("stock", DoCommit("T1"))]
    assert role.states["T1"] == COMMITTED


def test_who_is_not_next_in_line_asks_the_one_who_is():
    _, sent = take_part(VOTE, ConnectionLost("tm"), name="stock")
    assert sent == [Send("orders", AskState("T1", takes_over=False))]


def test_who_answers_a_successor_obeys_the_coordinator_no_more():
    asked = Request(Caller("orders"), AskState("T1"))
    role, sent = take_part(VOTE, asked, TOLD, name="stock")
    assert not sent and role.states["T1"] == UNCERTAIN
    role, _ = take_part(VOTE, asked, Request(Caller("orders"), PreCommit("T1")), name="stock")
    assert role.states["T1"] == PRECOMMITTED


def test_who_has_not_voted_aborts_what_it_is_asked_about_once_it_leads():
    asked = Request(Caller("stock"), AskState("T1", takes_over=False))
    role, sent = take_part(asked, ConnectionLost("tm"))
    assert sent == [Send(name, Abort("T1")) for name in ("stock", "money")]
    assert role.states["T1"] == ABORTED
    assert take_part(asked, ConnectionLost("tm"), VOTE)[1] == [], "and it votes no more"


def test_with_one_more_participant_any_one_stop_splits_nothing():
    three = system(LINE.replace("three_phase", "three_phase participants=orders,stock,money"))
    verdict = explore(three, Budget(kills=1, killable=PARTIES[:1], restartable=()))
    assert verdict.complete
    assert verdict.ok, verdict
