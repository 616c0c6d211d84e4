"""Lab 04: its shares are counted, its stories leave behind what they say, and its exercises tell
beliefs apart."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mqlab.lessons.patterns.orders import list_orders
from mqlab.lessons.registry import scenario, system
from mqlab.lessons.rocketmq.exercises.answering import LISTENER, MESSAGES, UNKNOWN_IS_FREE
from mqlab.lessons.rocketmq.exercises.placing import BELIEFS as PLACING_BELIEFS
from mqlab.lessons.rocketmq.exercises.story import (
    ALONE,
    BELIEFS,
    HARSH,
    SAME,
    STORY,
    UNASKED,
    UNKNOWN,
)
from mqlab.lessons.rocketmq.lab04 import (
    Ending,
    list_deliveries,
    list_questions,
    look_back,
    wait_for_checks,
)
from mqlab.lessons.rocketmq.outcomes import list_deaths, measure_outcomes
from mqlab.rocketmq.config import DELAY_LEVELS_S
from tests.lessons.rocketmq.listeners import (
    COMMIT,
    ROLLBACK,
    UNKNOW,
    WRONG,
    carefully,
    check,
    execute,
    slowly,
)

# ---- how often ------------------------------------------------------------------------------


def test_without_loss_and_death_every_order_ends_right() -> None:
    for check_back in (True, False):
        found = measure_outcomes(check_back, seeds=3)
        assert (found.orders, found.once, found.split) == (36, 36, 0)


def test_without_check_back_a_lost_end_leaves_a_row_alone() -> None:
    found = measure_outcomes(False, loss=0.2, seeds=10)
    assert found.split > 0
    assert found.twice == 0, "nobody asks, so nothing comes again"
    assert found.once + found.twice + found.neither + found.split == found.orders
    assert found.delivered < 1


def test_check_back_mends_every_loss_and_every_death_and_pays_with_duplicates() -> None:
    mended = measure_outcomes(True, loss=0.2, death=0.3, seeds=10)
    assert mended.split == 0
    assert mended.delivered == 1
    assert mended.twice > 0


def test_a_single_check_does_not_mend_all() -> None:
    one = measure_outcomes(True, loss=0.4, death=0.2, check_max=1, seeds=10)
    never = measure_outcomes(False, loss=0.4, death=0.2, seeds=10)
    assert 0 < one.split < never.split


def test_a_process_dies_as_often_as_is_said_and_is_back_before_the_next() -> None:
    assert not list(list_deaths(random.Random(1), 0.0, 12))
    always = list(list_deaths(random.Random(1), 1.0, 12))
    assert [what for _, what in always] == ["kill app", "restart app"] * 12
    assert [at for at, _ in always] == sorted(at for at, _ in always)


# ---- what a story leaves behind -------------------------------------------------------------

PENDING = "system order_service early=on\nrun app: listener UNKNOW UNKNOW, send-in-transaction "


def test_what_a_story_leaves_behind_is_counted() -> None:
    parked = look_back(f"{PENDING}orders-0 580538\n{wait_for_checks(16)}")
    assert parked == Ending(False, halves=16, ops=0, messages=0, parked=1, dead=0, booked=0)
    assert str(parked) == "no row, no message, parked"
    fine = look_back(
        "system order_service consumers=accounting\n"
        "run app: send-in-transaction orders-0 580538\nrun accounting: consume"
    )
    assert fine == Ending(True, halves=1, ops=0, messages=1, parked=0, dead=0, booked=1)
    assert str(fine) == "row and message"


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Ending(True, 2, 0, 0, 0, 0, 0), "a row without a message"),
        (Ending(True, 2, 0, 0, 1, 0, 0), "a row without a message, parked"),
        (Ending(False, 2, 0, 1, 0, 0, 0), "a message without a row"),
        (Ending(True, 2, 0, 2, 0, 0, 0), "row and 2 messages"),
    ],
)
def test_an_ending_in_words(found: Ending, says: str) -> None:
    assert str(found) == says


def test_the_questions_of_a_run_with_their_times_and_numbers() -> None:
    run = scenario(f"{PENDING}orders-0 580538\n{wait_for_checks(2)}")
    assert list_questions(run) == [(30_000, "app", 1), (60_000, "app", 2)]


def test_a_message_that_always_fails_comes_once_more_than_it_is_retried() -> None:
    times, left = list_deliveries(retries=3)
    assert times == [0, 10, 40, 100]
    assert (left.messages, left.dead, left.booked, left.row) == (1, 1, 0, True)


def test_with_the_default_of_sixteen_retries_that_is_seventeen_within_five_hours() -> None:
    assert system("rocketmq").retry_max == 16
    times, left = list_deliveries()
    assert (len(times), times[-1], left.dead) == (17, sum(DELAY_LEVELS_S[2:]), 1)


def test_the_orders_of_the_lab_are_the_day_s_first() -> None:
    assert list_orders(1)[0].number == "580538"


# ---- the test that a learner writes ----------------------------------------------------------

SEND = "run app: send-in-transaction orders-0 580538\n"
ASK = "fire broker check\n"
BACK = "kill app\nrestart app\n"


@pytest.mark.parametrize(
    "story",
    [
        SEND + BACK + ASK,
        "\n" + SEND + BACK + ASK + "\n",
        "kill app when=EndTransaction#1\n" + SEND + "restart app\n" + ASK,
        SEND + ASK + BACK + ASK,
    ],
)
def test_a_story_that_tells_the_example_from_a_right_listener_is_right(story: str) -> None:
    verdict = STORY.check(story, graded=True)
    assert verdict.ok
    trace = verdict.trace()
    assert trace is not None
    assert verdict.light == "message with row"
    assert "message 580538" in trace.facts[verdict.step - 1].text.en


@pytest.mark.parametrize(
    ("story", "belief"),
    [
        (SEND, UNASKED),
        (SEND + BACK, UNASKED),
        (SEND + "kill app\n" + ASK, ALONE),
        (SEND + ASK, SAME),
        (BACK + SEND + ASK, SAME),
        (SEND + ASK * 16 + SEND.replace("38", "39") + BACK + ASK, UNKNOWN),
    ],
)
def test_every_other_story_is_met_with_its_own_sentence(story: str, belief: str) -> None:
    verdict = STORY.check(story)
    assert not verdict.ok
    assert verdict.misconception == belief
    assert verdict.message == BELIEFS[belief]
    assert verdict.trace() is not None


def test_a_story_in_which_a_right_listener_fails_too_finds_nothing() -> None:
    verdict = STORY.check(SEND + "power-cut broker\nrestart broker\n" + BACK)
    assert verdict.misconception == HARSH
    assert verdict.light == "row with message"


@pytest.mark.parametrize(
    ("story", "says"),
    [
        ("", "nothing is written yet"),
        (None, "nothing is written yet"),
        ("dance", "line 1: 'dance' is no command"),
        (SEND + "fire app check\n", "line 2: "),
        ("off half_topic\n" + SEND, "the system is given"),
        ("system rocketmq\n" + SEND, "the system is given"),
        ("fire broker check\n", "line 1: "),
        ("run app: send orders-0 580538\n", "no order is stored as a half"),
    ],
)
def test_what_is_no_test_is_told_so(story: object, says: str) -> None:
    verdict = STORY.check(story)
    assert not verdict.ok
    assert says in str(verdict)


def test_there_are_two_hints() -> None:
    assert STORY.hint(1).zh
    assert "restart app" in STORY.hint(2).en
    with pytest.raises(ValueError, match="hints 1 to 2"):
        STORY.hint(3)


# ---- the listener that a learner writes ------------------------------------------------------


def check_refusing(order_id: str, db: Any, memory: Any) -> Any:
    if order_id.startswith("C"):
        return ROLLBACK
    return UNKNOW if db.get(order_id) is None else COMMIT


@pytest.mark.parametrize("begin", [execute, slowly, carefully])
def test_a_listener_that_also_refuses_when_it_is_asked_is_right(begin: Any) -> None:
    verdict = LISTENER.check((begin, check_refusing), graded=True)
    assert verdict.ok, verdict


@pytest.mark.parametrize(("belief", "pair"), WRONG.items(), ids=WRONG)
def test_each_belief_about_listeners_meets_its_own_sentence(belief: str, pair: Any) -> None:
    verdict = LISTENER.check(pair)
    assert not verdict.ok
    assert verdict.misconception == belief
    assert verdict.message in [one.message for one in PLACING_BELIEFS if one.name == belief]


def test_who_leaves_a_refused_order_open_sees_it_parked() -> None:
    verdict = LISTENER.check((execute, check))
    assert verdict.misconception == UNKNOWN_IS_FREE
    assert verdict.message == MESSAGES[UNKNOWN_IS_FREE]
    trace = verdict.trace()
    assert trace is not None
    assert "discard C580597" in trace.facts[verdict.step - 1].text.en


def test_who_says_yes_to_a_refused_order_alone_is_found_too() -> None:
    def say_yes_to_those(order_id: str, db: Any, memory: Any) -> Any:
        if order_id.startswith("C"):
            return COMMIT
        return UNKNOW if db.get(order_id) is None else COMMIT

    verdict = LISTENER.check((execute, say_yes_to_those))
    assert verdict.misconception == "whoever is asked says COMMIT"
    trace = verdict.trace()
    assert trace is not None
    assert any("message C580597" in fact.text.en for fact in trace)
