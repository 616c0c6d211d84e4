"""What a coordinator's row and an open transaction mean together: the table of `judge.py`, row by
row, on readings made by hand."""

from __future__ import annotations

import pytest

from mqlab.inspect import Position, Reading, Txn
from mqlab.inspect.kafka.internal import Own, State, join_states
from mqlab.inspect.kafka.judge import judge
from mqlab.inspect.kafka.scan import Labels
from mqlab.inspect.reading import Gap
from mqlab.kernel import Text

NOW = 1_000_000_000


def found(
    states: list[State], opens: list[Txn], whole: bool = True, *positions: Position
) -> list[str]:
    txns = join_states(states, opens, Labels())
    reading = Reading(
        "kafka", "h:1", NOW, (), tuple(txns), positions, own=Own(tuple(states), whole)
    )
    return [finding.kind.name for finding in judge(reading)]


def state(name: str, epoch: int = 3, *parts: str, start_ms: int = NOW - 1_000) -> State:
    return State("app", 7, epoch, 60_000, name, NOW, start_ms, parts or ("a-0",), "there")


def opened(epoch: int = 3, age_ms: int = 1_000, pid: int = 7) -> Txn:
    return Txn("T1", "", "open", "a-0", ("a-0",), str(pid), epoch, 5, NOW - age_ms)


@pytest.mark.parametrize(
    ("row", "epoch", "kinds"),
    [
        (state("Ongoing"), 3, []),
        (state("Ongoing", 3, "b-0"), 3, ["hanging"]),
        (state("Ongoing", 4), 3, ["zombie"]),
        (state("Ongoing", 3, start_ms=NOW - 69_000), 3, []),
        (state("Ongoing", 3, start_ms=NOW - 71_000), 3, ["overdue"]),
        (state("PrepareCommit"), 3, ["markers-missing"]),
        # From transaction.version 2 on a decision raises the epoch.
        (state("PrepareCommit", 4), 3, ["markers-missing"]),
        (state("PrepareAbort", 4), 3, ["markers-missing"]),
        (state("PrepareAbort", 5), 3, ["zombie", "markers-missing"]),
        (state("CompleteCommit", 4), 3, ["hanging"]),
        (state("CompleteAbort", 3), 3, ["hanging"]),
        (state("CompleteCommit", 6), 3, ["zombie"]),
        (state("Empty", 3), 3, ["hanging"]),
        (state("Empty", 4), 3, ["zombie"]),
        (state("CompleteCommit", -1), 3, ["hanging"]),  # of a list, which prints no epoch
        (state("Ongoing", -1), 3, []),
    ],
)
def test_each_row(row: State, epoch: int, kinds: list[str]) -> None:
    assert found([row], [opened(epoch)]) == kinds


def test_a_producer_that_nobody_knows() -> None:
    assert found([], [opened()]) == ["hanging"]
    assert found([state("Ongoing")], [opened(pid=8)]) == ["hanging"]
    assert found([], [opened()], False) == []
    assert found([], [opened(age_ms=16 * 60_000)], False) == ["overdue"]


def test_a_decided_one_whose_markers_have_arrived_is_none() -> None:
    """It is PrepareCommit only until the coordinator has noted that it is complete."""
    row = state("PrepareCommit", 3, "a-0")
    reading = Reading("kafka", "h:1", NOW, own=Own((row,), True))
    assert [one.kind.name for one in judge(reading)] == ["markers-missing"]  # a-0 was not read
    elsewhere = Txn("T2", "", "open", "a-0", ("a-0",), "9", 0, 1, NOW)
    assert "hanging" in found([row], [elsewhere])


def test_where_a_marker_is_missing_is_said_of_what_was_read() -> None:
    def says(*partitions: str, opens: bool) -> str:
        row, txns = state("PrepareCommit", 3, *partitions), (opened(),) if opens else ()
        reading = Reading("kafka", "h:1", NOW, (), txns, own=Own((row,), True))
        return judge(reading)[-1].says.en

    assert says("a-0", "b-0", opens=True).endswith("missing in a-0.")
    assert says("b-0", opens=False).endswith("missing in b-0, which was not read.")
    several = "missing in one or more of b-0, c-0, which were not read."
    assert says("b-0", "c-0", opens=False).endswith(several)


@pytest.mark.parametrize(("age_ms", "kinds"), [(5_000, []), (20_000, ["pending-offset"])])
def test_a_position_may_be_pending_for_a_moment(age_ms: int, kinds: list[str]) -> None:
    row = state("Ongoing", start_ms=NOW - age_ms)
    position = Position("g", "a-0", 3, 9, pending=("T1",))
    assert found([row], [opened(age_ms=age_ms)], True, position) == kinds


def test_which_transaction_holds_a_position_is_said_as_far_as_it_is_known() -> None:
    """Of a running cluster only the partition of `__consumer_offsets` is known, in which another
    group's transaction may be open; a dump or a folder says which one it is."""
    txns = [Txn(f"T{n}", "", "open", "__consumer_offsets-0", since_ms=0) for n in (1, 2)]

    def says(live: bool, *labels: str) -> str:
        position = Position("g", "a-0", 3, 9, pending=labels)
        reading = Reading("kafka", "h:1", NOW, (), tuple(txns), (position,), own=Own(live=live))
        (one,) = (found for found in judge(reading) if found.kind.name == "pending-offset")
        return one.says.en

    assert "is one of T1, T2: the broker does not say which" in says(True, "T1", "T2")
    assert says(True, "T1").endswith("T1 must end first.")
    assert says(False, "T1", "T2").endswith("T1, T2 must end first.")


@pytest.mark.parametrize(("age_ms", "kinds"), [(5_000, []), (20_000, ["markers-missing"])])
def test_a_decision_in_a_dump_is_normal_for_a_moment(age_ms: int, kinds: list[str]) -> None:
    for times in ({"update_ms": NOW - age_ms}, {"start_ms": NOW - age_ms}):
        row = State("app", 7, 3, 60_000, "PrepareCommit", **times, partitions=("a-0",))
        reading = Reading("kafka", "dump.txt", NOW, own=Own((row,), True, live=False))
        assert [one.kind.name for one in judge(reading)] == kinds


@pytest.mark.parametrize(("where", "advised"), [("a-0/1.log", "find-hanging"), ("a-01", "abort")])
def test_no_abort_is_advised_where_its_own_log_is_damaged(where: str, advised: str) -> None:
    """Another log's name may begin with the name of this one."""
    gap = Gap(Text(where), Text("cut"), failed=True)
    own = Own((state("Empty"),), True)
    (one,) = judge(Reading("kafka", "h:1", NOW, (), (opened(),), gaps=(gap,), own=own))
    assert f"kafka-transactions.sh --bootstrap-server h:1 {advised} " in one.commands[0]


def test_names_are_quoted_for_a_shell() -> None:
    row = State("a; rm -rf $HOME", 7, 3, 60_000, "Ongoing", 0, 1, ("a-0",), "there")
    reading = Reading("kafka", "h:1; reboot", NOW, own=Own((row,), True))
    (finding,) = judge(reading)
    assert finding.commands == (
        "kafka-transactions.sh --bootstrap-server 'h:1; reboot' describe "
        "--transactional-id 'a; rm -rf $HOME'",
    )
