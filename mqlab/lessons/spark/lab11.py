"""Lab 11, order → income: what its cells import."""

from __future__ import annotations

from ...spark.topics import consumer, fetch_offsets
from .broker_kill import kill_broker
from .clocks import COMMIT_RULES, MOMENTS, compare_outputs, play_both
from .decide import DECIDE, STEPS, pounds
from .flink_kills import recorded_kills
from .kill_bench import GONE, KEPT, Bench, bestsellers, copies
from .two_phase import RESUME

__all__ = [
    "DECIDE",
    "GONE",
    "KEPT",
    "MOMENTS",
    "RESUME",
    "COMMIT_RULES",
    "STEPS",
    "Bench",
    "bestsellers",
    "compare_outputs",
    "consumer",
    "copies",
    "fetch_offsets",
    "kill_broker",
    "play_both",
    "pounds",
    "recorded_kills",
]
