"""Kafka's own jars: which, and how Maven is asked for them. 45 MB."""

from __future__ import annotations

from pathlib import Path

from ...places import CACHE
from .. import jars

# kafka-tools brings the log dump; Connect, which it would bring along, is not needed.
POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>real-kafka</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>{version}</version>
      <exclusions>
{exclusions}      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>2.25.4</version>
    </dependency>
  </dependencies>
</project>
"""
EXCLUSION = """\
        <exclusion>
          <groupId>org.apache.kafka</groupId>
          <artifactId>{artifact}</artifactId>
        </exclusion>
"""
EXCLUDED = ("connect-runtime", "connect-api", "connect-json")


def pom(version: str) -> str:
    exclusions = "".join(EXCLUSION.format(artifact=name) for name in EXCLUDED)
    return POM.format(version=version, exclusions=exclusions)


JARS = jars.Jars(
    product="Kafka",
    versions=("4.3.1", "4.2.1"),
    cache=CACHE / "kafka",
    pins=Path(__file__).with_name("jars.sha256"),
    landmark="kafka-clients-{version}.jar",
    pom=pom,
)
