"""Kafka's own jars, fetched once by Maven into the project's cache folder.

Versions are exact: a range would pick up a release of which only a part is published. Each
jar has its SHA-256 in `jars.sha256`, and no other is put on a class path: what Maven checks is
what the same repository says. The folder is ignored by git; deleting it costs one download
(45 MB) and nothing else.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ..program import RealBrokerError

VERSIONS = ("4.3.1", "4.2.1")
CACHE = Path(__file__).parents[3] / ".cache" / "kafka"
PINS = Path(__file__).with_name("jars.sha256")  # as `sha256sum -c` reads it
NEEDED_JAVA = 17

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


@cache
def find_missing() -> str:
    """What this machine lacks for a real Kafka, with what to do; nothing if it has all."""
    java = shutil.which("java")
    if java is None:
        return f"a real Kafka needs Java {NEEDED_JAVA} or later: install openjdk-17-jdk-headless"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < NEEDED_JAVA:
        have = found[1] if found else "one of unknown age"
        return (
            f"a real Kafka needs Java {NEEDED_JAVA} or later, here is {have}: install a newer one"
        )
    if shutil.which("mvn") is None and not all(_complete(version) for version in VERSIONS):
        return "the jars of a real Kafka are fetched by Maven, and there is none: install maven"
    return ""


def folder(version: str) -> Path:
    return CACHE / version


def _complete(version: str) -> bool:
    return (folder(version) / "lib" / f"kafka-clients-{version}.jar").exists()


def class_path(version: str) -> str:
    """The class path of a Kafka of this version, after fetching it where it is not here yet.

    Raises RealBrokerError where it cannot be had.
    """
    if version not in VERSIONS:
        raise RealBrokerError(f"no Kafka {version} is pinned here: take {' or '.join(VERSIONS)}")
    if why := find_missing():
        raise RealBrokerError(why)
    if not _complete(version):
        CACHE.mkdir(parents=True, exist_ok=True)
        # Programs run side by side, and so may commands: one fetches, the others wait for it.
        with (CACHE / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _complete(version):
                _fetch(version)
    if wrong := wrong_jars(version, folder(version) / "lib"):
        raise RealBrokerError(_refused(version, wrong))
    # In full and in order: a class-data archive belongs to exactly one class path.
    return ":".join(map(str, sorted((folder(version) / "lib").glob("*.jar"))))


def wrong_jars(version: str, lib: Path) -> list[str]:
    """The names of jars that are not as pinned, are not pinned, or are not there."""
    rows = (row.split("  ", 1) for row in PINS.read_text("utf-8").splitlines())
    pinned = {
        name.partition("/")[2]: digest for digest, name in rows if name.startswith(f"{version}/")
    }
    found = {path.name: _digest(path) for path in sorted(lib.glob("*.jar"))}
    return sorted(
        name for name in pinned.keys() | found.keys() if pinned.get(name) != found.get(name)
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refused(version: str, wrong: list[str]) -> str:
    names = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return (
        f"Kafka {version} is not what is pinned in {PINS.name}: {names}. Nothing of it was run. "
        f"Delete {folder(version)} and {CACHE / 'maven'} and try again; if it stays so, the Maven "
        "repository that is asked here serves other files"
    )


def _fetch(version: str) -> None:
    """Into a folder aside, which gets its name when all is there."""
    here = folder(version)
    here.mkdir(parents=True, exist_ok=True)
    exclusions = "".join(EXCLUSION.format(artifact=name) for name in EXCLUDED)
    (here / "pom.xml").write_text(POM.format(version=version, exclusions=exclusions), "utf-8")
    aside = here / "lib.part"
    shutil.rmtree(aside, ignore_errors=True)
    command = ["mvn", "-q", "-B", f"-Dmaven.repo.local={CACHE / 'maven'}"]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={aside}"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stdout.splitlines() if "ERROR" in line][:3]
        why = " ".join(said) or done.stderr.strip() or "it did not say why"
        raise RealBrokerError(f"Maven could not fetch Kafka {version}: {why}")
    if wrong := wrong_jars(version, aside):
        raise RealBrokerError(_refused(version, wrong))
    shutil.rmtree(here / "lib", ignore_errors=True)
    aside.rename(here / "lib")
