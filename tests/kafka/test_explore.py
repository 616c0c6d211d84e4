"""Kafka searched: nothing found with everything on, each missing safeguard found."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons.systems import system

COMMIT = "'app=init; begin; send orders-0 a; send orders-1 b; commit'"
ABORT = "'app=init; begin; send orders-0 a; abort'"


@pytest.mark.parametrize(
    ("program", "budget", "states"),
    [
        (COMMIT, Budget(), 275),
        (COMMIT, Budget(breaks=1), 11_464),
        (COMMIT, Budget(kills=1, killable=("tc",)), 15_286),
    ],
)
def test_with_every_safeguard_on_nothing_is_found(program, budget, states):
    verdict = explore(system(f"kafka {program}"), budget)
    assert verdict.complete
    assert not verdict.counterexamples, verdict
    assert verdict.states == states
    assert not verdict.missing


@pytest.mark.parametrize(
    ("off", "program", "budget", "broken"),
    [
        ("aborted_index", ABORT, Budget(), "clean read"),
        ("lso", ABORT, Budget(), "clean read"),
        (
            "prepare_before_markers",
            COMMIT,
            Budget(kills=1, killable=("tc",), timers=1),
            "decided first",
        ),
    ],
)
def test_a_safeguard_that_is_off_is_missed(off, program, budget, broken):
    verdict = explore(system(f"kafka {program} off={off}"), budget)
    assert broken in verdict.counterexamples
    example = verdict.counterexamples[broken]
    lights = {light.name: light.ok for light in example.trace().snapshot(-1).lights}
    assert lights[broken] is False
