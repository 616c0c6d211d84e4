"""`Player`: a trace as HTML that plays without a kernel, also after save and reopen.

It holds a still (an `<img>`), the payload and the module. Where the script runs, it takes the
still's place; where it may not (an untrusted copy, a code host), the still is what a reader sees.
In a notebook they are two outputs: the still is seen while the rest is being made.
"""

from __future__ import annotations

import base64
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Trace

from .encoding import base64_of
from .payload import HERE, Look, build, position, refuse
from .scene import xml
from .still import caption, folded_words, narrated, still
from .style import css, font_css, page_css

KNOWN = ("step", "title", "lang", "scale", "panels", "level")
BOTH = 500
"""Facts up to which a page holds its traces in both languages: 10 to 60 kB more."""
FILES = ("panel.js", "arrange.js", "frame.js", "legend.js", "player.js", "mount.js")
Theme = Literal["", "light", "dark"]


class Output:
    """What a cell shows without a widget: a still, then what plays in its place. `scripts`: `more`
    and `files` as `bring` takes them."""

    look: Look
    scripts: tuple[str, Sequence[str]] = ("", ())

    @property
    def payload(self) -> dict[str, Any]:
        """What the module plays; plain data."""
        raise NotImplementedError

    def still_html(self) -> str:
        """What a reader sees where no script runs."""
        raise NotImplementedError

    def narration(self) -> str:
        """The same as text."""
        raise NotImplementedError

    def html(self, heading: str = "div") -> str:
        """The still and what plays in its place, as one piece of HTML."""
        return mounted(self.still_html(), self.payload, heading, *self.scripts)

    def hold(self, heading: str, name: str) -> str:
        """The payload in its host, for a page that has style and script: nothing is seen until
        the script mounts it."""
        return host(pack(self.payload, "payload"), self.look.lang, heading, name)

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.narration()}

    def _ipython_display_(self) -> None:
        """In a notebook two outputs: a reader sees the still while the rest is made. Elsewhere, as
        in a terminal, NotImplementedError, and IPython asks for one."""
        from IPython import get_ipython  # not above: pages are made without it
        from IPython.display import display

        if not hasattr(get_ipython(), "kernel"):
            raise NotImplementedError
        show: Any = display  # IPython does not say its type
        name = name_host()
        still = host(self.still_html(), self.look.lang, "div", name)
        show({"text/html": still, "text/plain": self.narration()}, raw=True)
        sys.stdout.flush()  # waits until the kernel has sent it
        brought = bring(name, self.payload, "div", *self.scripts)
        show({"text/html": brought, "text/plain": f"{type(self).__name__}()"}, raw=True)

    def __repr__(self) -> str:
        return self.narration()


class Player(Output):
    """Steps through a trace. Display it as the last line of a cell.

    `step`: the position to open at, default the last; `scale=1.5` for a projector;
    `panels`: the panels to show, default all that have content: "diagram", "readers", "logs",
    "money", "lights", "graphs", "tables". A lab's pictures grow with its text: the first show
    `panels=("diagram", "readers")`, and each panel comes when the text first speaks of it. A
    picture of at most two panels has no chips. `level`: at which a reader finds it, "story",
    "protocol" or "everything"; a switch leads to the others.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        step: int | None = None,
        title: str | None = None,
        lang: Lang | None = None,
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        level: str = "everything",
        **unknown: object,
    ) -> None:
        """Show a trace at `step` (None: its end). `title` to `level` are those of a Look: title,
        language, scale, panels, and how much is shown. TypeError for `unknown` arguments,
        ValueError for a wrong value."""
        refuse("Player", unknown, KNOWN)
        self.look = Look.of(title, lang, scale, panels, level)
        self.trace = trace
        self.step = position(trace, step)

    @classmethod
    def of(cls, trace: Trace, look: Look, step: int | None = None) -> Player:
        """A trace as a widget shows it."""
        return cls(
            trace,
            step=step,
            title=look.title,
            lang=look.lang,
            scale=look.scale,
            panels=look.panels,
            level=look.level,
        )

    @cached_property
    def payload(self) -> dict[str, Any]:
        """What the module plays; plain data."""
        return build(self.trace, self.step, self.look)

    @property
    def title(self) -> str:
        return self.look.heading(self.trace)

    @property
    def caption(self) -> str:
        """The step in words."""
        return caption(self.trace, self.step, self.look)

    def svg(self, future: bool = True, theme: Theme = "") -> str:
        """The step as an SVG document with its own style; `future`: with the rows to come;
        `theme`: "light" or "dark" whatever a reader's own is."""
        return still(self.trace, self.step, self.look, future, theme)

    def still_html(self, future: bool = True) -> str:
        """The step as an `<img>` and, folded, the trace in words: what untrusted HTML may show."""
        words = folded_words(self.trace, self.step, self.look, future)
        return image(self.svg(future), self.caption) + words

    def page(self, theme: Theme = "") -> str:
        """One self-contained page: opens from disk, steps without kernel or network, and has a
        switch to the other language where the trace is not long."""
        twin = pack_twin(len(self.trace), lambda: self.twin.payload)
        body = mounted(self.still_html() + twin, self.payload, "h1")
        return document(self.title or self.trace.system, self.look.lang, body, theme)

    @property
    def twin(self) -> Player:
        """The same trace in the other language."""
        lang: Lang = "en" if self.look.lang == "zh" else "zh"
        return Player.of(self.trace, replace(self.look, lang=lang), self.step)

    def save(self, path: str | Path, theme: Theme = "") -> Path:
        """Write `step.svg` (this step) or `page.html` (all steps), by the name's ending."""
        path = Path(path)
        match path.suffix:
            case ".svg":
                path.write_text(self.svg(theme=theme), "utf-8")
            case ".html" | ".htm":
                path.write_text(self.page(theme), "utf-8")
            case other:
                raise ValueError(
                    f"cannot save as {other!r}; use a name ending in .svg or .html "
                    "(`mqlab view` writes .png and .gif too)"
                )
        return path

    def narration(self, future: bool = True) -> str:
        """The run as text, one fact a line; the current one is marked."""
        marked = narrated(self.trace, self.step, self.look.lang, future)
        return "\n".join([self.title, *marked] if self.title else marked)


