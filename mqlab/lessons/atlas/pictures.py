"""Pictures of lessons that are no traces: a scene as an image, with the same in words.

They are drawn with the classes and colours of the player, so that blue means a transaction
here too. An `<img>` is the only form of a drawing that an untrusted notebook shows, and it
sees no CSS of its page: the style travels inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mqlab_widgets.player import image
from mqlab_widgets.scene import Node, Scene, xml
from mqlab_widgets.style import font_of, svg_css
from mqlab_widgets.widths import width

from ...kernel import tr

ATLAS_CSS = (
    ".mqlab .paper{fill:var(--ground)}"
    ".mqlab text.ours{fill:var(--t1)}"
    ".mqlab .box{fill:none;stroke:var(--line);stroke-width:1}"
    ".mqlab .hand{fill:var(--b);stroke:var(--c);stroke-width:1}"
    ".mqlab .hollow{fill:var(--ground);stroke:var(--c);stroke-width:1}"
    ".mqlab .dashes{stroke-dasharray:2.5 2}"
    ".mqlab .stem{stroke:var(--muted);stroke-width:1.5;fill:none}"
    ".mqlab .point{fill:var(--muted)}"
)
# As wide as an output of JupyterLab at 1280 px with its left bar open: wider ones would scroll.
WIDTH = 816
# JupyterLab gives a <pre> in an HTML output the letters of its text, in which columns do not align.
TABLE = tr("the same as a table")
ALIGNED = "font-family:monospace;white-space:pre;line-height:1.3;overflow-x:auto"
# JupyterLab says its theme on the body; elsewhere the system's is followed. The letters keep
# their size: a narrow cell scrolls.
FRAME_CSS = (
    ".mqlab-picture{color-scheme:light dark;overflow-x:auto}"
    ".mqlab-picture>img{max-width:none!important}"
    ".mqlab-picture details{margin:4px 0 10px}.mqlab-picture summary{cursor:pointer}"
    ".mqlab-picture pre{overflow-x:auto;white-space:pre!important}"
    '[data-jp-theme-light="true"] .mqlab-picture{color-scheme:light}'
    '[data-jp-theme-light="false"] .mqlab-picture{color-scheme:dark}'
)


@dataclass(frozen=True, slots=True)
class Box:
    """Where a text is, for the layout and for the test that nothing overlaps."""

    text: str
    x: float
    y: float
    width: float
    height: float


class Picture:
    """Display it as the last line of a cell; `text` is the same as a plain-text table."""

    def __init__(self, scene: Scene, alt: str, text: str) -> None:
        self.scene = scene
        self.alt = alt
        self.text = text

    def svg(self) -> str:
        """A complete SVG document with its own style."""
        size = f'width="{self.scene.width:g}" height="{self.scene.height:g}"'
        body = "".join(node.svg() for node in self.scene.nodes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="mqlab" {size} '
            f'viewBox="0 0 {self.scene.width:g} {self.scene.height:g}" role="img" '
            f'aria-label="{xml(self.alt)}"><style>{svg_css(body, ATLAS_CSS)}</style>'
            f'<rect class="paper" {size}/>{body}</svg>'
        )

    def boxes(self) -> list[Box]:
        """Every text of the picture and the space it takes."""
        return list(_boxes(self.scene.nodes, 0, 0))

    def html(self) -> str:
        """The image, and behind a fold the table that says the same."""
        words = _fold(str(TABLE), self.text)
        return f'<div class="mqlab-picture">{image(self.svg(), self.alt)}{words}</div>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": f"<style>{FRAME_CSS}</style>{self.html()}", "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


class Fold:
    """Text behind a fold: what a picture has shown already, for screen readers and for the
    check that it still comes out. `summary` says what one will see."""

    def __init__(self, summary: str, text: str) -> None:
        self.summary = summary
        self.text = text

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": _fold(self.summary, self.text), "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


def _fold(summary: str, text: str) -> str:
    table = f'<pre style="{ALIGNED}">{xml(text)}</pre>'
    return f"<details><summary>{xml(summary)}</summary>{table}</details>"


class Folder:
    """Several pictures by name, each behind a fold; the first one is open."""

    def __init__(self, pictures: dict[str, Picture]) -> None:
        self.pictures = pictures

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        folds = "".join(
            f"<details{' open' * (not i)}><summary>{xml(name)}</summary>{one.html()}</details>"
            for i, (name, one) in enumerate(self.pictures.items())
        )
        html = f'<style>{FRAME_CSS}</style><div class="mqlab-picture">{folds}</div>'
        return {"text/html": html, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}\n{p.text}" for name, p in self.pictures.items())


def measure_text(text: str, cls: str) -> float:
    """How wide a text of a class is, in px."""
    return width(text, *font_of(cls))


def _boxes(nodes: tuple[Node, ...], x: float, y: float) -> Iterator[Box]:
    for node in nodes:
        if node.tag == "text":
            cls = str(node.attrs["class"])
            size, wide = font_of(cls)[0], measure_text(node.text, cls)
            left = x + float(node.attrs["x"])
            if "end" in cls.split():
                left -= wide
            elif "mid" in cls.split():
                left -= wide / 2
            top = y + float(node.attrs["y"]) - size * 0.85
            yield Box(node.text, left, top, wide, size * 1.1)
        moved = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", str(node.attrs.get("transform", "")))
        dx, dy = (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)
        yield from _boxes(node.children, x + dx, y + dy)
