"""`mqlab labs`: open the notebooks, build them from their sources, check them."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import UserError

HELP = "open the labs in JupyterLab; build or check the notebooks"

FOLDER = Path(__file__).parents[2] / "labs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the labs are")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    opening = actions.add_parser("open", help="JupyterLab on this machine, at the first lab")
    opening.add_argument("--port", type=int, default=8888, help="or the next free one (8888)")
    opening.add_argument("--no-browser", action="store_true", help="only print the address")
    building = actions.add_parser("build", help="student copies and executed solutions")
    building.add_argument("--student", action="store_true", help="student copies only; quick")
    building.add_argument("--force", action="store_true", help="also over a copy you worked in")
    checking = actions.add_parser("check", help="fresh copies, wrong stubs, right solutions")
    for action in (building, checking):
        action.add_argument("labs", nargs="*", help="numbers or names; all without any")


def run(args: argparse.Namespace) -> int:
    folder = args.folder.resolve()
    if not (folder / "source").is_dir():
        raise UserError(f"no labs in {folder}: clone the project, then run this in its folder")
    return {"open": _open, "build": _build, "check": _check}[args.action](folder, args)


def _build(folder: Path, args: argparse.Namespace) -> int:
    from mqlab.lessons import notebooks

    try:
        for lab in notebooks.labs_in(folder, args.labs):
            notebooks.build(lab, print, student_only=args.student, force=args.force)
    except notebooks.LabError as error:
        raise UserError(str(error)) from error
    return 0


def _check(folder: Path, args: argparse.Namespace) -> int:
    from mqlab.lessons import notebook_checks, notebooks

    wrong = []
    try:
        labs = notebooks.labs_in(folder, args.labs)
        for lab in labs:
            wrong += notebook_checks.complaints(lab)
    except notebooks.LabError as error:
        raise UserError(str(error)) from error
    for line in wrong:
        print(line)
    print(f"{len(labs)} labs checked, {len(wrong)} complaints")
    return 1 if wrong else 0


def _open(folder: Path, args: argparse.Namespace) -> int:
    from .lab_server import open_lab

    # The committed copies are used as they are; only what a changed source made stale is built.
    _build(folder, argparse.Namespace(labs=[], student=True, force=False))
    return open_lab(folder, args.port, browser=not args.no_browser)
