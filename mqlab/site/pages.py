"""The pages of the site: the first, the gallery, and one for each story."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mqlab_widgets import Player
from mqlab_widgets.payment import build_payment
from mqlab_widgets.player import host, read_modules
from mqlab_widgets.style import HERE, page_css

from .. import __version__
from ..brokers import list_brokers
from ..kernel import LANGUAGES, Lang, speaking, spoken
from ..lessons.payment import read_payment
from ..places import LABS, ROOT
from .catalogue import SOURCES, open_templates, other_than
from .choose import list_beside, render_choice
from .documents import list_documents
from .lecture import write_lecture
from .lite import write_labs
from .play import VERSION, write_play
from .stories import Story, list_stories

TITLES = {"en": r"(?m)^# # Lab \d+ · (.+)$", "zh": r"(?m)^# # 实验 \d+ · (.+)$"}
SHARED = (
    "site.css", "site.js", "gallery.js", "first.css", "lecture.css", "lecture.js",
    "language.js",
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
    if pyodide:
        write_play(folder / "play", pyodide, stories)
        if lite:
            write_labs(folder / "labs", lite, folder / "play" / "pyodide")
    brokers = {name: broker.title for name, broker in list_brokers().items()}
    known = {
        "version": __version__, "brokers": brokers, "count": len(stories),
        "pyodide": VERSION if pyodide else "", "lite": bool(pyodide and lite),
    }  # fmt: skip
    for lang in LANGUAGES:
        with speaking(lang):
            _Pages(folder, lang, known).write(stories)
    written = [path for path in folder.rglob("*") if path.is_file()]
    return Built(folder, len(stories), sum(path.stat().st_size for path in written))


class _Pages:
    """The pages of one language: English at the top of the site, Chinese in its folder `zh`."""

    def __init__(self, site: Path, lang: Lang, known: Mapping[str, Any]) -> None:
        self.site, self.lang, self.known = site, lang, known
        self.folder = site if lang == "en" else site / lang
        self.templates = open_templates()

    def write(self, stories: Sequence[Story]) -> None:
        documents = list(list_documents())
        top: dict[str, dict[str, Any]] = {
            "index.html": {"payment": build_payment(read_payment())},
            "gallery.html": {
                "stories": stories,
                "facets": _facets(stories),
                "recorded": sum(story.recorded for story in stories),
            },
            "learn.html": {"labs": list(_list_labs())},
            "choose.html": {"choice": render_choice()},
            "teach.html": {},
            "read.html": {"documents": documents},
            "licences.html": {},
        }
        if self.known["pyodide"]:
            top["play.html"] = {}
        for name, shown in top.items():
            self.page(name, name, shown)
        for document in documents:
            self.page(f"docs/{document.name}.html", "document.html", {"document": document})
        for beside in list_beside():
            self.page(f"ways/{beside.name}.html", "ways.html", {"beside": beside})
        write_lecture(self.page)
        for before, story, after in _with_neighbours(stories):
            player = Player(story.trace, step=0)
            shown = {
                "story": story, "before": before, "after": after,
                "alike": _alike(story, stories), "narration": player.narration(),
                "picture": host("", player.payload, "h1", "picture"),
            }  # fmt: skip
            self.page(f"stories/{story.name}.html", "story.html", shown)

    def page(self, name: str, template: str, shown: Mapping[str, Any] | str) -> None:
        """Write the page of this name: a template with what it shows, or a page that is whole."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        other = other_than(self.lang)
        up = "../" * name.count("/")
        below = name if other == "en" else f"{other}/{name}"
        top = up if self.lang == "en" else f"../{up}"
        ways = {"up": up, "top": top, "twin": top + below, "lang": self.lang, "other": other}
        if not isinstance(shown, str):
            shown = self.templates.get_template(template).render({**self.known, **ways, **shown})
        path.write_text(shown, "utf-8")


def _write_shared(folder: Path) -> None:
    """What all pages load: the player with its style and font, and the site's own."""
    names = "Object.assign(window, { mount, compareRuns });"
    modules = f"{{{read_modules('beside.js')}\n{names}\n}}\n"
    (folder / "player.js").write_text(modules, "utf-8")
    (folder / "player.css").write_text(page_css("acts.css"), "utf-8")
    mounted = "mountPayment(document.getElementById('payment'), "
    mounted += "JSON.parse(document.getElementById('payment-data').textContent));"
    script = (HERE / "payment.js").read_text("utf-8")
    (folder / "payment.js").write_text(f"{{{script}{mounted}\n}}\n", "utf-8")
    shutil.copyfile(HERE / "payment.css", folder / "payment.css")
    for name in SHARED:
        shutil.copyfile(SOURCES / name, folder / name)
    shutil.copytree(LABS / "images", folder / "images")
    shutil.copytree(SOURCES / "licences", folder / "licences")
    shutil.copyfile(HERE / "font" / "OFL.txt", folder / "licences" / "OFL-1.1.txt")
    shutil.copyfile(ROOT / "LICENSE", folder / "licences" / "Apache-2.0.txt")


def _list_labs() -> Iterator[dict[str, str]]:
    """Title and minutes of each lab, as its first cell says them."""
    for path in sorted((SOURCES.parent / "source").glob("*.py")):
        text = path.read_text("utf-8")
        title = re.search(TITLES[spoken()], text) or re.search(TITLES["en"], text)
        minutes = re.search(r"(\d+) minutes", text)
        if title and minutes:
            yield {"title": title[1], "minutes": minutes[1], "name": path.stem}


def _facets(stories: Sequence[Story]) -> dict[str, list[Any]]:
    """What one can choose by, each with the values there are."""
    return {
        "anomaly": sorted({one.anomaly for one in stories if one.anomaly.en}, key=lambda a: a.en),
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
    if not story.anomaly.en:
        return []
    same = [one for one in stories if one.anomaly == story.anomaly and one is not story]
    return sorted(same, key=lambda one: one.broker == story.broker)[:6]
