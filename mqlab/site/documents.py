"""The project's own pages as pages of the site: Markdown, whose links lead from one to another."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..kernel import spoken
from ..places import LABS, ROOT
from .catalogue import find_source

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

IMAGES = {"en": "../images", "zh": "../../images"}
"""Where the pages of a language find the files of labs/images."""


@dataclass(frozen=True, slots=True)
class Document:
    """`name`: of its page; `about`: one line; `title` and `html` come from the file."""

    name: str
    about: str
    title: str
    html: str


def list_documents() -> Iterator[Document]:
    """Each document of this clone, rendered. HTML that stands in one is shown as text."""
    for source, (name, about) in DOCUMENTS.items():
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        english = markdown.parse((ROOT / source).read_text("utf-8"))
        tokens = markdown.parse(find_source(ROOT / source).read_text("utf-8"))
        title = next(after.content for token, after in pairwise(tokens) if token.tag == "h1")
        _mend(tokens, source, english)
        html = markdown.renderer.render(tokens, markdown.options, {})
        yield Document(name, about, title.replace("`", ""), html)


def _mend(tokens: list[Token], source: str, english: list[Token]) -> None:
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
            token.children = list(_mend_line(token.children, source))


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


def _mend_line(line: list[Token], source: str) -> Iterator[Token]:
    dropped = 0
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
    if there not in DOCUMENTS:
        return ""
    return f"{DOCUMENTS[there][0]}.html" + (f"#{place}" if place else "")


def _anchor(heading: str) -> str:
    """As code hosts make them: small letters, no signs, dashes for blanks."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
