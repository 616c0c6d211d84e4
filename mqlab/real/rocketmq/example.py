"""A published example, run as it is: org.apache.rocketmq.example.transaction.TransactionProducer
of the artifact rocketmq-example 5.5.0, with its own listener.

It sends ten halves, "Hello RocketMQ 0" to "9", and prints what came of each; every local
transaction returns UNKNOW. A check of the n-th then answers UNKNOW, COMMIT_MESSAGE or
ROLLBACK_MESSAGE in turn, and prints nothing. The jar is one more than the broker's own; what it
needs is among those.
"""

from __future__ import annotations

import re
from pathlib import Path

from .. import jars
from .jars import JARS

VERSION = "5.5.0"
TOPIC, GROUP = "TopicTest1234", "please_rename_unique_group_name"
CLASS = "org.apache.rocketmq.example.transaction.TransactionProducer"
COUNT = 10
#: a line of its output: how a half is stored, and where in the half topic
RESULT = re.compile(r"SendResult \[sendStatus=(\w+), .*queueOffset=(\d+)")

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>rocketmq-example</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.rocketmq</groupId>
      <artifactId>rocketmq-example</artifactId>
      <version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
"""


def pom(version: str) -> str:
    return POM.format(version=version)


EXAMPLE = jars.Jars(
    product="RocketMQ's example",
    versions=(VERSION,),
    cache=jars.CACHE / "rocketmq-example",
    pins=Path(__file__).with_name("example.sha256"),
    landmark="rocketmq-example-{version}.jar",
    pom=pom,
)


def find_class_path() -> str:
    """Its jar and those of the broker; fetched where they are not here yet.

    Raises RealBrokerError where they cannot be had.
    """
    return f"{EXAMPLE.class_path(VERSION)}:{JARS.class_path(VERSION)}"
