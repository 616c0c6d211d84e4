"""A real broker's own jars, fetched once by Maven into the project's cache folder.

Versions are exact: a range would pick up a release of which only a part is published. Each jar
has its SHA-256 in the broker's package, and no other is put on a class path: what Maven checks is
what the same repository says. The folder is ignored by git; deleting it costs one download and
nothing else.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..kernel.text import NO_REASON, Text, Words, tr
from .program import RealBrokerError

NEEDED_JAVA = 17
NO_JAVA = Words("a real {} needs Java {} or later: install openjdk-{}-jdk-headless")
UNKNOWN = tr("of an unknown version")
OLD_JAVA = Words("a real {} needs Java {} or later, and Java {} is installed: install a newer one")
NO_MAVEN = Words("Maven fetches the jars of a real {}, and it is not installed: install maven")
REFUSED = Words(
    "{} {} is not what is pinned in {}; {} jars differ: {}. None of them was run. Delete {} and {} "
    "and try again; if this happens again, your Maven repository serves other files"
)


POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>{name}</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
{managed}  <dependencies>
{dependencies}  </dependencies>
</project>
"""
DEPENDENCY = """\
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
{more}    </dependency>
"""
EXCLUSION = """\
        <exclusion><groupId>{group}</groupId><artifactId>{artifact}</artifactId></exclusion>
"""


def write_pom(group: str, *artifacts: str, lone: bool = False) -> Callable[[str], str]:
    """The part of Maven's pom for a version of these artifacts, which have the same. `lone`: what
    they need is not fetched, since it is on another class path."""
    more = write_exclusions("*", "*") if lone else ""

    def pom(version: str) -> str:
        rows = (write_dependency(group, name, version, more) for name in artifacts)
        return join_pom(artifacts[0], version, *rows)

    return pom


def join_pom(name: str, version: str, *dependencies: str, managed: str = "") -> str:
    """A project of this name that needs these dependencies. `managed`: the section, if any, that
    pins what these leave open."""
    rows = "".join(dependencies)
    return POM.format(name=name, version=version, dependencies=rows, managed=managed)


def write_dependency(group: str, artifact: str, version: str, more: str = "") -> str:
    """`more`: elements that follow its version."""
    return DEPENDENCY.format(group=group, artifact=artifact, version=version, more=more)


def write_exclusions(group: str, *artifacts: str) -> str:
    """For a dependency: what it needs of this group and is not fetched."""
    rows = "".join(EXCLUSION.format(group=group, artifact=name) for name in artifacts)
    return f"      <exclusions>\n{rows}      </exclusions>\n"


@cache
def find_java() -> int | None:
    """The version of this machine's Java: 0 where it does not say, None where there is none."""
    java = shutil.which("java")
    if java is None:
        return None
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', output)
    return int(version[1]) if version else 0


