"""Which timers a budget counts as retries is the system's to say, not the explorer's."""

from dataclasses import dataclass, replace
from typing import Annotated

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import Fired, NodeSpec, Quiet, SetTimer, System
from mqlab.kernel.options import FREE


@dataclass(frozen=True, slots=True)
class Nagging(Quiet):
    """Asks again whenever its timer runs out, three times at most."""

    asked: int = 0

    def step(self, event, disk):
        match event:
            case Fired(timer=timer) if self.asked < 3:
                return replace(self, asked=self.asked + 1), (SetTimer(timer, 1),)
        return self, ()


@dataclass(frozen=True)
class Nags(System):
    retrying: Annotated[tuple[str, ...], FREE] = ()
    timer: str = "poke peer"

    def nodes(self):
        start = (Nagging(), (SetTimer(self.timer, 1),))
        return (NodeSpec("one", (("one", lambda disk, at_ms: start),)),)


@pytest.mark.parametrize(
    ("retrying", "budget", "states"),
    [
        ((), Budget(), 1),
        ((), Budget(timers=2), 3),
        ((), Budget(retries=2), 1),  # it is no retry, and no other timer may run out
        (("poke",), Budget(retries=2), 3),
        (("poke",), Budget(timers=1), 2),  # without a number for retries it is a timer like others
        (("poke",), Budget(timers=1, retries=2), 3),  # a retry takes nothing from the timers
        (("pok", "poke peer"), Budget(retries=2), 1),  # the first word, whole
    ],
)
def test_a_timer_that_only_asks_again_is_bounded_by_retries(retrying, budget, states):
    verdict = explore(Nags(retrying), budget)
    assert verdict.complete and verdict.states == states
