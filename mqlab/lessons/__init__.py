"""Floor 6: lessons. What the notebooks import: running scenarios, exercises, checks."""

from .atlas.pictures import Fold
from .check import Exercise, check
from .kafka.systems.shop import balances
from .parsons import Parsons, Piece, judge
from .registry import SYSTEMS, open_run, playing, scenario, system
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
