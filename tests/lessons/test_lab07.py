"""Lab 07's exercises besides the rule: the kill, what travels, and what a reader misses."""

from __future__ import annotations

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons import system
from mqlab.lessons.kills import ALIVE
from mqlab.lessons.lab07 import ANSWERED, ASKED, HALF, KILLS, LAST, whole
from mqlab.lessons.partition_log import partition_log

MIXED = """
system kafka partitions=1 producers=n:plain,x,c
run x: init
run c: init
run n: send orders-0 n0, send orders-0 n1, flush
run x: begin, send orders-0 x2
run c: begin, send orders-0 c3
run x: send orders-0 x4, abort
run c: send orders-0 c6, commit
"""


def test_the_kill_that_leaves_half_is_right() -> None:
    verdict = HALF.check("kill tc when=WriteTxnMarkers#1 after=1")
    assert verdict.ok
    trace = verdict.trace()
    assert trace is not None
    assert "torn" in str(trace.snapshot(-1).readers[0].note)


@pytest.mark.parametrize(
    ("kill", "belief"),
    [
        ("kill tc", ASKED),
        ("kill tc when=WriteTxnMarkers#1 after=0", ANSWERED),
        ("kill tc when=⇒EndTxn#1 after=1", ANSWERED),
        ("kill tc when=WriteTxnMarkers#1 after=2", LAST),
        ("kill tc when=EndTxn#1 after=1", ALIVE),
    ],
)
def test_every_other_kill_is_met_with_its_own_message(kill: str, belief: str) -> None:
    verdict = HALF.check(kill)
    assert not verdict.ok
    assert verdict.misconception == belief
    assert verdict.message == KILLS[belief]


@pytest.mark.parametrize(
    ("kill", "says"),
    [
        ("", "write one line: kill = "),
        ("kill app", "write one line"),
        ("kill tc\nkill tc", "write one line"),
        ("kill tc when=… after=…", "the line still has its blanks"),
        ("kill tc when=WriteTxnMarkers#x", "expected `kill NODE when=Kind#n after=K`"),
    ],
)
def test_what_is_no_kill_is_told_so(kill: str, says: str) -> None:
    verdict = HALF.check(kill)
    assert not verdict.ok
    assert says in str(verdict)


def test_the_explorer_finds_such_a_kill_and_it_needs_the_kill() -> None:
    searched = system("kafka 'app=init; begin; send orders-0 a; send orders-1 b; commit'")
    claim = (whole(searched),)
    found = explore(searched, Budget(kills=1, killable=("tc",)), claim)
    assert "kill tc" in " ".join(found.counterexamples["whole"].schedule)
    assert explore(searched, Budget(), claim).ok


def test_the_log_of_the_article() -> None:
    mixed = partition_log(MIXED, "orders-0")
    (entry,) = mixed.index
    assert (entry.first_offset, entry.last_offset) == (2, 5)
    sent = [b.control or b.words for b in mixed.fetch(0).batches]
    assert sent == ["n0", "n1", "x2", "c3", "x4", "ABORT", "c6", "COMMIT"]
    assert mixed.read(0) == ["n0", "n1", "c3", "c6"]
    assert mixed.read(4) == ["c6"]


def test_retention_takes_the_first_half() -> None:
    late = partition_log(MIXED, "orders-0").without(4)
    assert str(late.fetch(0).error) == "OFFSET_OUT_OF_RANGE"
    assert late.fetch(4).start == 4
    assert late.read(4) == ["c6"]
    assert [b.base for b in late.batches] == [4, 5, 6, 7]
