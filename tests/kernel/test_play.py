"""A play as a tree of futures: going on, going elsewhere, and what is offered where."""

from __future__ import annotations

import pytest

from mqlab.kernel import Play, Property, Text, World, replay

from .toy import Toy

ONE = Toy.from_options({"app": "keep a"})
TWO = Toy.from_options({"app": "keep a; keep b"})
FIRST = ("call app", "app>store", "store.")
STEPS = ("call", "deliver", "local", "timer")


def test_every_future_that_was_tried_stays_and_opens_again() -> None:
    play = Play(ONE)
    for choice in FIRST:
        play.do(choice)
    whole = play.trace
    play.branch(2, "store. kill=1")
    assert play.trace.choices == (*FIRST[:2], "store. kill=1")
    assert play.visited == ((), *(FIRST[:n] for n in (1, 2, 3)), play.choices)
    play.go_to(FIRST)
    assert play.trace == whole == replay(ONE, FIRST)
    play.undo()
    play.do("store. kill=1")
    assert len(play.visited) == 5, "the same future again is the same"
    assert play.find_trace(FIRST) == whole


def test_a_way_that_is_not_possible_changes_nothing() -> None:
    play = Play(ONE, FIRST[:1])
    before = play.visited, play.choices
    with pytest.raises(ValueError, match="not possible"):
        play.go_to((*FIRST, "fire mirror"))
    assert (play.visited, play.choices) == before
    with pytest.raises(ValueError, match="begins with cannot be changed"):
        play.branch(0, "kill store")
    assert (play.visited, play.choices) == before


def test_it_goes_on_to_the_end_but_not_with_what_is_held() -> None:
    play = Play(ONE)
    play.go_on(held=("app>store",))
    assert play.choices == ("call app",)
    play.go_on()
    assert play.choices[:3] == FIRST
    left = [option for option in play.options() if option.kind in ("call", "local", "deliver")]
    assert left == [] and "kept @0" in play.trace.narrate()


def test_a_claim_that_is_watched_is_the_first_light_of_every_future() -> None:
    play = Play(ONE, FIRST)
    never = Property(
        "nothing", Text("nothing is kept"), lambda w: w.disk("store").log("values").end == 0
    )
    play.watch(never)
    lights = [snapshot.lights[0] for snapshot in play.trace.snapshots]
    assert {light.name for light in lights} == {"nothing"}
    assert [light.ok for light in lights] == [True, True, False, *([False] * (len(lights) - 3))]
    play.do("kill app")
    assert play.trace.snapshots[-1].lights[0].name == "nothing"


def test_what_can_always_still_come_has_a_light_that_says_how_things_stand() -> None:
    """The mirror has no copy while it is under way: red then, and not for ever."""
    ends = {kind: _watch_the_mirror(kind) for kind in ("always", "can_always")}
    assert ends == {"always": ["mirrored"], "can_always": []}


def _watch_the_mirror(kind: str) -> list[str]:
    """The red lights when the copy has arrived, of a claim that was broken before."""

    def mirrored(world: World) -> bool:
        return world.disk("store").log("values").end == len(world.disk("mirror").table("copies"))

    play = Play(ONE)
    play.watch(Property("mirrored", Text("the mirror has every value"), mirrored, kind))
    for choice in FIRST:
        play.do(choice)
    assert not play.trace.snapshots[-1].lights[0].ok
    play.go_on()
    return [light.name for light in play.trace.snapshots[-1].lights if not light.ok]


def test_a_message_knows_the_fact_that_sent_it_and_its_ends() -> None:
    play = Play(ONE)
    play.do("call app")
    deliver = {o.choice: o for o in play.options()}["app>store"]
    assert (deliver.kind, deliver.node, deliver.ends) == ("deliver", "store", ("app", "store"))
    assert "keep a" in play.trace.facts[deliver.sent - 1].line()
    assert deliver.label.en == "keep a arrives from app"
    for choice in FIRST[1:]:
        play.do(choice)
    answer = {o.choice: o for o in play.options()}["app<store"]
    assert play.trace.facts[answer.sent - 1].kind == "reply" and answer.ends == ("store", "app")


def test_faults_come_after_steps_and_breaking_a_connection_last() -> None:
    play = Play(ONE, FIRST)
    kinds = [option.kind for option in play.options()]
    assert kinds[:2] == ["deliver", "deliver"]
    assert kinds.index("kill") < kinds.index("break")
    assert all(kind not in STEPS for kind in kinds[kinds.index("kill") :])


def test_a_gap_between_two_effects_is_the_death_exactly_there() -> None:
    play = Play(ONE)
    for choice in FIRST:
        play.do(choice)
    inside = [gap for gap in play.gaps() if "store. kill" in gap.kill]
    assert [(gap.kill, gap.power, gap.node, gap.keep) for gap in inside] == [
        (f"store. kill={n}", f"store. power={n}", "store", 2) for n in (0, 1)
    ]
    gap = inside[1]
    assert gap.progress.en == "KeepResponse had left, Copy had not left"
    before = play.trace.facts
    play.branch(gap.keep, gap.kill)
    assert play.trace.facts[: gap.after] == before[: gap.after], "the same up to the gap"
    assert play.trace.facts[gap.after].kind == "kill" and gap.after < len(before)


def test_between_two_steps_the_node_that_has_acted_may_die() -> None:
    play = Play(ONE)
    for choice in FIRST:
        play.do(choice)
    between = {gap.after: gap for gap in play.gaps() if gap.kill.startswith("kill ")}
    gap = between[1]
    assert (gap.node, gap.keep, gap.progress.en) == ("app", 1, "")
    play.branch(gap.keep, gap.power)
    assert play.choices == ("call app", "power app")


def test_what_was_given_has_no_gaps() -> None:
    assert Play(ONE, FIRST).gaps() == ()
    play = Play(TWO, FIRST)
    play.do("store>mirror")
    play.do("kill app")
    assert {gap.keep for gap in play.gaps()} <= {3, 4}


def test_a_death_is_offered_with_the_answer_lost_and_with_the_answer_arriving() -> None:
    play = Play(ONE)
    for choice in FIRST[:2]:
        play.do(choice)
    (step,) = [option for option in play.options() if option.choice == "store."]
    assert step.answered == ((), ("app",), ("app",))
    play.do("store.")
    deaths = {one.choice: str(one.label) for one in play.options() if one.kind in ("kill", "power")}
    assert deaths["kill store answers=app"] == "kill store; its answer to app still arrives"
    assert "power store answers=app" in deaths and "kill app answers=app" not in deaths
    gaps = {(gap.after, gap.kill): gap.answered for gap in play.gaps()}
    assert ("app",) in gaps.values() and () in gaps.values()
    after, kill = next(place for place, answered in gaps.items() if answered)
    play.branch(next(g.keep for g in play.gaps() if g.after == after), f"{kill} answers=app")
    play.go_on()
    assert play.trace.choices[-1] == "app." and "keep a: ok @0" in play.trace.narrate()
