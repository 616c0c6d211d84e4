"""Published examples, run as they are: classes of the artifact rocketmq-example 5.5.0.

Its jar, and that of mqadmin beside it, are two more than the broker's own; what they need is among
those. A class is told the name server by a property of Java's; those that set an address themselves
(127.0.0.1:9876) are not run here. What each class came to stands in
datasets/recordings/EXAMPLES-rocketmq.md.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqlab.places import CACHE
from mqlab.real import jars
from mqlab.real.program import RealBrokerError
from mqlab.real.rocketmq.jars import GROUP, JARS
from mqlab.real.stories import JAVA_FLAGS

from ..beside import Beside

VERSION = "5.5.0"
PACKAGE = "org.apache.rocketmq.example"
#: what producers print: how a message is stored, in which queue and where
RESULT = re.compile(
    r"SendResult \[sendStatus=(\w+), .*?queueId=(\d+)\], queueOffset=(\d+)", re.DOTALL
)
#: what consumers print of a message
MESSAGE = re.compile(
    r"MessageExt \[.*?queueId=(?P<queue>\d+), .*?queueOffset=(?P<offset>\d+), "
    r".*?reconsumeTimes=(?P<times>\d+), .*?properties=\{(?P<properties>.*?)\}, "
    r"body=\[(?P<body>[\d, ]*)\]"
)
#: the broker's words where it refuses
REFUSAL = re.compile(r"CODE: (\d+)  DESC: (.*?)( BROKER: .*)?$")

EXAMPLE = jars.Jars(
    product="RocketMQ's example",
    versions=(VERSION,),
    cache=CACHE / "rocketmq-example",
    pins=Path(__file__).with_name("example.sha256"),
    landmark="rocketmq-tools-{version}.jar",
    pom=jars.write_pom(GROUP, "rocketmq-example", "rocketmq-tools", lone=True),
)


def find_class_path() -> str:
    """Its jar and those of the broker; fetched where they are not here yet.

    Raises RealBrokerError where they cannot be had.
    """
    return f"{EXAMPLE.class_path(VERSION)}:{JARS.class_path(VERSION)}"


@contextmanager
def run_example(name_server: str, name: str, *arguments: str) -> Iterator[Beside]:
    """A class of the package, by its short name, beside this process."""
    with tempfile.TemporaryDirectory(prefix="mqlab-example-") as offsets:
        command = ["java", *JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true"]
        command += [f"-Drocketmq.namesrv.addr={name_server}"]
        command += [f"-Drocketmq.client.localOffsetStoreDir={offsets}"]  # of those that broadcast
        command += ["-cp", find_class_path(), f"{PACKAGE}.{name}", *arguments]
        app = Beside(name, command, complaints=True)
        try:
            yield app
        finally:
            app.close()


def hear_all(app: Beside, pattern: re.Pattern[str], count: int) -> list[re.Match[str]]:
    """The first `count` things of this kind that it prints; all else is the client's own log.
    Raises RealBrokerError where there are fewer."""
    matches = hear_some(app, pattern, count)
    if len(matches) < count:
        raise RealBrokerError(f"{app.name} told {len(matches)} things of {count}, and no more")
    return matches


def hear_some(app: Beside, pattern: re.Pattern[str], most: int) -> list[re.Match[str]]:
    """The same where it may end earlier."""
    matches: list[re.Match[str]] = []
    for line in app.hear_rest():
        matches += pattern.finditer(line)
        if len(matches) >= most:
            break
    return matches
