"""RocketMQ's own jars: which, and how Maven is asked for them. 120 MB of both versions.

5.5.0 is the newest set that is published whole; of 4.9 it is 4.9.7 (there is no broker of 4.9.8).
The broker brings the Java client along.
"""

from __future__ import annotations

from pathlib import Path

from .. import jars

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>real-rocketmq</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.rocketmq</groupId>
      <artifactId>rocketmq-broker</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.rocketmq</groupId>
      <artifactId>rocketmq-namesrv</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def pom(version: str) -> str:
    return POM.format(version=version)


JARS = jars.Jars(
    product="RocketMQ",
    versions=("5.5.0", "4.9.7"),
    cache=jars.CACHE / "rocketmq",
    pins=Path(__file__).with_name("jars.sha256"),
    landmark="rocketmq-broker-{version}.jar",
    pom=pom,
)
