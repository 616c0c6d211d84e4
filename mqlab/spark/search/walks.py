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
    """Do the random walks of `swarm` on Spark, one for each seed, and return what it would find.
    `make` makes the system, in every process again: it is sent by its name. `master`: Spark's
    address; `tasks`: how many (None: ROUNDS for each core). Raises ValueError as `swarm` does, and
    IncomeError where Spark is missing."""
    system = make()
    Walker(system, budget)  # refuses (ValueError) a system or a budget that it cannot walk
    context = session(master).sparkContext
    task_count = tasks or max(1, min(len(seeds), ROUNDS * context.defaultParallelism))
    # each task's first seed; the step is the seeds of a task, rounded up
    starts = range(seeds.start, seeds.stop, -(-len(seeds) // task_count))
    runs = [range(start, min(start + starts.step, seeds.stop)) for start in starts]

    def walk(ranges: Iterable[range]) -> Iterator[Walked]:
        for run in ranges:
            walker, walked = Walker(make(), budget), Walked()
            for seed in run:
                walked.add(seed, *walker.walk(seed))
            yield walked

    total = Walked()
    for walked in context.parallelize(runs, len(runs)).mapPartitions(walk).collect():
        total.join(walked)
    return tell_walks(system, budget, total)
