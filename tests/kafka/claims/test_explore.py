"""Kafka searched to the last schedule: nothing is found with everything on."""

from dataclasses import replace

import pytest

from mqlab.explore import Budget, explore
from mqlab.kafka import claims
from mqlab.registry import system
from mqlab.registry.cases.kafka import APP, BUDGET, LESSON_SYSTEMS, WHOLE, lesson_system
from mqlab.registry.searches import exhaust, list_rows, search_all
from tests.models.nameable import find_nameable
from tests.models.plain import find_same_worlds
from tests.registry.kafka.small import SMALL
from tests.registry.renew import counts

ONE = "kafka partitions=1 'app=init; begin; send orders-0 a; commit'"
OFFSETS = "kafka partitions=1 groups=1 'app=init; begin; send-offsets g orders-0@1; abort'"
OPEN = "kafka partitions=1 'app=init; begin; send orders-0 a'"

SEARCHED = {searched.name: searched for searched in LESSON_SYSTEMS}
#: the others are searched by `python -m tests.registry.renew kafka --lesson` and `mqlab explore`
TESTED = ("second instance, v2", "break, legacy on 0")


@pytest.mark.parametrize("name", TESTED)
def test_with_every_safeguard_on_the_search_ends_and_finds_nothing(name):
    verdict = exhaust(SEARCHED[name])
    assert verdict.complete
    assert verdict.ok, verdict
    assert verdict.states == counts("kafka")[name]


def test_all_faults_at_once_do_not_fit():
    assert lesson_system() == WHOLE.line
    verdict = explore(system(WHOLE.line), replace(WHOLE.budget, states=20_000))
    assert not verdict.complete
    assert not verdict.counterexamples
    assert BUDGET.timers <= WHOLE.budget.timers


def test_the_table_names_bounds_states_and_what_was_found():
    head, _, row = list_rows(SMALL[:1], search_all(SMALL[:1]))
    assert " ".join(head.split()) == "system bounds states searched seconds bytes/state found"
    assert f"{counts('kafka')[SMALL[0].name]:,}" in row
    assert " all " in row
    assert row.endswith(" nothing")


def test_a_lesson_without_its_twin_has_one_producer():
    alone = explore(system(lesson_system(twin=False)), Budget())
    assert alone.states == explore(system(f"kafka {APP}"), Budget()).states


@pytest.mark.parametrize(
    ("line", "budget"),
    [
        (ONE, Budget(breaks=1)),
        (OPEN, Budget(breaks=1, timers=1, retries=1)),
        (ONE, Budget(kills=2, killable=("coordinator",))),
        (OPEN, Budget(power_cuts=1, kills=1, killable=("orders-0", "app"), restartable=("app",))),
        ("kafka partitions=2 'app=init; begin; send orders-1 a'", Budget(kills=1, timers=1)),
        ("kafka partitions=1 replicas=2 'app=init; begin; send orders-0 a'", Budget(timers=1)),
        (OFFSETS, Budget(kills=1, killable=("coordinator", "app"))),
    ],
    ids=str,
)
def test_the_search_reaches_the_worlds_that_a_plain_search_reaches(line, budget):
    find_same_worlds(system(line), budget)


def test_a_claim_is_nameable_or_lit_and_what_is_not_promised_only_where_it_is_named():
    find_nameable("kafka", claims, "whole_read")
