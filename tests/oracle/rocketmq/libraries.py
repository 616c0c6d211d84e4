"""The client libraries that tell one story, and how each is had: Java clients of three generations,
Spring's starter, the Go client. Versions are exact, and what is fetched is checked against a hash.

The story (clients/): a transaction that commits, one that is rolled back, one that the broker asks
about, and a consumer; Spring's starter sends a message for a time of delivery besides. A library
whose language is not on this machine is left out, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mqlab.places import CACHE
from mqlab.real import jars
from mqlab.real.rocketmq.jars import GROUP, JARS
from mqlab.real.stories import JAVA_FLAGS

from .. import fetched

SOURCES = Path(__file__).parent / "clients"
FLAGS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",  # 4.x reaches into Java's own packages
    # before 4.5.1 a client asks at a second port of the broker, which is not served here
    "-Dcom.rocketmq.sendMessageWithVIPChannel=false",
    "-Drocketmq.client.logUseSlf4j=true",
)

CLIENTS, SPRING = (
    jars.Jars(
        product=product,
        versions=(version,),
        cache=CACHE / artifact,
        pins=Path(__file__).with_name("clients.sha256"),
        landmark=f"{artifact}-{{version}}.jar",
        pom=jars.write_pom(GROUP, artifact),
    )
    for product, artifact, version in (
        ("RocketMQ's Java client", "rocketmq-client", "4.3.2"),
        ("RocketMQ's starter for Spring", "rocketmq-spring-boot-starter", "2.3.4"),
    )
)


@dataclass(frozen=True, slots=True)
class Library(fetched.Library):
    """`messages`: how many its consumer gets."""

    messages: int = 2

    @property
    def scenario(self) -> str:
        """The name of its program and recording."""
        return f"{self.name}-{self.version}"


def _java(name: str, had: jars.Jars, version: str) -> list[str]:
    path = had.compile(version, SOURCES / f"{name}.java")
    return ["java", *JAVA_FLAGS, *FLAGS, "-cp", path, name]


def _go(version: str) -> list[str]:
    return [fetched.build_go(CACHE / "rocketmq-go", SOURCES / "rocketmq-client-go")]


_story = partial(_java, "TransactionStory")
LIBRARIES: tuple[Library, ...] = (
    Library("rocketmq-client", "4.3.2", ("javac", "mvn"), partial(_story, CLIENTS)),
    *(
        Library("rocketmq-client", version, ("javac", "mvn"), partial(_story, JARS))
        for version in ("4.9.7", "5.5.0")
    ),
    Library("rocketmq-spring", "2.3.4", ("javac", "mvn"), partial(_java, "SpringStory", SPRING), 3),
    Library("rocketmq-client-go", "2.1.2", ("go",), _go),
)
