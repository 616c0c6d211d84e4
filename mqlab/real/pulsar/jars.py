"""Pulsar's own jars: which, and how Maven is asked for them. 242 MB.

4.2.4 is the newest release of 4.x that is published whole. Its bill of materials (the pom of
`pulsar`) pins what the broker's own poms leave open; the broker brings the Java client along, the
client of transactions and the admin client, so no other client is put beside them.
"""

from __future__ import annotations

from pathlib import Path

from ...places import CACHE
from .. import jars

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>real-pulsar</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <dependencyManagement>
    <dependencies>
      <dependency>
        <groupId>org.apache.pulsar</groupId>
        <artifactId>pulsar</artifactId>
        <version>{version}</version>
        <type>pom</type>
        <scope>import</scope>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>org.apache.pulsar</groupId>
      <artifactId>pulsar-broker</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def pom(version: str) -> str:
    return POM.format(version=version)


JARS = jars.Jars(
    product="Pulsar",
    versions=("4.2.4",),
    cache=CACHE / "pulsar",
    pins=Path(__file__).with_name("jars.sha256"),
    landmark="pulsar-broker-{version}.jar",
    pom=pom,
)
