"""The cost of exactly once: orders per second with its transaction ÷ without anything.

The machine is never quiet, so the sinks take turns, each as often the first, and medians are
compared. One warm-up turn pays for Spark's start; both sinks read the same topic Order in batches
of the same size, small ones: the cost of a transaction is paid once per batch.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from mqlab.spark.cuts import Plan
from mqlab.spark.errors import need
from mqlab.spark.files import DAY, Orders, read_lines
from mqlab.spark.orders import Line

SINKS = ("at-least-once", "exactly-once")
BATCH = Plan(orders=10_000)


def measure_sinks(
    address: str, orders: Orders = DAY, rounds: int = 4, repeat: int = 20
) -> dict[str, float]:
    """Measure how many orders a second the job handles with each sink: `{"at-least-once": orders/s,
    "exactly-once": orders/s, "ratio": the latter ÷ the former}`.

    `repeat` copies of the orders, each a day later than the one before, make the executions long
    enough to measure. Each rate is the median of `rounds` executions. Raises IncomeError.
    """
    need()
    from mqlab.spark import crashes, job
    from mqlab.spark.session import session

    spark = session()
    lines = later(read_lines(orders), repeat)
    rates: dict[str, list[float]] = {sink: [] for sink in SINKS}
    with tempfile.TemporaryDirectory(prefix="mqlab-bench-") as folder:
        # feeds the orders; nothing is killed here
        setup = crashes.prepare(address, lines, Path(folder))
        for number in range(rounds + 1):
            # Every other round takes the sinks in reverse, so that neither is always first.
            for sink in SINKS[:: -1 if number % 2 else 1]:
                target = crashes.target_of(setup, f"{setup.run}-{sink}-{number}")
                job.create_topics(target)
                started = time.perf_counter()
                job.run_income(spark, target, sink, BATCH)
                if number:  # round 0 only warms up
                    rates[sink].append(len(lines) / (time.perf_counter() - started))
    medians = {sink: statistics.median(rate) for sink, rate in rates.items()}
    return medians | {"ratio": medians["exactly-once"] / medians["at-least-once"]}


def later(lines: Sequence[Line], copies: int) -> list[Line]:
    """The lines of one day, again on each of the next days."""
    out: list[Line] = []
    for copy in range(copies):
        for line in lines:
            at = datetime.fromisoformat(line["InvoiceDate"]) + timedelta(days=copy)
            out.append({**line, "InvoiceDate": str(at), "InvoiceNo": f"{line['InvoiceNo']}-{copy}"})
    return out
