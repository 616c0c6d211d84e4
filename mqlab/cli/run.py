"""`mqlab run FILE…`: scenarios against their expected narration; a new one is told."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from textwrap import fill, indent

from ..kernel import escape_unseen
from ..kernel.text import NOTHING, Lang, Words, shorten, tr
from ..places import SCENARIOS
from ..registry import SYSTEMS
from ..scenario import Golden, load, rewrite
from ..scenario.language import ScenarioError
from .errors import UserError
from .language import add_language, tell

HELP = "run scenarios (.scn) and compare them with their expected narration"


EPILOG = (
    "How to write a scenario: datasets/scenarios/README.md. To begin one: mqlab scenario new kafka."
)
NAMED = tr("a .scn file, or the name of a scenario, such as kafka/torn-read")
NEAR = Words("; did you mean {names}?")
NEW = Words(", {n} new")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a .scn file, the name of a scenario, such as kafka/torn-read, or a folder of them",
    )
    parser.add_argument("--rewrite", action="store_true", help="write the narration into the file")
    parser.add_argument("--print", action="store_true", dest="show", help="print the narration")
    parser.add_argument(
        "--explain", action="store_true", help="print the narration with the reason for each step"
    )
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    """0: every file equal, new or rewritten; 1: some differ, or hold a line that waits in vain."""
    counts = Counter[str]()
    vain = False
    paths = list(scenario_files(args.files))
    for path in paths:
        golden = open_scenario(path)
        if len(paths) == 1 and golden.equal and not (args.show or args.explain or args.rewrite):
            _print_story(golden, args.lang)
        if args.show or args.explain:
            _print_narration(golden, args.lang, args.explain)
        else:
            counts[_print_golden(golden, args)] += 1
        for sentence in golden.done.idle:
            vain = True
            print(f"{path}: {sentence}", file=sys.stderr)
    if not (args.show or args.explain):
        new = NEW(n=counts["new"]) if counts["new"] else NOTHING
        tell("{} of {} scenarios as expected{}", counts["equal"], len(paths), new)
    return 1 if counts["DIFFERENT"] or vain else 0


def _print_story(golden: Golden, lang: Lang) -> None:
    """What happened, for somebody who knows no protocol."""
    told = [fact.story.of(lang) for fact in golden.run.facts if fact.story.en]
    if told:
        print(escape_unseen(golden.script.title.of(lang)))
        print(*(escape_unseen(f"  {number:>2}  {one}") for number, one in enumerate(told, 1)), "",
              sep="\n")  # fmt: skip


def _print_narration(golden: Golden, lang: Lang, explain: bool = False) -> None:
    """What happened, perhaps with the reasons, and what still waits."""
    lines = golden.run.narrate(lang).splitlines()
    for line, fact in zip(lines, golden.run.facts, strict=True):
        print(line)
        if explain and (why := fact.why.of(lang)):
            print(indent(fill(why, 88), " " * 8))
    if waits := golden.done.waits.of(lang):
        print(escape_unseen(waits))


def _print_golden(golden: Golden, args: argparse.Namespace) -> str:
    """What became of one file: equal (also when it has just been rewritten), new, DIFFERENT."""
    path = golden.path
    if args.rewrite:
        if not golden.equal:
            rewrite(golden)
            tell("rewritten  {}", path)
        return "equal"
    if golden.new and golden.run.facts:
        _print_narration(golden, args.lang)
        tell(
            "new        {}\nnext, to keep this narration: mqlab run --rewrite {}",
            path,
            quote(str(path)),
        )
        return "new"
    if golden.equal:
        tell("as expected  {}", path)
        return "equal"
    tell("different    {}", path)
    print(*map(escape_unseen, golden.diff().splitlines()), sep="\n")
    tell("next, if the change is meant: mqlab run --rewrite {}", quote(str(path)))
    return "DIFFERENT"


def scenario_files(names: list[str]) -> list[Path]:
    """Files as named, folders searched; UserError where there is nothing."""
    paths: list[Path] = []
    for name in names:
        path = Path(name)
        inside = sorted(file for file in path.rglob("*.scn") if file.is_file())
        paths += inside if path.is_dir() else [find_file(name)]
    if not paths:
        raise UserError("no .scn file in {}", ", ".join(names))
    return paths


def find_file(name: str) -> Path:
    """A file as named, or the story of this name among those that mqlab brings. UserError, with
    the names that are nearest, where there is neither."""
    for path in (Path(name), SCENARIOS / f"{name}.scn"):
        if path.is_file():
            return path
    stories = sorted(SCENARIOS.rglob("*.scn"))
    names = {p.relative_to(SCENARIOS).with_suffix("").as_posix(): p.stem for p in stories}
    wanted = name.removesuffix(".scn")
    near = get_close_matches(wanted, names, 1) or [
        whole
        for stem in get_close_matches(Path(wanted).name, [*names.values()], 1)
        for whole, short in names.items()
        if short == stem
    ]
    hint = NEAR(names=" / ".join(near)) if near else NOTHING
    raise UserError("no file {}: give {}{}", shorten(name, 100), NAMED, hint)


def open_scenario(path: Path) -> Golden:
    try:
        return load(path, SYSTEMS)
    except UnicodeDecodeError as error:
        raise UserError("{} is not text (UTF-8): give a .scn file", path) from error
    except ScenarioError as error:
        raise UserError(f"{path}: {error}") from error
    except OSError as error:
        raise UserError("cannot read {}: {}", path, error.strerror) from error
