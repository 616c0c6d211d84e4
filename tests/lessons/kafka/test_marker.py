"""Lab 07's order: what a leader does with a marker, and what each wrong order breaks."""

from __future__ import annotations

import itertools

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons.check import check
from mqlab.lessons.kafka.exercises import booked_twice
from mqlab.lessons.kafka.exercises.booked_twice import BOOKED_TWICE
from mqlab.lessons.kafka.exercises.kills import ALIVE
from mqlab.lessons.kafka.lab06 import ANSWERED, COMMIT, EARLY, KILLS, UNANSWERED
from mqlab.lessons.kafka.lab07 import HALF, LSO, MARKER
from mqlab.lessons.kafka.systems.marker_pieces import PIECES
from mqlab.lessons.kafka.systems.shop import balances
from mqlab.registry import scenario, system
from mqlab.registry.cases.kafka import SAFEGUARD_CASES

RIGHT = {
    order
    for order in itertools.permutations(PIECES)
    if order.index("append") < min(order.index("lso"), order.index("answer"))
    and order.index("index") < order.index("lso")
}
STORY = """
system {name} partitions=2 readers=reader
kill orders-0 when={when} after=1
run app: init, begin, send orders-0 a, send orders-1 b, {end}
restart orders-0
run app: begin, send orders-0 c, commit
run reader: poll orders-0, poll orders-1
"""


def test_the_right_orders_are_those_with_marker_and_index_before_the_lso() -> None:
    assert len(RIGHT) == 5
    assert {order for order in itertools.permutations(PIECES) if MARKER.judge(order).ok} == RIGHT


def test_no_piece_can_be_left_out() -> None:
    for count in range(len(PIECES)):
        for order in itertools.permutations(PIECES, count):
            assert not MARKER.judge(order).ok, order


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("when", ["⇒WriteTxnMarkers#1", "⇒Produce#1"])
def test_in_kafkas_order_the_pieces_do_what_the_leader_does(when: str, end: str) -> None:
    """The same messages and records, but for notes to itself and their number."""

    def said(name: str) -> list[str]:
        facts = scenario(STORY.format(name=name, when=when, end=end))
        return sorted(f.line() for f in facts if f.peer != f.node and f.glyph in "→⇒☞▮")

    assert said("markers") == said("kafka")


def test_lab_06_and_lab_07_put_different_things_into_order() -> None:
    assert not {piece.key for piece in MARKER.pieces} & {piece.key for piece in COMMIT.pieces}
    with pytest.raises(ValueError, match=r"no piece 'shout' in order\.marker; there are: append, "):
        system("markers order.marker=append,shout")


# ---- What a legacy client sends again does not land in its next transaction if it is a record


@pytest.mark.parametrize("version", [0, 2])
def test_a_late_record_of_a_legacy_client_does_not_land_in_its_next_transaction(version):
    """Its client gave up on it, aborted, and raised its own epoch (KIP-360)."""
    line = SAFEGUARD_CASES["verification"].line.replace("orders-1 b", "orders-0 b")
    line = line.replace("transaction_version=2", f"transaction_version={version}")
    claims = "claims=as_asked,decided_as_asked"
    verdict = explore(system(line.replace("claims=ends", claims)), Budget(timers=2))
    assert verdict.complete
    assert verdict.ok, verdict


# ---- The kills of labs 00 and 06: the ones that are wanted, and what is said of the others


@pytest.mark.parametrize(
    ("kill", "name"),
    [
        ("kill coordinator when=⇒EndTxn#1 after=0", "right"),
        ("kill coordinator when=PrepareCommit#1 after=1", "right"),
        ("kill coordinator when=PrepareCommit#1 after=0", ANSWERED),
        ("kill coordinator when=WriteTxnMarkers#1 after=0", ANSWERED),
        ("kill coordinator when=⇒InitProducerId#1 after=0", EARLY),
        ("kill coordinator when=Ongoing#1 after=1", EARLY),
        ("kill coordinator when=⇒EndTxn#7 after=0", ALIVE),
    ],
)
def test_the_kill_that_leaves_a_commit_unanswered(kill: str, name: str) -> None:
    verdict = UNANSWERED.check(kill)
    assert verdict.ok == (name == "right")
    assert verdict.message == KILLS[name]
    assert verdict.misconception == ("" if verdict.ok else name)


@pytest.mark.parametrize(
    ("when", "name"),
    [
        ("EndTxn#2 after=1", "right"),
        ("EndTxn#2 after=0", booked_twice.STORED),
        ("Produce#4 after=1", booked_twice.STORED),
        ("Produce#4 after=0", booked_twice.HALF),
        ("Produce#3 after=1", booked_twice.HALF),
        ("Produce#3 after=0", booked_twice.FIRST),
        ("EndTxn#1 after=1", booked_twice.FIRST),
        ("EndTxn#1 after=0", booked_twice.STORED),
        ("Produce#1 after=1", booked_twice.HALF),
        ("InitProducerId#1 after=0", booked_twice.HALF),
        ("EndTxn#3 after=0", booked_twice.NEVER),
    ],
)
def test_the_kill_after_which_both_orders_are_booked_twice(when: str, name: str) -> None:
    verdict = BOOKED_TWICE.check(f"kill order-service when={when}")
    assert verdict.ok == (name == "right")
    assert verdict.message == booked_twice.KILLS[name]
    assert verdict.message.zh
    trace = verdict.trace()
    if trace is not None:
        committed = balances(trace).splitlines()[1].split()
        assert (committed == ["read_committed", "-1255.02", "+1255.02", "+0.00"]) == verdict.ok
        assert all(light.ok for light in trace.snapshot(-1).lights if light.name == "money")


def test_the_form_of_the_line_names_its_victim() -> None:
    assert "kill order-service when=" in str(BOOKED_TWICE.check("kill order-service when=…"))
    assert "kill order-service when=" in str(BOOKED_TWICE.check("kill coordinator when=EndTxn#1"))
    assert "kill coordinator when=" in str(UNANSWERED.check("kill order-service when=EndTxn#1"))


# ---- Exercises: the solution is right, the stub is wrong, and every listed belief is met with
#
# its own message.


def right(firsts, hw):
    return min([*firsts, hw])


def test_the_solution_is_right():
    verdict = check(LSO, right)
    assert verdict.ok, verdict
    assert verdict.player() is None


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
        (endless, "is there a loop without an end?"),
        (stubborn, "is there a loop without an end?"),
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
