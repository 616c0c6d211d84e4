"""Pulsar searched to the last schedule: with everything on nothing is found."""

import pytest

from mqlab.explore import Budget, Search
from mqlab.lessons.pulsar.cases import GIVEN_UP, ORDER, PASS_ON, READ, SHOP
from mqlab.lessons.registry import system
from mqlab.pulsar.claims.invariants import ALWAYS, CLAIMS, LIT, LIVE, UNKEPT
from tests.models.plain import reachable


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
    search = Search(system(line), budget)
    while search.advance():
        pass
    plain = reachable(search.system, budget)
    assert search.states == len(plain)
    assert {search.fields.unpack(world) for world in search.worlds()} == {w for w, _ in plain}
    assert search.verdict().ok, search.verdict()


def test_a_claim_is_nameable_or_lit_and_what_is_not_promised_only_where_it_is_named():
    assert {claim.name for claim in CLAIMS.values()} == {
        claim.name for claim in (*ALWAYS, *LIVE, *UNKEPT)
    }
    assert not {claim.name for claim in LIT} & {claim.name for claim in CLAIMS.values()}
    plain = {p.name for p in system("pulsar").properties()}
    named = {p.name for p in system("pulsar claims=one_marker").properties()}
    assert named - plain == {"one marker"}
    with pytest.raises(ValueError, match="no claim 'peace'; there are: as_decided"):
        system("pulsar claims=peace")


def test_a_commit_must_be_reachable_where_somebody_commits():
    def reached(line):
        return {p.name for p in system(line).properties() if p.kind == "sometimes"}

    assert reached("pulsar") == reached(f"pulsar {ORDER}") == {"commits"}
    assert reached(f"pulsar {GIVEN_UP}") == set()
