"""A student's own copies of the labs, in a folder that holds nothing else.

JupyterLab opens this folder: no solution, no source and no instructor's page can be seen in it,
links from lab to lab work as they do in `labs/`, and git has no opinion on what is written here.

A copy is made once and never overwritten. When a lab changes, a copy in which nothing was written
or run is replaced; any other is kept, and `renew` sets it aside under another name for a new one.
A reader of Chinese gets the copies of `labs/zh` under the same names, and keeps the language until
another is asked for: copies without work in them change, for the others there is `renew`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from ...kernel import Lang
from .notebooks import (
    DAMAGE,
    Notebook,
    notebooks_in,
    read,
    read_language,
    set_aside,
    was_worked_on,
)

Say = Callable[[str], None]


def lay_out(labs: Path, folder: Path, say: Say, lang: Lang = "en") -> None:
    """Copy each notebook of `labs` that `folder` lacks, and the pictures that they show. A notebook
    that cannot be read is named, and the others are copied."""
    folder.mkdir(parents=True, exist_ok=True)
    for lab in in_language(labs, lang):
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
    """The language of somebody's copies; None before there are any that can be read."""
    for copy in notebooks_in(folder):
        try:
            return read_language(read(copy))
        except DAMAGE:
            continue
    return None


def in_language(labs: Path, lang: Lang) -> Iterator[Path]:
    """The notebooks of a folder of labs, each in this language where it is told in it."""
    for lab in notebooks_in(labs):
        translated = labs / lang / lab.name
        yield translated if translated.exists() else lab


def renew(labs: Path, folder: Path, names: list[str], say: Say, lang: Lang = "en") -> None:
    """A new copy of the labs whose names begin so; the old one stays under another name."""
    for lab in in_language(labs, lang):
        if not lab.name.startswith(tuple(names)):
            continue
        copy = folder / lab.name
        if copy.exists():
            say(f"yours is now {set_aside(copy).name}")
        folder.mkdir(parents=True, exist_ok=True)
        _copy(lab, copy, say)
        say(f"{copy.name} is new")


def _copy(lab: Path, copy: Path, say: Say) -> None:
    try:
        read(lab)
    except DAMAGE:
        say(f"{lab} cannot be read: `git restore {lab}` brings it back (or unpack the zip again)")
        return
    shutil.copyfile(lab, copy)


def _may_replace(lab: Path, copy: Path, say: Say) -> bool:
    """The lab is another than this copy was made from, and nothing is lost with the copy."""
    number = lab.name[:2]
    try:
        mine = read(copy)
    except DAMAGE:
        say(
            f"{copy} cannot be read and stays as it is: `mqlab labs renew {number}` sets it aside "
            "and gives you a new one"
        )
        return False
    try:
        if _origin(read(lab)) == _origin(mine):
            return False
    except DAMAGE:
        return False
    if was_worked_on(mine) or _was_run(mine):
        say(
            f"kept {copy.name}: you have worked in it; the lab has changed since, or is another "
            f"language's (`mqlab labs renew {number}` sets yours aside and gives you the new one)"
        )
        return False
    return True


def _origin(notebook: Notebook) -> object:
    made = notebook.metadata.get("mqlab", {})
    return made.get("source"), made.get("lang")


def _was_run(notebook: Notebook) -> bool:
    return any(
        cell.get("outputs") or cell.get("execution_count") is not None for cell in notebook.cells
    )
