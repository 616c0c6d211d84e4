"""The explorer against the classic two-phase commit, whose state counts are known."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import replay
from mqlab.kernel.world import apply, enabled, initial
from tests.models.two_phase import TwoPhase


@pytest.mark.parametrize(("managers", "states"), [(3, 288), (5, 8_832)])
def test_two_phase_commit_has_exactly_the_known_number_of_states(managers, states):
    verdict = explore(TwoPhase(managers))
    assert verdict.complete
    assert verdict.ok, verdict
    assert verdict.states == states


def test_the_interned_search_reaches_the_worlds_that_a_plain_search_reaches():
    system = TwoPhase(3)
    seen, todo = {initial(system)}, [initial(system)]
    while todo:
        world = todo.pop()
        for choice in enabled(system, world):
            new = apply(system, world, choice)[-1].world
            if new not in seen:
                seen.add(new)
                todo.append(new)
    assert len(seen) == explore(system).states


def test_a_bound_on_states_is_reported_as_not_exhaustive():
    verdict = explore(TwoPhase(3), Budget(states=100))
    assert not verdict.complete
    assert "not exhaustive" in str(verdict)


def test_a_broken_manager_is_found_by_a_shortest_schedule():
    class Hasty(TwoPhase):
        """Commits as soon as one resource manager has prepared."""

        def nodes(self):
            tm, *rest = super().nodes()
            hasty = lambda disk, at: (tm.roles[0][1](disk, at)[0], ())  # noqa: E731
            return (_hasty(tm, hasty), *rest)

    verdict = explore(Hasty(3))
    found = verdict.counterexamples["consistent"]
    trace = replay(found.system, found.schedule)
    assert len(trace.choices) == len(found.schedule) == 5


def _hasty(spec, start):
    from dataclasses import replace

    from tests.models.two_phase import Manager

    class HastyManager(Manager):
        __slots__ = ()

        def step(self, event, disk):
            if event.body == "commit?" and self.state == "init" and self.prepared:
                return self._decide("committed", "commit")
            return super().step(event, disk)

    names = start(None, 0)[0].managers
    return replace(spec, roles=(("tm", lambda disk, at: (HastyManager(names), ())),))