@dataclass(frozen=True, slots=True)
class Jars:
    """`product`: whose they are, as a reader calls it; `versions`: those that are pinned;
    `cache`: where they are kept; `pins`: their digests, as `sha256sum -c` reads them;
    `landmark`: the jar that is there when all are ("{version}" stands for it); `pom`: Maven's pom
    for a version."""

    product: str
    versions: tuple[str, ...]
    cache: Path
    pins: Path
    landmark: str
    pom: Callable[[str], str]

    def find_missing(self) -> str:
        """What this machine lacks for a real broker, with what to do; nothing if it has all."""
        if (java := find_java()) is None:
            return str(NO_JAVA(self.product, NEEDED_JAVA, NEEDED_JAVA))
        if java < NEEDED_JAVA:
            return str(OLD_JAVA(self.product, NEEDED_JAVA, java or UNKNOWN))
        if shutil.which("mvn") is None and not all(map(self.is_here, self.versions)):
            return str(NO_MAVEN(self.product))
        return ""

    def folder(self, version: str) -> Path:
        return self.cache / version

    def is_here(self, version: str) -> bool:
        """Whether its jars have been fetched."""
        return (self.folder(version) / "lib" / self.landmark.format(version=version)).exists()

    def class_path(self, version: str) -> str:
        """The class path of a version's jars, as `java -cp` takes it; they are fetched first where
        they are not here yet.

        Raises RealBrokerError for a version that is not pinned, where Java or Maven is missing, and
        where a jar is not the pinned one.
        """
        if version not in self.versions:
            known = ", ".join(self.versions)
            raise RealBrokerError(
                "no {} {} is pinned here: choose one of {}", self.product, version, known
            )
        if why := self.find_missing():
            raise RealBrokerError(why)
        if not self.is_here(version):
            self.cache.mkdir(parents=True, exist_ok=True)
            # Programs run side by side, and so may commands: one fetches, the others wait for it.
            with (self.cache / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self.is_here(version):  # not fetched by another while this one waited
                    self._fetch(version)
        if wrong := self.find_wrong(version, self.folder(version) / "lib"):
            raise RealBrokerError(self._refused(version, wrong))
        # In full and in order: a class-data archive belongs to exactly one class path.
        return ":".join(map(str, sorted((self.folder(version) / "lib").glob("*.jar"))))

    def compile(self, version: str, source: Path) -> str:
        """Compile a Java source of ours against a version's jars, unless that was done since it
        changed; returns a class path with its class before the jars, which are fetched first where
        they are not here yet.

        Raises RealBrokerError where there is no compiler, or the source does not compile.
        """
        jars_path, classes = self.class_path(version), self.folder(version) / "classes"
        with (self.cache / "lock").open("w") as lock:  # another process may compile it too
            fcntl.flock(lock, fcntl.LOCK_EX)
            class_file = classes / f"{source.stem}.class"
            if not class_file.exists() or class_file.stat().st_mtime < source.stat().st_mtime:
                command = ["javac", "-cp", jars_path, "-d", str(classes), str(source)]
                try:
                    finished = subprocess.run(command, capture_output=True, text=True, check=False)
                except FileNotFoundError as error:
                    raise RealBrokerError(
                        "a real {} needs a Java compiler: install openjdk-{}-jdk-headless",
                        self.product,
                        NEEDED_JAVA,
                    ) from error
                if finished.returncode != 0:
                    errors = re.sub(r"\s+", " ", finished.stderr).strip()
                    raise RealBrokerError("javac cannot compile {}: {}", source.name, errors)
        return f"{classes}:{jars_path}"

    def find_wrong(self, version: str, lib: Path) -> list[str]:
        """The names of jars that are not as pinned, are not pinned, or are not there."""
        rows = (row.split("  ", 1) for row in self.pins.read_text("utf-8").splitlines())
        pinned = {
            name.partition("/")[2]: digest
            for digest, name in rows
            if name.startswith(f"{version}/")
        }
        digests = {path.name: _digest(path) for path in sorted(lib.glob("*.jar"))}
        return sorted(
            name for name in pinned.keys() | digests.keys() if pinned.get(name) != digests.get(name)
        )

    def _refused(self, version: str, wrong: list[str]) -> Text:
        names = ", ".join(wrong[:3]) + (" …" if len(wrong) > 3 else "")
        folders = self.folder(version), self.cache / "maven"
        return REFUSED(self.product, version, self.pins.name, len(wrong), names, *folders)

    def _fetch(self, version: str) -> None:
        """Download a version's jars with Maven and compare them with the pinned SHA-256. They are
        put into `lib.part`, which is renamed to `lib` when all are right: a `lib` is always whole.
        Raises RealBrokerError where Maven fails, or a jar is not the pinned one."""
        folder = self.folder(version)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(self.pom(version), "utf-8")
        partial = folder / "lib.part"
        shutil.rmtree(partial, ignore_errors=True)
        command = ["mvn", "-q", "-B", f"-Dmaven.repo.local={self.cache / 'maven'}"]
        command += ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            errors = [line for line in finished.stdout.splitlines() if "ERROR" in line][:3]
            why = " ".join(errors) or finished.stderr.strip() or NO_REASON
            raise RealBrokerError("Maven could not download {} {}: {}", self.product, version, why)
        if wrong := self.find_wrong(version, partial):
            raise RealBrokerError(self._refused(version, wrong))
        shutil.rmtree(folder / "lib", ignore_errors=True)
        partial.rename(folder / "lib")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
