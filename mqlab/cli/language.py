"""The language of what a command says or makes: the one asked for, else the system's own.

Its help comes from the catalogue as everything else does, and so do argparse's own words."""

from __future__ import annotations

import argparse
import gettext
import os
from typing import Any

from ..kernel.catalogue import find_catalogue, read_catalogue, translate
from ..kernel.text import LANGUAGES, Lang, Words, spoken, tr

#: what argparse itself says, and looks up by these words
ARGPARSE = (
    tr("usage: "), tr("options"), tr("positional arguments"), tr("show this help message and exit"),
    tr("show program's version number and exit"), tr("%(prog)s: error: %(message)s\n"),
    tr("argument %(argument_name)s: %(message)s"), tr("expected one argument"),
    tr("expected at least one argument"), tr("expected at most one argument"),
    tr("the following arguments are required: %s"), tr("unrecognized arguments: %s"),
    tr("invalid choice: %(value)r (choose from %(choices)s)"), tr("not allowed with argument %s"),
    tr("invalid %(type)s value: %(value)r"), tr("ignored explicit argument %r"),
    tr("ambiguous option: %(option)s could match %(matches)s"),
)  # fmt: skip


def add_language(parser: argparse.ArgumentParser) -> None:
    """`--lang`, which is never empty."""
    parser.add_argument(
        "--lang", choices=LANGUAGES, default=find_language(),
        help="en (English) or zh (中文); default: as LANG says",
    )  # fmt: skip


def add_flag(parser: argparse._ActionsContainer, name: str, *, help: str) -> None:
    """An option that has no value: true where it is given."""
    parser.add_argument(name, action="store_true", help=help)


def find_language() -> Lang:
    """The language that this system speaks, as gettext reads it."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def translate_argparse() -> None:
    """argparse asks gettext, and gettext a catalogue of the language that the system names."""
    if spoken() == "zh":
        read_catalogue("mqlab")  # makes the file where it is missing or old
        gettext.bindtextdomain("mqlab", str(find_catalogue("mqlab").parents[2]))
        gettext.textdomain("mqlab")


class InColumns(argparse.HelpFormatter):
    """Help in lines of so many columns: argparse counts characters, and Chinese ones are wide."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        from ..registry.tables import wrap  # only help needs it

        return wrap(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))


def translate_help(parser: argparse.ArgumentParser) -> None:
    """Put the spoken language in place of all English that `--help` prints of this parser and of
    its subcommands; what the catalogue lacks stays English."""
    if spoken() == "en":
        return
    parser.formatter_class = InColumns

    def translated(english: str | None) -> str | None:
        return (translate(english) or english) if english else english  # no help: None stays

    parser.description, parser.epilog = translated(parser.description), translated(parser.epilog)
    for group in parser._action_groups:
        group.title = translated(group.title)
    for action in parser._actions:
        action.help = translated(action.help)
        if isinstance(action, argparse._SubParsersAction):
            for row in action._choices_actions:  # a line of help for each subcommand
                row.help = translated(row.help)
            for subparser in action.choices.values():
                translate_help(subparser)


def tell(english: str, *values: object, **how: Any) -> None:
    """`print` in the language that is spoken: `tell("wrote {}", page)`."""
    print(Words(english)(*values) if values else tr(english), **how)
