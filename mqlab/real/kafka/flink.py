"""Flink's own Kafka connector, with the Kafka client inside: which, and how Maven is asked. 11 MB.

It is the jar that is made to be put beside a Flink as it is, so nothing that it depends on is
fetched. The version is Flink's; after the connector's own stands for which Flink it is built.
"""

from __future__ import annotations

from pathlib import Path

from ...places import CACHE
from .. import jars

CONNECTOR = {"2.2.1": "5.0.0-2.2"}
CONNECTOR_JAR = jars.write_pom("org.apache.flink", "flink-sql-connector-kafka", lone=True)


def pom(version: str) -> str:
    return CONNECTOR_JAR(CONNECTOR[version])


JARS = jars.Jars(
    product="Flink",
    versions=("2.2.1",),
    cache=CACHE / "flink",
    pins=Path(__file__).with_name("flink.sha256"),
    landmark="flink-sql-connector-kafka-5.0.0-2.2.jar",
    pom=pom,
)
