"""Kafka's own jars: which, and how Maven is asked for them. 45 MB."""

from __future__ import annotations

from pathlib import Path

from ...places import CACHE
from .. import jars

GROUP = "org.apache.kafka"
#: what kafka-tools, which brings the log dump, would bring along of Connect
EXCLUDED = ("connect-runtime", "connect-api", "connect-json")


def pom(version: str) -> str:
    return jars.join_pom(
        "real-kafka",
        version,
        jars.write_dependency(GROUP, "kafka_2.13", version),
        jars.write_dependency(
            GROUP, "kafka-tools", version, jars.write_exclusions(GROUP, *EXCLUDED)
        ),
        jars.write_dependency("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    )


JARS = jars.Jars(
    product="Kafka",
    versions=("4.3.1", "4.2.1"),
    cache=CACHE / "kafka",
    pins=Path(__file__).with_name("jars.sha256"),
    landmark="kafka-clients-{version}.jar",
    pom=pom,
)
