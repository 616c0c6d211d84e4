"""A client library and its story; what is fetched or built once, into a folder of the cache."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mqlab.real.program import RealBrokerError

from .program import NotHere


@dataclass(frozen=True, slots=True)
class Library:
    """`version`: "" for the one that is installed with this project; `tools`: the programs it takes
    to have it; `command`: what tells its story, after fetching what that needs."""

    name: str
    version: str
    tools: tuple[str, ...]
    command: Callable[[str], list[str]]

    def story(self) -> list[str]:
        """The command that tells the story. Raises NotHere where a tool is missing, and
        RealBrokerError where the library cannot be had."""
        lacking = [tool for tool in self.tools if shutil.which(tool) is None]
        if lacking:
            raise NotHere(f"{self.name} needs {' and '.join(lacking)}")
        return self.command(self.version)


def fill_once(cache: Path, folder: str, fetch: Callable[[Path], None]) -> Path:
    """The folder in the cache, filled once, however many ask; a half-filled one is not used."""
    here = cache / folder
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (here / "complete").exists():
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            fetch(here)
            (here / "complete").touch()
    return here


def run_command(command: list[str], folder: Path) -> None:
    """Raises RealBrokerError where it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        error = (done.stderr or done.stdout).strip()[-300:]
        raise RealBrokerError(f"{' '.join(command[:2])} failed: {error or 'it did not say why'}")


def build_copy(cache: Path, source: Path, *command: str) -> Path:
    """A copy of a story's folder in the cache, in which a command has done its work."""
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()):
        digest.update(path.read_bytes())

    def fetch(here: Path) -> None:
        for path in source.iterdir():
            shutil.copy(path, here)
        run_command(list(command), here)

    return fill_once(cache, f"{source.name}-{digest.hexdigest()[:12]}", fetch)


def build_go(cache: Path, source: Path) -> str:
    """The program; go.sum holds the hashes, -mod=readonly refuses anything that is not in it."""
    return str(
        build_copy(cache, source, "go", "build", "-mod=readonly", "-o", "story", ".") / "story"
    )
