"""The pages of the site: the first, the gallery, and one for each story."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from mqlab_widgets import Player
from mqlab_widgets.player import host, read_modules
from mqlab_widgets.style import HERE, page_css

from .. import __version__
from ..brokers import list_brokers
from ..places import LABS, ROOT
from .choose import list_beside, render_choice
from .documents import list_documents
from .first import cut_first
from .lecture import write_lecture
from .lite import write_labs
from .play import VERSION, write_play
from .stories import Story, list_stories

SOURCES = LABS / "site"
SHARED = (
    "site.css", "site.js", "gallery.js", "first.css", "first.js", "lecture.css", "lecture.js",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Built:
    """What was written. `bytes`: of all files together."""

    folder: Path
    stories: int
    bytes: int


def write_site(
    folder: Path,
    paths: tuple[Path, ...] = (),
    pyodide: Path | None = None,
    lite: Path | None = None,
) -> Built:
    """Write the site into a folder, which is made or, where an earlier site stands in it, replaced;
    `paths`: the scenario files, default all; `pyodide`: the archive that Play runs on, and without
    which there is no Play; `lite`: what `fetch_lite` has fetched, without which, or without Play,
    the labs are not opened here. Raises FileExistsError for a folder that holds something else,
    FileNotFoundError without the sources of a clone."""
    if not SOURCES.is_dir():
        raise FileNotFoundError(
            f"no sources in {SOURCES}: a site is made in a clone of the project"
        )
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "player.js").exists():
        raise FileExistsError(f"{folder} holds something else: name an empty folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stories = list(list_stories(paths))
    _write_shared(folder)
    pages = Environment(
        loader=FileSystemLoader(SOURCES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    brokers = {name: broker.title for name, broker in list_brokers().items()}
    known = {
        "version": __version__, "brokers": brokers, "count": len(stories),
        "pyodide": VERSION if pyodide else "", "lite": bool(pyodide and lite),
    }  # fmt: skip
    documents = list(list_documents())
    first = cut_first(SOURCES / "first.toml")
    top = {
        "index.html": {
            "first": first,
            "chosen": next(kill for kill in first["kills"] if kill["chosen"]),
        },
        "gallery.html": {"stories": stories, "facets": _facets(stories)},
        "learn.html": {"labs": list(_list_labs())},
        "choose.html": {"choice": render_choice()},
        "teach.html": {},
        "read.html": {"documents": documents},
        "licences.html": {},
    }
    if pyodide:
        top["play.html"] = {}
        write_play(folder / "play", pyodide, stories)
        if lite:
            write_labs(folder / "labs", lite, folder / "play" / "pyodide")
    for name, shown in top.items():
        page = pages.get_template(name).render(known, up="", **shown)
        (folder / name).write_text(page, "utf-8")
    (folder / "docs").mkdir()
    shutil.copytree(LABS / "images", folder / "images")
    for document in documents:
        page = pages.get_template("document.html").render(known, up="../", document=document)
        (folder / "docs" / f"{document.name}.html").write_text(page, "utf-8")
    (folder / "ways").mkdir()
    for beside in list_beside():
        page = pages.get_template("ways.html").render(known, up="../", beside=beside)
        (folder / "ways" / f"{beside.name}.html").write_text(page, "utf-8")
    write_lecture(folder / "lecture", pages, known)
    _write_stories(folder, stories, pages, known)
    written = [path for path in folder.rglob("*") if path.is_file()]
    return Built(folder, len(stories), sum(path.stat().st_size for path in written))


def _write_stories(
    folder: Path, stories: Sequence[Story], pages: Environment, known: Mapping[str, Any]
) -> None:
    """A page for each, with its neighbours and those in which the same goes wrong."""
    story_page = pages.get_template("story.html")
    for before, story, after in _with_neighbours(stories):
        path = folder / "stories" / f"{story.name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        player = Player(story.trace, step=0)
        up = "../" * (len(path.relative_to(folder).parts) - 1)
        page = story_page.render(
            known, up=up, story=story, before=before, after=after,
            picture=host("", player.payload, "h1", "picture"), narration=player.narration(),
            alike=_alike(story, stories),
        )  # fmt: skip
        path.write_text(page, "utf-8")


def _write_shared(folder: Path) -> None:
    """What all pages load: the player with its style and font, and the site's own."""
    names = "Object.assign(window, { mount, compareRuns });"
    modules = f"{{{read_modules('beside.js')}\n{names}\n}}\n"
    (folder / "player.js").write_text(modules, "utf-8")
    (folder / "player.css").write_text(page_css("acts.css"), "utf-8")
    for name in SHARED:
        shutil.copyfile(SOURCES / name, folder / name)
    shutil.copytree(SOURCES / "licences", folder / "licences")
    shutil.copyfile(HERE / "font" / "OFL.txt", folder / "licences" / "OFL-1.1.txt")
    shutil.copyfile(ROOT / "LICENSE", folder / "licences" / "Apache-2.0.txt")


def _list_labs() -> Iterator[dict[str, str]]:
    """Title and minutes of each lab, as its first cell says them."""
    for path in sorted((SOURCES.parent / "source").glob("*.py")):
        text = path.read_text("utf-8")
        title = re.search(r"(?m)^# # Lab \d+ · (.+)$", text)
        minutes = re.search(r"\d+ minutes", text)
        if title and minutes:
            yield {"title": title[1], "minutes": minutes[0], "name": path.stem}


def _facets(stories: Sequence[Story]) -> dict[str, list[str]]:
    """What one can choose by, each with the values there are."""
    return {
        "anomaly": sorted({story.anomaly for story in stories} - {""}),
        "safeguard": sorted({name for story in stories for name in story.safeguards}),
    }


def _with_neighbours(
    stories: Sequence[Story],
) -> Iterable[tuple[Story | None, Story, Story | None]]:
    row: list[Story | None] = [None, *stories, None]
    for (before, story), (_, after) in pairwise(pairwise(row)):
        assert story is not None
        yield before, story, after


def _alike(story: Story, stories: Sequence[Story]) -> list[Story]:
    """Others in which the same goes wrong, those of other brokers first, six at most."""
    if not story.anomaly:
        return []
    same = [one for one in stories if one.anomaly == story.anomaly and one is not story]
    return sorted(same, key=lambda one: one.broker == story.broker)[:6]
