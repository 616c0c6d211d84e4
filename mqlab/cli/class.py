"""`mqlab class`: a course of the labs with nbgrader: made, graded, its wrong beliefs counted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..kernel.text import Lang, tr
from ..places import LABS, WORK
from .language import add_flag, add_language, tell

if TYPE_CHECKING:
    from ..lessons.course.classroom import Course

HELP = "make an nbgrader course of the labs, grade it, report on it; or make a sample class"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mqlab class`: the course's folder and labs, and what to do with a
    course that is there."""
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR",
        help="folder of the course (default: course; for the sample class: course-sample)",
    )  # fmt: skip
    parser.add_argument(
        "--lab", action="append", default=[], metavar="NN",
        help="release only this lab; may be given several times, and again later for the next lab",
    )  # fmt: skip
    actions = parser.add_mutually_exclusive_group()
    add_flag(actions, "--grade", help="collect, grade what is new, export the marks")
    add_flag(actions, "--report", help="report how many students gave which wrong answer")
    add_flag(actions, "--open", help="open nbgrader's formgrader, on this machine only")
    add_flag(
        actions,
        "--sample",
        help="make a graded course with three sample students, to try everything before the term",
    )
    add_language(parser)
    parser.add_argument(
        "--port", type=int, default=8888, help="port for --open; the next free one if it is in use"
    )
    add_flag(parser, "--no-browser", help="for --open: only print the address")


def run(args: argparse.Namespace) -> int:
    """Make the course in the folder, or do what --sample, --grade, --report or --open says. Returns
    0; for --sample 1 where a solution does not get every point, or another answer gets any.
    UserError where there is no course."""

    from ..lessons.course import classroom as course

    folder = args.folder or WORK / ("course-sample" if args.sample else "course")
    if args.sample:
        return _sample(folder, args.lab)
    if args.grade or args.report or args.open:
        existing = course.Course(folder.resolve())
        existing.need()  # ClassError where it is no course
        if args.open:
            return _open(existing, args)
        return _grade(existing) if args.grade else _report(existing)
    return _teach(folder, args.lab, args.lang)


def _teach(folder: Path, names: list[str], lang: Lang) -> int:
    from mqlab.lessons.course import classroom, notebooks, package

    course = classroom.teach(notebooks.labs_in(LABS, names), folder, print, lang)
    zipped = package.write_package(course)
    here = course.folder
    tell("\nfor students:  {}   unpacked, `make lab` opens the labs", zipped)
    tell("handed in:     put it at {}/STUDENT/LAB/LAB.ipynb", here / "submitted")
    tell("grade:         mqlab class {} --grade      (first read labs/instructor/README.md)", here)
    tell("see:           mqlab class {} --open       and --report", here)
    return 0


def _grade(course: Course) -> int:
    from mqlab.lessons.course import classroom

    classroom.grade(course, print)
    tell("marks:     {}\nfeedback:  {}", course.gradebook, course.folder / "feedback")
    return 0


def _report(course: Course) -> int:
    """Print how many students gave which wrong answer in a lab and which wrong prediction before
    they saw the trace, and write both by student as CSV files in the course's folder."""
    from mqlab.lessons.course import beliefs, notebooks, predictions

    answers = beliefs.answers_in(course)
    beliefs_csv = course.folder / "beliefs.csv"
    beliefs.write_csv(answers, beliefs_csv)
    # What a wrong option shows that a student believes, from the instructor's pages.
    known = predictions.read_beliefs(notebooks.labs_in(LABS))
    predicted = predictions.find_predictions(course, known)
    predictions_csv = course.folder / "predictions.csv"
    predictions.write_csv(predicted, predictions_csv)
    print(f"{beliefs.table(answers)}\n")
    drawn = predictions.draw_histogram(predicted) or tr("nothing is predicted yet")
    tell("before they saw it:\n{}", drawn)
    tell("\nby student: {}, {}", beliefs_csv, predictions_csv)
    return 0


def _sample(folder: Path, names: list[str]) -> int:
    from mqlab.lessons.course import classroom, notebooks

    marks = classroom.hold_sample(notebooks.labs_in(LABS, names), folder, print)
    wrong = classroom.complaints(marks)
    print("\n" + classroom.table(marks) + "\n")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    here = folder.resolve()
    tell("marks:     {}\nfeedback:  {}", here / "gradebook.csv", here / "feedback")
    tell("see:       mqlab class {} --open       and --report", here)
    return 1 if wrong else 0


def _open(course: Course, args: argparse.Namespace) -> int:
    from .lab_server import open_formgrader

    return open_formgrader(course.folder, args.port, browser=not args.no_browser)
