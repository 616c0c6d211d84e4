"""A student's own copies of the labs, in a folder that holds nothing else.

JupyterLab opens this folder: no solution, no source and no instructor's page can be seen in it,
links from lab to lab work as they do in `labs/`, and git has no opinion on what is written here.

A copy is made once and never overwritten. When a lab changes, a copy in which nothing was written
or run is replaced; any other is kept, and `renew` sets it aside under another name for a new one.
A reader of Chinese gets copies under the same names, made from the labs' sources, and keeps the
language until another is asked for: copies without work in them change, for the others there is
`renew`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...kernel import Lang
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

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Original:
    """What a copy is made from: a notebook, or, where it is told in another language than English,
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
            return digest_source(self.made), self.lang
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
    """The language of somebody's copies; None before there are any that can be read."""
    for copy in notebooks_in(folder):
        try:
            return read_language(read(copy))
        except DAMAGE:
            continue
    return None


def list_originals(labs: Path, lang: Lang) -> Iterator[Original]:
    """The labs of a folder, each in this language where its source is there and told in it."""
    for notebook in notebooks_in(labs):
        lab = Lab(labs / "source" / f"{notebook.stem}.py")
        is_made = lang != "en" and lab.source.exists() and lab.is_translated
        yield Original(notebook, lang, lab if is_made else None)


def renew(labs: Path, folder: Path, names: list[str], say: Say, lang: Lang = "en") -> None:
    """A new copy of the labs whose names begin so; the old one stays under another name."""
    for lab in list_originals(labs, lang):
        if not lab.name.startswith(tuple(names)):
            continue
        copy = folder / lab.name
        if copy.exists():
            say(f"yours is now {set_aside(copy).name}")
        folder.mkdir(parents=True, exist_ok=True)
        _copy(lab, copy, say)
        say(f"{copy.name} is new")


def _copy(lab: Original, copy: Path, say: Say) -> None:
    try:
        lab.write(copy)
    except DAMAGE:
        path = lab.notebook
        say(f"{path} cannot be read: `git restore {path}` brings it back (or unpack the zip again)")
    except LabError as error:
        say(str(error))


def _may_replace(lab: Original, copy: Path, say: Say) -> bool:
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
        if lab.origin == _origin(mine):
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
