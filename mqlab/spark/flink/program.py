"""What Flink's own Python runs; it imports nothing of mqlab.

    .cache/flink/venv/bin/python mqlab/spark/flink/program.py

It reads the job as one line of JSON from its input (`settings`, `statements`), submits it, and
ends when the job has; then it prints when Flink was up and when the job was done, in seconds since
the epoch. It dies with the process that has started it: only that process holds the other end
of its input, and Flink's JVM ends when this one does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from pyflink.table import EnvironmentSettings, TableEnvironment


def main() -> None:
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in task["settings"].items():
        tables.get_config().set(key, value)
    up = time.time()
    *definitions, job = task["statements"]
    for statement in definitions:
        tables.execute_sql(statement)
    tables.execute_sql(job).wait()
    print(json.dumps({"up": up, "done": time.time()}))


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
