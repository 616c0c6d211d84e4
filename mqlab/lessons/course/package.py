"""What students get: the project with the released labs, without anything that answers them; and
a student's own copies of the labs.

One zip: unpacked, `make lab` in it sets everything up and opens the labs, as in a clone. It holds
neither the labs' sources nor solutions nor instructor's pages nor tests. An installed mqlab makes
the same zip, since a wheel brings those parts of it that are outside the packages.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mqlab_widgets

from ... import places
from ...kernel import Lang, Words
from ...kernel.catalogue import read_catalogue
from ...registry.cases.prices import ORDER
from ..choice import RUNS
from ..lost import ELSEWHERE, RUN
from .classroom import Course
from .notebooks import (
    DAMAGE,
    Lab,
    LabError,
    Notebook,
    digest_source,
    notebooks_in,
    read,
    read_language,
    set_aside,
    text_of,
    translated_copy,
    was_worked_on,
)

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
    """Write `students.zip` to the course's folder and return its path: the program, the scenarios
    and files that labs use, and every lab released so far. An older zip stays until the new one is
    whole."""
    path = course.folder / "students.zip"
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(f"{NAME}/README.md", README)
        for name in PARTS:
            _add(package, places.ROOT / name, name)
        read_catalogue("mqlab")  # this compiles it
        _add(package, places.PACKAGE, "mqlab")
        _add(package, Path(mqlab_widgets.__file__).parent, "widgets/mqlab_widgets")
        for file in _files(places.LABS / "images"):
            package.write(file, f"{NAME}/labs/images/{file.name}")
        for folder in ("coordinator", "check_round", "pending_acks"):
            skeleton = f"labs/{folder}/begin.py"  # not the solutions beside it
            _add(package, places.ROOT / skeleton, skeleton)
        _add(package, places.LABS / "reports", "labs/reports")
        # the scenarios that labs open by their name, below datasets/scenarios
        stories = {*(run.story for run in RUNS.values()), *(way.story for way in ORDER.values())}
        stories |= {RUN, *ELSEWHERE}
        for story in sorted(stories):
            name = f"datasets/scenarios/{story}.scn"
            _add(package, places.ROOT / name, name)
        for lab in course.labs():
            package.write(course.released(lab), f"{NAME}/labs/{lab}.ipynb")
    os.replace(unfinished, path)
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


# ---- A student's own copies of the labs, in a folder that holds nothing else ---------
#
# JupyterLab opens this folder: no solution, no source and no instructor's page can be seen in it,
# links from lab to lab work as they do in `labs/`, and git has no opinion on what is written here.
#
# A copy is made once and never overwritten. When a lab changes, a copy in which nothing was written
# or run is replaced; any other is kept, and `renew` sets it aside under another name for a new one.
# A reader of Chinese gets copies under the same names, made from the labs' sources, and keeps the
# language until another is asked for: copies without work in them change, for the others there is
# `renew`.

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Original:
    """What a copy is made from: a notebook, or, where it is in another language than English,
    the source in its place (`made`)."""

    notebook: Path
    lang: Lang
    made: Lab | None = None

    @property
    def name(self) -> str:
        return self.notebook.name

    @property
    def origin(self) -> object:
        """As `_origin` of a copy. Raises one of DAMAGE where the notebook cannot be read."""
        if self.made is not None:
            return digest_source(self.made, self.lang), self.lang
        return _origin(read(self.notebook))

    def write(self, copy: Path) -> None:
        """Raises one of DAMAGE, or LabError for a source of which no notebook can be made."""
        if self.made is None:
            read(self.notebook)
            shutil.copyfile(self.notebook, copy)
        else:
            copy.write_text(text_of(translated_copy(self.made, self.lang)), "utf-8", newline="\n")


def lay_out(labs: Path, folder: Path, say: Say, lang: Lang = "en") -> None:
    """Copy each notebook of `labs` that `folder` lacks, and the pictures that they show. A notebook
    that cannot be read is named, and the others are copied."""
    folder.mkdir(parents=True, exist_ok=True)
    for lab in list_originals(labs, lang):
        copy = folder / lab.name
        if copy.exists() and not _may_replace(lab, copy, say):
            continue
        _copy(lab, copy, say)
    shown = "".join(path.read_text("utf-8", "replace") for path in folder.glob("*.ipynb"))
    for picture in sorted((labs / "images").glob("*")):
        copy = folder / "images" / picture.name
        if f"images/{picture.name}" in shown and not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(picture, copy)


def find_language(folder: Path) -> Lang | None:
    """The language of a student's copies; None before there are any that can be read."""
    for copy in notebooks_in(folder):
        try:
            return read_language(read(copy))
        except DAMAGE:
            continue
    return None


def list_originals(labs: Path, lang: Lang) -> Iterator[Original]:
    """The labs of a folder, each in this language where its source is there."""
    for notebook in notebooks_in(labs):
        lab = Lab(labs / "source" / f"{notebook.stem}.py")
        is_made = lang != "en" and lab.source.exists()
        yield Original(notebook, lang, lab if is_made else None)


RESTORE = Words(
    "{path} cannot be read: `git restore {path}` brings it back (or unpack the zip again)"
)
DAMAGED = Words(
    "{} cannot be read and stays as it is: `mqlab labs renew {}` sets it aside and gives you a new "
    "one"
)
KEPT = Words(
    "kept {}: you have worked in it; the lab has changed since, or is in another language (`mqlab "
    "labs renew {}` sets yours aside and gives you the new one)"
)


def renew(labs: Path, folder: Path, names: list[str], say: Say, lang: Lang = "en") -> None:
    """A new copy of the labs whose names begin so; the old one stays under another name."""
    for lab in list_originals(labs, lang):
        if not lab.name.startswith(tuple(names)):
            continue
        copy = folder / lab.name
        if copy.exists():
            say(str(Words("yours is now {}")(set_aside(copy).name)))
        folder.mkdir(parents=True, exist_ok=True)
        _copy(lab, copy, say)
        say(str(Words("{} is new")(copy.name)))


def _copy(lab: Original, copy: Path, say: Say) -> None:
    try:
        lab.write(copy)
    except DAMAGE:
        path = lab.notebook
        say(str(RESTORE(path=path)))
    except LabError as error:
        say(str(error))


def _may_replace(lab: Original, copy: Path, say: Say) -> bool:
    """Whether a student's copy may be replaced by the lab: it was made from another version, and
    nothing is lost with it. Says why, where a copy of another version, or one that cannot be read,
    is kept."""
    number = lab.name[:2]
    try:
        notebook = read(copy)
    except DAMAGE:
        say(str(DAMAGED(copy, number)))
        return False
    try:
        if lab.origin == _origin(notebook):
            return False
    except DAMAGE:  # the lab itself cannot be read: nothing could replace the copy
        return False
    if was_worked_on(notebook) or _was_run(notebook):
        say(str(KEPT(copy.name, number)))
        return False
    return True


def _origin(notebook: Notebook) -> object:
    made = notebook.metadata.get("mqlab", {})
    return made.get("source"), made.get("lang")


def _was_run(notebook: Notebook) -> bool:
    return any(
        cell.get("outputs") or cell.get("execution_count") is not None for cell in notebook.cells
    )
