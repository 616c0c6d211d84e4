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

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .client import NotHere
from .jars import CACHE as KAFKA_CACHE
from .jars import RealBrokerError
from .stories import FLAGS

CACHE = KAFKA_CACHE.parent / "clients"
SOURCES = Path(__file__).parent / "clients"

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>client</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-clients</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""

#: version of kafka-clients → SHA-256 of its jar
JAVA = {
    "2.3.1": "1426faeb8385f3b2174428fae092260862bfd9b78504d3839e1f84891cad7396",
    "2.8.2": "0351de6b808f551e4c6cf230a83984d653e14776cc0f4621e7a3eab377e2f621",
    "3.3.2": "29b9b4f35ebeb810b151c4f7b9b6f24329a9be8e6c4764a6eebac3738bee7288",
    "3.5.2": "c18079128aecd6d29453fbe2aa4523a91802ac846648082ed4daca3951a53c17",
    "3.7.2": "caac34d6f3e441621533e27ddd7e5fe9c316b048e21b7673a94235dec8a55bed",
    "3.9.2": "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    "4.0.1": "ef3e6bc207822302c36c4c5870007fdfc76659c033eb7e4e079db3b34f30443c",
    "4.2.1": "6a281026416938a53c105f2d91d2807fdc83d5658452abf0ad1b6d8ab8a553c8",
    "4.3.1": "52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36",
    "4.4.0": "1ab07317eb6633241392449d329dbdc5d9251e6ffc4926860f42dd966e88bdf9",
}


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


def _once(folder: str, fetch: Callable[[Path], None]) -> Path:
    """The folder in the cache, filled once, however many ask; a half-filled one is not used."""
    here = CACHE / folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (here / "complete").exists():
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            fetch(here)
            (here / "complete").touch()
    return here


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise RealBrokerError(f"{' '.join(command[:2])} failed: {said or 'it did not say why'}")


def _java(library: Library) -> list[str]:
    version = library.version

    def fetch(here: Path) -> None:
        (here / "pom.xml").write_text(POM.format(version=version), "utf-8")
        repository = f"-Dmaven.repo.local={KAFKA_CACHE / 'maven'}"
        copy = ["dependency:copy-dependencies", "-DoutputDirectory=lib"]
        _run(["mvn", "-q", "-B", repository, *copy], here)
        jar = here / "lib" / f"kafka-clients-{version}.jar"
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found != JAVA[version]:
            raise RealBrokerError(f"{jar.name} has SHA-256 {found}, not {JAVA[version]}")

    jars = _once(f"kafka-clients-{version}", fetch) / "lib" / "*"
    return ["java", *FLAGS, "-cp", str(jars), str(SOURCES / "ClientStory.java")]


def _python(library: Library) -> list[str]:
    """In an environment of its own: these libraries are nothing that the project needs."""
    pins = SOURCES / "requirements.txt"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]

    def fetch(here: Path) -> None:
        _run([sys.executable, "-m", "venv", str(here / "venv")], here)
        install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(pins)]
        _run([str(here / "venv" / "bin" / "python"), *install], here)

    python = _once(f"python-{digest}", fetch) / "venv" / "bin" / "python"
    return [str(python), str(SOURCES / f"{library.name.replace('-', '_')}_story.py")]


def _installed(library: Library) -> list[str]:
    return [sys.executable, str(SOURCES / "confluent_story.py")]


def _built(name: str, *command: str) -> Path:
    """A copy of the story's folder in the cache, in which a command has done its work."""
    source = SOURCES / name
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()):
        digest.update(path.read_bytes())

    def fetch(here: Path) -> None:
        for path in source.iterdir():
            shutil.copy(path, here)
        _run(list(command), here)

    return _once(f"{name}-{digest.hexdigest()[:12]}", fetch)


def _go(library: Library) -> list[str]:
    """go.sum holds the hashes; -mod=readonly refuses anything that is not in it."""
    built = _built(library.name, "go", "build", "-mod=readonly", "-o", "story", ".")
    return [str(built / "story")]


def _node(library: Library) -> list[str]:
    """package-lock.json holds the hashes; `npm ci` refuses anything else."""
    return ["node", str(_built(library.name, "npm", "ci", "--silent") / "story.js")]


LIBRARIES: tuple[Library, ...] = (
    *(Library("kafka-clients", v, v < "4.0", ("java", "mvn"), _java) for v in JAVA),
    Library("confluent-kafka", "", True, (), _installed),
    Library("kafka-python", "3.0.12", True, (), _python),
    Library("aiokafka", "0.14.0", True, (), _python),
    Library("franz-go", "1.22.2", False, ("go",), _go),
    Library("sarama", "1.61.1", True, ("go",), _go),
    Library("kafkajs", "2.2.4", True, ("node", "npm"), _node),
)
