"""PyFlink and the Spark job on the same orders at the same server, in turns.

    .venv/bin/python tests/spark/rival/measure.py [--rounds 3] [--copies 2]

Flink lives in a virtual environment of its own under .cache (its pyarrow is not ours), made here
from PyPI the first time (830 MB); its Kafka connector comes from Maven. Both jobs read the fed
topic, add up the income of each minute, and commit it in transactions; both sums must be the
truth. Printed are seconds: the whole process, and the run from "session is up" to the last commit.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from mqlab.serve.kafka import serve
from mqlab.spark import feeder, job, topics
from mqlab.spark.cuts import day_plan
from mqlab.spark.files import YEAR, read_table
from mqlab.spark.truth import truth_of

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CACHE = ROOT / ".cache" / "flink"
CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
FLINK = "apache-flink==2.2.1"


def flink() -> tuple[Path, Path]:
    """Flink's own Python, and its connector; both are fetched the first time."""
    python = CACHE / "venv" / "bin" / "python"
    jar = CACHE / "flink-sql-connector-kafka-5.0.0-2.2.jar"
    if not python.exists() or subprocess.run([python, "-c", "import pyflink"]).returncode:
        venv.create(CACHE / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", FLINK], check=True)
    if not jar.exists():
        if shutil.which("mvn") is None:
            sys.exit("Flink's Kafka connector is fetched by Maven, and there is none: install it")
        subprocess.run(
            ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={CONNECTOR}",
             f"-DoutputDirectory={CACHE}"], check=True,
        )  # fmt: skip
    return python, jar


def orders(copies: int) -> pa.Table:
    """The year, again in each of the next years."""
    year = read_table(YEAR)
    place = year.column_names.index("InvoiceDate")
    dates = year.column(place).to_pylist()
    shifted = [
        year.set_column(
            place,
            "InvoiceDate",
            pa.array([f"{int(d[:4]) + n}{d[4:]}" for d in dates], pa.large_string()),
        )
        for n in range(0, 2 * copies, 2)
    ]
    return pa.concat_tables(shifted)


def run(command: list[str]) -> dict[str, float]:
    """Seconds of the whole process, and of the run."""
    started = time.time()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if line.strip().startswith('{"up"')]
    if done.returncode or not found:
        sys.exit(f"{command[1]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    times = json.loads(found[-1])
    return {"whole": times["done"] - started, "run": times["done"] - times["up"]}


def total(address: str, topic: str) -> int:
    """Tenths of a penny in all committed rows."""
    return sum(json.loads(row)["income_tenths"] for row in topics.read_values(address, topic))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=2)
    given = parser.parse_args()
    python, jar = flink()
    table = orders(given.copies)
    true, records = truth_of(table).total_tenths, feeder.records_of(table)
    plan = day_plan(records[0].stamp_ms, records[-1].stamp_ms)
    times: dict[str, list[dict[str, float]]] = {"flink": [], "spark": []}
    with serve() as broker, tempfile.TemporaryDirectory() as folder:
        feeder.feed(broker.address, "Order", records)
        for turn in range(given.rounds):
            for name in ("flink", "spark")[:: -1 if turn % 2 else 1]:
                target = job.Names(f"{name}-{turn}").target(
                    broker.address, Path(folder) / f"{turn}"
                )
                job.create_topics(target)
                if name == "flink":
                    command = [str(python), str(HERE / "flink_job.py"), broker.address, "Order",
                               target.topic, str(jar)]  # fmt: skip
                else:
                    told = asdict(target) | {
                        "source": "Order",
                        "checkpoint": str(target.checkpoint),
                    }
                    command = [sys.executable, str(HERE / "spark_job.py"), json.dumps(told),
                               str(plan.orders)]  # fmt: skip
                times[name].append(run(command))
                assert total(broker.address, target.topic) == true, f"{name}: wrong sum"
                print(f"{name:6}", {k: round(v, 1) for k, v in times[name][-1].items()}, flush=True)
    for what in ("whole", "run"):
        f, s = (statistics.median(t[what] for t in times[name]) for name in ("flink", "spark"))
        rate = f", {len(records) / s:,.0f} orders/s against {len(records) / f:,.0f}"
        print(f"{what}: Spark {s:.1f} s, PyFlink {f:.1f} s, ratio {s / f:.2f}{rate}")


if __name__ == "__main__":
    main()
