"""Lab 10: its stories come to what it says, and its exercises tell beliefs apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import Trace
from mqlab.lessons.pulsar.exercises.acking import ACKING, TRIALS, UNSEEN
from mqlab.lessons.pulsar.lab10 import (
    ALONE,
    BELIEFS,
    COMES_BACK,
    PASSING,
    RETURNING,
    TWICE,
    UNFINISHED,
    UNREAD,
    answer_ack,
    answer_second,
    compare_types,
    compare_with_kafka,
    end_last,
    fence,
    list_pending_logs,
    list_received,
    list_records,
    pass_on,
    put_beside_kafka,
    receive_last,
    store_repeated,
    zombie,
    zombie_ends,
)
from mqlab.lessons.pulsar.systems.passing import PassingSystem
from mqlab.registry import continue_scenario, scenario, system

Rule = Callable[..., Any]

# ---- what its tables read off a story ----------------------------------------------------------

STORY = """
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538, send orders-0 580539
run worker: receive billing, new-transaction t1, ack billing orders-0@0 txn=t1, {end} t1
run worker: receive billing
"""


def test_what_a_story_receives_and_how_it_ends() -> None:
    committed, aborted = (STORY.format(end=end) for end in ("commit", "abort"))
    assert list_received(committed) == ["580538 @0, 580539 @1", "nothing"]
    assert receive_last(aborted) == "580538 @0 again 1"
    assert answer_ack(committed) == end_last(committed) == "ok"


def test_the_records_of_an_acknowledgement_are_those_of_two_logs() -> None:
    rows = list_records(STORY.format(end="commit"))
    assert [said.split()[0] for _, _, said in rows] == [
        *("NEW", "ADD_SUBSCRIPTION", "ACK", "COMMITTING", "COMMIT", "COMMITTED")
    ]
    assert {log for node, log, _ in rows if node == "orders-0"} == {"pending-ack log"}


def test_kafka_skips_or_repeats_and_pulsar_gives_the_one_that_is_not_done() -> None:
    lines = compare_with_kafka().splitlines()[2:]
    got = [line.split("  ")[-1].strip() for line in lines]
    assert got == ["580538, 580539, 580540", "nothing", "580538 @0"]
    pair = put_beside_kafka()
    assert [len(pair.players[0].trace), len(pair.players[1].trace)] == list(pair.moments[-1])


def test_each_subscription_has_a_log_of_pending_acknowledgements() -> None:
    both = """
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type=Shared, subscribe orders-0 stock type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing txn=t1
"""
    logs = ["orders-0-billing__transaction_pending_ack", "orders-0-stock__transaction_pending_ack"]
    assert list_pending_logs(both) == [(logs[0], "ACK Individual (0,0) 0"), (logs[1], "")]


def test_each_type_of_subscription_sends_something_else_again() -> None:
    lines = compare_types().splitlines()[2:]
    again = {line[24:].strip() for line in lines if "individually" in line}
    assert again == {"580538 @0, 580539 @1, 580540 @2, 580541 @3", "580539 @1 again 1"}
    cumulative = [line[24:].strip() for line in lines if "cumulatively" in line]
    assert cumulative[:2] == ["nothing"] * 2
    assert all(said.startswith("refused: failed Invalid") for said in cumulative[2:])


def test_the_second_acknowledgement_of_a_message_is_a_conflict() -> None:
    mine, other = "ack billing orders-0@0 txn=t1", "ack billing orders-0@0 txn=t2"
    assert answer_second("Shared", mine, other) == "failed TransactionConflictException"
    assert answer_second("Shared", f"{mine}, abort t1", other) == "ok"


def test_an_order_that_is_passed_on_counts_with_the_commit_and_comes_again_after_the_abort() -> (
    None
):
    assert pass_on("commit") == ("580538 @0", "nothing")
    assert pass_on("abort") == ("nothing", "580538 @0 again 1")


def test_a_replaced_worker_is_stopped_only_if_it_acknowledges() -> None:
    (_, refused, once), (_, accepted, twice), *_ = zombie_ends()
    assert (refused, once) == ("failed TransactionHasOperationFailedException", "580538 @1")
    assert (accepted, twice) == ("ok", "580538 @0, 580538 @1")


def test_a_fence_stops_sends_and_no_commit_of_what_was_sent_before() -> None:
    *_, (_, refused, once), (_, accepted, twice) = zombie_ends()
    assert (refused, once) == ("failed TransactionHasOperationFailedException", "580538 @0")
    assert (accepted, twice) == ("ok", "580538 @0, 580538 @1")
    assert sums(fence(sends_first=False)) == (PENCE, PENCE, 0, 0)
    assert sums(fence(sends_first=True)) == (PENCE, 2 * PENCE, 0, PENCE)


def test_a_send_that_is_repeated_is_stored_twice_unless_the_broker_knows_duplicates() -> None:
    assert [stored for _, stored in store_repeated()] == ["580538 580538", "580538"]


# ---- the money of the orders that are passed on ------------------------------------------------

PENCE = 31_678


def sums(trace: Trace, at: int = -1) -> tuple[int, int, int, int]:
    money = trace.snapshot(at).money
    assert money is not None
    return money.due, money.seen, money.missing, money.extra


def test_the_money_of_a_replaced_worker_is_right_only_if_it_acknowledges() -> None:
    assert sums(zombie(acknowledges=True)) == (PENCE, PENCE, 0, 0)
    assert sums(zombie(acknowledges=False)) == (PENCE, 2 * PENCE, 0, PENCE)


def test_an_order_that_is_done_with_is_lost_when_nothing_can_bring_its_income() -> None:
    play = continue_scenario(ALONE)
    play.go_on(held=["worker>income-0"])
    assert sums(play.trace) == (PENCE, 0, 0, 0), "its transaction is open"
    lost = scenario("""
