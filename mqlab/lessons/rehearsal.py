"""One run of a system in a fixed order, with one fault at one place.

Searching every schedule of a long program is dear; going once through it for every place
where a process may be killed or fall silent is cheap, and finds most of what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..kernel import Run, System, World
from ..kernel.choice import Choice, parse
from ..kernel.moves import apply, initial, list_choices

STEPS = 2_000
#: how often each timer may ask again: what waits for a transaction's timeout waits for ever here
RETRIES = 3
Wanted = Callable[[Choice], bool]


@dataclass
class Rehearsal:
    """A run that nobody watches: facts and pictures, most of what a `Run` costs, are left out."""

    system: System
    world: World = field(init=False)
    choices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = initial(self.system)

    def do(self, choice: str) -> None:
        """Make one choice; ValueError where it is not possible."""
        for moved in apply(self.system, self.world, parse(choice)):
            self.world = moved.world
        self.choices.append(choice)


def go(
    run: Rehearsal | Run,
    wanted: Wanted = lambda choice: True,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Do what is possible, first things first, and let timers run out that only ask again,
    until `until` or until nothing wanted is left."""
    fired: dict[str, int] = {}
    for _ in range(STEPS):
        ready = [c for c in possible(run) if wanted(c) and fired.get(str(c), 0) < RETRIES]
        if until() or not ready:
            return
        run.do(str(ready[0]))
        if ready[0].kind == "fire":
            fired[str(ready[0])] = fired.get(str(ready[0]), 0) + 1


def possible(run: Rehearsal | Run) -> list[Choice]:
    """What is under way arrives before anybody calls, and only then somebody asks again."""
    steps = [c for c in list_choices(run.system, run.world) if c.kind != "fire"]
    steps.sort(key=lambda c: c.kind == "call")
    again = [(node, name) for node, name in timers(run) if run.system.only_repeats(name)]
    return [*steps, *(Choice("fire", node, name) for node, name in again)]


def timers(run: Rehearsal | Run) -> list[tuple[str, str]]:
    """(node, timer) of all that are set."""
    return [(name, timer) for name, n in run.world.nodes.items() for _, timer, _ in n.timers]


def count_calls(run: Rehearsal, node: str) -> int:
    """How many calls of an application have returned."""
    app = run.world.nodes[node].app
    return len(app.results) if app is not None else 0


def plain(system: System) -> Rehearsal:
    run = Rehearsal(system)
    go(run)
    return run


def run_with_kill(system: System, node: str, calls: int) -> Rehearsal:
    """The process is killed after so many calls, and started again."""
    run = Rehearsal(system)
    go(run, until=lambda: count_calls(run, node) >= calls)
    run.do(f"kill {node}")
    run.do(f"restart {node}")
    go(run)
    return run


def run_with_stall(system: System, old: str, new: str, calls: int, session: str) -> Rehearsal:
    """One member falls silent after so many calls. The group gives it up, if it knows it by
    then (`session` is the name of that timer), another does its work, and it wakes up."""
    run = Rehearsal(system)
    go(run, lambda c: new not in (c.a, c.b), until=lambda: count_calls(run, old) >= calls)
    for node, timer in timers(run):
        if timer == session:
            run.do(f"fire {node} {timer}")
    go(run, lambda c: old not in (c.a, c.b))
    go(run)
    return run
