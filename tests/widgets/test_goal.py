"""The goal of a playground: what counts, what is found, and the shortest run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqlab_widgets import Playground
from mqlab_widgets.goal import Goal, list_faults

from mqlab.explore import Budget, explore
from mqlab.kernel import Play, Property, Text
from mqlab.registry import continue_scenario, open_run, system

from .test_explorer_panel import run_loop
from .test_widgets import outputs, shown

PLAIN = "payments producers=order-service:plain 'order-service=send payments-0 p1; flush'"
TWICE = (
    "call order-service",
    "break order-service payments-0",
    "order-service.",
    "order-service>payments-0",
    "order-service>payments-0#1",
)
HALF = """
system orders claims=whole_read
hold app→coordinator EndTxn#1
run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit
"""


def play(choices: tuple[str, ...], **more: Any) -> Playground:
    ground = Playground(Play(system(PLAIN)), goal="money", **more)
    for choice in choices:
        ground.do(choice)
    return ground


def text(ground: Playground) -> str:
    found: str = ground.ui["goal"]["text"]
    return found


def test_the_goal_is_said_and_choices_are_counted_until_it_is_reached() -> None:
    ground = play(TWICE[:1])
    sentence = "money in = money out, once nothing is in flight"
    assert text(ground) == f"Your goal: break “{sentence}”. 1 choice so far."
    assert not ground.ui["goal"]["reached"] and ground.found == ""
    assert "已作 4 个选择" in text(play(TWICE[:4], lang="zh"))


def test_the_picture_stands_at_the_step_that_broke_the_claim_and_marks_it() -> None:
    ground = play(TWICE)
    meta = shown(ground)["meta"]
    red = ground.goal.find_red(ground.play.trace)
    assert meta["step"] == red > 0 and meta["facts"][red - 1]["mark"] == "crash"
    first = ground.play.trace.snapshots[red].lights[0]
    assert (first.name, first.ok) == ("money", False)


def test_a_longer_run_is_told_of_a_shorter_one_and_shows_it() -> None:
    ground = play(())
    for choice in ("kill payments-0", "restart payments-0", *TWICE[:1]):
        ground.do(choice)
    while not ground.ui["goal"]["reached"]:
        option = next(o for o in ground.play.options() if o.choice in TWICE)
        ground.do(option.choice)
    mine = len(ground.play.choices)
    assert f"in {mine} choices" in text(ground) and mine > len(TWICE)
    assert ground.goal is not None and len(ground.goal.find_shortest()) == len(TWICE)
    ground._tell()
    assert "The shortest has 5" in text(ground) and ground.ui["goal"]["shows"]
    kept = ground.found
    ground._asked(None, {"type": "show"}, None)
    assert len(ground.play.choices) == len(TWICE), "the shortest run is open"
    assert shown(ground)["meta"]["step"] == ground.goal.find_red(ground.play.trace)
    assert ground.found == kept and f"in {mine} choices" in text(ground), "hers is kept as hers"
    assert not ground.ui["goal"]["shows"]


def test_the_shortest_run_is_what_the_explorer_finds() -> None:
    ground = play(TWICE)
    assert ground.goal is not None
    best = explore(system(PLAIN), list_faults(TWICE)).counterexamples["money"].schedule
    assert len(ground.goal.find_shortest()) == len(best) == len(TWICE)
    assert "No example is shorter (allowed: 1 broken connection)." in ground.goal.tell("en")


def test_the_search_allows_the_faults_of_the_learners_own_run() -> None:
    faults = ("power c", "restart b power=0", "break a b", "fire a", "kill a")
    bounds = list_faults(("call a", "a>b kill=1", *faults))
    assert (bounds.kills, bounds.power_cuts, bounds.breaks, bounds.timers) == (2, 2, 1, 1)
    assert list_faults(("lose a>b",)) == Budget(breaks=1, states=bounds.states)


def test_what_a_scenario_has_done_before_does_not_count() -> None:
    ground = Playground(continue_scenario(HALF), goal="whole_read")
    assert text(ground).endswith("0 choices so far.")
    ground.go_on()
    assert "You broke “a reader gets all of a committed" in text(ground)
    assert ground.goal is not None
    given = len(ground.play.start)
    assert 5 <= len(ground.goal.found) < len(ground.play.choices) - given, "up to the red step only"
    assert len(ground.goal.find_shortest()) == 5
    ground.reset()
    assert text(ground).startswith("You broke"), "it stays found"


SECOND_HALF = """
system orders claims=whole_read
run app: init, begin, send orders-0 order-16, send payments-0 paid-16, commit
hold app→coordinator EndTxn#2
run app: begin, send orders-0 order-17, send payments-0 paid-17, commit
"""


def test_a_light_that_was_red_before_the_play_began_is_not_the_learners() -> None:
    given = continue_scenario(SECOND_HALF)
    before = len(given.trace)
    assert any(not light.ok for s in given.trace.snapshots for light in s.lights), "for a moment"
    ground = Playground(given, goal="whole read")
    assert ground.goal is not None and not ground.ui["goal"]["reached"]
    assert ground.play.trace.snapshots[-1].lights[0].ok
    ground.do("app>coordinator")
    assert not ground.ui["goal"]["reached"], "nothing is broken yet"
    ground.go_on()
    red = ground.goal.find_red(ground.play.trace)
    assert ground.ui["goal"]["reached"] and shown(ground)["meta"]["step"] == red > before
    assert not ground.play.trace.snapshots[-1].lights[0].ok, "it stays red"
    assert "between" not in text(ground) and len(ground.goal.found) > 1


def test_a_search_that_is_given_up_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqlab_widgets.goal.STATES", 4)
    ground = play(TWICE)
    assert ground.goal is not None and ground.goal.find_shortest() == TWICE
    assert ground.goal.tell("en").endswith("longer ones were not all tried.")
    assert "1 broken connection" in ground.goal.tell("en")


def test_the_search_runs_beside_the_notebook() -> None:
    async def main() -> tuple[str, str]:
        ground = play(TWICE)
        first = text(ground)
        for _ in range(500):
            await asyncio.sleep(0.001)
            if "No example is shorter" in text(ground):
                break
        return first, text(ground)

    first, last = run_loop(main)
    assert "No example is shorter" not in first and "No example is shorter" in last


def test_the_run_that_was_found_stays_in_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Playground(Play(system(PLAIN)), goal="money")
    outputs(ground, monkeypatch)
    kept: list[str] = []
    monkeypatch.setattr(
        "mqlab_widgets.widget.update_display",
        lambda data, raw, display_id: kept.append(data["text/html"]),
    )
    for choice in (*TWICE, "kill payments-0"):
        ground.do(choice)
    assert len(kept) == 1 and "data:image/svg+xml" in kept[0]
    assert ground.narration().count("▶") == 1, "at the step that broke the claim"
    assert "kill" not in ground.narration()
    again = open_run(ground.found)
    assert again.trace.choices == TWICE


def test_a_token_of_another_beginning_opens_and_counts_all() -> None:
    ground = Playground(Play(system(PLAIN), TWICE[:2]), goal="money")
    ground.open_token(Play(system(PLAIN), TWICE[:1]).token)
    assert text(ground).endswith("1 choice so far.")
    ground.undo()
    assert ground.play.choices == () and not ground.ui["moved"]


def test_a_promise_that_can_still_be_kept_is_not_broken() -> None:
    """The process is dead, its half is under way, and a check will ask about it."""
    line = "rocketmq off=half_before_execute 'app=send-in-transaction orders-0 580538'"
    ground = Playground(Play(system(line)), goal="row with message")
    for choice in ("call app", "app>db", "app<db", "kill app"):
        ground.do(choice)
    light = ground.play.trace.snapshots[-1].lights[0]
    assert (light.name, light.ok) == ("row with message", False), "for now"
    assert not ground.ui["goal"]["reached"]
    ground.do("app>broker")
    ground.do("app>broker")
    assert ground.play.trace.snapshots[-1].lights[0].ok
    ground.reset()
    for choice in ("call app", "app>db", "kill app"):
        ground.do(choice)
    assert ground.ui["goal"]["reached"] and "in 3 choices" in text(ground)
    assert ground.goal is not None
    assert len(ground.goal.find_shortest()) == 3, "no shorter one is found"


def test_goals_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'money'"):
        Playground(Play(system(PLAIN)), goal="monye")
    never = Property("never", Text("never"), lambda world: True, "sometimes")
    with pytest.raises(ValueError, match="no claim that a run can break"):
        Goal(Play(system(PLAIN)), never)
    with pytest.raises(TypeError, match="did you mean 'goal'"):
        Playground(Play(system(PLAIN)), gaol="money")
