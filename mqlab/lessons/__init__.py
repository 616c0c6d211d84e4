"""Floor 6: lessons. What the notebooks import: running scenarios, exercises, checks."""

from .check import Exercise, check
from .parsons import Parsons, Piece, judge
from .pictures import Fold
from .shop import balances
from .systems import SYSTEMS, open_run, playing, scenario, system
from .verdict import Verdict

__all__ = [
    "SYSTEMS",
    "Exercise",
    "Fold",
    "Parsons",
    "Piece",
    "Verdict",
    "balances",
    "check",
    "judge",
    "open_run",
    "playing",
    "scenario",
    "system",
]
