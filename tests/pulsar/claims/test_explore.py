"""Pulsar searched to the last schedule: with everything on nothing is found."""

import pytest

from mqlab.explore import Budget
from mqlab.pulsar import claims
from mqlab.registry import system
from mqlab.registry.cases.pulsar import GIVEN_UP, ORDER, PASS_ON, READ, SHOP
from tests.models.nameable import find_nameable
from tests.models.plain import find_same_worlds


@pytest.mark.parametrize(
    ("line", "budget"),
    [
        (f"pulsar {ORDER}", Budget(kills=1)),
        (f"pulsar {SHOP} {GIVEN_UP} {READ}", Budget(breaks=1)),
        (f"pulsar {PASS_ON}", Budget(timers=1)),
    ],
    ids=str,
)
def test_the_search_reaches_the_worlds_that_a_plain_search_reaches(line, budget):
    search = find_same_worlds(system(line), budget)
    assert search.verdict().ok, search.verdict()


def test_a_claim_is_nameable_or_lit_and_what_is_not_promised_only_where_it_is_named():
    find_nameable("pulsar", claims, "one_marker")


def test_a_commit_must_be_reachable_where_somebody_commits():
    def reached(line):
        return {p.name for p in system(line).properties() if p.kind == "sometimes"}

    assert reached("pulsar") == reached(f"pulsar {ORDER}") == {"commits"}
    assert reached(f"pulsar {GIVEN_UP}") == set()
