"""Lab 11, order → income: what its cells import."""

from __future__ import annotations

from ...spark.topics import committed, consumer
from .decide import DECIDE, STEPS, pounds
from .kill_bench import GONE, KEPT, Bench, bestsellers, copies
from .two_phase import RESUME

__all__ = [
    "DECIDE",
    "GONE",
    "KEPT",
    "RESUME",
    "STEPS",
    "Bench",
    "bestsellers",
    "committed",
    "consumer",
    "copies",
    "pounds",
]
