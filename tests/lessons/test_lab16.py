"""Lab 16: the evidence is what the data say, each remedy's run shows what is told of it, and a
guess earns nothing."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import speaking
from mqlab.kernel.moves import initial
from mqlab.lessons import lab16
from mqlab.lessons.lab16 import CALLS, Call, Remedy
from mqlab.places import ON_CALL
from mqlab.registry import run_scenario
from tests.inspect import on_call

RIGHT = {
    "hanging": "partition: orders-0\nproducer: 4711\ncoordinator: unknown\noffset: 5",
    "marker": "partition: split-0\nproducer: 1\ncoordinator: PrepareCommit\noffset: 0",
    "pending": "group: billing\nproducer: 1001\ncoordinator: Ongoing\noffset: 3",
    "parked": "topic: TRANS_CHECK_MAX_TIME_TOPIC\ngroup: order-service\noffset: 0\nchecks: 3",
    "acks": "subscription: billing\ntransaction: (0, 7)\nstate: OPEN",
}
REMEDY = {
    "hanging": "abort", "marker": "start-leader", "pending": "wait", "parked": "repair-and-resume",
    "acks": "abort",
}  # fmt: skip
SAID = "No order is lost, and each is billed once."
#: the line of `inspect` that has the evidence of a call
FINDING = {
    "hanging": r"producerId=(?P<producer>4711) .*currentTxnFirstOffset=(?P<offset>5) ",
    "marker": r"producerId=(?P<producer>1) state=(?P<coordinator>\w+) .*partitions=\[split-0\]",
    "pending": r"group=(?P<group>billing) .*pending=(?P<offset>3)",
    "parked": r"PGROUP=(?P<group>\S+) .*TRANSACTION_CHECK_TIMES=(?P<checks>3)",
    "acks": r"(?P<transaction>\(0,7\)) (?P<state>OPEN) coordinator 0 public/default/orders/billing",
}
#: what the reader gets in the end, or hears, in the run of each remedy
ENDS = {
    "hanging restart-broker": "poll read_committed: ok nothing",
    "hanging new-producer": "poll read_committed: ok nothing",
    "hanging delete-group": "poll read_committed: ok o1",
    "hanging abort": "poll read_committed: ok o4",
    "marker send-again": "poll orders-0 read_committed: ok x1, x1",
    "marker terminate": "CompleteCommit",
    "marker new-instance": "init: ok",
    "marker start-leader": "poll orders-0 read_committed: ok x1",
    "pending terminate": "poll read_committed: ok o2",
    "pending delete-group": "CompleteCommit",
    "pending new-id": "UNSTABLE_OFFSET_COMMIT",
    "pending wait": "poll read_committed: ok nothing",
    "parked restart": "consume: ok nothing",
    "parked send-again": "stock reads on at orders-0@3",
    "parked resume-only": "consume: ok nothing",
    "parked repair-and-resume": "stock reads on at orders-0@1",
    "acks restart-consumer": "receive billing: ok b @1",
    "acks unload": "receive billing: ok b @1",
    "acks acknowledge-again": "receive billing: ok nothing",
    "acks abort": "receive billing: ok a @0 again 1",
}
EACH = [(call, name, one) for call in CALLS.values() for name, one in call.remedies.items()]
calls = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
remedies = pytest.mark.parametrize(
    ("call", "name", "remedy"), EACH, ids=[f"{call.name}-{name}" for call, name, _ in EACH]
)


def report(call: Call, remedy: str = "", said: str = SAID) -> str:
    return f"{RIGHT[call.name]}\nremedy: {remedy or REMEDY[call.name]}\ncustomer: {said}\n"


@calls
def test_the_evidence_and_the_remedy_get_the_points(call: Call) -> None:
    assert call.check(report(call), graded=True).ok
    assert call.check("\n\n".join(reversed(report(call).splitlines()))).ok
    assert call.check(report(call, said="订单没有丢失，账单晚一点就到。")).ok


@calls
def test_a_stub_a_guess_and_half_a_report_get_none(call: Call) -> None:
    stub = re.sub(r": .*", ":", report(call))
    for nothing in (stub, "", None):
        assert "nothing is written" in str(call.check(nothing, graded=True))
    guess = f"remedy: {REMEDY[call.name]}\ncustomer: {SAID}"
    assert "missing" in str(call.check(guess))
    assert "is no line of this report" in str(call.check("it was the marker"))
    for name in call.evidence:
        wrong = re.sub(rf"^{name}: .*", f"{name}: 999", report(call), flags=re.M)
        verdict = call.check(wrong)
        assert not verdict.ok and f"{name}: the data show something else" in str(verdict)
        assert not any(word in str(verdict) for word in call.evidence[name] if len(word) > 4)
    assert "there are: " in str(call.check(report(call, remedy="prayer")))
    assert "one sentence" in str(call.check(report(call, said="ok")))
    for said in ("The LSO stands at 5, sorry for that.", "有一个标记还没有写入，请稍等片刻。"):
        assert "is jargon" in str(call.check(report(call, said=said)))


@calls
def test_what_inspect_finds_in_the_data_is_the_evidence(call: Call) -> None:
    shown = " ".join(str(call.look()).split())
    found = re.search(FINDING[call.name], shown)
    assert found is not None
    for name, value in found.groupdict().items():
        assert value.lower() in call.evidence[name]
    for line in RIGHT[call.name].splitlines():
        value = line.partition(": ")[2].replace(" ", "")
        assert value == "unknown" or value.lower() in shown.lower(), line
    if call.name == "hanging":
        assert "no coordinator knows this producer" in shown


@remedies
def test_the_run_of_a_remedy_shows_what_is_told(call: Call, name: str, remedy: Remedy) -> None:
    trace = remedy.experiment.play().trace
    step = remedy.experiment.step(trace)
    assert remedy.experiment.stands(trace)
    assert trace.facts[-1].line().endswith(ENDS[f"{call.name} {name}"])
    assert not trace.facts[step - 1].fold, "the telling step is folded away"
    before = len(run_scenario(call.begin).trace)
    assert step > before, "the step that tells is one of the remedy's own"
    assert remedy.says.zh and remedy.tells.zh
    verdict = call.check(report(call, remedy=name))
    assert verdict.ok is (name == REMEDY[call.name]) is (remedy.belief is None)
    if remedy.belief is not None:
        assert verdict.misconception == remedy.belief.en and verdict.step == step
        with speaking("zh"):
            assert remedy.tells.zh in verdict.sentence and remedy.belief.zh in verdict.sentence


def test_the_menu_opens_each_remedy_below_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(lab16, "display", shown.append)
    monkeypatch.setattr(lab16, "vary", lambda play, remedy: shown.extend((play, remedy)))
    lab16.try_remedies(CALLS["marker"])
    words, play, menu = shown
    before = len(run_scenario(CALLS["marker"].begin).trace)
    assert menu.value == "" and play(remedy="").step == len(play(remedy="").trace) == before
    assert not any(str(one.tells)[1:] in words.value for one in CALLS["marker"].remedies.values())
    for name, remedy in CALLS["marker"].remedies.items():
        menu.value = name
        assert str(remedy.tells)[1:] in words.value and str(remedy.says)[:20] in words.value
        assert play(remedy=name).step == remedy.experiment.step(remedy.experiment.play().trace)


def test_the_broker_of_a_call_is_played_on_from_its_records() -> None:
    """It stands where the call's evidence says."""
    plays = {name: lab16.play_on(call).play for name, call in CALLS.items()}
    worlds = {name: initial(play.system) for name, play in plays.items()}
    assert worlds["hanging"].role("orders-0").part.open == ((5, 4711),)
    assert worlds["pending"].role("coordinator").entries["bill-app"].state == "Ongoing"
    assert worlds["marker"].role("split-0").part.lso == 0
    assert worlds["parked"].disk("broker").log("TRANS_CHECK_MAX_TIME_TOPIC-0").end == 1
    assert worlds["acks"].role("orders").subs["billing"].pending.of_txn
    plays["marker"].go_on()
    assert "CompleteCommit" in plays["marker"].trace.narrate()


def test_the_archive_is_what_the_real_brokers_have_left(tmp_path: Path) -> None:
    """All but what Kafka's own dump prints, which needs Java."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_call, "ask_dump", lambda *_: "-")
        expected = on_call.collect(tmp_path)
    with tarfile.open(ON_CALL) as archive:
        kept = {one.name: (archive.extractfile(one) or io.BytesIO()).read() for one in archive}
    assert kept.keys() == expected.keys() and ON_CALL.stat().st_size < 10_000
    assert [name for name in kept if kept[name] != expected[name]] == ["marker.txt"]
