"""The exercise of lab 12: a choice needs its runs, and each wrong one hears its own sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqlab.lessons.choice import CHOICE, RUNS, SITUATIONS, WAYS
from mqlab.registry import run_scenario

RIGHT = {
    "order service": "rocketmq, because row-beside",
    "aggregates": "kafka, because zombie, published-twice and late-end",
    "fan-out": "pulsar, because position-first and worked-twice",
    "nightly file": "plain, because too-slow",
    "payment provider": "key, because counted-again",
}
WRONG = [(one, way) for one in SITUATIONS for way in WAYS if way not in one.fits]


def say(**changed: str) -> str:
    given = {**RIGHT, **{name.replace("_", " "): text for name, text in changed.items()}}
    return "\n".join(f"{name}: {text}" for name, text in given.items())


def test_the_right_choices_with_their_runs():
    assert CHOICE.check(say()).ok
    assert CHOICE.check(say(order_service="outbox, because row-beside")).ok


@pytest.mark.parametrize("name", RUNS)
def test_a_run_shows_what_it_is_named_for(name):
    assert RUNS[name].holds(RUNS[name].play().trace)


def test_a_run_that_shows_it_no_more_is_noticed():
    healed = "system outbox\nrun app: order T1"
    broken = replace(CHOICE, play=lambda shown: run_scenario(healed))
    assert "row-beside does not show what it is named for" in broken.check(say()).message.en


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing is chosen yet"),
        ("outbox", "a choice without an example earns nothing"),
        ("saga, because row-beside", "there is no saga; choose from kafka"),
        ("outbox, because lightning", "there is no example lightning; there are row-beside"),
        ("outbox, because zombie", "zombie rules out none of the rivals here"),
    ],
)
def test_a_line_that_says_too_little(text, says):
    verdict = CHOICE.check(say(order_service=text))
    assert not verdict.ok and says in verdict.message.en


def test_runs_must_forbid_all_rivals():
    verdict = CHOICE.check(say(aggregates="kafka, because zombie"))
    assert "none of your examples rules out outbox or rocketmq" in verdict.message.en


def test_a_line_about_nothing_is_named():
    assert "“weather: kafka” is about none" in CHOICE.check("weather: kafka").message.en


def test_each_wrong_choice_hears_why_with_a_run():
    told = set()
    for situation, way in WRONG:
        belief, sentence, run = situation.wrong[way]
        assert belief and run in RUNS
        told.add((situation.name, sentence))
    distinct = sum(len({one.wrong[w][1] for w in one.wrong}) for one in SITUATIONS)
    assert len(told) == distinct
    verdict = CHOICE.check(say(**{"fan-out": "kafka, because worked-twice"}))
    assert "a position covers everything before it" in verdict.message.en
    assert verdict.misconception == "a position is an acknowledgement"
    assert verdict.light == "none lost" and verdict.step > 0