system passing clients=shop,worker
run worker: subscribe orders-0 work type=Shared
run shop: send orders-0 580538
run worker: receive work, new-transaction t1, send income-0 580538 txn=t1, ack work
run worker: abort t1
""")
    assert sums(lost) == (PENCE, 0, PENCE, 0)
    assert any(sums(lost, at)[:3] == (PENCE, 0, 0) for at in range(len(lost)))


# ---- the rule of conflict ----------------------------------------------------------------------


def right(txn: str, asked: Any, acked: Any, pending: Any) -> bool:
    held = {message for message, _ in pending}
    return not set(asked) & (held | set(acked))


def mine_again(txn: str, asked: Any, acked: Any, pending: Any) -> bool:
    held = {message for message, holder in pending if holder != txn}
    return not set(asked) & (held | set(acked))


def _is_free(message: int, txn: str, acked: Any, pending: Any) -> bool:
    return mine_again(txn, (message,), acked, pending)


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/pulsar", "mqlab/lessons")
@pytest.mark.parametrize("rule", [right, mine_again])
def test_both_right_rules_pass_with_what_only_grading_tries(rule: Rule) -> None:
    verdict = ACKING.check(rule, graded=True)
    assert verdict.ok, str(verdict)


def test_the_first_and_the_last_of_a_request_do_not_stand_for_it() -> None:
    for place in (0, -1):
        verdict = ACKING.check(
            lambda txn, asked, acked, pending, place=place: _is_free(
                asked[place], txn, acked, pending
            )
        )
        assert verdict.misconception == "one free message is enough"


def test_a_rule_that_gives_no_truth_value_or_has_a_memory_is_told_so() -> None:
    assert "True and False" in str(ACKING.check(lambda *given: 1))
    seen: list[Any] = []

    def remembers(*given: Any) -> bool:
        seen.append(given)
        return len(seen) % 2 == 0

    assert "and then" in str(ACKING.check(remembers))


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/pulsar", "mqlab/lessons")
def test_every_sentence_of_the_exercise_is_told_by_some_trial() -> None:
    for trial in (*TRIALS, *UNSEEN):
        found, budget = trial.build_case(right)
        verdict = explore(found, budget)
        assert verdict.complete and not verdict.counterexamples and not verdict.missing
        assert set(trial.says) <= {p.name for p in found.properties()}


# ---- the worker's calls in order ---------------------------------------------------------------


@pytest.mark.parametrize(
    "order",
    [
        "receive begin send ack commit",
        "receive begin ack send commit",
        "begin receive send ack commit",
    ],
)
def test_every_order_in_which_both_belong_to_the_transaction_is_right(order: str) -> None:
    assert PASSING.check(order.split()).ok


@pytest.mark.parametrize(
    ("order", "broken"),
    [
        ("receive plain begin send commit", "passed on"),
        ("receive begin send ack", "done"),
        ("receive send begin ack commit", "done"),
        ("receive begin note send ack commit", "32 unacknowledged state lives in the client"),
    ],
)
def test_each_wrong_order_breaks_a_promise_or_names_a_belief(order: str, broken: str) -> None:
    verdict = PASSING.check(order.split())
    assert not verdict.ok and verdict.misconception == broken


def test_a_worker_that_is_killed_and_timed_out_still_counts_each_order_once() -> None:
    found = system("passing pieces=receive,begin,send,ack,commit 'shop=send orders-0 580538'")
    assert isinstance(found, PassingSystem)
    verdict = explore(found, Budget(kills=1, killable=("worker",)))
    assert verdict.complete and not verdict.counterexamples and not verdict.missing


def test_a_piece_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no piece 'dance'; there are: receive"):
        system("passing pieces=dance")


# ---- the orders of the hook, received again -----------------------------------------------------

ACK = "ack-cumulative billing orders-0@2"
REDELIVER = "run worker: redeliver billing\n"
IN_A_TRANSACTION = f"receive billing, new-transaction t2, {ACK} txn=t2, commit t2"


@pytest.mark.parametrize(
    "story",
    [
        f"{REDELIVER}run worker: {IN_A_TRANSACTION}",
        f"{REDELIVER}run worker: receive billing\nrun worker: {ACK}",
        f"run worker: close billing, subscribe orders-0 billing\nrun worker: {IN_A_TRANSACTION}",
        f"kill worker\nrun twin: subscribe orders-0 billing\nrun twin: {IN_A_TRANSACTION}",
        f"run worker: receive billing\n{REDELIVER}run worker: {IN_A_TRANSACTION}",
    ],
)
def test_orders_that_are_received_once_more_and_acknowledged_are_billed(story: str) -> None:
    verdict = RETURNING.check(story, graded=True)
    assert verdict.ok and verdict.trace() is not None


@pytest.mark.parametrize(
    ("story", "belief"),
    [
        ("run worker: receive billing", COMES_BACK),
        (f"run worker: {IN_A_TRANSACTION}", COMES_BACK),
        (f"run worker: {ACK}", UNREAD),
        (f"run worker: ack billing orders-0@0\n{REDELIVER}run worker: receive billing", UNREAD),
        (f"{REDELIVER}run worker: receive billing\n" * 2 + f"run worker: {ACK}", TWICE),
        (f"{REDELIVER}run worker: receive billing", UNFINISHED),
        (f"{REDELIVER}run worker: {IN_A_TRANSACTION}".replace(", commit t2", ""), UNFINISHED),
    ],
)
def test_orders_that_are_not_billed_name_a_belief(story: str, belief: str) -> None:
    verdict = RETURNING.check(story)
    assert not verdict.ok and verdict.trace() is not None
    assert (verdict.misconception, verdict.message) == (belief, BELIEFS[belief])


def test_a_line_that_is_none_is_counted_from_the_first_of_the_story() -> None:
    assert "line 2: no command 'dance'" in str(
        RETURNING.check("run worker: receive billing\ndance")
    )
