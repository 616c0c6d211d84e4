"""The Spark job in a process of its own: from a fed topic Order to the last commit.

    spark_job.py TARGET_AS_JSON PLAN_ORDERS

Prints one JSON object: seconds since the epoch when the session was up and when the last
transaction was committed.
"""

import json
import sys
import time
from pathlib import Path

from mqlab.spark.cuts import Plan
from mqlab.spark.job import run_income
from mqlab.spark.session import session
from mqlab.spark.sinks import Target

given = json.loads(sys.argv[1])
target = Target(**given | {"checkpoint": Path(given["checkpoint"])})
spark = session()
up = time.time()
run_income(
    spark, target, "exactly-once", Plan(orders=int(sys.argv[2])),
    say=lambda line: print(f"{time.time() - up:5.1f} s {line}", file=sys.stderr),
)  # fmt: skip
print(json.dumps({"up": up, "done": time.time()}))
