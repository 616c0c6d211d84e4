"""Floor 3: the explorer. Every schedule within a budget, the shortest counterexample first.

    from mqlab.explore import Budget, explore
    verdict = explore(system, Budget(kills=1, timers=2))
    print(verdict)                      # complete within …, or what was found
    verdict.counterexamples["…"].schedule

It moves worlds with the same `run` as every other driver, but keeps every node, message
and queue as a small integer and remembers what a step did (`intern.py`), so a handler
runs once for each pair of a state and an event, however many worlds that pair occurs in.
"""

from .budget import Budget
from .search import Counterexample, Verdict, explore

__all__ = ["Budget", "Counterexample", "Verdict", "explore"]
