"""The language of what a command says or makes: the one asked for, else the system's own."""

from __future__ import annotations

import argparse
import os

from ..kernel.text import LANGUAGES, Lang


def add_language(parser: argparse.ArgumentParser, of: str) -> None:
    """`--lang`, which is never empty."""
    parser.add_argument(
        "--lang", choices=LANGUAGES, default=find_language(),
        help=f"of {of}: en, or zh (中文); else as LANG says",
    )  # fmt: skip


def find_language() -> Lang:
    """The language that this system speaks, as gettext reads it."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"
