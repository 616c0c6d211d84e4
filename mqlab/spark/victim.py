"""The process that is killed: Python driver and JVM, both by kill -9.

    python -m mqlab.spark.victim null        (or Spark's address, as JSON)

It starts Spark, reads what to do as one line from its input (the arguments of `run_income`,
pickled, in base64), and does it until it is killed. If it ends by itself, it exits with 1 and says
why, unless it was given no point to be killed at. Without a line it goes.
"""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace

from .errors import IncomeError
from .job import run_income
from .session import process_ids, session
from .warm import warm_up


def main(master: str | None) -> int:
    """Start Spark at `master`, wait for a job on stdin, and run it until the kill ends this
    process. Returns an exit code only where no job came or nothing was to be killed (0), or the
    kill point was not reached (1)."""
    spark = session(master)
    warm_up(spark)
    task = sys.stdin.readline()
    if not task:
        return 0  # stdin was closed: no job will come
    from pyspark import cloudpickle

    target, sink, plan, kill, rule = cloudpickle.loads(base64.b64decode(task))
    jvm, driver = process_ids(spark)
    # The JVM first: were it left alive for a moment, it could still write `commits/N`.
    run_income(spark, target, sink, plan, replace(kill, pids=(jvm, driver)), rule=rule)
    if kill.point is None:
        return 0
    print(f"batch {kill.batch} was never reached: give more orders")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(json.loads(sys.argv[1])))
    except IncomeError as error:
        sys.exit(str(error))
