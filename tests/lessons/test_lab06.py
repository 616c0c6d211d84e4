"""Lab 06's exercises: right answers pass, each belief meets its own sentence, and what the
lab shows of a slow producer and of a fence is what a real broker answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons import check, scenario, system
from mqlab.lessons.admit import ADMIT
from mqlab.lessons.commit import KILLS
from mqlab.lessons.lab06 import (
    COMMIT,
    RECORDINGS,
    answers,
    check_kill,
    coordinator_of,
    due,
    never_unknown,
    recorded,
    records,
    requests,
    transitions,
)

Pair = tuple[int, int]
OK, LATER = "ok", "CONCURRENT_TRANSACTIONS"
FENCED, NO_SUCH = "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"


def right(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known is None or known[0] != asked[0]:
        return NO_SUCH
    if known != asked:
        return FENCED
    return LATER if busy else OK


def busy_first(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    """The order of AddPartitionsToTxn: who comes at a bad moment is told so, whoever he is."""
    return LATER if busy and known is not None else right(known, state, busy, asked)


def any_holder(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known is None:
        return NO_SUCH
    return LATER if busy else OK


def id_alone(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known is None or asked[0] != known[0]:
        return NO_SUCH
    return LATER if busy else OK


def not_smaller(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known is None or asked[0] != known[0]:
        return NO_SUCH
    if asked[1] < known[1]:
        return FENCED
    return LATER if busy else OK


def epoch_alone(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known is None:
        return NO_SUCH
    if asked[1] != known[1]:
        return FENCED
    return LATER if busy else OK


def for_good(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    return FENCED if busy else right(known, state, busy, asked)


def for_now(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    return OK if known == asked and not busy else LATER


def only_prepared(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    return right(known, state, state.startswith("Prepare"), asked)


def open_is_busy(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known is not None and state == "Ongoing":
        return LATER
    return right(known, state, busy, asked)


def always_fenced(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    if known != asked:
        return FENCED
    return LATER if busy else OK


def nobody(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    return LATER


NAIVE: dict[str, Callable[..., Any]] = {
    "10: the transactional id is enough": any_holder,
    "89: the epoch is the partition's affair": id_alone,
    "89: only smaller epochs are refused": not_smaller,
    "88: the epoch is enough": epoch_alone,
    "112: every refusal is final": for_good,
    "112: every refusal is for now": for_now,
    "107: nothing is under way until it is decided": only_prepared,
    "13: an open transaction is busy": open_is_busy,
    "fenced is whoever is refused": always_fenced,
    "nobody is let in": nobody,
}
#: they let nobody commit, so that no run is needed to see the mistake
USELESS = {"13: an open transaction is busy", "nobody is let in"}


@pytest.mark.parametrize("rule", [right, busy_first], ids=["EndTxn", "AddPartitionsToTxn"])
def test_both_orders_of_the_real_coordinator_are_right(rule: Callable[..., Any]) -> None:
    verdict = check(ADMIT, rule)
    assert verdict.ok, verdict


def test_every_listed_belief_has_its_naive_rule() -> None:
    assert list(NAIVE) == [belief.name for belief in ADMIT.beliefs]
    assert len({belief.message.en for belief in ADMIT.beliefs}) == len(NAIVE)


@pytest.mark.parametrize("name", NAIVE)
def test_a_naive_rule_is_recognised_and_refuted_by_a_run(name: str) -> None:
    verdict = check(ADMIT, NAIVE[name])
    assert not verdict.ok
    assert verdict.misconception == name
    assert verdict.message == next(b.message for b in ADMIT.beliefs if b.name == name)
    trace = verdict.trace()
    assert (trace is None) == (name in USELESS)
    if trace is not None:
        assert [light.name for light in trace.snapshot(-1).lights if not light.ok]


def stub(known: Pair | None, state: str, busy: bool, asked: Pair) -> str:
    raise NotImplementedError


def test_what_is_no_rule_is_told_so() -> None:
    assert "nothing is written yet" in str(check(ADMIT, stub))
    assert "the answers are ok, PRODUCER_FENCED" in str(check(ADMIT, lambda *given: "no"))
    assert ADMIT.hint(1) != ADMIT.hint(2)
    with pytest.raises(ValueError, match="hints 1 to 2"):
        ADMIT.hint(3)


@pytest.mark.parametrize(
    ("order", "broken"),
    [
        ("prepare reply markers wait complete", ""),
        ("prepare markers reply wait complete", ""),
        ("prepare markers wait complete reply", ""),
        ("reply prepare markers wait complete", "kept"),
        ("prepare markers wait complete", "told"),
        ("prepare reply markers wait", "commits"),
        ("prepare reply complete", "read back"),
        ("markers prepare reply wait complete", "same outcome"),
        ("prepare reply complete markers wait", "settled"),
        ("vote prepare reply markers wait complete", "13"),
        ("prepare producer reply markers wait complete", "109"),
        ("prepare reply undo markers wait complete", "11"),
        ("drain prepare reply markers wait complete", "12"),
        ("clock prepare reply markers wait complete", "14"),
    ],
)
def test_the_pieces_of_commit(order: str, broken: str) -> None:
    verdict = COMMIT.judge(order.split())
    assert (verdict.ok, verdict.misconception) == (not broken, broken), verdict


@pytest.mark.parametrize(
    ("kill", "name"),
    [
        ("kill tc when=⇒EndTxn#1 after=0", "right"),
        ("kill tc when=PrepareCommit#1 after=1", "right"),
        ("kill tc when=PrepareCommit#1 after=0", "answered"),
        ("kill tc when=WriteTxnMarkers#1 after=0", "answered"),
        ("kill tc when=⇒InitProducerId#1 after=0", "early"),
        ("kill tc when=Ongoing#1 after=1", "early"),
        ("kill tc when=⇒EndTxn#7 after=0", "alive"),
    ],
)
def test_the_kill_that_leaves_a_commit_unanswered(kill: str, name: str) -> None:
    verdict = check_kill(kill)
    assert verdict.ok == (name == "right")
    assert verdict.message == KILLS[name]
    assert verdict.misconception == ("" if verdict.ok else name)


@pytest.mark.parametrize("line", ["", "kill app", "kill tc when=⇒EndTxn#1\nkill tc", "kill tc x"])
def test_a_kill_that_cannot_be_read_is_told_so(line: str) -> None:
    verdict = check_kill(line)
    assert not verdict.ok
    assert verdict.misconception == ""


def test_unknown_may_end_either_way_and_breaks_no_promise() -> None:
    small = system("kafka partitions=1 retries=1 'app=init; begin; send orders-0 a; commit'")
    fault = Budget(kills=1, killable=("tc",), timers=1)
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
    assert due(f"{story}send orders-0 a").endswith("set at 51 s, runs out at 120 s")


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
            "run app: init, begin, send orders-0 slow\nfire tc\n"
            f"run hand: {lines[name]}{version}"
        )
        start = "Produce late" if name == "Produce" else f"{name} epoch=0"
        real = {said for _, _, what, said in seen if what.startswith(start)}
        assert answers(run).splitlines()[-1].split("  ")[-1].strip() in real, (name, real)


def test_a_recording_that_is_not_there_says_which_there_are() -> None:
    assert "CONCURRENT_TRANSACTIONS" in recorded("tv2", "init-during-ongoing", "new")
    with pytest.raises(ValueError, match=r"no recording tv2/nothing; there are: .*basic-commit"):
        recorded("tv2", "nothing")


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
        "system asking producers=app:a,hand:raw\nlose hand→tc ⇒InitProducerId\n"
        "run hand: InitProducerId, commit"
    )
    assert answers(run).splitlines()[2:] == [
        "InitProducerId  no answer: connection lost",
        "commit          by hand one sends single requests only",
    ]
