"""A class of the course, held with nbgrader itself: released, answered, collected, graded.

What an instructor does by hand over a term is done here in a scratch folder, so that one can
see before the term that it works: the assignments are generated from the labs' sources and
released through an exchange; three sample students fetch, work and submit; the submissions
are collected and autograded, feedback is written, the gradebook exported as CSV.

    solved      has the solution in every cell
    untouched   has opened the notebook and written nothing
    misled      has written the first wrong answer that the instructor's page lists, everywhere

The folder is an ordinary course of nbgrader afterwards: `nbgrader formgrader` opens it.
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin
from traitlets.config import Config

from .instructor import page_of, read_page
from .notebooks import CELL_TIMEOUT_S, Lab, Notebook, read, read_source, text_of

COURSE = "mqlab"
SOLVED, UNTOUCHED, MISLED = STUDENTS = ("solved", "untouched", "misled")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Mark:
    """What one student got for one test cell. `graded` is False where nbgrader could not run
    the notebook; that student has no point there, and the class goes on."""

    lab: str
    cell: str
    student: str
    points: float
    of: float
    graded: bool = True


class ClassError(Exception):
    """nbgrader refused a step; the message is its log."""


@dataclass(frozen=True, slots=True)
class Course:
    """A folder that holds an nbgrader course and, beside it, its exchange."""

    folder: Path

    @property
    def exchange(self) -> Path:
        return self.folder / "exchange"

    @property
    def gradebook(self) -> Path:
        return self.folder / "gradebook.csv"

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder / 'gradebook.db'}"

    def settings(self) -> dict[str, dict[str, Any]]:
        return {
            "CourseDirectory": {
                "course_id": COURSE,
                "root": str(self.folder),
                "db_url": self.database,
            },
            "Exchange": {"root": str(self.exchange), "cache": str(self.folder / "cache")},
            # The sample students are folders, not users of this machine.
            "ExchangeCollect": {"check_owner": False},
            "ExecutePreprocessor": {"timeout": 4 * CELL_TIMEOUT_S},
        }

    def create(self) -> NbGraderAPI:
        """An empty course; ClassError where the folder already holds something else."""
        if self.folder.exists() and any(self.folder.iterdir()):
            if not (self.folder / "nbgrader_config.py").exists():
                raise ClassError(f"{self.folder} is not empty and no course: name another folder")
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = ["c = get_config()  # noqa: F821"]
        for name, values in self.settings().items():
            lines += [f"c.{name}.{key} = {value!r}" for key, value in values.items()]
        (self.folder / "nbgrader_config.py").write_text("\n".join(lines) + "\n", "utf-8")
        return NbGraderAPI(config=Config(self.settings()))


def hold(labs: Sequence[Lab], folder: Path, say: Say) -> list[Mark]:
    """Hold the class for these labs in `folder`; every mark, in the order of the cells."""
    with _tools():
        return _held(labs, Course(folder.resolve()), say)


def _held(labs: Sequence[Lab], course: Course, say: Say) -> list[Mark]:
    api = course.create()
    marks: list[Mark] = []
    for lab in labs:
        _release(course, api, lab, say)
        for student in STUDENTS:
            _submit(course, lab, student)
        done(api.collect(lab.name))
        for student in STUDENTS:
            say(f"{lab.name}: grading {student}")
            result = api.autograde(lab.name, student)
            if not result["success"]:
                say(f"{lab.name}: {student} could not be graded: {_last_error(result)}")
        done(api.generate_feedback(lab.name))
        marks += _marks(course, lab)
    exporter = CsvExportPlugin(to=str(course.gradebook))
    with Gradebook(course.database, COURSE) as book:
        exporter.export(book)
    return marks


@contextmanager
def _tools() -> Iterator[None]:
    """nbgrader calls `alembic` by its bare name; it lies beside this Python."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        with warnings.catch_warnings():
            # SQLAlchemy about nbgrader's own sessions; nothing a course can mend.
            warnings.filterwarnings("ignore", message="Object of type .* not in session")
            yield
    finally:
        os.environ["PATH"] = before


def done(result: dict[str, Any]) -> None:
    """ClassError with nbgrader's own words where a step did not succeed."""
    if not result["success"]:
        raise ClassError(f"nbgrader says:\n{result.get('log', '')}{result.get('error', '')}")


def _last_error(result: dict[str, Any]) -> str:
    """nbgrader's log is long; what went wrong stands in its first line of that kind."""
    lines = str(result.get("log", "")).splitlines()
    return next((line for line in lines if line.startswith("[ERROR]")), "see nbgrader's log")


# --- release ---------------------------------------------------------------------------


