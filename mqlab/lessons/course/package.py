"""What students get: the project with the released labs, without anything that answers them.

One zip: unpacked, `make lab` in it sets everything up and opens the labs, as in a clone. It holds
neither the labs' sources nor solutions nor instructor's pages nor tests. An installed mqlab makes
the same zip, since a wheel brings what of it stands outside the packages.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import mqlab_widgets

from ... import places
from ...kernel.catalogue import read_catalogue
from ...registry.cases.ways import ORDER
from ..choice import RUNS
from ..lost import ELSEWHERE, RUN
from .folder import Course

NAME = "mqlab"  # the folder that the zip unpacks into
PARTS = (
    "LICENSE", "ARCHITECTURE.md", "CHANGELOG.md", "Makefile", "pyproject.toml",
    "requirements.lock", ".ci", ".gitignore", "datasets",
)  # fmt: skip
README = """\
# mqlab: the labs of your course

    make lab     # sets everything up, opens the labs in JupyterLab

Python 3.11 or later, `make` and `bash` are needed; on Windows use WSL 2. The first time takes a
minute or two and 1.5 GB, all of it in `.venv`; what your system lacks is named in one line each.

You work in `my-labs/`, in copies that are made the first time and never overwritten. Hand in the
notebook from there, for example `my-labs/07-markers-and-lso.ipynb`.

| what you see | what to do |
|---|---|
| “Python 3.11 or newer is needed” | install one, or `make lab PYTHON=/path/to/python3.12` |
| a download breaks off | the same command again |
| you want to begin a lab again | `.venv/bin/mqlab labs renew 07`: yours is kept beside it |
| a new zip has more labs | unpack it over this folder; your copies stay |
| anything else | `.venv/bin/mqlab doctor` |
"""
#: what is made, and stories that would answer an exercise; those that labs 12 and 14 play are added
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", ".egg-info", ".pyc", "scenarios", "shipped")


def write_package(course: Course) -> Path:
    """`students.zip` in the course's folder, with every lab released so far."""
    path = course.folder / "students.zip"
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(f"{NAME}/README.md", README)
        for name in PARTS:
            _add(package, places.ROOT / name, name)
        read_catalogue("mqlab")  # which leaves it compiled
        _add(package, places.PACKAGE, "mqlab")
        _add(package, Path(mqlab_widgets.__file__).parent, "widgets/mqlab_widgets")
        for file in _files(places.LABS / "images"):
            package.write(file, f"{NAME}/labs/images/{file.name}")
        for folder in ("coordinator", "check_round", "pending_acks"):
            begin = f"labs/{folder}/begin.py"  # the others there are right
            _add(package, places.ROOT / begin, begin)
        _add(package, places.LABS / "reports", "labs/reports")
        stories = {*(run.story for run in RUNS.values()), *(way.story for way in ORDER.values())}
        stories |= {RUN, *ELSEWHERE}
        for story in sorted(stories):
            name = f"datasets/scenarios/{story}.scn"
            _add(package, places.ROOT / name, name)
        for lab in course.labs():
            package.write(course.released(lab), f"{NAME}/labs/{lab}.ipynb")
    os.replace(part, path)
    return path


def _add(package: zipfile.ZipFile, path: Path, name: str) -> None:
    """A file, or all files of a folder, below this name."""
    for file in _files(path):
        inside = file.relative_to(path).as_posix()
        package.write(file, f"{NAME}/{name}" + (f"/{inside}" if file != path else ""))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for inside in sorted(path.iterdir()):
            if not inside.name.endswith(LEFT_OUT):
                yield from _files(inside)