#: a page says its theme as JupyterLab does
_THEMES: dict[Theme, str] = {
    "": "",
    "light": ' data-jp-theme-light="true" style="color-scheme:light"',
    "dark": ' data-jp-theme-light="false" style="color-scheme:dark"',
}
_PAGE = (
    ":root{color-scheme:light dark}body{margin:0;background:light-dark(#fff,#15181c)}"
    "main{max-width:1240px;margin:0 auto;padding:8px}"
)


def image(svg: str, alt: str) -> str:
    """An SVG as an `<img>`: the only form in which untrusted HTML may show one."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{xml(alt)}">'


def mounted(
    still: str, payload: dict[str, Any], heading: str, more: str = "", files: Sequence[str] = ()
) -> str:
    """A piece of HTML with everything a player needs: the still in its host, and what plays in the
    still's place."""
    name = name_host()
    held = host(still, payload["meta"]["lang"], heading, name)
    return held + bring(name, payload, heading, more, files)


def name_host() -> str:
    """An id that no other element of a page has."""
    return f"mqlab-{secrets.token_hex(6)}"


def host(inside: str, lang: str, heading: str, name: str) -> str:
    """The element of this id in which the module plays a payload, in place of what is `inside`.
    `heading`: the element of the title, "h1" on a page of its own."""
    start = f'<div class="mqlab" id="{name}" lang="{lang}" data-heading="{heading}">'
    return f"{start}{inside}</div>"


def bring(
    name: str, payload: dict[str, Any], heading: str, more: str = "", files: Sequence[str] = ()
) -> str:
    """The style, the payload, and the script that plays it in the host of this name. `more`: the
    name of a JavaScript function that is handed the player; `files`: the .js and .css files that it
    needs."""
    is_page = heading == "h1"  # a page of its own; a notebook brings the font once for all players
    styles = [file for file in files if file.endswith(".css")]
    scripts = [file for file in files if file.endswith(".js")]
    font = "" if is_page else f'<script type="text/css" class="font">{font_css()}</script>'
    return (
        f"<style>{page_css(*styles) if is_page else css(*styles)}</style>"
        f'<div data-brought="{name}" hidden>{font}{pack(payload, "payload")}</div>'
        f"<script>(() => {{{module(*scripts)}\n{more}(mountBrought({name!r}));\n}})();</script>"
    )


def pack(payload: dict[str, Any], name: str) -> str:
    """A payload as an element of this class."""
    return f'<script type="application/octet-stream" class="{name}">{base64_of(payload)}</script>'


def pack_twin(facts: int, build_twin: Callable[[], dict[str, Any]]) -> str:
    """A page's payload in the other language, which its switch unpacks; "" where its traces have
    more than `BOTH` facts together."""
    return pack(build_twin(), "twin") if facts <= BOTH else ""


def document(title: str, lang: Lang, body: str, theme: Theme) -> str:
    """A page of its own around a piece of HTML."""
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<title>{xml(title)}</title><style>{_PAGE}</style></head>"
        f"<body{_THEMES[theme]}><main>{body}</main></body></html>\n"
    )


def read_modules(*more: str) -> str:
    """The player's files as one module, and those of the files `more`, which may use its names."""
    return "\n".join((HERE / file).read_text("utf-8") for file in (*FILES, *more))


def module(*more: str) -> str:
    """The same, safe inside a script element."""
    return read_modules(*more).replace("</", "<\\/")
