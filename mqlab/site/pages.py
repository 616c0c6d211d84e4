"""The pages of the site: the first, the gallery, and one for each story."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mqlab_widgets import Compare, Player
from mqlab_widgets.comparison import OUTCOME
from mqlab_widgets.payment import build_payment
from mqlab_widgets.player import read_modules
from mqlab_widgets.style import HERE, page_css

from .. import __version__
from ..brokers import list_brokers
from ..kernel import LANGUAGES, Lang, Text, Words, speaking, spoken, tr
from ..kernel import translate as look_up
from ..lessons.decision import ask_questions, list_rules, list_ways
from ..lessons.payment import read_payment
from ..places import LABS, ROOT, SCENARIOS
from ..recordings.costs import load_costs
from ..registry import with_evidence
from ..registry.cases.anomalies import MATRIX
from ..registry.cases.prices import BULK, ORDER
from ..registry.matrix import ANOMALIES, WAYS, Cell, Found, Told
from ..registry.prices import tabulate_bulk, tabulate_prices, tabulate_real
from ..registry.ways import MOMENTS, ROLES, UNSENT, find_stage, perform, tabulate_kills
from ..scenario import Script
from ..scenario.language import read_typed
from .lite import write_labs
from .play import VERSION, write_play
from .stories import Story, list_stories, write_lecture

# ---- The pages' templates, and what they say in the language that is spoken (`labs/locale`)
#
# Templates mark their words as gettext's do (`{% trans %}`, `_("…")`), so one template makes the
# page of either language.

SOURCES = LABS / "site"


def open_templates() -> Environment:
    """The templates of the site; each page they make is in the language that is spoken then."""
    pages = Environment(
        loader=FileSystemLoader(SOURCES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        extensions=["jinja2.ext.i18n"],
    )  # fmt: skip
    pages.policies["ext.i18n.trimmed"] = True
    translated: Any = pages  # the extension adds a method that the class does not know
    translated.install_gettext_callables(translate, _translate_count, newstyle=True)
    return pages


def translate(english: str) -> str:
    """A template's words in the language that is spoken. LookupError where they have no Chinese."""
    if spoken() == "en":
        return english
    if said := look_up(english, "", "labs") or look_up(english, "page", "labs"):
        return said
    raise LookupError(f"labs.po has no Chinese for “{english}”")


def _translate_count(one: str, more: str, count: int) -> str:
    return translate(one if count == 1 else more)


def other_than(lang: Lang) -> Lang:
    return "en" if lang == "zh" else "zh"


def find_source(path: Path) -> Path:
    """The file beside `path` that says the same in the language that is spoken, `NAME.zh.md` or
    `zh/NAME.md` beside `NAME.md`; itself where there is none."""
    twins = (path.with_suffix(f".{spoken()}{path.suffix}"), path.parent / spoken() / path.name)
    return next((twin for twin in twins if twin.is_file()), path)


# The project's own pages as pages of the site: Markdown, whose links lead from one to another

#: file → name of its page and what the list of pages says of it
DOCUMENTS = {
    "labs/site/picture.md": ("picture", "The picture's signs, in one figure"),
    "labs/site/commands.md": ("commands", "What each command does"),
    "datasets/scenarios/README.md": ("scenarios", "How to write a scenario of your own"),
    "ARCHITECTURE.md": ("architecture", "What the parts are, and why they are cut this way"),
    "mqlab/explore/README.md": (
        "search",
        "What a search stores and costs, and how far it was taken",
    ),
    "CONTRIBUTING.md": ("contributing", "How a broker, a lab or a scenario is added"),
    "datasets/recordings/DIFFERENCES.md": ("differences", "Where the engine differs, and why"),
    "datasets/recordings/DIFFERENCES-rocketmq.md": (
        "differences-rocketmq",
        "The same for RocketMQ",
    ),
    "datasets/recordings/DIFFERENCES-pulsar.md": ("differences-pulsar", "The same for Pulsar"),
    "mqlab/check/README.md": ("check", "A history that any client can write, and its checker"),
    "labs/instructor/README.md": ("instructor", "Running a course"),
    "labs/instructor/hub.md": ("hub", "A class on a JupyterHub: image, machine, grading"),
}

