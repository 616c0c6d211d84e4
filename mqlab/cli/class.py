"""`mqlab class`: a course of the labs in a scratch folder, with a sample class, graded."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import UserError
from .labs import FOLDER

HELP = "an nbgrader course of the labs: a sample class graded, the gradebook exported"
COURSE = FOLDER.parent / ".cache" / "class"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, default=COURSE, metavar="DIR",
        help="where the course goes; an older course there is made anew",
    )  # fmt: skip
    parser.add_argument(
        "--lab", action="append", default=[], metavar="NN", help="only this lab; may be repeated"
    )


def run(args: argparse.Namespace) -> int:
    """0 where the solutions get every point and nobody else gets one."""
    from mqlab.lessons import classroom, notebooks

    try:
        labs = notebooks.labs_in(FOLDER, args.lab)
        marks = classroom.hold(labs, args.folder, print)
    except (notebooks.LabError, classroom.ClassError) as error:
        raise UserError(str(error)) from error
    wrong = classroom.complaints(marks)
    print("\n" + classroom.table(marks) + "\n")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    course = classroom.Course(args.folder.resolve())
    print(f"gradebook: {course.gradebook}\nfeedback:  {course.folder / 'feedback'}")
    print(f"open it:   cd {course.folder} && nbgrader formgrader")
    return 1 if wrong else 0
