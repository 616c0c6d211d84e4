"""RocketMQ searched to the last schedule: with everything on nothing is found."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.registry import system
from mqlab.rocketmq import claims
from tests.models.nameable import find_nameable
from tests.models.plain import find_same_worlds

ORDER = "'app=send-in-transaction orders-0 A'"
ASKED = f"rocketmq timeout_ms=0 persist_ms=0 check_max=2 {ORDER}"


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
    search = find_same_worlds(system(line), budget)
    assert search.verdict().ok, search.verdict()


def test_a_claim_is_nameable_or_lit_and_what_is_not_promised_only_where_it_is_named():
    find_nameable("rocketmq", claims, "final")


def test_orders_that_no_row_decides_are_not_judged_by_rows():
    """A listener that says what it is told writes no row, nor does one who ends by hand."""
    told = "'app=listener COMMIT_MESSAGE UNKNOW; send-in-transaction orders-0 A'"
    by_hand = "'app=send-in-transaction orders-0 A; end ROLLBACK_MESSAGE A'"
    for program in (told, by_hand):
        verdict = explore(system(f"rocketmq {program}"), Budget())
        assert verdict.complete
        assert not verdict.counterexamples, verdict