#: pages for who teaches a lab: they are listed under Teach
FOR_TEACHERS = {
    f"labs/instructor/{path.name}": (f"instructor-{path.stem}", "")
    for path in sorted((LABS / "instructor").glob("[01][0-9].md"))
}

IMAGES = {"en": "../images", "zh": "../../images"}
"""Where the pages of a language find the files of labs/images."""


@dataclass(frozen=True, slots=True)
class Document:
    """`name`: of its page; `about`: one line; `file`: what it was read from, whose `title` and
    `html` follow."""

    name: str
    about: str
    file: str
    title: str
    html: str


def list_documents() -> Iterator[Document]:
    """Each document of this clone, rendered. HTML in one is shown as text."""
    for source, (name, about) in (DOCUMENTS | FOR_TEACHERS).items():
        english, text = (
            path.read_text("utf-8") for path in (ROOT / source, find_source(ROOT / source))
        )
        yield _render(name, about, source, text, english)


def list_labs() -> Iterator[Document]:
    """Render each lab as a page to read, in the language that is spoken: its texts and its code,
    without outputs. A document's `about` is how many minutes the lab takes."""
    from ..lessons.course.notebooks import read, translated_copy
    from ..lessons.course.package import list_originals

    for lab in list_originals(LABS, spoken()):
        english = read(lab.notebook)
        translated = translated_copy(lab.made, lab.lang) if lab.made else english
        # Both, because a page's headings keep the anchors of the English.
        texts = [
            "\n\n".join(
                cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```"
                for cell in notebook.cells
            )
            for notebook in (translated, english)
        ]
        minutes = re.search(r"(\d+) minutes", texts[1])
        assert minutes, f"{lab.name} does not say how long it takes"
        yield _render(f"lab-{lab.name[:2]}", minutes[1], f"labs/{lab.name}", *texts)


def _render(name: str, about: str, source: str, text: str, english: str) -> Document:
    """Markdown as a document; `source`: its place in the clone, from which its links lead."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    title = next(after.content for token, after in pairwise(tokens) if token.tag == "h1")
    _repair(tokens, source, markdown.parse(english))
    html = markdown.renderer.render(tokens, markdown.options, {})
    return Document(name, about, posixpath.basename(source), title.replace("`", ""), html)


def _repair(tokens: list[Token], source: str, english: list[Token]) -> None:
    """A link to another document leads to its page; one that leads elsewhere in the clone is its
    words only, and so is a picture that labs/images lacks. Headings keep the anchors of the
    English, so that a link leads to its place in either language."""
    dress(english)
    dress(tokens)
    headings = [
        [token for token in one if token.type == "heading_open"] for one in (english, tokens)
    ]
    for its_english, heading in zip(*headings, strict=True):
        heading.attrSet("id", str(its_english.attrGet("id")))
    for token in tokens:
        if token.children:
            token.children = list(_repair_line(token.children, source))


def dress(tokens: list[Token]) -> None:
    """Headings get the anchors that links name; what may be wider than a phone can be scrolled with
    the keyboard."""
    for token, after in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(after.content))
        is_figure = [one.type for one in after.children or ()] == ["image"]
        if token.type in ("table_open", "fence", "code_block") or is_figure:
            token.attrSet("tabindex", "0")
        if is_figure:
            token.attrSet("class", "figure")
        if token.type == "th_open" and not after.content:  # a corner heads nothing
            token.tag = "td"
        if after.type == "th_close" and not token.content:
            after.tag = "td"


def _repair_line(line: list[Token], source: str) -> Iterator[Token]:
    """Yield the tokens of a line of Markdown as the site has them: links lead to pages of the site,
    and one that leads nowhere there is its words only; images are those of the labs, or else their
    words. `source`: the document, from which its links lead."""
    dropped = 0  # links whose closing token is still to be dropped
    for token in line:
        if token.type == "image":
            name = posixpath.basename(str(token.attrGet("src")))
            token.attrSet("src", f"{IMAGES[spoken()]}/{name}")
            is_there = (LABS / "images" / name).is_file()
            yield token if is_there else Token("text", "", 0, content=token.content)
        elif token.type == "link_open":
            address = _lead(str(token.attrGet("href")), source)
            dropped += not address
            if address:
                token.attrSet("href", address)
                yield token
        elif token.type == "link_close" and dropped:
            dropped -= 1
        else:
            yield token


def _lead(address: str, source: str) -> str:
    """Where a link of a document leads on the site; "" for nowhere."""
    path, _, place = address.partition("#")
    if ":" in path:
        return ""
    there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
    there = there.replace(".zh.md", ".md")  # whose page is in the language that is spoken
    there = there.replace("instructor/zh/", "instructor/")
    known = DOCUMENTS | FOR_TEACHERS
    if there not in known:
        return ""
    return f"{known[there][0]}.html" + (f"#{place}" if place else "")


def _anchor(heading: str) -> str:
    """As code hosts make them: small letters, no signs, dashes for blanks."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# ---- The page for an engineer who must decide: Markdown, tables and pictures from executions
#
# Its source is a template. What it says of an example leads there: `story:NAME` to the page of a
# scenario,
# `way:ROLE-STAGE` to the four ways side by side with that node killed at the end of that stage, or
# between writing and sending the decision (`unsent`).

SOURCE = LABS / "choose" / "choose.md"
LINK = re.compile(r"\b(story|way):([\w/-]+)")
NO_KILL = "none"
FIRST = (
    "kafka/produce-answer-lost",
    "kafka/coordinator-killed-between-markers",
    "rocketmq/late-commit-delivers-twice",
    "pulsar/open-transaction-blocks-plain",
    "patterns/outbox",
)
"""Stories that need no word of a broker."""
TOLD_LEAST = 4  # sentences of a story that is worth opening as one
PICTURE = "<!-- the four ways -->"
LINKED = "<!-- linked -->"
RECORDED = "<!-- recorded -->"


@dataclass(frozen=True, slots=True)
class Beside:
    """The four ways on one clock. `name`: of its page; `picture`: its HTML."""

    name: str
    title: str
    picture: str
    narration: str


def list_linked() -> tuple[Path, ...]:
    """The scenarios that the page leads to. FileNotFoundError where one is not there."""
    names = {name for kind, name in LINK.findall(_fill(SOURCE, "en")) if kind == "story"}
    paths = [SCENARIOS / f"{name}.scn" for name in sorted(names)]
    if gone := [path for path in paths if not path.is_file()]:
        raise FileNotFoundError(f"{SOURCE.name} leads to {gone[0]}, which is not there")
    return tuple(paths)


def render_choice() -> str:
    """The page's content as HTML, its links as addresses beside it."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = LINK.sub(_lead_choose, _fill(find_source(SOURCE), spoken()))
    linked, recorded = _count_recorded()
    text = text.replace(LINKED, str(linked)).replace(RECORDED, str(recorded))
    tokens = markdown.parse(text.replace(PICTURE, next(list_beside()).picture))
    dress(tokens)
    return str(markdown.renderer.render(tokens, markdown.options, {}))


#: a role of ROLES → what a picture's title says of it
CRASHES = {
    "sender": "The process that sends the order crashes after:",
    "coordinator": "The process carrying out the decision crashes after:",
}


def list_beside() -> Iterator[Beside]:
    """Without a kill first, then a kill of each role at each moment."""
    yield _put_beside(
        NO_KILL, translate("One order, four ways"), [way.text for way in ORDER.values()]
    )
    for role in ROLES:
        for moment in MOMENTS:
            killed = [way.kill_at(moment, role) for way in ORDER.values()]
            title = f"{translate(CRASHES[role])} {translate(moment)}"
            yield _put_beside(_name(role, moment), title, killed, find_stage(moment) + 1)


def _name(role: str, moment: str) -> str:
    return f"{role}-{'unsent' if moment == UNSENT else find_stage(moment)}"


def _put_beside(name: str, title: str, texts: Sequence[str], at: int = 0) -> Beside:
    runs, ends = zip(*map(perform, texts), strict=True)
    traces = (with_evidence(run.trace, "") for run in runs)
    # a page has room for the diagrams too; a little smaller, at 1440 px two are in a row, each
    # with its readers beside it
    look: dict[str, Any] = {"level": "story", "scale": 0.88, "panels": ("space-time", *OUTCOME)}
    players = [Player(trace, step=0, **look) for trace in traces]
    compare = Compare(players, list(zip(*ends, strict=True)), at)
    picture = f'<div class="runs">{compare.hold("h2", "picture")}</div>'
    return Beside(name, title, picture, compare.narration())


@cache
def _fill(source: Path, lang: Lang) -> str:
    """The page in Markdown, without its picture: its tables come from sixty executions."""
    template = Environment(undefined=StrictUndefined).from_string(source.read_text("utf-8"))
    return template.render(
        picture=PICTURE,
        linked=LINKED,
        recorded=RECORDED,
        kills=_kills,
        prices=_prices,
        bulk=_bulk,
        real=_real,
        anomalies=_anomalies,
        ask=_ask,
    )


@cache
def _count_recorded() -> tuple[int, int]:
    """How many stories the page leads to, and how many of them have a recorded step."""
    stories = [story.recorded > 0 for story in list_stories(list_linked())]
    return len(stories), sum(stories)


def _lead_choose(match: re.Match[str]) -> str:
    folder = "stories" if match[1] == "story" else "ways"
    return f"{folder}/{match[2]}.html"


def _ask() -> str:
    """The six questions as a form, the advice of each rule, and the facts of each way. A script
    shows those that fit (`labs/site/choose.js`); without it all of them are there."""
    rules = [{"when": rule.when, "way": rule.way} for rule in list_rules()]
    said = [rule.tell(_link) for rule in list_rules()]
    shown = {"questions": ask_questions().values(), "rules": json.dumps(rules), "said": said}
    ways = {name: "\n".join(way.tell(_link)) for name, way in list_ways().items()}
    template = open_templates().get_template("ask.html")
    return template.render(shown, ways=ways, titles=list_ways())


def _link(story: str, title: str) -> str:
    return f"[{title}](story:{story})"


def _kills(role: str) -> str:
    head, *rows = tabulate_kills(ORDER, role)
    linked = [
        (f"[{translate(moment)}](way:{_name(role, moment)})", *map(_translate_end, cells))
        for moment, *cells in rows
    ]
    return _table([(translate(head[0]), *head[1:]), *linked])


def _prices() -> str:
    head, *rows = tabulate_prices(ORDER)
    return _table([tuple(map(translate, head)), *rows])


def _bulk() -> str:
    head, *rows = tabulate_bulk(BULK, 2, 3)
    return _table(
        [tuple(map(_translate_if, head[1:])), *(row[1:] for row in rows if row[0] == "forgotten")]
    )


COUNTED = tr("model"), tr("real")


def _real() -> str:
    """The totals of each broker; kind by kind would be longer than the page."""
    head, *rows = tabulate_real(BULK, load_costs(), 2, 3)
    totals = [
        (_translate_end(name), model, real.removesuffix(" *"))
        for name, model, real in rows if "," in name
    ]  # fmt: skip
    return _table([(head[0], *map(str, COUNTED)), *totals])


def _anomalies() -> str:
    rows = [
        (translate(anomaly), *(_cell(MATRIX[way][anomaly]) for way in WAYS))
        for anomaly in ANOMALIES
    ]
    return _table([("", *WAYS), *rows])


def _cell(cell: Cell) -> str:
    """A cell of the table of anomalies in Markdown: its sign and verdict, linked to the first proof
    that is a scenario (`Told`) or a counterexample (`Found`); and, where there are cases beyond
    those that the verdict covers, in brackets what it covers, linked to a scenario beyond."""
    verdict = cell.outcome.of()
    for proof in cell.proofs:
        if isinstance(proof, Told):
            verdict = f"[{verdict}](story:{proof.story})"
            break
        if isinstance(proof, Found):
            name = proof.case.name.replace("_", "-")
            verdict = f"[{verdict}](story:{proof.broker}/counterexamples/{name})"
            break
    verdict = f'<b class="sign" data-sign="{cell.sign}">{cell.sign}</b> {verdict}'
    for beyond in cell.beyond[:1]:  # the first one, where there is any
        covers = f"[{cell.covers}](story:{beyond.story})"
        verdict += Text(f" ({covers})", f"（{covers}）").of()
    return verdict


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first row is the head."""
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _translate_end(words: str) -> str:
    """What follows the comma, in the language that is spoken."""
    first, _, end = words.partition(", ")
    return first + translate(", ") + translate(end)


def _translate_if(words: str) -> str:
    """The words in the language that is spoken; a formula, such as n=2, stays as it is."""
    return words if "=" in words else translate(words)


SHARED = (
    "site.css", "site.js", "gallery.js", "choose.js", "first.css", "lecture.css", "lecture.js",
    "language.js",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Built:
    """What was written. `bytes`: of all files together."""

    folder: Path
    stories: int
    bytes: int


def need_folder(folder: Path) -> None:
    """Make the folder of a site where there is none. FileExistsError where it holds anything but an
    earlier site, another OSError where it cannot be, FileNotFoundError outside a clone."""
    if not SOURCES.is_dir():
        why = Words("no sources in {}: a site is made in a clone of the project")
        raise FileNotFoundError(why(SOURCES))
    folder.mkdir(parents=True, exist_ok=True)
    # An earlier site has a player.js.
    if any(folder.iterdir()) and not (folder / "player.js").exists():
        raise FileExistsError(Words("{} contains other files: name an empty folder")(folder))


def write_site(
    folder: Path,
    paths: tuple[Path, ...] = (),
    pyodide: Path | None = None,
    lite: Path | None = None,
) -> Built:
    """Write the whole site into a folder, in place of an earlier site there, and say how large it
    is. `paths`: the scenario files, default all; `pyodide`: the archive that Play runs on; `lite`:
    what `fetch_lite` has fetched: without it, or without Play, no lab opens in the browser. Raises
    what `need_folder` raises."""
    need_folder(folder)
    shutil.rmtree(folder)
    folder.mkdir()
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
        """Write all pages of this language: those of the top, the documents and labs, the four ways
        side by side, the lecture, and a page for each scenario with its neighbours."""
        documents, labs = list(list_documents()), list(list_labs())
        top: dict[str, dict[str, Any]] = {
            "index.html": {"payment": build_payment(read_payment(), onward="learn.html")},
            "gallery.html": {
                "groups": _group(stories),
                "first": [story for name in FIRST for story in stories if story.name == name],
                "facets": _facets(stories),
                "recorded": sum(story.recorded > 0 for story in stories),
            },
            "incidents.html": {"symptoms": list(_list_symptoms(stories))},
            "learn.html": {"labs": labs},
            "choose.html": {"choice": render_choice()},
            "teach.html": {"labs": labs},
            "read.html": {"documents": [one for one in documents if one.about]},
            "licences.html": {},
        }
        if self.known["pyodide"]:  # its version, "" for a site without it
            top["play.html"] = {}
        for name, shown in top.items():
            self.page(name, name, shown)
        for document in (*documents, *labs):
            self.page(f"docs/{document.name}.html", "document.html", {"document": document})
        for beside in list_beside():
            self.page(f"ways/{beside.name}.html", "ways.html", {"beside": beside})
        write_lecture(self.page)
        for before, story, after in _with_neighbours(stories):
            player = _tell(story)
            helped = posixpath.join(
                posixpath.dirname(story.name), story.golden.script.head.get("helped", "")
            )
            shown = {
                "story": story, "before": before, "after": after,
                # The scenario that shows what would have helped, if this one names any.
                "helped": next((one for one in stories if one.name == helped), None),
                "alike": _alike(story, stories), "narration": player.narration(),
                # "": nothing is seen until the browser's module plays it
                "picture": player.hold("h1", "picture"),
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


def _tell(story: Story) -> Player:
    """The player of a story: it asks, begins at the first sentence and ends with the answer."""
    trace = replace(story.trace, title=story.question)
    told = [fact.index for fact in trace if fact.story.en]
    if len(told) < TOLD_LEAST:
        return Player(trace, step=0, level="protocol")
    player = Player(trace, step=told[0], level="story")
    last = player.payload["meta"]["facts"][told[-1] - 1]
    last["money"] = f"{last['money']} {story.title}.".strip()
    return player


def _write_shared(folder: Path) -> None:
    """Write what all pages load: the player's module, style and font, the payment's script, the
    site's own scripts and styles, images and licences."""
    # each script in braces, a block: only what is named here becomes global
    names = "Object.assign(window, { mount, compareRuns });"
    modules = f"{{{read_modules('beside.js')}\n{names}\n}}\n"
    (folder / "player.js").write_text(modules, "utf-8")
    (folder / "player.css").write_text(page_css("acts.css"), "utf-8")
    mount_payment = "mountPayment(document.getElementById('payment'), "
    mount_payment += "JSON.parse(document.getElementById('payment-data').textContent));"
    script = (HERE / "payment.js").read_text("utf-8")
    (folder / "payment.js").write_text(f"{{{script}{mount_payment}\n}}\n", "utf-8")
    shutil.copyfile(HERE / "payment.css", folder / "payment.css")
    for name in SHARED:
        shutil.copyfile(SOURCES / name, folder / name)
    shutil.copytree(LABS / "images", folder / "images")
    shutil.copytree(SOURCES / "licences", folder / "licences")
    shutil.copyfile(HERE / "font" / "OFL.txt", folder / "licences" / "OFL-1.1.txt")
    shutil.copyfile(ROOT / "LICENSE", folder / "licences" / "Apache-2.0.txt")


def _facets(stories: Sequence[Story]) -> dict[str, list[Any]]:
    """What one can choose by, each with the values there are."""
    named = {one.en: one for story in stories for one in story.anomalies}
    return {
        "anomaly": [named[name] for name in sorted(named)],
        "safeguard": sorted({name for story in stories for name in story.safeguards}),
    }


SYMPTOMS = {
    "lost": tr("Something is lost"),
    "half": tr("Only part of a transaction is read, or its outcome is not what is read"),
    "twice": tr("Something is there twice"),
    "waits": tr("Something waits for ever, or comes too late"),
    "refused": tr("A client is refused and cannot continue"),
    "numbers": tr("A number looks wrong"),
}
"""What an operator sees first, by the word in the head of an incident."""
REPORTED = tr("Publicly reported incidents")
WITHOUT = Words("{broker}, without a safeguard")


def _list_symptoms(
    stories: Sequence[Story],
) -> Iterator[tuple[Text, list[tuple[Script, Story | None, str]]]]:
    """The incidents by what was seen; of each symptom those that there are: as a story, or as what
    one types."""
    typed = (read_typed(p.read_text("utf-8")) for p in sorted(SCENARIOS.rglob("*.run")))
    rows = [*((one.golden.script, one, "") for one in stories), *((s, None, t) for s, t in typed)]
    for symptom, title in SYMPTOMS.items():
        if found := [row for row in rows if row[0].head.get("symptom") == symptom]:
            yield title, found


def _group(stories: Sequence[Story]) -> dict[str, list[Story]]:
    """The stories in groups that one can take in, by the title of each."""
    groups: dict[str, list[Story]] = {}

    def place(story: Story) -> tuple[bool, str, bool]:
        return not story.name.startswith("incidents/"), story.broker, _lacks(story)

    for story in sorted(stories, key=place):
        title = translate(list_brokers()[story.broker].title)
        if story.name.startswith("incidents/"):
            title = str(REPORTED)
        elif _lacks(story):
            title = str(WITHOUT(broker=title))
        groups.setdefault(title[:1].upper() + title[1:], []).append(story)
    return groups


def _lacks(story: Story) -> bool:
    """Whether it is the shortest execution without a safeguard."""
    return "/counterexamples/" in story.name


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
