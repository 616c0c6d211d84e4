"""Spark's own Kafka connector, for comparison only: the job does not need it.

PySpark does not bring it, and for Spark 4.3 none is published (2026-11). The one of Spark 4.2.0
works with 4.3.0 (reads in both isolation levels and writes, against Kafka 4.3.1 and against the
engine, were equal). Four jars are taken one by one from Maven, without what they would pull in:
Spark has the rest.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import places
from .errors import IncomeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .topics import Out

CACHE = places.CACHE / "spark-kafka"
JARS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def jars() -> list[Path]:
    """The four jars; nothing unless all have been fetched."""
    paths = [CACHE / f"{name}-{version}.jar" for _, name, version in map(_parts, JARS)]
    return paths if all(path.is_file() for path in paths) else []


def _parts(jar: str) -> list[str]:
    return jar.split(":")


def fetch() -> list[Path]:
    """The same, fetched with Maven the first time. Raises IncomeError."""
    if present := jars():
        return present
    maven = shutil.which("mvn")
    if maven is None:
        raise IncomeError(
            "Spark's own Kafka sink comes as four jars, which Maven fetches: install maven "
            "(Debian: apt-get install maven); nothing else here needs it"
        )
    CACHE.mkdir(parents=True, exist_ok=True)
    for jar in JARS:
        done = subprocess.run(
            [maven, "-q", "-B", "dependency:copy", f"-Dartifact={jar}",
             f"-DoutputDirectory={CACHE}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            line = (done.stdout.strip().splitlines() or ["nothing"])[0]
            raise IncomeError(f"Maven could not fetch {jar}: {line}; try again with a network")
    return jars()


def _load(spark: SparkSession) -> None:
    """Into a session that was started before the jars were there. `ADD JAR` makes the classes
    known to the thread that runs it, which is the one that writes."""
    if "spark-sql-kafka" not in (spark.conf.get("spark.jars", "") or ""):
        for path in fetch():
            spark.sql(f"ADD JAR '{path}'")


def write(
    spark: SparkSession, address: str, topic: str, partitions: int, out: Sequence[Out]
) -> None:
    """Hand the messages to Spark's own Kafka writer."""
    from . import topics

    if not out:
        return
    _load(spark)
    rows = [(m.key, bytes(m.value), topics.partition_of(m.key, partitions)) for m in out]
    (
        spark.createDataFrame(rows, "key string, value binary, partition int")
        .write.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("topic", topic)
        .save()
    )
