"""Lab 09: what its cells print is what happened, and its exercises tell beliefs apart."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.lessons.check import Belief
from mqlab.lessons.pulsar.exercises.lab09 import (
    ALONE,
    BELIEFS,
    CLIENT,
    HIDING,
    NUMBERING,
    PUNCTUAL,
    READING,
    RECOVERY,
    REFUSED,
    UNCOMMITTED,
    next_id,
    send_now,
)
from mqlab.lessons.pulsar.exercises.lab09 import NUMBERING_BELIEFS as NUMBERING_BELIEFS
from mqlab.lessons.pulsar.exercises.lab09 import READING_BELIEFS as READING_BELIEFS
from mqlab.lessons.pulsar.exercises.lab09 import look_reading as look
from mqlab.lessons.pulsar.lab09 import (
    describe_buffer,
    list_answers,
    list_entries,
    list_frontiers,
    list_ids,
    list_logs,
    list_records,
    measure_waiting,
    receive_all,
    tabulate_needed,
    tabulate_unpromised,
)
from mqlab.registry import run_scenario, scenario

# ---- what the cells print --------------------------------------------------------------------

BOTH = """
system pulsar topic=orders,payments clients=app,shop
run shop: subscribe orders-0 books from=earliest
run app: new-transaction t0, send orders-0 a txn=t0, abort t0
run app: new-transaction t1, send orders-0 b txn=t1
run app: send orders-0 c
"""
READ = "run shop: receive books"


def test_the_coordinators_log_is_listed_record_by_record() -> None:
    told = [(record, asked) for _, record, asked in list_records(scenario(BOTH))]
    assert told == [
        ("NEW (0,0)", "NewTxn timeout=60000"),
        ("ADD_PARTITION (0,0) orders-0", "AddPartitionToTxn (0,0) orders-0"),
        ("ABORTING (0,0)", "EndTxn abort (0,0)"),
        ("ABORTED (0,0)", "EndTxn abort (0,0)"),
        ("NEW (0,1)", "NewTxn timeout=60000"),
        ("ADD_PARTITION (0,1) orders-0", "AddPartitionToTxn (0,1) orders-0"),
    ]


def test_of_several_coordinators_each_has_its_own_log() -> None:
    run = scenario("system pulsar coordinators=2\nrun app: new-transaction t1, new-transaction t2")
    assert [record for _, record, _ in list_records(run, 1)] == ["NEW (1,0)"]
    assert [record for _, record, _ in list_records(run, 0)] == ["NEW (0,0)"]


def test_each_entry_has_its_fate() -> None:
    assert list_entries(BOTH) == [
        ("0", "a in (0,0)", "passed over"),
        ("1", "abort marker of (0,0)", "passed over"),
        ("2", "b in (0,1)", "waits"),
        ("3", "c", "waits"),
    ]
    assert [fate for *_, fate in list_entries(f"{BOTH}run app: commit t1")][2:] == [
        "delivered",
        "delivered",
        "passed over",
    ]
    assert list_entries(BOTH, "payments-0") == []


def test_the_buffer_in_words() -> None:
    assert describe_buffer(BOTH) == "Ready: open (0,1) from 2; aborted (0,0); maxReadPosition 1"
    assert describe_buffer("system pulsar").startswith("NoSnapshot: open nothing; aborted nothing")


def test_the_end_and_max_read_position_after_each_entry() -> None:
    assert list_frontiers(scenario(BOTH)) == [
        ("a in (0,0)", 0, -1),
        ("abort marker of (0,0)", 1, 1),
        ("b in (0,1)", 2, 1),
        ("c", 3, 1),
    ]


def test_what_applications_are_told() -> None:
    assert list_answers(BOTH)[-1] == "send orders-0 c: ok @3"
    assert list_answers(BOTH + READ, "shop") == [
        "shop   subscribe orders-0 books from=earliest: ok",
        "shop   receive books: ok nothing",
    ]


def test_what_a_subscription_has_received() -> None:
    assert receive_all(BOTH + READ) == []
    assert receive_all(f"{BOTH}run app: commit t1\n{READ}\n{READ}") == ["b", "c"]


def test_whatever_is_sent_behind_the_open_order_waits_with_it() -> None:
    assert measure_waiting(0) == (1, 31_678)
    for meanwhile in (1, 5, 11):
        waiting, pence = measure_waiting(meanwhile)
        assert waiting == meanwhile + 1
        assert pence > measure_waiting(meanwhile - 1)[1]


def test_every_safeguard_of_the_table_is_found_necessary() -> None:
    without, promised = tabulate_needed(), tabulate_unpromised()
    assert len(without.splitlines()) == 2 + 8
    assert len(promised.splitlines()) == 2 + 5
    assert "stale-write" in promised and "lost write" in promised


# ---- the id that a learner tells beforehand ----------------------------------------------------


def test_a_rule_in_its_own_words_tells_every_id() -> None:
    def by_rounds(ids: tuple[int, ...], coordinators: int) -> int:
        if len(ids) >= coordinators:
            return ids[-coordinators] + 1
        return (len(ids) + 1) % coordinators << 64

    for rule in (next_id, by_rounds):
        assert NUMBERING.check(rule, graded=True).ok


def test_the_first_id_is_that_of_coordinator_1_and_is_not_asked() -> None:
    assert list_ids(3, 4) == ["(1,0)", "(2,0)", "(0,0)", "(1,1)"]
    assert list_ids(1, 2) == ["(0,0)", "(0,1)"]


GUESSES = {
    "the last and one": lambda ids, many: ids[-1] + 1,
    "the largest and one": lambda ids, many: max(ids) + 1,
    "the first and their number": lambda ids, many: ids[0] + len(ids),
    "their number": lambda ids, many: len(ids),
    "their number in the upper half": lambda ids, many: len(ids) << 64,
    "the upper half": lambda ids, many: ids[-1] >> 64,
    "the last": lambda ids, many: ids[-1],
    "the next coordinator": lambda ids, many: ids[-1] + (1 << 64),
    "the next coordinator, in turn": lambda ids, many: (len(ids) + 1) % many << 64,
    "both and one": lambda ids, many: ids[-1] + (1 << 64) + 1,
    "rounds from coordinator 0": lambda ids, many: len(ids) % many << 64 | len(ids) // many,
    "of three coordinators": lambda ids, many: (len(ids) + 1) % 3 << 64 | len(ids) // 3,
}


@pytest.mark.parametrize("guess", GUESSES)
def test_an_obvious_guess_earns_no_point(guess: str) -> None:
    assert not NUMBERING.check(GUESSES[guess], graded=True).ok


def test_more_coordinators_are_tried_for_points() -> None:
    """A rule that keeps two bits of the coordinator has all ids right of which there are three."""

    def two_bits(ids: tuple[int, ...], coordinators: int) -> int:
        return next_id(ids, coordinators) & (1 << 66) - 1

    assert NUMBERING.check(two_bits).ok
    assert not NUMBERING.check(two_bits, graded=True).ok


# ---- what a learner's dispatcher sends ---------------------------------------------------------


def test_what_is_asked_is_what_the_partition_has_and_what_was_received() -> None:
    (moment,) = look(run_scenario(READING.stories[0]))
    entries, ongoing, aborted = moment.given
    assert entries == ((0, "plain", ""), (1, "message", "(0,0)"), (2, "plain", ""))
    assert (ongoing, aborted) == ({"(0,0)": 1}, [])
    assert moment.happened == [0]


def test_a_dispatcher_that_stops_at_the_oldest_open_transaction_is_right() -> None:
    assert READING.check(send_now, graded=True).ok
    assert READING.check(lambda *given: tuple(send_now(*given)), graded=True).ok


@pytest.mark.parametrize(
    ("exercise", "belief", "says"),
    [(NUMBERING, belief, "NEW (") for belief in NUMBERING_BELIEFS]
    + [(READING, belief, "receive books: ok ") for belief in READING_BELIEFS],
    ids=lambda one: getattr(one, "name", None),
)
def test_the_run_of_a_belief_opens_where_it_is_refuted(
    exercise: Any, belief: Belief, says: str
) -> None:
    """Its sentence: see `test_exercises`."""
    verdict = exercise.check(belief.rule)
    assert verdict.trace().facts[verdict.step - 1].text.en.startswith(says)


def test_the_misconceptions_of_the_list_are_among_the_beliefs() -> None:
    """31, 33, 34 and 35: those that can be held in a function."""
    told = " ".join(belief.name for belief in (*READING_BELIEFS, *NUMBERING_BELIEFS))
    for words in ("hides only its own", "discarded", "read_uncommitted", "top 16 bits"):
        assert words in told


@pytest.mark.parametrize("said", ["0", 0, {0}, ["0"], [True]])
def test_a_list_of_positions_is_asked_for(said: object) -> None:
    verdict = READING.check(lambda entries, ongoing, aborted: said)
    assert not verdict.ok
    assert "return a list of positions" in str(verdict)


# ---- the recovery that a learner writes ------------------------------------------------------


def test_a_recovery_in_other_words_is_right_too() -> None:
    def by_transaction(max_read: int, aborted: tuple, entries: tuple) -> tuple:
        ends = {txn: kind for _, kind, txn in entries if kind in ("commit", "abort")}
        begun: dict[str, int] = {}
        for position, kind, txn in reversed(entries):
            if kind == "message" and txn not in ends:
                begun[txn] = position
        return begun, [*aborted, *(txn for txn, kind in ends.items() if kind == "abort")]

    assert RECOVERY.check(by_transaction, graded=True).ok


@pytest.mark.parametrize(
    "said",
    [
        {},
        ({}, "(0,1)"),
        ([], []),
        ({"(0,1)": "5"}, []),
        ({"(0,1)": True}, []),
        ({"t1": 5}, []),
        ({}, [7]),
        ({}, [], []),
    ],
)
def test_an_answer_of_another_form_is_told_the_form(said: object) -> None:
    verdict = RECOVERY.check(lambda max_read, aborted, entries: said)
    assert not verdict.ok
    assert "return two things" in str(verdict)


# ---- the story that a learner writes ---------------------------------------------------------

COMMITTED = "run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1\n"
LATE = "run app: reopen t1, send orders-0 late txn=t1\n"
NEXT = "run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2\n"
LOAD = "kill orders-0\nrestart orders-0\n"
AGAIN = "run web: new-transaction t3, send orders-0 580540 txn=t3, abort t3\n"


@pytest.mark.parametrize("story", [COMMITTED + LATE + NEXT, COMMITTED + NEXT + LOAD + LATE + AGAIN])
def test_a_story_after_which_a_committed_order_is_hidden_is_right(story: str) -> None:
    verdict = HIDING.check(story, graded=True)
    assert verdict.ok
    trace = verdict.trace()
    assert trace is not None
    assert "abort marker of (0,0)" in "".join(f.text.en for f in trace.facts[: verdict.step])


@pytest.mark.parametrize(
    ("story", "belief"),
    [
        ("run app: send orders-0 580538", UNCOMMITTED),
        (COMMITTED.replace("commit", "abort") + LATE + NEXT, UNCOMMITTED),
        (COMMITTED, PUNCTUAL),
        (COMMITTED + NEXT, PUNCTUAL),
        (COMMITTED + "run app: send orders-0 late txn=t1", CLIENT),
        (COMMITTED + NEXT + LATE, REFUSED),
        (COMMITTED + LATE, ALONE),
        (COMMITTED + NEXT + LOAD + LATE, ALONE),
        (COMMITTED + LATE + NEXT.replace("orders-0", "payments-0"), ALONE),
    ],
)
def test_every_other_story_is_met_with_its_own_sentence(story: str, belief: str) -> None:
    verdict = HIDING.check(story)
    assert not verdict.ok
    assert (verdict.misconception, verdict.message) == (belief, BELIEFS[belief])
    assert verdict.trace() is not None


def test_the_coordinators_log_is_no_topic() -> None:
    story = "system pulsar clients=app\nrun app: new-transaction t, send orders-0 a txn=t, commit t"
    assert list_logs(story) == [
        ("orders-0", "2", "ok"),
        ("__transaction_log_0", "4", "no partition '__transaction_log_0'"),
    ]
