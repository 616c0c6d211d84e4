"""Lab 00's runs: the kill that loses money, and the one that does not."""

from __future__ import annotations

import pytest

from mqlab.lessons.kafka.systems.shop import balances
from mqlab.lessons.lab00 import cost, find_red_step, first
from mqlab.registry import scenario
from tests.widgets.test_views import draw

PAY = "send accounts-0 C-5, send accounts-1 S+5"


def test_the_light_turns_red_where_money_is_lost() -> None:
    lossy = scenario(
        "system shop producers=order-service:plain\nkill order-service when=Produce#1 after=1\n"
        f"run order-service: {PAY}, flush"
    )
    step = find_red_step(lossy, "money")
    assert 0 < step <= len(lossy)
    assert [x.ok for x in lossy.snapshot(step - 1).lights if x.name == "money"] == [True]
    with pytest.raises(ValueError, match="no light 'happiness'; there are: money"):
        find_red_step(lossy, "happiness")


def test_the_first_kill_is_told_whole_in_the_picture() -> None:
    lossy = scenario(
        "system shop producers=order-service:plain\nkill order-service when=Produce#1 after=1\n"
        "run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush"
    )
    told = "killed: Produce C-316.78 had left, send had not returned"
    assert told in [str(node.text) for node in draw("space-time", lossy, 2).values()]


@pytest.mark.parametrize(
    ("when", "after", "fenced"),
    [
        ("Produce#1", 0, False),
        ("Produce#1", 1, True),
        ("Produce#2", 0, True),
        ("Produce#2", 1, True),
        ("EndTxn#1", 0, True),
        ("EndTxn#1", 1, False),
    ],
)
def test_a_transaction_survives_its_order_service(when: str, after: int, fenced: bool) -> None:
    """`fenced`: it finds its own open transaction, and asks again when that is aborted."""
    again = "fire order-service" if fenced else ""
    safe = scenario(
        f"system shop\nkill order-service when={when} after={after}\n"
        f"run order-service: init, begin, {PAY}, commit\nrestart order-service\n{again}"
    )
    assert find_red_step(safe, "money") == 0


@pytest.mark.parametrize(("how", "lost"), [("kill", False), ("power-cut", True)])
@pytest.mark.parametrize("account", ["accounts-0", "accounts-1"])
def test_only_a_power_cut_loses_a_committed_payment(how: str, lost: bool, account: str) -> None:
    run = scenario(
        f"system shop\nrun order-service: init, begin, {PAY}, commit\n"
        f"{how} {account}\nrestart {account}"
    )
    assert bool(find_red_step(run, "money")) == lost
    assert balances(run).splitlines()[1].endswith("+0.00") != lost


def test_a_partition_that_is_down_has_lost_nothing_yet() -> None:
    run = scenario(f"system shop\nrun order-service: init, begin, {PAY}, commit\nkill accounts-0")
    assert find_red_step(run, "money") == 0


def test_first_says_what_it_did_not_find() -> None:
    run = scenario("system shop\nrun order-service: init")
    assert first(run, "InitProducerId") == 1
    with pytest.raises(ValueError, match="no step of this run says 'PrepareCommit'"):
        first(run, "PrepareCommit")


def test_the_light_does_not_judge_while_something_is_under_way() -> None:
    """Between two markers the sum is -5, and a marker is owed; when the coordinator is gone for
    good the light still waits."""
    base = scenario(
        "system shop\nkill coordinator when=WriteTxnMarkers#1 after=1\n"
        f"run order-service: init, begin, {PAY}, commit"
    )
    assert balances(base).splitlines()[1].split() == ["read_committed", "-5.00", "+0.00", "-5.00"]
    (light,) = [one for one in base.snapshot(-1).lights if one.name == "money"]
    assert light.ok
    assert light.sentence.en == "money in = money out, once nothing is in flight"
    ended = scenario(
        "system shop\nkill coordinator when=WriteTxnMarkers#1 after=1\n"
        f"run order-service: init, begin, {PAY}, commit\nrestart coordinator"
    )
    assert find_red_step(ended, "money") == 0
    assert balances(ended).splitlines()[1].split() == ["read_committed", "-5.00", "+5.00", "+0.00"]


def test_one_thing_has_one_name() -> None:
    """The lane is called as the narration and the buttons call it."""
    run = scenario(f"system shop\nrun order-service: init, begin, {PAY}, commit")
    assert run.snapshot(0).lanes[0].name == str(run.snapshot(0).lanes[0].title) == "order-service"
    assert run.facts[0].node == "order-service"


def test_a_transaction_costs_the_same_however_many_records_it_has() -> None:
    def run(calls: str, producer: str = "order-service") -> tuple[int, int, int, int]:
        return cost(scenario(f"system shop producers={producer}\nrun order-service: {calls}"))

    plain = run(f"{PAY}, flush", "order-service:plain")
    two = run(f"init, begin, {PAY}, commit")
    eight = run(f"init, begin, {', '.join([PAY] * 4)}, commit")
    assert plain == (2, 0, 0, 4)
    assert two[:3] == (2, 2, 4)  # Ongoing twice, PrepareCommit, CompleteCommit
    assert eight[:3] == (8, 2, 4)
    assert plain[3] < two[3] < eight[3] < 4 * two[3]
