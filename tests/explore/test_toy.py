"""The explorer over a client and a store, with every kind of fault."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import Property, Run, Text
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from tests.kernel.toy import TORN, Keep, Toy, make_toy
from tests.models.plain import find_same_worlds, reachable, search_all, settled

ONE, TWO = make_toy("keep a"), make_toy("keep a", "keep b")
PAIR = Toy(clients=("app", "pay"), programs=(("app", (Keep("a"),)), ("pay", (Keep("a"),))))
RISKY = make_toy("keep a", off=("once",))
BREAK = Budget(breaks=1, retries=1)


@pytest.mark.parametrize(
    ("system", "budget"),
    [
        (TwoPhaseSet(managers=3), Budget()),
        (ONE, Budget(breaks=1)),
        (TWO, Budget(breaks=1, timers=1, retries=1)),
        (TWO, Budget(kills=2, killable=("store",))),
        (ONE, Budget(power_cuts=1, kills=1, killable=("mirror", "app"), restartable=("app",))),
        (RISKY, Budget(breaks=1, power_cuts=1, retries=2, killable=("store",))),
    ],
    ids=str,
)
def test_the_search_reaches_the_worlds_that_a_plain_search_reaches(system, budget):
    find_same_worlds(system, budget)


@pytest.mark.parametrize(
    ("system", "budget"),
    [
        (TWO, Budget(kills=2, killable=("store",))),
        (ONE, Budget(power_cuts=1, kills=1, killable=("mirror", "app", "store"), retries=1)),
        (PAIR, Budget(kills=1, killable=("store",))),
    ],
    ids=str,
)
def test_an_answer_that_the_search_lets_die_could_have_arrived_before_the_stop(system, budget):
    few, all_of_them = reachable(system, budget), reachable(system, budget, every=True)
    assert few < all_of_them
    assert settled(few) == settled(all_of_them)


def test_an_answer_may_arrive_though_what_its_step_had_still_to_do_was_not_done():
    """The store answers first and copies then: the client has its answer, the mirror nothing."""
    search = search_all(ONE, Budget(kills=1, killable=("store",)))
    torn = [
        number
        for number, packed in enumerate(search.worlds())
        if (world := search.fields.unpack(packed)).nodes["app"].app.results
        and not (world.nodes["store"].up or world.wires or world.disk("mirror").table("copies"))
    ]
    assert torn and search.schedule(torn[0]) == (*TORN[:-1], f"{TORN[-1]} answers=app", "app.")


def test_a_schedule_leads_to_the_world_it_was_found_for():
    search = search_all(TWO, Budget(kills=2, breaks=1, killable=("store",)))
    inside = 0
    for number, world in enumerate(search.worlds()):
        if number % 97 == 0:
            run = Run(search.system)
            for choice in search.schedule(number):
                run.do(choice)
                inside += choice.startswith("restart store kill=")
            assert run.world == search.fields.unpack(world), run.choices
    assert inside, "no schedule stops inside a recovery: the sample proves too little"


@pytest.mark.parametrize(
    ("budget", "states"), [(Budget(), 7), (BREAK, 42), (Budget(kills=1, breaks=1, retries=1), 816)]
)
def test_with_its_safeguard_on_nothing_is_found(budget, states):
    verdict = explore(ONE, budget)
    assert verdict.complete and verdict.ok, verdict
    assert verdict.states == states


def test_without_it_the_shortest_run_that_breaks_the_claim_is_found():
    assert explore(RISKY).ok, "without a fault there is nothing to guard against"
    verdict = explore(RISKY, BREAK)
    assert list(verdict.counterexamples) == ["kept once"]
    trace = verdict.counterexamples["kept once"].trace()
    assert len(trace.choices) == 6
    assert "store ▮ disk  value a @1" in [fact.line() for fact in trace]
    assert [light.ok for light in trace.snapshot(-1).lights] == [False]


def lights_of(claim, budget=BREAK, system=RISKY):
    """In the counterexample's picture: the claim's light at every position."""
    trace = explore(system, budget, (claim,)).counterexamples[claim.name].trace()
    assert all(snapshot.lights[0].name == claim.name for snapshot in trace.snapshots)
    return [snapshot.lights[0].ok for snapshot in trace.snapshots], trace


def test_a_claim_that_has_no_light_of_its_own_is_red_where_it_is_refuted():
    def holds(world):
        return world.nodes["store"].up or len(world.disk("mirror").table("copies")) == 1

    claim = Property("copied", Text("what a dead store has kept is with its mirror"), holds)
    shown, trace = lights_of(claim, Budget(kills=1, killable=("store",)))
    assert shown == [True] * len(trace) + [False]
    assert trace.facts[-1].kind == "kill"
    others = [light.name for light in trace.snapshot(-1).lights[1:]]
    assert others == ["kept once"], "the system's own lights stay"


def test_a_claim_that_is_a_light_already_stands_first_and_once():
    shown, trace = lights_of(RISKY.properties()[0])
    assert [light.name for light in trace.snapshot(-1).lights] == ["kept once"]
    assert shown.index(False) == next(
        n for n, fact in enumerate(trace, 1) if fact.line() == "store ▮ disk  value a @1"
    )


def test_where_nothing_good_can_follow_the_last_fact_is_red():
    calm = Property(
        "never lost",
        Text("no connection was ever lost"),
        lambda world: all(not number for _, number in conns(world)),
        kind="can_always",
    )
    shown, _ = lights_of(calm)
    assert shown[-2:] == [True, False] and all(shown[:-1])


def conns(world):
    return [pair for node in world.nodes.values() for pair in node.conns.items()]


def test_what_is_never_reached_is_missing():
    verdict = explore(make_toy())
    assert (verdict.missing, verdict.ok) == (("mirrored",), False)
    assert "never reached: mirrored" in str(verdict)


def test_the_same_is_found_under_any_hash_seed():
    program = (
        "from tests.explore.test_toy import *; verdict = explore(RISKY, BREAK)\n"
        "print(verdict, *(c.schedule for c in verdict.counterexamples.values()))"
    )

    def told(seed):
        env = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parents[2],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert told("1") == told("2")
    assert "violated: kept once" in told("1")


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"states": 0}, "states=0: expected 1 or more"),
        ({"kills": -1}, "kills=-1: expected 0 to 255"),
        ({"retries": 256}, "retries=256: expected 0 to 255"),
    ],
)
def test_a_budget_that_no_search_can_keep_is_refused(bounds, says):
    with pytest.raises(ValueError, match=says):
        Budget(**bounds)
