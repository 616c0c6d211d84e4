"""The pages' templates, and what they say in the language that is spoken (`labs/locale`).

Templates mark their words as gettext's do (`{% trans %}`, `_("…")`), so one template makes the
page of either language.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..kernel import Lang, spoken
from ..kernel import translate as look_up
from ..places import LABS

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
    """A template's words in the language that is spoken. LookupError where nobody has said them
    in Chinese."""
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
    """The file beside `path` that says the same in the language that is spoken, `NAME.zh.md` beside
    `NAME.md`; itself where there is none."""
    twin = path.with_suffix(f".{spoken()}{path.suffix}")
    return twin if twin.is_file() else path
