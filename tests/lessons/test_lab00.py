"""Lab 00's runs: the kill that loses money, and the one that does not."""

from __future__ import annotations

import pytest

from mqlab.lessons import balances, scenario
from mqlab.lessons.lab00 import first, red_from

PAY = "send accounts-0 A-5, send accounts-1 B+5"


def test_the_light_turns_red_where_money_is_lost() -> None:
    lossy = scenario(
        "system bank producers=bank:plain\nkill bank when=Produce#1 after=1\n"
        f"run bank: {PAY}, flush"
    )
    step = red_from(lossy, "money")
    assert 0 < step <= len(lossy)
    assert [x.ok for x in lossy.snapshot(step - 1).lights if x.name == "money"] == [True]
    with pytest.raises(ValueError, match="no light 'happiness'; there are: money"):
        red_from(lossy, "happiness")


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
def test_a_transaction_survives_the_bank(when: str, after: int, fenced: bool) -> None:
    """`fenced`: the bank finds its own open transaction, and asks again when it is aborted."""
    safe = scenario(
        f"system bank\nkill bank when={when} after={after}\n"
        f"run bank: init, begin, {PAY}, commit\nrestart bank\n" + "fire bank" * fenced
    )
    assert red_from(safe, "money") == 0


@pytest.mark.parametrize(("how", "lost"), [("kill", False), ("power-cut", True)])
@pytest.mark.parametrize("account", ["accounts-0", "accounts-1"])
def test_only_a_power_cut_loses_a_committed_payment(how: str, lost: bool, account: str) -> None:
    run = scenario(
        f"system bank\nrun bank: init, begin, {PAY}, commit\n{how} {account}\nrestart {account}"
    )
    assert bool(red_from(run, "money")) == lost
    assert balances(run).splitlines()[1].endswith("+0") != lost


def test_a_partition_that_is_down_has_lost_nothing_yet() -> None:
    run = scenario(f"system bank\nrun bank: init, begin, {PAY}, commit\nkill accounts-0")
    assert red_from(run, "money") == 0


def test_first_says_what_it_did_not_find() -> None:
    run = scenario("system bank\nrun bank: init")
    assert first(run, "InitProducerId") == 1
    with pytest.raises(ValueError, match="no step of this run says 'PrepareCommit'"):
        first(run, "PrepareCommit")
