"""Random schedules on many machines. A walk depends on its seed alone, and of each claim that
breaks the smallest seed is kept: so what is found does not depend on who took which walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...explore import Budget
from ...explore.swarm import Swarm, Walked, Walker, tell_walks
from ...kernel.system import System
from ..session import session

ROUNDS = 4  # tasks of each core, as some walks are longer than others


def swarm_on_spark(
    make: Callable[[], System], budget: Budget, seeds: range, master: str, tasks: int | None = None
) -> Swarm:
    """What `swarm` finds. `make` makes the system, in every process again: it is sent by its name.
    Raises ValueError as `swarm` does, and IncomeError where Spark is missing."""
    system = make()
    Walker(system, budget)  # which refuses some
    context = session(master).sparkContext
    count = tasks or max(1, min(len(seeds), ROUNDS * context.defaultParallelism))
    starts = range(seeds.start, seeds.stop, -(-len(seeds) // count))
    runs = [range(at, min(at + starts.step, seeds.stop)) for at in starts]

    def walk(some: Iterable[range]) -> Iterator[Walked]:
        for run in some:
            walker, walked = Walker(make(), budget), Walked()
            for seed in run:
                walked.add(seed, *walker.walk(seed))
            yield walked

    whole = Walked()
    for walked in context.parallelize(runs, len(runs)).mapPartitions(walk).collect():
        whole.join(walked)
    return tell_walks(system, budget, whole)
