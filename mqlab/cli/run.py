"""`mqlab run FILE…`: scenarios against their expected narration; a new one is narrated."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

from ..kernel import escape_unseen
from ..kernel.text import NOTHING, Lang, Words, say_cause, shorten, tr
from ..places import SCENARIOS
from ..registry import SYSTEMS
from ..registry.tables import wrap
from ..scenario import Golden, load, rewrite
from ..scenario.language import ScenarioError
from .errors import UserError
from .language import add_flag, add_language, tell

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
    add_flag(parser, "--rewrite", help="write the narration into the file")
    parser.add_argument("--print", action="store_true", dest="show", help="print the narration")
    add_flag(parser, "--explain", help="print the narration with the reason for each step")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    """Run scenarios and compare each with the narration in its file, or print the narration, or
    rewrite it; of a single one that is as expected, print its story too. Exit code 0: every file
    equal, new or rewritten, or only printed; 1: some differ, or contain a line whose message or
    event never came."""
    counts = Counter[str]()
    has_idle_line = False
    paths = list(scenario_files(args.files))
    for path in paths:
        golden = open_scenario(path)  # the scenario's execution, beside the narration in its file
        if len(paths) == 1 and golden.equal and not (args.show or args.explain or args.rewrite):
            _print_story(golden, args.lang)
        if args.show or args.explain:
            _print_narration(golden, args.lang, args.explain)
        else:
            counts[_print_golden(golden, args)] += 1
        for sentence in golden.done.idle:  # one for each line that waited in vain
            has_idle_line = True
            print(f"{path}: {sentence}", file=sys.stderr)
    if not (args.show or args.explain):
        new = NEW(n=counts["new"]) if counts["new"] else NOTHING
        tell("{} of {} scenarios as expected{}", counts["equal"], len(paths), new)
    return 1 if counts["DIFFERENT"] or has_idle_line else 0


def _print_story(golden: Golden, lang: Lang) -> None:
    """What happened, for readers who know no protocol."""
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
            print("\n".join(wrap(why, 96, " " * 8, " " * 8)))
    if waits := golden.done.waits.of(lang):
        print(escape_unseen(waits))


def _print_golden(golden: Golden, args: argparse.Namespace) -> str:
    """Compare one scenario's execution with the narration in its file (both are in `golden`), or
    rewrite the file, and print the result. Returns "equal" (also when just rewritten), "new" (no
    narration yet) or "DIFFERENT"."""
    path = golden.path
    if args.rewrite:
        if not golden.equal:
            rewrite(golden)
            tell("rewritten  {}", path)
        return "equal"
    # `new`: the file has no narration; without facts there is none to keep, and it counts as equal
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
    """The path of a scenario: a file as named, or one of mqlab's own, by its path below
    datasets/scenarios, as kafka/torn-read. UserError where there is neither, with the most similar
    name, or names, if any is similar."""
    for path in (Path(name), SCENARIOS / f"{name}.scn"):
        if path.is_file():
            return path
    scenarios = sorted(SCENARIOS.rglob("*.scn"))
    stems = {p.relative_to(SCENARIOS).with_suffix("").as_posix(): p.stem for p in scenarios}
    wanted = name.removesuffix(".scn")
    # A similar name with its folder; else all that have the most similar name, in any folder.
    similar = get_close_matches(wanted, stems, 1) or [
        scenario
        for nearest in get_close_matches(Path(wanted).name, [*stems.values()], 1)
        for scenario, stem in stems.items()
        if stem == nearest
    ]
    hint = NEAR(names=" / ".join(similar)) if similar else NOTHING
    raise UserError("no file {}: give {}{}", shorten(name, 100), NAMED, hint)


def open_scenario(path: Path) -> Golden:
    try:
        return load(path, SYSTEMS)
    except UnicodeDecodeError as error:
        raise UserError("{} is not text (UTF-8): give a .scn file", path) from error
    except ScenarioError as error:
        raise UserError(f"{path}: {error}") from error
    except OSError as error:
        raise UserError("cannot read {}: {}", path, say_cause(error)) from error
