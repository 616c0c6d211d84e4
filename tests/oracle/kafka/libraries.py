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
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mqlab.real.jars import write_pom
from mqlab.real.kafka.jars import GROUP, JARS
from mqlab.real.kafka.programs import STORY
from mqlab.real.program import RealBrokerError
from mqlab.real.stories import JAVA_FLAGS

from ..fetched import build_copy, build_go, fill_once, run_command
from ..program import NotHere

CACHE = JARS.cache.parent / "clients"
SOURCES = Path(__file__).parent / "clients"

JAVA = (
    "2.3.1", "2.8.2", "3.3.2", "3.5.2", "3.7.2", "3.9.2", "4.0.1", "4.2.1", "4.3.1", "4.4.0",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Library:
    """`version`: "" for the one that is installed with this project; `legacy`: it speaks the
    protocol before KIP-890's second part; `tools`: the programs it takes to have it; `command`:
    what tells its story, after fetching what that needs."""

    name: str
    version: str
    legacy: bool
    tools: tuple[str, ...]
    command: Callable[[Library], list[str]]

    @property
    def scenario(self) -> str:
        """The name of its program and recording."""
        return f"client-{self.name}" + (f"-{self.version}" if self.version else "")

    def story(self) -> list[str]:
        """The command that tells the story. Raises NotHere where a tool is missing, and
        RealBrokerError where the library cannot be had."""
        lacking = [tool for tool in self.tools if shutil.which(tool) is None]
        if lacking:
            raise NotHere(f"{self.name} needs {' and '.join(lacking)}")
        return self.command(self)


def _java(library: Library) -> list[str]:
    version = library.version
    name = f"kafka-clients-{version}"

    def fetch(here: Path) -> None:
        (here / "pom.xml").write_text(write_pom(GROUP, "kafka-clients")(version), "utf-8")
        repository = f"-Dmaven.repo.local={JARS.cache / 'maven'}"
        copy = ["dependency:copy-dependencies", "-DoutputDirectory=lib"]
        run_command(["mvn", "-q", "-B", repository, *copy], here)
        _check_jars(name, here / "lib")

    lib = fill_once(CACHE, name, fetch) / "lib"
    _check_jars(name, lib)  # what lies in the cache may have been changed since
    return ["java", *JAVA_FLAGS, "-cp", str(lib / "*"), str(SOURCES / "ClientStory.java")]


def _check_jars(name: str, lib: Path) -> None:
    """Raises RealBrokerError where a jar is not the one that is pinned, or is not pinned: all
    that is there would be on the class path."""
    if wrong := JARS.find_wrong(name, lib):
        raise RealBrokerError(
            f"{name}: not as pinned in {JARS.pins.name}: {', '.join(wrong)}. "
            "Nothing of it was run; "
            f"delete {lib.parent} and try again"
        )


def _python(library: Library) -> list[str]:
    """In an environment of its own: these libraries are nothing that the project needs."""
    pins = SOURCES / "requirements.txt"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]

    def fetch(here: Path) -> None:
        run_command([sys.executable, "-m", "venv", str(here / "venv")], here)
        install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(pins)]
        run_command([str(here / "venv" / "bin" / "python"), *install], here)

    python = fill_once(CACHE, f"python-{digest}", fetch) / "venv" / "bin" / "python"
    return [str(python), str(SOURCES / f"{library.name.replace('-', '_')}_story.py")]


def _installed(library: Library) -> list[str]:
    return [sys.executable, str(STORY)]


def _go(library: Library) -> list[str]:
    return [build_go(CACHE, SOURCES / library.name)]


def _node(library: Library) -> list[str]:
    """package-lock.json holds the hashes; `npm ci` refuses anything else."""
    return [
        "node",
        str(build_copy(CACHE, SOURCES / library.name, "npm", "ci", "--silent") / "story.js"),
    ]


LIBRARIES: tuple[Library, ...] = (
    *(Library("kafka-clients", v, v < "4.0", ("java", "mvn"), _java) for v in JAVA),
    Library("confluent-kafka", "", True, (), _installed),
    Library("kafka-python", "3.0.12", True, (), _python),
    Library("aiokafka", "0.14.0", True, (), _python),
    Library("franz-go", "1.22.2", False, ("go",), _go),
    Library("sarama", "1.61.1", True, ("go",), _go),
    Library("kafkajs", "2.2.4", True, ("node", "npm"), _node),
)
