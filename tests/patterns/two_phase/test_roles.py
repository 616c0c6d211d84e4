"""Coordinator and participant of two-phase commit, decision by decision."""

import pytest

from mqlab.kernel import (
    Caller,
    Config,
    ConnectionLost,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Response,
    Send,
)
from mqlab.patterns.commit import CommitTransaction
from mqlab.patterns.records import read_latest
from mqlab.patterns.two_phase import SAFEGUARDS
from mqlab.patterns.two_phase.roles import (
    DECISIONS,
    LOG,
    Commit,
    CommitResponse,
    Coordinator,
    Inquire,
    InquireResponse,
    Participant,
    Prepare,
    PrepareResponse,
    Rollback,
)
from tests.patterns.running import run

ON = Config(on=frozenset(SAFEGUARDS))
APP, TM = Caller("app"), Caller("tm")
BOTH = ("orders", "stock")


def manage(*events, disk=MemoryDisk(), config=ON):
    return run(Coordinator.recover(config, BOTH, disk, 0)[0], *events, disk=disk)


def take_part(*events, disk=MemoryDisk(), config=ON, refuses=False):
    role, _ = Participant.recover(config, "tm", "stock", refuses, disk, 0)
    return run(role, *events, disk=disk)


def votes(*peers, yes=True):
    return [Response(peer, 0, PrepareResponse("T1", yes)) for peer in peers]


BEGIN = Request(APP, CommitTransaction("T1"))
PREPARE = Request(TM, Prepare("T1"))


def sent(effects):
    return [effect.body for effect in effects if isinstance(effect, Send)]


def answered(effects):
    return [str(effect.body) for effect in effects if isinstance(effect, Reply)]


@pytest.mark.parametrize(
    "reason",
    [*votes("stock", yes=False), ConnectionLost("stock"), Fired("votes T1")],
    ids=["a no", "a connection lost", "a vote too late"],
)
def test_what_is_no_yes_rolls_back_without_a_record(reason):
    role, disk, effects = manage(BEGIN, *votes("orders"), reason)
    assert sent(effects) == [Rollback("T1"), Rollback("T1")]
    assert answered(effects) == ["failed rolled back"]
    assert not read_latest(disk, DECISIONS)
    assert not role.txns, "it is forgotten"


def test_a_commit_that_is_not_acknowledged_is_told_again_and_then_forgotten():
    done = Response("orders", 0, CommitResponse("T1"))
    begun = [BEGIN, *votes("orders", "stock"), done, ConnectionLost("stock")]
    _, _, effects = manage(*begun)
    assert [effect.timer for effect in effects] == ["retry T1"]
    _, _, effects = manage(*begun, Fired("retry T1"))
    assert effects == (Send("stock", Commit("T1")),)
    role, disk, _ = manage(*begun, Response("stock", 0, CommitResponse("T1")))
    assert read_latest(disk, DECISIONS)["T1"].what == "end"
    assert not role.txns


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ([], "rollback"),
        ([BEGIN], "not decided yet"),
        ([BEGIN, *votes("orders", "stock")], "commit"),
        ([BEGIN, Fired("votes T1")], "rollback"),
    ],
)
def test_who_asks_is_told_what_is_written(before, told):
    _, _, effects = manage(*before, Request(Caller("stock"), Inquire("T1")))
    assert answered(effects) == [told]


def test_an_id_that_is_known_is_refused():
    for before in ([BEGIN], [BEGIN, *votes("orders", "stock")]):
        assert answered(manage(*before, BEGIN)[2]) == ["unknown XAER_DUPID"]


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        (Request(TM, Commit("T1")), "committed"),
        (Request(TM, Rollback("T1")), "rolled_back"),
        (Response("tm", 0, InquireResponse("T1", "commit")), "committed"),
        (Response("tm", 0, InquireResponse("T1", "rollback")), "rolled_back"),
        (Response("tm", 0, InquireResponse("T1", "")), "prepared"),
        (Fired("ask T1"), "prepared"),
        (ConnectionLost("tm"), "prepared"),
    ],
)
def test_only_the_coordinators_word_ends_a_doubt(word, outcome):
    role, disk, _ = take_part(PREPARE, word)
    assert read_latest(disk, LOG)["T1"].what == outcome
    assert role.doubt == (("T1",) if outcome == "prepared" else ())


def test_after_a_restart_it_is_in_doubt_again_and_asks():
    _, disk, _ = take_part(PREPARE)
    role, effects = Participant.recover(ON, "tm", "stock", False, disk, 0)
    assert role.doubt == ("T1",)
    assert effects[0] == Send("tm", Inquire("T1"))
    over, _ = Participant.recover(ON, "tm", "stock", False, disk.power_cut(), 0)
    assert over == role, "the promise was forced"
