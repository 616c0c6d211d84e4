"""The process that `mqlab income chaos` kills: Python driver and JVM, both by kill -9.

    python -m mqlab.spark.victim '{"point": "…", "batch": 3, …}'

It never ends by itself: if it does, it exits with 1 and says why.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .cuts import Plan
from .errors import IncomeError
from .job import run_income
from .kills import Kill, Point
from .session import process_ids, session
from .sinks import Target


def main(text: str) -> int:
    task = json.loads(text)
    target = Target(
        task["address"], task["query"], task["source"], task["topic"], task["partitions"],
        task["dead"], Path(task["checkpoint"]),
    )  # fmt: skip
    spark = session(task["master"])
    jvm, driver = process_ids(spark)
    # The JVM first: were it left alive for a moment, it could still write `commits/N`.
    kill = Kill(Point(task["point"]), task["batch"], (jvm, driver))
    run_income(spark, target, task["sink"], Plan(task["minutes"], task["orders"]), kill)
    print(f"batch {task['batch']} was never reached: give more orders", file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except IncomeError as error:
        sys.exit(str(error))
