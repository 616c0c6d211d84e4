"""RocketMQ searched to the last schedule: with everything on nothing is found."""

import pytest

from mqlab.explore import Budget, Search, explore
from mqlab.lessons.registry import system
from mqlab.rocketmq.claims.invariants import ALWAYS, CLAIMS, LIT, LIVE, UNKEPT
from tests.models.plain import reachable

ORDER = "'app=send-in-transaction orders-0 A'"
ASKED = f"rocketmq timeout_ms=0 persist_ms=0 check_max=2 {ORDER}"


def searched(line, budget):
    search = Search(system(line), budget)
    while search.advance():
        pass
    return search


@pytest.mark.parametrize(
    ("line", "budget"),
    [
        (ASKED, Budget(timers=1, breaks=1)),
        (f"rocketmq release=4.9 timeout_ms=0 persist_ms=0 {ORDER}", Budget(kills=1)),
        (f"{ASKED} consumers=shop 'shop=consume; consume'", Budget(timers=1)),
    ],
    ids=str,
)
def test_the_search_reaches_the_worlds_that_a_plain_search_reaches(line, budget):
    search = searched(line, budget)
    plain = reachable(search.system, budget)
    assert search.states == len(plain)
    assert {search.fields.unpack(world) for world in search.worlds()} == {w for w, _ in plain}
    assert search.verdict().ok, search.verdict()


def test_a_claim_is_nameable_or_lit_and_what_is_not_promised_only_where_it_is_named():
    assert {claim.name for claim in CLAIMS.values()} == {
        claim.name for claim in (*ALWAYS, *LIVE, *UNKEPT)
    }
    assert not {claim.name for claim in LIT} & {claim.name for claim in CLAIMS.values()}
    plain = {p.name for p in system("rocketmq").properties()}
    named = {p.name for p in system("rocketmq claims=final").properties()}
    assert named - plain == {"final"}
    with pytest.raises(ValueError, match="no claim 'peace'; there are: clean_read"):
        system("rocketmq claims=peace")


def test_orders_that_no_row_decides_are_not_judged_by_rows():
    """A listener that says what it is told writes no row, and so does whoever ends by hand."""
    told = "'app=listener COMMIT_MESSAGE UNKNOW; send-in-transaction orders-0 A'"
    by_hand = "'app=send-in-transaction orders-0 A; end ROLLBACK_MESSAGE A'"
    for program in (told, by_hand):
        verdict = explore(system(f"rocketmq {program}"), Budget())
        assert verdict.complete
        assert not verdict.counterexamples, verdict
