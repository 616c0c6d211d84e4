"""The client libraries that nobody here wrote, and how each is had: versions are exact, and what is
fetched is checked against a hash.

Every one runs the same short story (clients/): create a topic, read its settings, send, commit,
abort, read under both isolation levels, put offsets with metadata and a leader epoch into a
transaction, be fenced, consume in a group. What it tells against a real broker is recorded; what
it tells against this project's server must be the same. The libraries come from their ordinary
registries into the cache folder; one whose language is not on this machine is left out, with the
reason.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mqlab.real.jars import Jars, write_pom
from mqlab.real.kafka.jars import GROUP, JARS
from mqlab.real.kafka.programs import STORY
from mqlab.real.stories import JAVA_FLAGS

from .. import fetched

CACHE = JARS.cache.parent / "clients"
SOURCES = Path(__file__).parent / "clients"

JAVA = (
    "2.3.1", "2.8.2", "3.3.2", "3.5.2", "3.7.2", "3.9.2", "4.0.1", "4.2.1", "4.3.1", "4.4.0",
)  # fmt: skip


CLIENTS = Jars(
    product="Kafka's Java client",
    versions=JAVA,
    cache=CACHE / "java",
    pins=SOURCES.with_name("clients.sha256"),
    landmark="kafka-clients-{version}.jar",
    pom=write_pom(GROUP, "kafka-clients"),
)


@dataclass(frozen=True, slots=True)
class Library(fetched.Library):
    """`legacy`: it speaks the protocol before KIP-890's second part."""

    legacy: bool = True

    @property
    def scenario(self) -> str:
        """The name of its program and recording."""
        return f"client-{self.name}" + (f"-{self.version}" if self.version else "")


def _java(version: str) -> list[str]:
    story = str(SOURCES / "ClientStory.java")
    return ["java", *JAVA_FLAGS, "-cp", CLIENTS.class_path(version), story]


def _python(story: str, version: str) -> list[str]:
    """In an environment of its own: these libraries are nothing that the project needs."""
    pins = SOURCES / "requirements.txt"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]

    def fetch(here: Path) -> None:
        fetched.run_command([sys.executable, "-m", "venv", str(here / "venv")], here)
        install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(pins)]
        fetched.run_command([str(here / "venv" / "bin" / "python"), *install], here)

    python = fetched.fill_once(CACHE, f"python-{digest}", fetch) / "venv" / "bin" / "python"
    return [str(python), str(SOURCES / story)]


def _installed(version: str) -> list[str]:
    return [sys.executable, str(STORY)]


def _go(name: str, version: str) -> list[str]:
    return [fetched.build_go(CACHE, SOURCES / name)]


def _node(version: str) -> list[str]:
    """package-lock.json holds the hashes; `npm ci` refuses anything else."""
    built = fetched.build_copy(CACHE, SOURCES / "kafkajs", "npm", "ci", "--silent")
    return ["node", str(built / "story.js")]


LIBRARIES: tuple[Library, ...] = (
    *(Library("kafka-clients", v, ("java", "mvn"), _java, v < "4.0") for v in JAVA),
    Library("confluent-kafka", "", (), _installed),
    Library("kafka-python", "3.0.12", (), partial(_python, "kafka_python_story.py")),
    Library("aiokafka", "0.14.0", (), partial(_python, "aiokafka_story.py")),
    Library("franz-go", "1.22.2", ("go",), partial(_go, "franz-go"), legacy=False),
    Library("sarama", "1.61.1", ("go",), partial(_go, "sarama")),
    Library("kafkajs", "2.2.4", ("node", "npm"), _node),
)
