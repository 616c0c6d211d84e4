"""Lab 04: its shares are counted, its stories leave behind what they say, and its exercises tell
beliefs apart."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mqlab.kernel import speaking
from mqlab.lessons.laid import compare_silence
from mqlab.lessons.patterns.systems import list_orders
from mqlab.lessons.rocketmq.endings import (
    Ending,
    list_deaths,
    list_deliveries,
    list_questions,
    look_back,
    measure_outcomes,
    wait_for_checks,
)
from mqlab.lessons.rocketmq.exercises.answering import ASKED, LISTENER, MESSAGES, NO_ROW
from mqlab.lessons.rocketmq.exercises.answering import BELIEFS as BELIEFS_OF_CHECKS
from mqlab.lessons.rocketmq.exercises.listener import with_listener
from mqlab.lessons.rocketmq.exercises.story import (
    ALONE,
    BELIEFS,
    HARSH,
    SAME,
    STORY,
    UNASKED,
    UNKNOWN,
)
from mqlab.lessons.rocketmq.systems import SERVICES
from mqlab.registry import scenario, system
from mqlab.rocketmq.config import DELAY_LEVELS_S
from mqlab.rocketmq.picture.view import read_world
from mqlab.scenario import parse_script, perform
from tests.lessons.course.test_points import list_told
from tests.lessons.rocketmq import deciding
from tests.lessons.rocketmq.deciding import RIGHT, WRONG
from tests.lessons.rocketmq.listeners import check as ask_again  # as lab 03 has it

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


def test_check_back_repairs_every_loss_and_every_death_and_pays_with_duplicates() -> None:
    repaired = measure_outcomes(True, loss=0.2, death=0.3, seeds=10)
    assert repaired.split == 0
    assert repaired.delivered == 1
    assert repaired.twice > 0


def test_a_single_check_does_not_repair_all() -> None:
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
    assert str(parked) == "no row, no message, set aside"
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
        (Ending(True, 2, 0, 0, 1, 0, 0), "a row without a message, set aside"),
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
        ("dance", "line 1: no command 'dance'"),
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


def test_a_story_has_its_own_lines_in_both_languages() -> None:
    story = f"{SEND}dance\nsing\n"
    assert "line 2: " in str(STORY.check(story)) and "line 3: " in str(STORY.check(story))
    with speaking("zh"):
        assert "第 2 行：" in str(STORY.check(story)) and "第 3 行：" in str(STORY.check(story))


# ---- the listener that a learner writes ------------------------------------------------------

MESSAGE_OF = {**{one.name: one.message for one in BELIEFS_OF_CHECKS}, **MESSAGES}


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/rocketmq", "mqlab/lessons")
@pytest.mark.parametrize("pair", RIGHT.values(), ids=RIGHT)
def test_a_check_that_decides_in_one_statement_is_right(pair: Any) -> None:
    verdict = LISTENER.check(pair, graded=True)
    assert verdict.ok, verdict


@pytest.mark.parametrize(
    ("belief", "pair"), WRONG, ids=[f"{b}: {e.__name__}, {c.__name__}" for b, (e, c) in WRONG]
)
def test_each_belief_about_checks_meets_its_own_sentence(belief: str, pair: Any) -> None:
    verdict = LISTENER.check(pair)
    assert not verdict.ok
    assert (verdict.misconception, verdict.message) == (belief, MESSAGE_OF[belief])
    if verdict.light != "commits":  # nothing is ever delivered: no run shows that
        trace = verdict.trace()
        assert trace is not None and 1 < verdict.step <= len(trace)


def test_every_belief_about_checks_has_words_of_its_own() -> None:
    told = {belief for belief, _ in WRONG} | list_told("04 answering")
    assert told == set(MESSAGE_OF)
    assert len(set(MESSAGE_OF.values())) == len(MESSAGE_OF)
    assert all(message.zh for message in MESSAGE_OF.values())


@pytest.mark.parametrize("name", SERVICES)
def test_no_listener_that_the_labs_show_is_an_answer(name: str) -> None:
    assert not LISTENER.check(SERVICES[name]).ok


def test_a_half_that_a_check_leaves_open_is_parked() -> None:
    trace = LISTENER.check((deciding.execute, ask_again)).trace()
    assert trace is not None
    assert any("discard 580538" in fact.text.en for fact in trace)


def test_a_row_that_says_refused_is_no_order() -> None:
    """The sender dies before its row, the twin refuses: neither light is red, nothing is left."""
    made = with_listener(ASKED.format(1), (deciding.execute, deciding.check))
    run = perform(parse_script(NO_ROW.removesuffix("fire broker check\n")), made)
    seen = run.trace.snapshot(-1)
    assert ("580538", "refused") in seen.tables[0].rows
    assert all(light.ok for light in seen.lights)
    assert read_world(made.cluster, run.world).orders == ()


def test_the_example_delivers_one_of_three_orders_where_nothing_fails() -> None:
    """What the question about the official example says is right."""
    orders = ", ".join(f"send-in-transaction orders-0 {number}" for number in (1, 2, 3))
    run = scenario(f"""
system order_service service=example early=on consumers=accounting
run app: {orders}
{wait_for_checks(16)}
run accounting: consume
""")
    told = [fact.text.en for fact in run]
    assert any(said.startswith("discard 1 ") for said in told)
    assert "EndTransaction ROLLBACK 3 from check" in told
    delivered = [said for said in told if " in orders-0" in said]
    assert delivered and all("message 2" in said for said in delivered)


def test_each_broker_treats_silence_in_its_own_way() -> None:
    asked, *aborted = compare_silence().splitlines()[2:]
    assert asked.split()[1:] == ["CheckTransactionState", "580538", "(1)", "580538"]
    assert [line.split()[-1] for line in aborted] == ["nothing", "nothing"]
