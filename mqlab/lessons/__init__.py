"""Floor 6: lessons. What the notebooks import: running scenarios, exercises, checks."""

from .check import Exercise, Verdict, check
from .parsons import Parsons, Piece, judge
from .shop import balances
from .systems import SYSTEMS, open_run, playing, scenario, system

__all__ = [
    "SYSTEMS",
    "Exercise",
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
