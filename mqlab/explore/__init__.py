"""Layer 3: the explorer. Every schedule within a budget, the shortest counterexample first.

    from mqlab.explore import Budget, explore
    verdict = explore(system, Budget(kills=1, timers=2))
    print(verdict)                      # complete within …, or what was found
    verdict.counterexamples["…"].schedule

It moves worlds with the same `run` as every other driver, but a world is one integer and a
choice adds a number to it (`packed.py`); which numbers may be added is worked out once for
each neighbourhood of a node (`moves.py`), however many worlds share it. README.md says what a
search stores and costs, and how far it was taken.
"""

from .budget import Budget
from .search import Search, explore
from .swarm import Drawn, Sample, take_sample
from .verdict import Counterexample, Verdict

__all__ = [
    "Budget",
    "Counterexample",
    "Drawn",
    "Sample",
    "Search",
    "Verdict",
    "explore",
    "take_sample",
]
