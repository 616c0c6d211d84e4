"""The explorer against the classic two-phase commit, whose state counts are known."""

from functools import partial

import pytest

from mqlab.explore import Budget, Search, explore
from mqlab.kernel import Property, Text, replay
from mqlab.patterns.two_phase.oracle import TwoPhaseSet, read_state


@pytest.mark.parametrize(("managers", "states"), [(3, 288), (5, 8_832)])
def test_two_phase_commit_has_exactly_the_known_number_of_states(managers, states):
    verdict = explore(TwoPhaseSet(managers=managers))
    assert verdict.complete
    assert verdict.ok, verdict
    assert verdict.states == states


def test_worlds_that_are_stuck_are_found_by_going_back_from_the_good_ones():
    def ended(world):
        return {world.role(f"rm{i}").state for i in range(3)} <= {"committed", "aborted"}

    always_ends = Property("ends", Text("it ends"), ended, "can_always", partial(read_state, None))
    commits = Property(
        "commits",
        Text("all may still commit"),
        lambda w: {world_state(w, i) for i in range(3)} == {"committed"},
        "can_always",
        partial(read_state, None),
    )
    assert explore(TwoPhaseSet(managers=3), properties=(always_ends,)).ok
    stuck = explore(TwoPhaseSet(managers=3), properties=(commits,)).counterexamples["commits"]
    assert len(stuck.schedule) == 1, "the first abort already rules it out"


def world_state(world, i):
    return world.role(f"rm{i}").state


def test_a_search_goes_on_in_slices_and_stops_where_one_says():
    search = Search(TwoPhaseSet(managers=5))
    slices = 0
    while search.advance(seconds=0):
        slices += 1
    assert slices > 2
    assert search.verdict() == explore(TwoPhaseSet(managers=5))

    stopped = Search(TwoPhaseSet(managers=5))
    stopped.advance(seconds=0)
    stopped.stop()
    assert not stopped.advance()
    assert not stopped.verdict().complete


def test_an_error_in_a_claim_tells_the_schedule_it_was_raised_after():
    def never_aborted(world):
        if "aborted" in {world_state(world, i) for i in range(3)}:
            raise RuntimeError("no idea")
        return True

    claim = Property("odd", Text("odd"), never_aborted, reads=partial(read_state, None))
    with pytest.raises(RuntimeError) as raised:
        explore(TwoPhaseSet(managers=3), properties=(claim,))
    assert raised.value.__notes__ == ["raised while every choice was looked at after: the start"]


def test_interrupting_keeps_what_was_found():
    def interrupt(states, depth):
        raise KeyboardInterrupt

    verdict = explore(TwoPhaseSet(managers=7), progress=interrupt)
    assert not verdict.complete
    assert verdict.states > 0


def test_bounds_are_part_of_the_verdict():
    budget = Budget(kills=1, timers=2, retries=1, killable=("tc",), restartable=())
    assert str(budget) == (
        "1 kill, 2 timers, 1 retry of each retry timer, only tc may stop, no restarts"
    )
    assert budget.text.of("zh").startswith("1 次进程被杀，2 次定时器到期")
    nobody = Budget(kills=1, timers=2, killable=())
    assert (str(nobody), nobody.flags()) == ("2 timers", "--timers 2")


def test_a_bound_on_states_is_reported_as_not_exhaustive():
    verdict = explore(TwoPhaseSet(managers=3), Budget(states=100))
    assert not verdict.complete
    assert "not exhaustive" in str(verdict)
    search = Search(TwoPhaseSet(managers=3), Budget(states=100))
    while search.advance():
        pass
    assert search.states == len(list(search.worlds())) == 100


def test_a_broken_manager_is_found_by_a_shortest_schedule():
    class Hasty(TwoPhaseSet):
        """Commits as soon as one resource manager has prepared."""

        def nodes(self):
            tm, *rest = super().nodes()
            hasty = lambda disk, at: (tm.roles[0][1](disk, at)[0], ())  # noqa: E731
            return (_hasty(tm, hasty), *rest)

    verdict = explore(Hasty(managers=3))
    found = verdict.counterexamples["consistent"]
    trace = replay(found.system, found.schedule)
    assert len(trace.choices) == len(found.schedule) == 5


def _hasty(spec, start):
    from dataclasses import replace

    from mqlab.patterns.two_phase.oracle import Manager

    class HastyManager(Manager):
        __slots__ = ()

        def step(self, event, disk):
            if event.body == "commit?" and self.state == "init" and self.prepared:
                return self._decide("committed", "commit")
            return super().step(event, disk)

    names = start(None, 0)[0].managers
    return replace(spec, roles=(("tm", lambda disk, at: (HastyManager(names), ())),))
