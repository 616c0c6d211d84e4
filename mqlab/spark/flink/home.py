"""Where Flink's own Python is, and how it is made.

It cannot share Spark's environment: PyFlink 2.2 asks for a pyarrow and a protobuf that Spark's
Python data sources do not run on. So it has one of its own below `.cache`, from a list of packages
with their SHA-256; deleting it costs a minute and nothing else.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...places import CACHE
from ..errors import IncomeError

FOLDER = CACHE / "flink" / "venv"
LOCK = Path(__file__).with_name("requirements.lock")
PYTHONS = ((3, 11), (3, 12))  # those that PyFlink 2.2 and the list of packages are for


@dataclass(frozen=True, slots=True)
class Flink:
    """`python`: the interpreter that has PyFlink; `jar`: Flink's Kafka connector."""

    python: Path
    jar: Path


def find_python(folder: Path = FOLDER) -> Path:
    """The interpreter that has PyFlink. Raises IncomeError that says how to get it."""
    if not _is_complete(folder):
        raise IncomeError(
            "PyFlink is not set up here: `mqlab income flink --setup` does it (a minute or two, "
            "830 MB, in an environment of its own)"
        )
    return folder / "bin" / "python"


def make_python(say: Callable[[str], None], folder: Path = FOLDER) -> Path:
    """The same, made where it is not there yet. Raises IncomeError."""
    if _is_complete(folder):
        return find_python(folder)
    here = sys.version_info[:2]
    if here not in PYTHONS:
        raise IncomeError(
            f"PyFlink 2.2 runs on Python 3.11 and 3.12, and this is {here[0]}.{here[1]}: "
            "`make clean`, then `make setup PYTHON=python3.12`"
        )
    say(f"making {folder}: PyFlink 2.2 and what it needs, 830 MB")
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    done = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet",
         "--disable-pip-version-check", "--require-hashes", "--requirement", LOCK],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise IncomeError(
            f"pip could not install PyFlink: {(errors or ['it did not say why'])[0]}; the same "
            "command tries again"
        )
    _stamp(folder).write_text(_digest())
    return find_python(folder)


def _is_complete(folder: Path) -> bool:
    stamp = _stamp(folder)
    return stamp.is_file() and stamp.read_text() == _digest()


def _stamp(folder: Path) -> Path:
    """Written when all packages are in: a digest of the list they came from."""
    return folder / "mqlab.stamp"


def _digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()