def _release(course: Course, api: NbGraderAPI, lab: Lab, say: Say) -> None:
    source = course.folder / "source" / lab.name / f"{lab.name}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(text_of(read_source(lab)), encoding="utf-8")
    images = lab.student.parent / "images"
    if images.is_dir():
        shutil.copytree(images, source.parent / "images")
    done(api.generate_assignment(lab.name))
    done(api.release_assignment(lab.name))
    released = read(_released(course, lab))
    if _sources(released) != _sources(read(lab.student)):
        raise ClassError(
            f"{lab.name}: nbgrader releases something else than the student copy; run "
            f"`mqlab labs build {lab.name[:2]}`"
        )
    say(f"{lab.name}: released")


def _released(course: Course, lab: Lab) -> Path:
    return course.exchange / COURSE / "outbound" / lab.name / f"{lab.name}.ipynb"


def _sources(notebook: Notebook) -> list[str]:
    return [cell.source for cell in notebook.cells]


# --- the students ----------------------------------------------------------------------


def _submit(course: Course, lab: Lab, student: str) -> None:
    """As `nbgrader submit` leaves it: a folder in the inbox, with the time."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    inbox = course.exchange / COURSE / "inbound" / f"{student}+{lab.name}+{now}"
    shutil.copytree(_released(course, lab).parent, inbox)
    notebook = answered(read(inbox / f"{lab.name}.ipynb"), answers(lab, student))
    (inbox / f"{lab.name}.ipynb").write_text(text_of(notebook), encoding="utf-8")
    (inbox / "timestamp.txt").write_text(now, encoding="utf-8")


def answers(lab: Lab, student: str) -> dict[str, str]:
    """What a sample student writes, by the name of the cell."""
    if student == SOLVED:
        cells = [cell for cell in read_source(lab).cells if utils.is_solution(cell)]
        return {cell.metadata["nbgrader"]["grade_id"]: cell.source for cell in cells}
    if student == MISLED and page_of(lab).exists():
        wrong = read_page(lab).wrong
        return {answer.grade_id: answer.code for answer in reversed(wrong)}  # the first wins
    return {}


def answered(released: Notebook, written: dict[str, str]) -> Notebook:
    """A copy of the released notebook in which somebody has written these cells."""
    notebook = deepcopy(released)
    for cell in notebook.cells:
        if utils.is_solution(cell):
            grade_id = cell.metadata["nbgrader"]["grade_id"]
            cell.source = written.get(grade_id, cell.source)
    return notebook


# --- the gradebook ---------------------------------------------------------------------


def _marks(course: Course, lab: Lab) -> Iterator[Mark]:
    tests = [c.metadata["nbgrader"] for c in read_source(lab).cells if utils.is_grade(c)]
    with Gradebook(course.database, COURSE) as book:
        for student in STUDENTS:
            grades = {
                grade.cell.name: grade
                for notebook in book.find_submission(lab.name, student).notebooks
                for grade in notebook.grades
            }
            ran = course.folder / "autograded" / student / lab.name
            for cell in tests:
                name, of = cell["grade_id"], float(cell["points"])
                points = float(grades[name].score) if ran.exists() else 0.0
                yield Mark(lab.name, name, student, points, of, ran.exists())


def complaints(marks: Sequence[Mark]) -> list[str]:
    """One line for each mark that is not what that student deserves."""
    found = []
    for mark in marks:
        deserved = mark.of if mark.student == SOLVED else 0.0
        if not mark.graded:
            found.append(f"{mark.lab}: {mark.student} could not be graded in {mark.cell}")
        elif mark.points != deserved:
            found.append(
                f"{mark.lab}: {mark.student} got {mark.points:g} of {mark.of:g} points in "
                f"{mark.cell} instead of {deserved:g}"
            )
    return found


def table(marks: Sequence[Mark]) -> str:
    """Student × lab × points, and the sums."""
    labs = list(dict.fromkeys(mark.lab for mark in marks))
    width = max(len(lab) for lab in [*labs, "total"])
    lines = [f"{'lab':<{width}}" + "".join(f"{student:>12}" for student in STUDENTS) + f"{'of':>7}"]
    for lab in [*labs, ""]:
        mine = [mark for mark in marks if lab in ("", mark.lab)]
        got = partial(_sum, mine)
        cells = "".join(f"{got(student):>12g}" for student in STUDENTS)
        most = sum(mark.of for mark in mine if mark.student == SOLVED)
        lines.append(f"{lab or 'total':<{width}}{cells}{most:>7g}")
    return "\n".join(lines)


def _sum(marks: Sequence[Mark], student: str) -> float:
    return sum(mark.points for mark in marks if mark.student == student)
