"""Lab 07's exercises besides the rule: the kill, what travels, and what a reader misses."""

from __future__ import annotations

import re

import pytest

from mqlab.explore import Budget, explore
from mqlab.kafka.log import Batch
from mqlab.kernel import speaking
from mqlab.lessons.kafka.exercises.kills import ALIVE
from mqlab.lessons.kafka.lab07 import (
    ANSWERED,
    BATCH,
    FIRST,
    HALF,
    KILLS,
    TRANSACTIONAL_ID,
    by_hand,
    frontiers,
    header,
    lag_table,
    list_index_steps,
    partition_log,
    readers,
    whole,
)
from mqlab.registry import scenario, system
from mqlab.serve.kafka.wire.validation import marker, parse_batch

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
    verdict = HALF.check("kill coordinator when=WriteTxnMarkers#3 after=1")
    assert verdict.ok
    trace = verdict.trace()
    assert trace is not None
    assert trace.snapshot(-1).readers[0].half


@pytest.mark.parametrize(
    ("kill", "belief"),
    [
        ("kill coordinator", FIRST),
        ("kill coordinator when=WriteTxnMarkers#1 after=2", FIRST),
        ("kill coordinator when=WriteTxnMarkers#3 after=0", ANSWERED),
        ("kill coordinator when=EndTxn#1 after=1", ALIVE),
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
        ("kill coordinator\nkill coordinator", "write one line"),
        ("kill coordinator when=… after=…", "the line still has its blanks"),
        ("kill coordinator when=WriteTxnMarkers#x", "or `kill NODE when=Kind#n after=K answers="),
        ("kill coordinator when=⇒EndTxn#1 after=3", "has 2 effects; write after=0 to after=2"),
    ],
)
def test_what_is_no_kill_is_told_so(kill: str, says: str) -> None:
    verdict = HALF.check(kill)
    assert not verdict.ok
    assert says in str(verdict) and "line 3" not in str(verdict)
    with speaking("zh"):
        assert not re.search("第 . 行", str(HALF.check(kill)))


def test_the_explorer_finds_such_a_kill_and_it_needs_the_kill() -> None:
    searched = system("kafka 'app=init; begin; send orders-0 a; send orders-1 b; commit'")
    claim = (whole(searched),)
    found = explore(searched, Budget(kills=1, killable=("coordinator",)), claim)
    assert "kill coordinator" in " ".join(found.counterexamples["whole"].schedule)
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


# --- what is read off runs and logs -------------------------------------------------------

ASKING = """
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, send orders-0 b, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
run app: begin, send orders-0 c, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
"""


def test_a_lag_counted_from_the_last_record_never_reaches_zero() -> None:
    rows = [re.split(r" {2,}", line) for line in lag_table(scenario(ASKING)).splitlines()[2:]]
    assert rows == [
        ["a, b", "3", "3", "0", "1"],
        ["nothing", "3", "3", "0", "1"],
        ["c", "5", "5", "0", "1"],
    ]


def test_the_index_is_written_with_the_abort_marker() -> None:
    marker, index, moved = list_index_steps(scenario(MIXED)).splitlines()
    assert "abort marker @5" in marker
    assert "aborted pid 0: 2…5" in index
    assert "LSO=" in moved


def test_a_client_filters_by_producer_id_and_first_offset_alone() -> None:
    mixed = partition_log(MIXED + "run x: begin, send orders-0 x8, commit\n", "orders-0")
    said = mixed.fetch(0)
    listed = [(aborted.pid, aborted.first_offset) for aborted in said.aborted]
    assert listed == [(0, 2)]
    assert by_hand(said.batches, listed) == mixed.read(0) == ["n0", "n1", "c3", "c6", "x8"]
    assert by_hand(said.batches, []) != mixed.read(0)


def test_a_real_batch_says_transactional_and_no_transactional_id() -> None:
    assert header() == {
        "base offset": 0,
        "transactional bit": 1,
        "control bit": 0,
        "producer id": 1,
        "epoch": 0,
        "base sequence": 0,
        "records": 1,
    }
    assert TRANSACTIONAL_ID.encode() not in BATCH
    assert b"order-17" in BATCH
    parsed_batch = parse_batch(BATCH)
    assert isinstance(parsed_batch, Batch)  # length and checksum are as a broker wants them
    assert parsed_batch.transactional
    assert header(marker(Batch((), 1, 2, 1, 0, -1, control="COMMIT")))["control bit"] == 1
    with pytest.raises(ValueError, match="12 bytes: the head of a batch has 61"):
        header(BATCH[:12])


@pytest.mark.parametrize(
    ("stop", "copies", "got"),
    [
        ("kill", 1, ["paid"]),
        ("kill", 2, ["paid"]),
        ("power-cut", 1, []),
        ("power-cut", 2, ["paid"]),
    ],
)
def test_only_a_power_cut_of_the_only_copy_takes_what_was_acknowledged(
    stop: str, copies: int, got: list[str]
) -> None:
    line = f"system kafka partitions=1 replicas={copies}\n"
    where = "orders-0" if copies == 1 else "orders-0@1"
    back = "restart orders-0" if copies == 1 else "run controller: fence orders-0 1"
    run = scenario(
        f"{line}run app: init, begin, send orders-0 paid, commit\n{stop} {where}\n{back}"
    )
    assert [given.label for given in run.snapshot(-1).readers[0].got] == got


def test_a_transaction_may_write_into_several_topics() -> None:
    run = scenario(
        "system kafka topic=orders,payments partitions=2 readers=reader\n"
        "run app: init, begin, send orders-1 580538, send payments-0 paid-580538, commit\n"
        "run reader: poll orders-1, poll payments-0"
    )
    logs = {log.name: [cell.label for cell in log.cells] for log in run.snapshot(-1).logs}
    assert logs == {
        "orders-0": [],
        "orders-1": ["580538", "C"],
        "payments-0": ["paid-580538", "C"],
        "payments-1": [],
    }
    assert system(run.system).line() == run.system


def test_readers_and_frontiers_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    run = scenario(
        "system kafka partitions=1 producers=app,n:plain\n"
        "run app: init, begin, send orders-0 a, flush\nrun n: send orders-0 p, flush"
    )
    readers(run, -1)
    frontiers(run, -1)
    committed, uncommitted, log = capsys.readouterr().out.splitlines()
    assert committed.split() == [
        "read_committed",
        "nothing",
        "orders-0",
        *["waits", "until", "T1", "ends", "here"],
    ]
    assert "a(T1) p" in uncommitted
    assert log.split() == ["orders-0", "a@0", "p@1", "LSO=0", "HW=2"]


def test_the_right_kill_opens_where_half_is_visible() -> None:
    verdict = HALF.check("kill coordinator when=WriteTxnMarkers#3 after=1")
    trace = verdict.trace()
    assert trace is not None
    assert trace.snapshot(verdict.step).readers[0].half
    before = {got.label for got in trace.snapshot(verdict.step - 1).readers[0].got}
    assert before == {"580538", "paid-580538"}
