"""RocketMQ's own jars: which, and how Maven is asked for them. 120 MB of both versions.

5.5.0 is the newest set that is published whole; of 4.9 it is 4.9.7 (there is no broker of 4.9.8).
The broker brings the Java client along.
"""

from __future__ import annotations

from pathlib import Path

from ...places import CACHE
from .. import jars

GROUP = "org.apache.rocketmq"

JARS = jars.Jars(
    product="RocketMQ",
    versions=("5.5.0", "4.9.7"),
    cache=CACHE / "rocketmq",
    pins=Path(__file__).with_name("jars.sha256"),
    landmark="rocketmq-broker-{version}.jar",
    pom=jars.write_pom(GROUP, "rocketmq-broker", "rocketmq-namesrv"),
)
