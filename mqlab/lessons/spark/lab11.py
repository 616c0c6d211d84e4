"""Lab 11, order → income: what its cells import."""

from __future__ import annotations

from ...spark.topics import consumer, fetch_offsets
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
    "fetch_offsets",
    "consumer",
    "copies",
    "pounds",
]
