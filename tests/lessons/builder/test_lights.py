"""The light that catches this: a right one, and lights that see too little or too much."""

from __future__ import annotations

import pytest

from mqlab.explore import Search
from mqlab.lessons.builder.lights import BROKEN, HIDDEN, LIGHTS

ENDS = {"Commit": "COMMIT", "Abort": "ABORT"}


def has_decision(log, partitions, calls):
    decided = {
        (epoch, mark)
        for state, epoch, _ in log
        for end, mark in ENDS.items()
        if state.endswith(end)
    }
    marks = [(epoch, what) for _, held in partitions for what, epoch in held if what.isupper()]
    return decided.issuperset(marks)


def is_closed(log, partitions, calls):
    over = bool(log) and log[-1][0].startswith("Complete")
    return not over or all(held[-1][0].isupper() for _, held in partitions if held)


def is_asked(log, partitions, calls):
    asked = sum(call == "commit" for _, made in calls for call, _ in made)
    return sum(state == "PrepareCommit" for state, _, _ in log) <= asked


def is_fenced(log, partitions, calls):
    epochs = [[epoch for _, epoch in held] for _, held in partitions]
    return all(found == sorted(found) for found in epochs)


ALL = (has_decision, is_closed, is_asked, is_fenced)


def right(*seen):
    return all(light(*seen) for light in ALL)


def test_the_right_light_catches_those_that_nobody_has_named_too():
    verdict = LIGHTS.check(right, graded=True)
    assert verdict.ok and f"all {len(BROKEN) + len(HIDDEN)}" in verdict.message.en, verdict


@pytest.mark.parametrize("left_out", ALL)
def test_each_sentence_is_needed(left_out):
    verdict = LIGHTS.check(lambda *seen: all(one(*seen) for one in ALL if one is not left_out))
    assert not verdict.ok and "Not caught" in verdict.message.en, verdict


@pytest.mark.parametrize("case", (*BROKEN, *HIDDEN), ids=lambda one: one.says.en)
def test_the_engines_own_claims_catch_each_of_them(case):
    search = Search(case.system(), case.trial.budget)
    always = {i for i, claim in enumerate(search.properties) if claim.kind == "always"}
    while search.advance() and not always & search.found.keys():
        pass
    assert always & search.found.keys()


def test_the_run_in_which_all_is_well_has_no_red_light():
    verdict = LIGHTS.check(lambda log, partitions, calls: "CompleteCommit" not in str(log))
    trace = verdict.trace()
    assert "CompleteCommit" in trace.facts[-1].text.en
    assert all(one.ok for one in trace.snapshot(len(trace)).lights)


@pytest.mark.parametrize(
    ("light", "says"),
    [
        (lambda log, partitions, calls: not log, "turns False although all is well"),
        (lambda log, partitions, calls: True, "catches 0 of 6. Not caught: its markers are sent"),
        (lambda log, partitions, calls: None, "nothing is written yet"),
        (lambda log, partitions, calls: None if log else True, "has no `return`"),
        (lambda log, partitions, calls: 1, "an invariant returns True or False"),
        (lambda log, partitions, calls: 1 / 0, "it raised ZeroDivisionError"),
    ],
)
def test_a_light_that_is_none(light, says):
    verdict = LIGHTS.check(light)
    assert not verdict.ok and says in str(verdict), verdict
