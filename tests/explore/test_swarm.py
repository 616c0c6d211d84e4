"""Random schedules: decided by their seeds, and shrunk to what matters."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.explore.swarm import Walker, shrink, swarm
from mqlab.kernel import Run
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from tests.kernel.toy import make_toy

RISKY = make_toy("keep a", "keep b", off=("once",))
FAULTS = Budget(breaks=2, kills=1, retries=2, killable=("mirror",))


def test_a_walk_depends_on_its_seed_alone():
    one, other = Walker(RISKY, FAULTS), Walker(RISKY, FAULTS)
    forth = {seed: one.walk(seed) for seed in range(40)}
    back = {seed: other.walk(seed) for seed in reversed(range(40))}
    assert forth == back
    assert len({schedule for schedule, _ in forth.values()}) > 20
    assert {choice.split()[0] for schedule, _ in forth.values() for choice in schedule} >= {
        "break", "kill", "restart", "fire",
    }  # fmt: skip


def test_every_walk_is_a_run_within_the_budget_up_to_where_no_choice_is_left():
    walker = Walker(make_toy("keep a"), FAULTS)
    for seed in range(20):
        schedule, news = walker.walk(seed)
        run = Run(make_toy("keep a"))
        for choice in schedule:
            run.do(choice)
        assert not news
        assert sum(choice.startswith("break") for choice in schedule) <= 2
        assert sum("kill" in choice for choice in schedule) <= 1


def test_what_breaks_a_claim_is_shrunk_until_no_choice_can_be_left_out():
    told = swarm(RISKY, FAULTS, range(200))
    found = told.counterexamples["kept once"]
    claim = found.claim
    assert told.seeds["kept once"] == min(s for s in range(200) if Walker(RISKY, FAULTS).walk(s)[1])
    whole, _ = Walker(RISKY, FAULTS).walk(told.seeds["kept once"])
    assert len(found.schedule) <= len(whole)
    assert not claim.holds(run_of(found.schedule).world)
    assert shrink(RISKY, claim, found.schedule) == found.schedule
    fewest = len(explore(RISKY, FAULTS).counterexamples["kept once"].schedule)
    assert fewest <= len(found.schedule)
    assert f"violated: kept once, in {len(found.schedule)} choices (seed " in str(told)


def run_of(schedule):
    run = Run(RISKY)
    for choice in schedule:
        run.do(choice)
    return run


def test_with_its_safeguard_on_nothing_is_found():
    told = swarm(make_toy("keep a", "keep b"), FAULTS, range(100))
    assert not told.counterexamples and told.walks == 100 and told.steps > 500


def test_messages_that_are_a_set_are_refused():
    with pytest.raises(ValueError, match="messages are a set; take walks of one that has queues"):
        swarm(TwoPhaseSet(), Budget(), range(1))
