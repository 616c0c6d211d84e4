"""Lab 06's exercises: right answers pass, each belief meets its own sentence, and what the
lab shows of a slow producer and of a fence is what a real broker answered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons.atlas.data_flow import data_flow, flow
from mqlab.lessons.check import check
from mqlab.lessons.course.notebooks import labs_in, read_source
from mqlab.lessons.java import RECORDINGS
from mqlab.lessons.kafka.lab06 import (
    ADMIT,
    answers,
    coordinator_of,
    costs,
    find_lines,
    find_red_step,
    find_timeout,
    first,
    never_unknown,
    read_recording,
    records,
    requests,
    transitions,
)
from mqlab.registry import scenario, system
from tests.lessons.atlas.boxes import find_overlaps

Pair = tuple[int, int]
OK, LATER = "ok", "CONCURRENT_TRANSACTIONS"
FENCED, NO_SUCH = "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"


def right(known: Pair | None, state: str, busy: bool, caller: Pair) -> str:
    if known is None or known[0] != caller[0]:
        return NO_SUCH
    if known != caller:
        return FENCED
    return LATER if busy else OK


def busy_first(known: Pair | None, state: str, busy: bool, caller: Pair) -> str:
    """The order of AddPartitionsToTxn: who comes at a bad moment is told so, no matter who it
    is."""
    return LATER if busy and known is not None else right(known, state, busy, caller)


@pytest.mark.parametrize("rule", [right, busy_first], ids=["EndTxn", "AddPartitionsToTxn"])
def test_both_orders_of_the_real_coordinator_are_right(rule: Callable[..., Any]) -> None:
    verdict = check(ADMIT, rule)
    assert verdict.ok, verdict


def test_unknown_may_end_either_way_and_breaks_no_promise() -> None:
    small = system("kafka partitions=1 retries=1 'app=init; begin; send orders-0 a; commit'")
    fault = Budget(kills=1, killable=("coordinator",), timers=1)
    for outcome in ("COMMIT", "ABORT"):
        claim = never_unknown(small, outcome)
        assert list(explore(small, fault, (claim,)).counterexamples) == [claim.name]
    verdict = explore(small, fault)
    assert verdict.ok, verdict
    assert verdict.complete


# --- the tables ---------------------------------------------------------------------------

FENCE = """
system kafka client=legacy partitions=1 producers=old:a,new:a
run old: init, begin, send orders-0 x
run new: init
fire new retry
run new: begin, send orders-0 y, commit
"""


def test_the_records_of_a_fence_are_those_of_a_real_broker() -> None:
    found = " ".join(f"{row[0]}(ep{row[4]})" for row in records(scenario(FENCE)))
    assert found == "0(ep0) 1(ep0) 3(ep1) 5(ep1) 0(ep2) 1(ep2) 2(ep2) 4(ep2)"


def test_hashes_are_those_of_a_real_broker() -> None:
    said = coordinator_of("A", "tx-0", "order-service-1", "polygenelubricants").splitlines()
    assert [int(line.split()[-1]) for line in said[2:]] == [15, 19, 16, 0]


def test_end_txn_is_answered_before_any_marker() -> None:
    run = scenario("system kafka\nrun app: init, begin, send orders-0 a, flush, commit")
    line = requests(run).splitlines()[-1]
    before, after = line.split("ok epoch=1")
    assert "PrepareCommit" in before
    assert "WriteTxnMarkers" not in before
    assert "WriteTxnMarkers, CompleteCommit" in after


def test_the_table_of_states_says_where_a_run_went() -> None:
    table = transitions(scenario(FENCE)).splitlines()
    number, name, empty, _, prepare_commit, prepare_abort, *_ = table[3].split()
    assert (number, name) == ("1", "Ongoing")
    assert prepare_commit == prepare_abort == "●"
    assert empty == "·"
    assert transitions(transaction_version=0) != transitions()


def test_the_clock_starts_with_the_first_partition() -> None:
    story = "system kafka partitions=1\nat 1000\nrun app: init, begin\nat 51000\nrun app: "
    assert find_timeout(f"{story}send orders-0 a").endswith("set at 51 s, runs out at 120 s")


@pytest.mark.parametrize(
    ("profile", "options", "asked"),
    [
        ("tv2", "", {"EndTxn commit": "", "EndTxn abort": "", "Produce": ""}),
        ("tv2-legacy", "client=legacy", {"EndTxn commit": " v=4", "Produce": " v=11"}),
        ("tv0", "transaction_version=0", {"EndTxn commit": " v=4", "Produce": " v=11"}),
    ],
)
def test_a_slow_producer_hears_what_a_real_broker_says(
    profile: str, options: str, asked: dict[str, str]
) -> None:
    path = RECORDINGS / "kafka-4.3.1" / profile / "timeout-abort.json"
    seen = json.loads(path.read_text("utf-8"))["observations"]
    lines = {
        "EndTxn commit": "EndTxn commit pid=0 epoch=0",
        "EndTxn abort": "EndTxn abort pid=0 epoch=0",
        "Produce": "Produce orders-0 late pid=0 epoch=0 seq=1",
    }
    for name, version in asked.items():
        run = scenario(
            f"system asking partitions=1 timeout_ms=1500 producers=app:a,hand:raw {options}\n"
            "run app: init, begin, send orders-0 slow\nfire coordinator\n"
            f"run hand: {lines[name]}{version}"
        )
        start = "Produce late" if name == "Produce" else f"{name} epoch=0"
        real = {said for _, _, what, said in seen if what.startswith(start)}
        assert answers(run).splitlines()[-1].split("  ")[-1].strip() in real, (name, real)


def test_a_recording_that_is_not_there_says_which_there_are() -> None:
    assert "CONCURRENT_TRANSACTIONS" in read_recording("tv2", "init-during-ongoing", "new")
    with pytest.raises(
        ValueError, match=r"no recording kafka-4.3.1/tv2/nothing; there are: .*basic-commit"
    ):
        read_recording("tv2", "nothing")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("EndTxn perhaps pid=0 epoch=0", r"expected `EndTxn commit\|abort"),
        ("Produce orders-9 x pid=0 epoch=0 seq=0", "with a partition of: orders-0, orders-1"),
        ("InitProducerId pid=x", "'pid=x': expected `InitProducerId"),
        ("InitProducerId age=3", "'age=3': expected `InitProducerId"),
    ],
)
def test_a_request_by_hand_that_cannot_be_read_says_what_to_write(line: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        scenario(f"system asking producers=hand:raw\nrun hand: {line}")


def test_by_hand_one_sends_requests_and_a_lost_answer_stays_lost() -> None:
    run = scenario(
        "system asking producers=app:a,hand:raw\nlose hand→coordinator ⇒InitProducerId\n"
        "run hand: InitProducerId, commit"
    )
    assert answers(run).splitlines()[2:] == [
        "InitProducerId  no answer: connection lost",
        "commit          by hand one sends single requests only",
    ]


# --- money, the figure, the price ---------------------------------------------------------

TWICE = """
system charges partitions=1 producers=old:order-service,new:order-service{off}
run old: init
run new: init, begin, send charges-0 580538, commit
run old: begin, send charges-0 580538, commit
"""
OUTAGE = """
system charges partitions=1 replicas=2{defect}
run app: init, begin, send charges-0 580538, flush
run controller: fence charges-0 2, fence charges-0 1
run app: commit
run controller: elect charges-0 1
"""


@pytest.mark.parametrize(
    ("story", "balanced"),
    [
        (TWICE.format(off=""), True),
        (TWICE.format(off=" off=epoch_fencing"), False),
        (OUTAGE.format(defect=""), True),
        (OUTAGE.format(defect=" skip_leaderless_marker=1"), False),
    ],
    ids=["fenced", "charged twice", "marker waits", "never charged"],
)
def test_the_money_light_is_red_where_money_is_made_or_lost(story: str, balanced: bool) -> None:
    run = scenario(story)
    assert (find_red_step(run, "money") == 0) == balanced


def test_money_is_not_lost_while_something_is_owed() -> None:
    """Between the answer and the last marker the light stays green, and so after an abort."""
    run = scenario(
        "system charges\nrun app: init, begin, send charges-0 a, send charges-1 b, commit\n"
        "run app: begin, send charges-0 c, abort"
    )
    assert find_red_step(run, "money") == 0
    assert [g.label for g in run.snapshot(-1).readers[0].got] == ["a", "b"]


@pytest.mark.parametrize(("client", "adds"), [("v2", "leader of orders-0"), ("legacy", "producer")])
def test_one_figure_of_the_data_flow_read_off_a_run(client: str, adds: str) -> None:
    steps = {step.request.split(" ")[0]: step for step in flow(client)}
    assert [step.stage for step in flow(client)] == [
        "before",
        "before",
        "reserve",
        "write",
        "decide",
        "publish the decision",
        "make visible",
        "forget",
    ]
    assert steps["AddPartitionsToTxn"].source == adds
    assert steps["EndTxn"].wrote.startswith("PrepareCommit")
    assert steps["WriteTxnMarkers"].wrote.startswith("commit marker")
    assert steps["Fetch"].wrote == steps["FindCoordinator"].wrote == ""
    picture = data_flow(client)
    boxes = picture.boxes()
    assert not find_overlaps(picture)
    assert max(box.x + box.width for box in boxes) <= picture.scene.width
    with pytest.raises(ValueError, match="no client 'new'; there are: v2, legacy"):
        flow("new")


def test_a_transaction_costs_one_marker_and_one_offset_a_partition() -> None:
    rows = [
        [int(cell) for cell in line.split()] for line in costs([(1, 3), (3, 2)]).splitlines()[2:]
    ]
    assert rows == [[1, 3, 1, 4, 3], [3, 6, 3, 9, 5]]


def test_what_is_left_out_of_a_narration_is_marked() -> None:
    run = scenario("system kafka\nrun app: init, begin, send orders-0 a, flush, commit")
    lines = find_lines(run, "PrepareCommit", "ok epoch=1").splitlines()
    assert [line for line in lines if line == "⋮"] == ["⋮", "⋮"]
    assert "PrepareCommit" in lines[1]
    assert "ok epoch=1" in lines[2]


# --- what is said of stuck, slow and late producers ---------------------------------------

STUCK = """
system asking partitions=2 producers=app:order-service,hand:raw admins=admin
run app: init
run hand: WriteTxnMarkers orders-0 abort pid=0 epoch=0 coordinator=5
run app: begin, send orders-0 a, send orders-1 b, commit
{remedy}run hand: InitProducerId
"""


@pytest.mark.parametrize(
    ("remedy", "read", "told"),
    [
        ("", 1, LATER),
        ("run hand: WriteTxnMarkers orders-0 commit pid=0 epoch=1 coordinator=5\n", 2, LATER),
        ("kill coordinator\nrestart coordinator\n", 1, LATER),
        ("kill coordinator\nrestart coordinator\n" * 3, 2, "ok pid=0 epoch=2"),
    ],
    ids=["nothing", "a marker by hand", "one restart", "three restarts"],
)
def test_only_a_newer_coordinator_frees_a_stuck_id(remedy: str, read: int, told: str) -> None:
    run = scenario(STUCK.format(remedy=remedy))
    assert len(run.snapshot(-1).readers[0].got) == read
    assert answers(run).splitlines()[-1].split("  ")[-1].strip() == told


@pytest.mark.parametrize("kafka", ["transaction_version=0", "client=legacy", "client=v2"])
def test_offsets_after_a_timeout_are_fatal_though_nobody_fenced(kafka: str) -> None:
    story = (
        f"system kafka partitions=1 groups=1 timeout_ms=1500 {kafka}\n"
        "run app: init, begin, send orders-0 a, flush\nfire coordinator\nrun app: "
    )
    offsets = scenario(f"{story}send-offsets g orders-0@1, abort")
    said = [f.text.en for f in offsets if f.glyph == "☞"][-2:]
    assert all("ProducerFencedException, fatal" in words for words in said)
    sent = scenario(f"{story}send orders-0 b, flush, abort")
    last = [f.text.en for f in sent if f.glyph == "☞"][-1]
    assert (last == "abort: ok") == (kafka == "client=v2")


@pytest.mark.parametrize(
    ("kafka", "legacy", "written"),
    [("transaction_version=0", True, True), ("client=legacy", True, True), ("", False, False)],
)
def test_only_tv2_and_a_v2_client_keep_a_late_record_out(
    kafka: str, legacy: bool, written: bool
) -> None:
    add = "AddPartitionsToTxn orders-0 pid=0 epoch=0, " if legacy else ""
    p, e = (" v=11", " v=4") if legacy else ("", "")
    run = scenario(
        f"system asking partitions=1 producers=app:order-service,hand:raw {kafka}\n"
        f"run hand: InitProducerId, {add}Produce orders-0 early pid=0 epoch=0 seq=0{p}\n"
        f"run hand: EndTxn abort pid=0 epoch=0{e}\n"
        + (f"run hand: {add.strip(', ')}\n" if legacy else "")
        + f"run hand: Produce orders-0 late pid=0 epoch=0 seq=1{p}\n"
        f"run hand: EndTxn commit pid=0 epoch={0 if legacy else 1}{e}"
    )
    assert ([g.label for g in run.snapshot(-1).readers[0].got] == ["late"]) == written


def test_the_next_transaction_of_the_same_producer_waits_and_no_other() -> None:
    run = scenario(
        "system kafka partitions=1 producers=app:a,other:b\n"
        "hold coordinator→orders-0 WriteTxnMarkers\n"
        "run app: init, begin, send orders-0 x, commit\n"
        "run other: init, begin, send orders-0 y, flush\n"
        "run app: begin, send orders-0 z, flush"
    )
    refused = [f for f in run if "CONCURRENT_TRANSACTIONS" in f.text.en]
    assert len(refused) == 1
    assert refused[0].index > first(run, "begin: ok")
    values = [cell.label for log in run.snapshot(-1).logs for cell in log.cells]
    assert values == ["x", "y"]


PAGE = Path(__file__).parents[3] / "labs" / "instructor" / "06.md"


@pytest.mark.parametrize("block", re.findall(r"(?ms)^```scn\n(.*?)^```", PAGE.read_text("utf-8")))
def test_the_further_runs_of_the_page_end_as_it_says(block: str) -> None:
    story, _, told = block.partition("---\n")
    said = [f.text.en for f in scenario(story) if f.glyph == "☞" and f.node == "hand"]
    assert [words.replace(": failed ", ": ") for words in said] == told.splitlines()


def test_the_labs_questions_stand_on_runs() -> None:
    """All but a fact (which broker coordinates) and the exit ticket; one playground; tables only
    where no picture speaks."""
    source = read_source(labs_in(PAGE.parents[1], ["06"])[0])
    code = [cell.source for cell in source.cells if cell.cell_type == "code"]
    asked = [cell for cell in code if "Predict(" in cell]
    assert len(asked) >= 9
    alone = [cell for cell in asked if "trace=" not in cell]
    assert [cell.splitlines()[-1] for cell in alone] == [
        'Predict("06-coordinator")',
        'Predict("06-exit-ticket")',
    ]
    assert sum("Playground(" in cell for cell in code) == 1
