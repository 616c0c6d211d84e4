"""What the pages' templates say in Chinese: `labs/site/zh.toml`, each English text with its own.

Templates mark their words as gettext's do (`{% trans %}`, `_("…")`), so one template makes the
page of either language.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..kernel import Lang, spoken
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
    try:
        return read_catalogue()[english]
    except KeyError:
        raise LookupError(f"zh.toml has no Chinese for “{english}”") from None


def _translate_count(one: str, more: str, count: int) -> str:
    return translate(one if count == 1 else more)


@cache
def read_catalogue() -> dict[str, str]:
    return tomllib.loads((SOURCES / "zh.toml").read_text("utf-8"))


def other_than(lang: Lang) -> Lang:
    return "en" if lang == "zh" else "zh"


def find_source(path: Path) -> Path:
    """The file beside `path` that says the same in the language that is spoken, `NAME.zh.md` beside
    `NAME.md`; itself where there is none."""
    twin = path.with_suffix(f".{spoken()}{path.suffix}")
    return twin if twin.is_file() else path
