"""Lab 06's kill: the one that leaves a commit unanswered, and what is said of the others."""

from __future__ import annotations

import pytest

from mqlab.lessons.kafka.exercises.commit import ANSWERED, EARLY, KILLS, UNANSWERED
from mqlab.lessons.kafka.exercises.kills import ALIVE


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
