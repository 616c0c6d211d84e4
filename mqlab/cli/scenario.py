"""`mqlab scenario new SYSTEM`: a first file, whose comments hold every word of its language."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import fields
from inspect import isclass
from pathlib import Path

from ..kernel import NOTHING, System, Text
from ..kernel.catalogue import translate
from ..kernel.options import Programs, written_fields
from ..kernel.text import Lang, say_cause, say_unknown, tr
from ..kernel.usages import Usage
from ..places import SCENARIOS
from ..registry import SYSTEMS
from ..registry.tables import wrap
from ..scenario.golden import split_blocks
from ..scenario.language import COMMANDS
from .errors import UserError
from .language import add_language, tell

HELP = "begin a scenario: write a first file, with every command as a comment"

TITLE = tr("What the operator saw, in one line")
OPTIONS = tr("Options of the line `system`, with what holds without them:")
CALLS = tr('What an application may call (`run NODE: call, call …`; "two words" are one value):')
LINES = tr("What else a line may say; Kind is a word of the narration, ⇒Kind the answer to it:")
GUARDS = tr("Safeguards, each switched off by a line `off NAME` below the system:")
WIDE = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("new",), help="what to do")
    parser.add_argument("system", help="kafka, rocketmq, pulsar, or a model such as two_phase")
    parser.add_argument("file", nargs="?", type=Path, help="write it there (default: print it)")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    """Print a first scenario of a system, or write it to a file; UserError for an unknown system,
    and where the file exists already or cannot be written."""
    if args.system not in SYSTEMS:
        raise UserError(say_unknown("system", args.system, sorted(SYSTEMS)))
    text = "\n".join(list_first_lines(args.system, args.lang)) + "\n"
    if args.file is None:
        print(text, end="")
        return 0
    try:
        with args.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(
            "cannot write {}: {}; name a new file", args.file, say_cause(error)
        ) from error
    tell("wrote {0}\nnext: mqlab run {0}", args.file)
    return 0


def list_first_lines(system_name: str, lang: Lang) -> Iterator[str]:
    """Yield the lines of a first scenario: an example that works, then in comments every option,
    call, command and safeguard of the system, each with what it does."""
    system = SYSTEMS[system_name]()
    yield f"# {TITLE.of(lang)}"
    yield from find_example(system_name)
    calls = [(call.text, explain(call).of(lang)) for call in system.usages().by_verb.values()]
    # A command with several forms is explained after its last one.
    commands = [
        (usage, command.does.of(lang) if usage == command.usages[-1] else "")
        for command in COMMANDS.values()
        for usage in command.usages
    ]
    guards = [(key, said.of(lang)) for key, said in system.safeguards().items()]
    parts = ((OPTIONS, list_options(system)), (CALLS, calls), (LINES, commands), (GUARDS, guards))
    for title, rows in parts:
        lines = [line for word, does in rows for line in _lay_out(word, does)]
        if lines:
            yield from ("", f"# {title.of(lang)}", *lines)


def find_example(name: str) -> list[str]:
    """The commands of a committed story of this system: a commit, and a short one, if there is."""
    found = [(True, f"system {name}")]
    for path in SCENARIOS.rglob("*.scn"):
        blocks = split_blocks(path.read_text("utf-8"))
        lines = [line for block in blocks for line in block.source.splitlines()]
        code = [line for line in lines if line.strip() and not line.startswith("#")]
        if code[0].split()[1] == name and not any(line.startswith("do ") for line in code):
            found.append((not path.stem.endswith("commit"), "\n".join(code)))
    return min(found[1:] or found, key=lambda one: (one[0], len(one[1]), one[1]))[1].splitlines()


def list_options(system: System) -> Iterator[tuple[str, str]]:
    """Each option as a line has it, with its default."""
    defaults = {field.name: field.default for field in fields(system)}
    for field in written_fields(type(system)):
        default = defaults[field.name]
        if field.kind == Programs:
            yield "CLIENT='call; call'", ""
        elif isinstance(default, tuple):
            yield f"{field.name}=…", ",".join(":".join(dict.fromkeys(one)) if isinstance(one, tuple)
                                              else one for one in default)  # fmt: skip
        else:
            yield f"{field.name}={'…' if default is None else default}", ""


def explain(usage: Usage) -> Text:
    """The first sentence of the docstring of the call's class; nothing where it has none."""
    said = (usage.make.__doc__ or "") if isclass(usage.make) else ""
    if said.startswith(f"{usage.make.__name__}("):
        return NOTHING  # a dataclass without a docstring
    english = " ".join(said.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    return Text(english, translate(english, "call"))


def _lay_out(word: str, does: str) -> Iterator[str]:
    """Word and sentence in two columns of a comment."""
    if not does or len(word) >= WIDE:
        yield f"#   {word}"
        word = ""
    if does:
        yield from wrap(does, 70 + WIDE, f"#   {word:<{WIDE}}", f"#   {'':<{WIDE}}")
