"""Exercises: the solution is right, the stub is wrong, and every listed belief is met with
its own message."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons.check import check
from mqlab.lessons.kafka.lab07 import HALF, LSO
from mqlab.lessons.kafka.systems.shop import balances
from mqlab.lessons.spark.decide import BELIEFS, DECIDE
from mqlab.registry import scenario, system


def right(firsts, hw):
    return min([*firsts, hw])


def test_the_solution_is_right():
    verdict = check(LSO, right)
    assert verdict.ok, verdict
    assert verdict.player() is None


@pytest.mark.parametrize("belief", LSO.beliefs, ids=[b.name for b in LSO.beliefs])
def test_every_listed_belief_is_recognised(belief):
    verdict = check(LSO, belief.rule)
    assert not verdict.ok
    assert verdict.misconception == belief.name
    assert verdict.message == belief.message
    assert verdict.trace() is not None
    red = [light.name for light in verdict.trace().snapshot(-1).lights if not light.ok]
    assert red


def stub(firsts, hw):
    raise NotImplementedError


def endless(firsts, hw):
    while True:
        pass


def stubborn(firsts, hw):
    while True:
        try:
            hw += 1
        except BaseException:
            hw = 0


def forgetful():
    calls = []

    def rule(firsts, hw):
        calls.append(1)
        return len(calls)

    return rule


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (stub, "nothing is written yet"),
        (lambda firsts, hw: None, "nothing is written yet"),
        (lambda firsts, hw: hw if firsts else None, "has no `return`"),
        (endless, "it was stopped after 1 s: is there a loop without an end?"),
        (stubborn, "it was stopped after 1 s: is there a loop without an end?"),
        (lambda firsts, hw: 1 // 0, "it raised ZeroDivisionError"),
        (lambda firsts, hw: "3", "an offset is a whole number"),
        (lambda firsts, hw: True, "an offset is a whole number"),
        (lambda firsts, hw: -1, "an offset is never negative"),
        (forgetful(), "may depend on nothing but what it is given"),
    ],
)
def test_a_rule_that_is_none_is_told_so(rule, says):
    verdict = check(LSO, rule)
    assert not verdict.ok
    assert says in str(verdict)


def test_hints_are_numbered():
    assert LSO.hint(1) != LSO.hint(2)
    with pytest.raises(ValueError, match="hints 1 to 2"):
        LSO.hint(3)


PAYMENT = "send accounts-0 C-5; send accounts-1 S+5"


def test_money_is_lost_without_a_transaction_and_never_with_one():
    kill = Budget(kills=1, killable=("order-service",))
    plain = explore(
        system(f"shop producers=order-service:plain 'order-service={PAYMENT}; flush'"), kill
    )
    lost = plain.counterexamples["money"].trace()
    assert "killed: Produce C-5 had left, send" in lost.narrate()
    assert balances(lost).splitlines()[1].split() == ["read_committed", "-5.00", "+0.00", "-5.00"]
    safe = explore(system(f"shop 'order-service=init; begin; {PAYMENT}; commit'"), kill)
    assert safe.complete
    assert safe.ok, safe


def test_a_payment_that_arrives_balances():
    trace = scenario(
        f"system shop\nrun order-service: init, begin, {PAYMENT.replace(';', ',')}, commit"
    )
    assert [line.split()[-1] for line in balances(trace).splitlines()[1:]] == ["+0.00", "+0.00"]


def test_lab_11_knows_the_rule_its_naive_forms_and_the_stub():
    assert DECIDE.check(
        lambda marker, batch: (
            "skip" if batch == marker else "write" if batch == marker + 1 else "stop"
        )
    ).ok
    for name, rule, message in BELIEFS:
        verdict = DECIDE.check(rule)
        assert not verdict.ok
        assert verdict.misconception == name
        assert str(message) in str(verdict)
    assert "nothing is written yet" in str(DECIDE.check(stub))
    assert 'the answers are "write"' in str(DECIDE.check(lambda marker, batch: "yes"))


def test_what_a_zombie_says_is_about_its_own_transaction():
    trace = scenario("""
        system kafka partitions=1 producers=zombie:order-service,app:order-service
        run zombie: init, begin, send orders-0 old
        run app: init
        fire app retry
        run app: begin, send orders-0 new
        run zombie: commit
    """)
    said = [f for f in trace if f.text.en.startswith(("EndTxn", "PRODUCER_FENCED"))]
    assert {fact.txn for fact in said} == {"T1"}
    titles = {lane.name: (lane.title.en, lane.subtitle.en) for lane in trace.snapshot(0).lanes}
    assert titles["zombie"] == ("zombie", "order-service")
    assert titles["app"] == ("app", "order-service")


def test_a_verdict_is_shown_once_escaped_and_with_its_code_as_code(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda output, **_: shown.append(output))
    HALF.check("kill coordinator when=… after=…")._ipython_display_()
    (output,) = shown
    assert "<code>kill coordinator when=⇒InitProducerId#1 after=0</code>" in output["text/html"]
    shown.clear()
    check(LSO, lambda firsts, hw: "<script>")._ipython_display_()
    assert "&lt;script&gt;" in shown[0]["text/html"] and "<script>" not in shown[0]["text/html"]
    shown.clear()
    check(LSO, lambda firsts, hw: hw)._ipython_display_()
    verdict, player = shown
    assert "The belief behind it: the high watermark decides" in verdict["text/plain"]
    assert 0 < player.step <= len(player.trace)


def test_flag_row_and_reader_follow_the_rule_that_is_in_force() -> None:
    trace = check(LSO, lambda firsts, hw: hw).trace()
    assert trace is not None
    now = trace.snapshot(-1)
    flags = {flag.name: flag.at for flag in now.logs[0].frontiers}
    assert flags == {"LSO": 1, "HW": 1}
    assert "HW=1 LSO=1" in trace.narrate() and "LSO=0" not in trace.narrate()
    committed = now.readers[0]
    assert [got.label for got in committed.got] == ["a"]
    assert "waits" not in committed.note.en
