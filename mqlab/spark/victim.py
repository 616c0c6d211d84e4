"""The process that is killed: Python driver and JVM, both by kill -9.

    python -m mqlab.spark.victim null        (or Spark's address, as JSON)

It starts Spark, reads what to do as one line of JSON from its input, and does it until it is
killed. If it ends by itself, it exits with 1 and says why, unless it was given no point to be
killed at. Without a line it goes.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

from .cuts import Plan
from .errors import IncomeError
from .job import run_income
from .kills import Kill, Point
from .session import process_ids, session
from .sinks import Target
from .warm import warm_up


def main(master: str | None) -> int:
    spark = session(master)
    warm_up(spark)
    line = sys.stdin.readline()
    if not line:
        return 0
    task = json.loads(line)
    from pyspark import cloudpickle

    rule = cloudpickle.loads(base64.b64decode(task["rule"]))
    target = Target(
        task["address"], task["query"], task["source"], task["topic"], task["partitions"],
        task["dead"], Path(task["checkpoint"]),
    )  # fmt: skip
    jvm, driver = process_ids(spark)
    # The JVM first: were it left alive for a moment, it could still write `commits/N`.
    point = Point(task["point"]) if task["point"] else None
    kill = Kill(point, task["batch"], (jvm, driver))
    plan = Plan(task["minutes"], task["orders"])
    run_income(spark, target, task["sink"], plan, kill, rule=rule)
    if point is None:
        return 0
    print(f"batch {task['batch']} was never reached: give more orders")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(json.loads(sys.argv[1])))
    except IncomeError as error:
        sys.exit(str(error))
