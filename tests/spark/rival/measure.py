"""PyFlink and the Spark job on the same orders at the same server, in turns.

    .venv/bin/python tests/spark/rival/measure.py [--rounds 3] [--copies 2]

Flink is that of `mqlab income flink --setup`. Both jobs read the fed topic, add up the income of
each minute, and commit it in transactions; both sums must be the truth. Printed are seconds: the
whole process, and the run from "session is up" to the last commit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

from mqlab.real.kafka.flink import JARS
from mqlab.serve.kafka import serve
from mqlab.spark import feeder, job, topics
from mqlab.spark.cuts import day_plan
from mqlab.spark.files import YEAR, read, read_lines
from mqlab.spark.flink.job import Flink, ends_of, find_python, run_to_end
from mqlab.spark.flink.statements import VERSION, Job
from mqlab.spark.orders import Line
from mqlab.spark.sinks import Target
from mqlab.spark.truth import truth_of

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def orders(copies: int) -> list[Line]:
    """The year, again in each of the next years."""
    year = read_lines(YEAR)
    return [
        {**line, "InvoiceDate": f"{int((date := line['InvoiceDate'])[:4]) + n}{date[4:]}"}
        for n in range(0, 2 * copies, 2)
        for line in year
    ]


def run_spark(target: Target, orders_per_batch: int) -> dict[str, float]:
    """Seconds of the whole process, and of the run."""
    told = asdict(target) | {"checkpoint": str(target.checkpoint)}
    command = [sys.executable, str(HERE / "spark_job.py"), json.dumps(told), str(orders_per_batch)]
    started = time.time()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if line.strip().startswith('{"up"')]
    if done.returncode or not found:
        sys.exit(f"{command[1]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    times = json.loads(found[-1])
    return {"whole": times["done"] - started, "run": times["done"] - times["up"]}


def run_flink(flink: Flink, target: Target, ends: tuple[int, ...]) -> dict[str, float]:
    """The same."""
    seconds = run_to_end(
        flink,
        Job(
            target.address, target.source, target.topic, ends, "exactly-once",
            target.checkpoint, flink.jar,
        ),
    )  # fmt: skip
    return {"whole": seconds.whole, "run": seconds.job}


def total(address: str, topic: str) -> int:
    """Tenths of a penny in all committed rows."""
    return sum(json.loads(row)["income_tenths"] for row in topics.read_values(address, topic))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=2)
    given = parser.parse_args()
    flink = Flink(find_python(), Path(JARS.class_path(VERSION)))
    lines = orders(given.copies)
    true, records = truth_of(lines).total_tenths, feeder.records_of(read(lines))
    plan = day_plan(records[0].stamp_ms, records[-1].stamp_ms)
    times: dict[str, list[dict[str, float]]] = {"flink": [], "spark": []}
    with serve() as broker, tempfile.TemporaryDirectory() as folder:
        feeder.feed(broker.address, "Order", records)
        for turn in range(given.rounds):
            for name in ("flink", "spark")[:: -1 if turn % 2 else 1]:
                names = job.Names(f"{name}-{turn}")
                target = names.target(broker.address, Path(folder) / f"{name}-{turn}")
                target = replace(target, source="Order")
                job.create_topics(target)
                if name == "flink":
                    times[name].append(run_flink(flink, target, ends_of(records)))
                else:
                    times[name].append(run_spark(target, plan.orders))
                assert total(broker.address, target.topic) == true, f"{name}: wrong sum"
                print(f"{name:6}", {k: round(v, 1) for k, v in times[name][-1].items()}, flush=True)
    for what in ("whole", "run"):
        f, s = (statistics.median(t[what] for t in times[name]) for name in ("flink", "spark"))
        rate = f", {len(records) / s:,.0f} orders/s against {len(records) / f:,.0f}"
        print(f"{what}: Spark {s:.1f} s, PyFlink {f:.1f} s, ratio {s / f:.2f}{rate}")


if __name__ == "__main__":
    main()
