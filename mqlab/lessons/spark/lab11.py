"""Lab 11, order → income: what its cells import."""

from __future__ import annotations

from ...serve.kafka import serve
from ...spark import Point
from ...spark.topics import consumer, fetch_offsets
from .broker_kill import kill_broker
from .decide import (
    COMMIT_RULES,
    DECIDE,
    HALF_HOUR,
    KILLED,
    MOMENTS,
    STEPS,
    amounts_of_batches,
    compare_outputs,
    play_both,
    pounds,
)
from .flink_kills import recorded_kills
from .kill_bench import GONE, KEPT, Bench, bestsellers, copies
from .levels import tabulate_levels
from .sink_kills import KILL_MOMENTS, KILL_SINKS, play_sink
from .two_phase import RESUME

__all__ = [
    "DECIDE",
    "GONE",
    "HALF_HOUR",
    "KEPT",
    "KILLED",
    "KILL_MOMENTS",
    "KILL_SINKS",
    "MOMENTS",
    "RESUME",
    "COMMIT_RULES",
    "STEPS",
    "Bench",
    "Point",
    "amounts_of_batches",
    "bestsellers",
    "compare_outputs",
    "consumer",
    "copies",
    "fetch_offsets",
    "kill_broker",
    "play_both",
    "play_sink",
    "pounds",
    "recorded_kills",
    "serve",
    "tabulate_levels",
]
