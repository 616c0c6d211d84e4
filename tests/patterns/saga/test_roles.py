"""A saga's services, and the orchestrator's position forward and back."""

import pytest

from mqlab.kernel import Caller, Config, Reply, Request, Response
from mqlab.patterns.records import read_records
from mqlab.patterns.saga.claims import SAFEGUARDS
from mqlab.patterns.saga.roles import (
    LOG,
    SAGA_LOG,
    Do,
    DoResponse,
    Orchestrator,
    Service,
    StartSaga,
    Undo,
    UndoResponse,
)
from tests.patterns.running import run

ON = frozenset(SAFEGUARDS)
STEPS = ("orders", "money", "stock")
START = Request(Caller("app"), StartSaga("T1"))
ASKED = {"do": Do("T1"), "undo": Undo("T1")}


def done(name, ok=True):
    return Response(name, 0, DoResponse("T1", ok))


def undone(name):
    return Response(name, 0, UndoResponse("T1"))


@pytest.mark.parametrize(
    ("words", "ledger"),
    [
        ("do", ["done"]),
        ("do do", ["done"]),
        ("do undo", ["done", "undone"]),
        ("do undo undo", ["done", "undone"]),
        ("do undo do", ["done", "undone"]),
        ("undo", []),
    ],
)
def test_a_step_is_done_once_and_undone_once(words, ledger):
    events = [Request(Caller("saga"), ASKED[word]) for word in words.split()]
    _, disk, effects = run(Service(Config(on=ON)), *events)
    assert [record.what for record in read_records(disk, LOG)] == ledger
    assert any(isinstance(effect, Reply) for effect in effects), "and it is always answered"


FORWARD = [START, done("orders"), done("money")]
BACK = [*FORWARD, done("stock", ok=False)]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([*FORWARD, done("stock")], "ok"),
        ([*BACK, undone("money"), undone("orders")], "failed compensated"),
        ([START, done("orders", ok=False)], "failed compensated"),
    ],
)
def test_at_either_end_the_application_is_told_and_nothing_is_owed(events, told):
    role, disk, effects = run(Orchestrator(Config(on=ON), STEPS), *events)
    assert [str(e.body) for e in effects if isinstance(e, Reply)] == [told]
    assert not role.sagas
    assert list(read_records(disk, SAGA_LOG))[-1].what == "end"
    assert Orchestrator.recover(Config(on=ON), STEPS, disk, 0)[1] == ()


def test_an_answer_that_comes_twice_moves_nothing():
    role, _, effects = run(Orchestrator(Config(on=ON), STEPS), *FORWARD[:2], done("orders"))
    assert not effects
    assert role.sagas["T1"].at == 1
