"""Lab 02: two real files under a real kill, and exercises that tell beliefs apart."""

from __future__ import annotations

import itertools
import re
import sqlite3
import sys
from pathlib import Path

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import speaking
from mqlab.lessons.patterns.exercises.effects import EFFECTS, find_faults
from mqlab.lessons.patterns.exercises.fence import FENCE, SAMPLES, right
from mqlab.lessons.patterns.lab02 import GIVEN_UP, TRAPS, compare_models, describe_red, open_bank
from mqlab.lessons.patterns.two_files import ONE_PHASE, TWO_PHASES, TwoFiles, kill_after
from mqlab.registry import system
from tests.project.sources import ROOT

# ---- two files -------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", [sys.platform, "emscripten"])
def test_one_phase_killed_in_the_middle_is_half_an_order_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    """In a browser there are no processes; the files are left as by a kill."""
    monkeypatch.setattr("sys.platform", platform)
    files = kill_after(tmp_path, ONE_PHASE, 1)
    files.recover()
    assert (files.is_done("orders"), files.is_done("stock")) == (True, False)


@pytest.mark.parametrize("count", range(len(TWO_PHASES) + 1))
def test_two_phases_killed_anywhere_agree_after_the_restart(tmp_path: Path, count: int) -> None:
    files = kill_after(tmp_path, TWO_PHASES, count)
    files.recover()
    assert files.is_done("orders") == files.is_done("stock") == (count >= 3), "decided, or not"
    assert not files.is_waiting("orders")
    assert not files.is_waiting("stock")


def test_to_recover_twice_changes_nothing(tmp_path: Path) -> None:
    files = kill_after(tmp_path, TWO_PHASES, 4)
    for _ in range(2):
        files.recover()
    assert files.describe() == "orders done, stock done"


def test_a_promise_is_made_once_and_is_the_lock(tmp_path: Path) -> None:
    files = TwoFiles(tmp_path)
    files.do("prepare:stock")
    assert files.describe() == "orders –, stock waits"
    with pytest.raises(sqlite3.IntegrityError):
        files.do("prepare:stock")


def test_the_bank_keeps_its_rule(tmp_path: Path) -> None:
    bank = open_bank(str(tmp_path))
    with pytest.raises(sqlite3.IntegrityError, match="pounds >= 0"):
        bank.execute("UPDATE account SET pounds = -1 WHERE name = 'A'")


# ---- the effects ----------------------------------------------------------------------------


@pytest.mark.spread("mqlab/kernel", "mqlab/explore", "mqlab/patterns", "mqlab/lessons")
def test_four_orders_of_the_effects_are_right() -> None:
    correct = {
        (*promises, "decide", *commits)
        for promises in itertools.permutations(TWO_PHASES[:2])
        for commits in itertools.permutations(TWO_PHASES[3:])
    }
    found = {order for order in itertools.permutations(TWO_PHASES) if not [*find_faults(order)]}
    assert found == correct


def test_a_decision_that_is_left_out_is_as_one_that_comes_too_late() -> None:
    verdict = EFFECTS.check([TWO_PHASES[i] for i in (0, 1, 3, 4)])
    assert verdict.misconception == "the decision may be written afterwards"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([], "nothing is written yet"),
        ("decide", "write a list of effects"),
        (["pray"], "write a list of effects"),
        (["decide", "decide"], "is there twice"),
    ],
)
def test_what_is_no_order_is_told_what_to_write(answer: object, says: str) -> None:
    assert says in EFFECTS.check(answer).message.en


def test_the_list_of_effects_tells_no_order() -> None:
    """Pasted from the lab or from the message, it is wrong."""
    said = EFFECTS.check(["pray"]).message.en.partition("there are: ")[2].split(", ")
    source = (ROOT / "labs/source/02-who-decides.py").read_text("utf-8")
    task = source.partition("## Arrange the coordinator's steps")[2].partition("# %%")[0]
    named = re.findall(r'`"(.+?)"`', task)
    assert sorted(said) == sorted(named) == sorted(TWO_PHASES)
    assert not EFFECTS.check(said).ok
    assert not EFFECTS.check(named).ok


# ---- the fence -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [given for given in SAMPLES if right(*given) not in ("", "refuse")]
)
def test_every_entry_that_is_written_is_needed(given: tuple[str, str]) -> None:
    assert not FENCE.check(lambda *asked: "" if asked == given else right(*asked)).ok


# ---- the price -------------------------------------------------------------------------------


def test_every_model_gives_up_something_that_a_search_finds() -> None:
    rows = compare_models().splitlines()[2:]
    assert len(rows) == len(GIVEN_UP) == 5
    for row, case in zip(rows, GIVEN_UP.values(), strict=True):
        assert case.broken in row


def test_the_traps_are_four() -> None:
    assert [case.off for case in TRAPS] == [
        "idempotent_confirm",
        "idempotent_cancel",
        "empty_cancel",
        "suspended_try",
    ]


def test_what_a_search_found_red_is_told_in_both_languages() -> None:
    waiting = system("two_phase claims=never_blocked 'app=commit T1'")
    found = explore(waiting, Budget(kills=1, killable=("tm",), retries=1))
    assert describe_red(found) == "“never blocked” breaks in 3 choices"
    calm = explore(waiting, Budget())
    assert describe_red(calm) == "nothing breaks"
    with speaking("zh"):
        assert describe_red(found) == "“从不阻塞”经过 3 个选择就不成立"
        assert describe_red(calm) == "全部成立"
