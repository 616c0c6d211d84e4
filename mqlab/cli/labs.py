"""`mqlab labs`: open the notebooks, build them from their sources, check them."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..kernel.text import LANGUAGES, Lang, tr
from ..places import IS_CLONE, LABS, WORK
from ..registry.tables import pad
from .errors import UserError
from .language import add_flag, tell
from .language import find_language as system_language

HELP = "open the labs in JupyterLab; build or check the notebooks"

COPIES = WORK / "my-labs"

#: of `mqlab labs times`, each with its columns on a terminal
HEADS = {
    tr("way", "times"): 7, tr("words", "times"): 7, tr("questions", "times"): 11,
    tr("to write", "times"): 10, tr("minutes", "times"): 9,
}  # fmt: skip
SHORT, WHOLE = tr("short", "times"), tr("whole", "times")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the six actions of `mqlab labs` (open, copy, build, renew, check, times), each a
    subcommand with its options."""
    parser.add_argument("--folder", type=Path, default=LABS, help="folder of the labs")
    parser.add_argument(
        "--copies", type=Path, default=COPIES, help="folder of your copies (default: my-labs)"
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    opening = actions.add_parser("open", help="open JupyterLab on this machine, at the first lab")
    add_flag(opening, "--teacher", help="open labs/ itself: sources, solutions, instructor's pages")
    opening.add_argument(
        "--port",
        type=int,
        default=8888,
        help="port (default: 8888); the next free one if it is in use",
    )
    add_flag(opening, "--no-browser", help="only print the address")
    copying = actions.add_parser(
        "copy", help="make your copies of the labs, for a JupyterLab of your own"
    )
    building = actions.add_parser(
        "build", help="make the student copies and the executed solutions"
    )
    add_flag(building, "--student", help="make the student copies only (quick)")
    add_flag(building, "--force", help="set a copy you worked in aside, make it again")
    renewing = actions.add_parser("renew", help="make a new copy to work in, and keep the old one")
    checking = actions.add_parser(
        "check", help="check that copies are up to date, stubs get no point, solutions get all"
    )
    timing = actions.add_parser(
        "times", help="count words, questions and minutes of the quick and the full route"
    )
    for action in (opening, copying, renewing):
        action.add_argument(
            "--lang",
            choices=LANGUAGES,
            help="en (English) or zh (中文); default: as before, or as LANG says",
        )
    for action in (building, checking, timing):
        action.add_argument("labs", nargs="*", help="numbers or names of labs (default: all)")
    renewing.add_argument("labs", nargs="+", help="numbers or names of labs")


def find_language(args: argparse.Namespace) -> Lang:
    """The language that was asked for, else that of the copies that are there, else the
    system's."""
    from ..lessons.course import package

    if lang := args.lang or package.find_language(args.copies):
        return "zh" if lang == "zh" else "en"
    return system_language()


def run(args: argparse.Namespace) -> int:
    """Run an action on the folder of the labs. UserError where it has no labs, lacks the sources
    that the action needs, or belongs to an installed mqlab and would be changed."""
    folder = args.folder.resolve()
    if not any(folder.glob("[0-9][0-9]-*.ipynb")) and not (folder / "source").is_dir():
        raise UserError("no labs in {}: name the folder of labs with --folder", folder)
    if folder == LABS.resolve() and not IS_CLONE and _needs_clone(args):
        raise UserError(
            "{} belongs to an installed mqlab and is not changed: do this in a clone", folder
        )
    if args.action in ("build", "check", "times") and not (folder / "source").is_dir():
        raise UserError("no lab sources in {}: only a clone has them", folder)
    actions = {
        "open": _open, "copy": _copy, "build": _build, "check": _check, "renew": _renew,
        "times": _times,
    }  # fmt: skip
    return actions[args.action](folder, args)


def _needs_clone(args: argparse.Namespace) -> bool:
    """Whether the command would write into the folder of the labs itself."""
    return args.action in ("build", "check") or (args.action == "open" and args.teacher)


def _build(folder: Path, args: argparse.Namespace) -> int:
    from mqlab.lessons.course import notebooks

    for lab in notebooks.labs_in(folder, args.labs):
        notebooks.build(lab, print, student_only=args.student, force=args.force)
    if folder == LABS.resolve():
        from mqlab.lessons.misconceptions import PAGE, write_page

        write_page(folder / PAGE)
    return 0


def _check(folder: Path, args: argparse.Namespace) -> int:
    from mqlab.lessons.course import notebook_checks, notebooks

    wrong = []
    labs = notebooks.labs_in(folder, args.labs)
    for lab in labs:
        wrong += notebook_checks.complaints(lab)
    for line in wrong:
        print(line)
    tell("checked {} labs; found {} mistakes", len(labs), len(wrong))
    return 1 if wrong else 0


def _times(folder: Path, args: argparse.Namespace) -> int:
    from mqlab.lessons.course import notebooks, ways

    print(" " * 29 + "".join(pad(str(head), w, head.en != "way") for head, w in HEADS.items()))
    for lab in notebooks.labs_in(folder, args.labs):
        cells = notebooks.read_source(lab).cells
        for way, shown in ((SHORT, ways.short_way(cells)), (WHOLE, cells)):
            it = ways.measure(shown)
            counts = f"{it.words:7}{it.questions:11}{it.to_write:10}{it.minutes:9}"
            print(f"{lab.name:29}{pad(str(way), 7)}{counts}")
    return 0


def _renew(folder: Path, args: argparse.Namespace) -> int:
    from ..lessons.course import notebooks, package

    for name in args.labs:
        if not any(path.name.startswith(name) for path in notebooks.notebooks_in(folder)):
            raise UserError("no lab in {} begins with {}", folder, name)
    package.renew(folder, args.copies.resolve(), args.labs, print, find_language(args))
    return 0


def _copy(folder: Path, args: argparse.Namespace) -> int:
    from ..lessons.course import package

    where = args.copies.resolve()
    package.lay_out(folder, where, print, find_language(args))
    tell("your copies of the labs are in {}", where)
    return 0


def _open(folder: Path, args: argparse.Namespace) -> int:
    from ..lessons.course import package
    from .lab_server import open_lab

    if (folder / "source").is_dir() and (IS_CLONE or folder != LABS.resolve()):
        # The committed copies are used as they are; only what a source made stale is built.
        _build(folder, argparse.Namespace(labs=[], student=True, force=False))
    if args.teacher:
        if (lang := find_language(args)) != "en":
            package.lay_out(folder, folder / lang, print, lang)
        return open_lab(folder, args.port, browser=not args.no_browser)
    _copy(folder, args)
    return open_lab(args.copies.resolve(), args.port, browser=not args.no_browser)
