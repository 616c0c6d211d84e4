"""Lab 11, order → income: what its cells import."""

from __future__ import annotations

from ...serve.kafka import serve as serve
from ...spark import Point as Point
from ...spark.topics import consumer as consumer
from ...spark.topics import fetch_offsets as fetch_offsets
from .broker_kill import kill_broker as kill_broker
from .decide import COMMIT_RULES as COMMIT_RULES
from .decide import DECIDE as DECIDE
from .decide import HALF_HOUR as HALF_HOUR
from .decide import KILLED as KILLED
from .decide import MOMENTS as MOMENTS
from .decide import STEPS as STEPS
from .decide import amounts_of_batches as amounts_of_batches
from .decide import compare_outputs as compare_outputs
from .decide import play_both as play_both
from .decide import pounds as pounds
from .flink_kills import recorded_kills as recorded_kills
from .kill_bench import GONE as GONE
from .kill_bench import KEPT as KEPT
from .kill_bench import Bench as Bench
from .kill_bench import bestsellers as bestsellers
from .kill_bench import copies as copies
from .levels import tabulate_levels as tabulate_levels
from .sink_kills import KILL_MOMENTS as KILL_MOMENTS
from .sink_kills import KILL_SINKS as KILL_SINKS
from .sink_kills import play_sink as play_sink
from .two_phase import RESUME as RESUME
