"""The kills of labs 00 and 06: the ones that are wanted, and what is said of the others."""

from __future__ import annotations

import pytest

from mqlab.lessons.kafka.exercises import booked_twice
from mqlab.lessons.kafka.exercises.booked_twice import BOOKED_TWICE
from mqlab.lessons.kafka.exercises.commit import ANSWERED, EARLY, KILLS, UNANSWERED
from mqlab.lessons.kafka.exercises.kills import ALIVE
from mqlab.lessons.kafka.systems.shop import balances


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
    "line",
    ["", "kill app", "kill coordinator when=⇒EndTxn#1\nkill coordinator", "kill coordinator x"],
)
def test_a_kill_that_cannot_be_read_is_told_so(line: str) -> None:
    verdict = UNANSWERED.check(line)
    assert not verdict.ok
    assert verdict.misconception == ""


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
