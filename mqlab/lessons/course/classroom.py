"""A class of the course, held with nbgrader itself: made, released, collected, graded.

`teach` makes a course for real students, or adds to one; `grade` collects and grades what they
handed in. `hold_sample` does in a folder of its own what happens over a term, so that one can see
before the term that it works: three sample students fetch, work and submit; their submissions are
collected and graded, feedback is written, the gradebook is exported.

    solved      has the solution in every cell
    untouched   has opened the notebook and written nothing
    misled      has written the first wrong answer that the instructor's page lists, everywhere

Sample students are never put into a real course; see `mqlab.lessons.course.classroom`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin
from traitlets.config.loader import PyFileConfigLoader

from ...kernel import Lang, Text, Words, tr
from ...kernel.text import Said, WordedError, count_columns
from .answering import page_of, read_page
from .arriving import find_warnings
from .formgrader import course_settings
from .grading import ANSWERS
from .judging import explain_weakness, find_sandbox
from .notebooks import STUB, Lab, Notebook, read, read_source, text_of
from .repairing import repair

# ---- A course folder of nbgrader, made from the labs' sources ------------------------
#
#     mqlab-course.json    says that `mqlab class` made this folder, and which of two kinds it is
#     nbgrader_config.py   nbgrader's settings; paths are relative, so the folder can be moved
#     source/ release/     the assignments with and without their solutions
#     submitted/           what students handed in: submitted/ANNA/07-…/07-….ipynb
#     autograded/ feedback/ gradebook.db
#     exchange/            where students of the same machine fetch and submit
#
# A course holds a term's work, so it is never made again: a second `create` adds what is missing.
# Only a *sample* course, with only the sample students in it, is ever deleted; `clear_sample`
# refuses as soon as it finds anything that it did not make.

COURSE = "mqlab"
MARKER = "mqlab-course.json"
REAL, SAMPLE = KINDS = ("course", "sample")

CONFIG = '''\
"""nbgrader's settings for this course; `mqlab class` wrote them once and never changes them."""

from pathlib import Path

here = Path(__file__).parent
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "{course}"
c.CourseDirectory.root = str(here)
c.CourseDirectory.db_url = f"sqlite:///{{here / 'gradebook.db'}}?timeout=60"
# On a machine that the students use too, name a folder that they can reach.
c.Exchange.root = str(here / "exchange")
c.Exchange.cache = str(here / "cache")
# What a student finds in the place of a solution: as in the copies that the labs are built with.
c.ClearSolutions.code_stub = {{"python": "{stub}"}}
# A judge outside asks for the answers, which are run apart: in an empty folder, without this
# course. To run them in a container, put the container's command here (see labs/instructor).
c.Autograde.autograde_preprocessors = [
    "mqlab.lessons.course.grading.ExecuteApart",
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.ExecuteApart.command = []
# Submissions are repaired, and only their text is shown.
from mqlab.lessons.course.formgrader import course_settings  # noqa: E402

c.merge(course_settings(here))
'''
# The sample students are folders, not users of this machine.
SAMPLE_CONFIG = "c.ExchangeCollect.check_owner = False\n"

# What a course consists of; anything else in its folder is not ours.
OURS = {
    MARKER, "nbgrader_config.py", "source", "release", "submitted", "autograded", "feedback",
    "exchange", "cache", "gradebook.db", "gradebook.csv", "beliefs.csv",
    "predictions.csv", "students.zip",
}  # fmt: skip


NOT_OURS = Words(
    "{} is not empty, and `mqlab class` did not make it: nothing was changed; name a new folder"
)


class ClassError(WordedError):
    """A step of a course that cannot be done; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Course:
    """A folder that holds, or will hold, a course."""

    folder: Path

    @property
    def outbound(self) -> Path:
        return self.folder / "exchange" / COURSE / "outbound"

    @property
    def inbound(self) -> Path:
        return self.folder / "exchange" / COURSE / "inbound"

    @property
    def gradebook(self) -> Path:
        return self.folder / "gradebook.csv"

    def released(self, lab: str) -> Path:
        return self.folder / "release" / lab / f"{lab}.ipynb"

    def submitted(self, student: str, lab: str) -> Path:
        return self.folder / "submitted" / student / lab / f"{lab}.ipynb"

    def autograded(self, student: str, lab: str) -> Path:
        return self.folder / "autograded" / student / lab / f"{lab}.ipynb"

    def book(self) -> Gradebook:
        """The gradebook; use it in a `with`."""
        return Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}", COURSE)

    def api(self) -> NbGraderAPI:
        """nbgrader on this course, with the settings in its folder."""
        config = PyFileConfigLoader("nbgrader_config.py", str(self.folder)).load_config()
        config.merge(course_settings(self.folder))  # a course may be older than these
        return NbGraderAPI(config=config)

    def kind(self) -> str | None:
        """One of KINDS; None where `mqlab class` has not made this folder."""
        try:
            kind = json.loads((self.folder / MARKER).read_text("utf-8"))["kind"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return kind if kind in KINDS else None

    def labs(self) -> list[str]:
        """The names of the labs released here, in order."""
        return sorted(path.parent.name for path in self.folder.glob("release/*/*.ipynb"))

    def students(self) -> list[str]:
        """Everybody of whom there is a trace: a folder, a submission, a line in the gradebook."""
        names = {
            path.name
            for part in ("submitted", "autograded", "feedback")
            for path in self.folder.glob(f"{part}/*")
            if path.is_dir()
        }
        names |= {path.name.partition("+")[0] for path in self.inbound.glob("*+*")}
        if (self.folder / "gradebook.db").exists():
            with self.book() as book:
                names |= {student.id for student in book.students}
        return sorted(names)

    def need(self) -> None:
        """ClassError unless this is a course."""
        if self.kind() is None:
            raise ClassError(
                Words("{0} is no course: make one with `mqlab class {0}`")(self.folder)
            )


def create(folder: Path, kind: str) -> Course:
    """Return the course in `folder`, of a `kind` (the sample class or a real one), made where the
    folder is new or empty; nothing is overwritten.

    Raises ClassError where the folder holds something else, or a course of the other kind.
    """
    course = Course(folder.resolve())
    stored = course.kind()
    if stored is None:
        if course.folder.exists() and (not course.folder.is_dir() or any(course.folder.iterdir())):
            raise ClassError(NOT_OURS(course.folder))
        course.folder.mkdir(parents=True, exist_ok=True)
        (course.folder / MARKER).write_text(json.dumps({"kind": kind}) + "\n", "utf-8")
    elif stored != kind:
        what = tr("the sample class") if stored == SAMPLE else tr("a real course")
        raise ClassError(
            Words("{} holds {}: nothing was changed; name another folder")(course.folder, what)
        )
    config = course.folder / "nbgrader_config.py"
    if not config.exists():
        text = CONFIG.format(course=COURSE, stub=STUB) + (SAMPLE_CONFIG if kind == SAMPLE else "")
        config.write_text(text, "utf-8")
    return course


def clear_sample(folder: Path, samples: Sequence[str]) -> None:
    """Delete an older sample course, if there is one and it holds nothing but itself.

    Raises ClassError where the folder is no sample course, or holds other students or files.
    """
    course = Course(folder.resolve())
    if course.kind() != SAMPLE:
        return  # `create` says what is wrong with it, if anything is
    strangers = [student for student in course.students() if student not in samples]
    other_files = sorted(path.name for path in course.folder.iterdir() if path.name not in OURS)
    if strangers or other_files:
        raise ClassError(STRANGERS(course.folder, ", ".join([*strangers, *other_files])))
    shutil.rmtree(course.folder)


def release(course: Course, lab: Lab, api: NbGraderAPI, lang: Lang = "en") -> str:
    """Make the assignment of a lab from its source, in a language, and release it to the students;
    returns a sentence on what was done.

    A lab that is released already stays as the students have it.
    """
    notebook = read_source(lab, lang)
    source = course.folder / "source" / lab.name / f"{lab.name}.ipynb"
    if course.released(lab.name).exists():
        unchanged = read(source).metadata["mqlab"]["source"] == notebook.metadata["mqlab"]["source"]
        return str((BEFORE if unchanged else CHANGED)(lab.name))
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text_of(notebook), encoding="utf-8")
    images = lab.student.parent / "images"
    if images.is_dir():
        shutil.copytree(images, source.parent / "images", dirs_exist_ok=True)
    check(api.generate_assignment(lab.name))
    check(api.release_assignment(lab.name))
    return str(RELEASED(lab.name))


def check(result: dict[str, Any]) -> None:
    """ClassError with nbgrader's own words where a step did not succeed."""
    if not result["success"]:
        said = f"{result.get('log', '')}{result.get('error', '')}"
        raise ClassError(Words("nbgrader says:\n{}")(said))


@contextmanager
def tools() -> Iterator[None]:
    """nbgrader calls `alembic` by its bare name; it is beside this Python."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        with warnings.catch_warnings():
            # SQLAlchemy about nbgrader's own sessions; nothing a course can fix.
            warnings.filterwarnings("ignore", message="Object of type .* not in session")
            yield
    finally:
        os.environ["PATH"] = before


SOLVED, UNTOUCHED, MISLED = STUDENTS = ("solved", "untouched", "misled")
Say = Callable[[str], None]
MOST_WORKERS = 4  # each takes half a gigabyte, and so does the process that it asks


STRANGERS = Words(
    "the sample class in {} contains more than the sample students: {}. Nothing was deleted: take "
    "that out, or name another folder"
)
RELEASED, BEFORE = Words("{}: released"), Words("{}: released before")
CHANGED = Words("{}: released before; the lab has changed since, your students keep what they have")
MISPLACED = Words("not graded: {} (a notebook goes to submitted/STUDENT/LAB/LAB.ipynb)")
EXCESS = Words(
    "{}: {} has {:g} of {:g} points in {}: look at this score in the gradebook, no cell is worth "
    "more than its points"
)
ENDED = tr("the process that graded was ended; run `mqlab class DIR --grade` again")
GRADED, NOTED = Words("{}: graded {}"), Words("{}: {}: {}")
FAILED, UNGRADED = (
    Words("{}: {} could not be graded: {}"),
    Words("{}: {} could not be graded in {}"),
)
UNDESERVED = Words("{}: {} got {:g} of {:g} points in {} instead of {:g}")


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


def teach(labs: Sequence[Lab], folder: Path, say: Say, lang: Lang = "en") -> Course:
    """A course of these labs for real students, in a language; what is there already stays.
    ClassError."""
    course = create(folder, REAL)
    with tools():
        api = course.api()
        for lab in labs:
            say(release(course, lab, api, lang))
    return course


def grade(course: Course, say: Say) -> None:
    """Collect and grade what was handed in since the last time, write feedback, export marks; `say`
    gets a line for each submission and each problem.

    A submission that cannot be run is named, and the others are graded. Raises ClassError where
    there is no course, or where nbgrader refuses a step.
    """
    course.need()
    with tools():
        api = course.api()
        if (weak := explain_weakness(find_sandbox())) and not _has_container(api):
            say(str(Words("note: {}")(weak)))
        for lab in course.labs():
            # (nbgrader names what is handed in STUDENT+LAB+TIME)
            if any(course.inbound.glob(f"*+{lab}+*")):
                collected = api.collect(lab)
                check(collected)
                for warning in find_warnings(collected["log"]):
                    say(f"{lab}: {warning}")
            _grade_all(course, lab, say)
        for path in _misplaced(course):
            say(str(MISPLACED(path)))
        exporter = CsvExportPlugin(to=str(course.gradebook))
        with course.book() as book:
            exporter.export(book)
            for line in _list_excess(book, course.labs()):
                say(line)


def _has_container(api: NbGraderAPI) -> bool:
    """Whether the course names a command for its answers."""
    return bool(api.config.ExecuteApart.get("command"))


def _list_excess(book: Gradebook, labs: Sequence[str]) -> Iterator[str]:
    """Each cell with a score that is more than it can have. Hand grading gives none, so it was
    written into the gradebook."""
    for lab in labs:
        for submission in book.assignment_submissions(lab):
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    if grade.score > grade.max_score:
                        score = grade.score, grade.max_score, grade.name
                        yield str(EXCESS(lab, submission.student.id, *score))


def _to_grade(course: Course, lab: str) -> list[str]:
    """All who have handed in this lab, or handed in another version than the one graded."""
    students = []
    for path in sorted((course.folder / "submitted").glob(f"*/{lab}/{lab}.ipynb")):
        note = _note(course, lab, path.parents[1].name)
        if not note.exists() or note.read_text("utf-8") != _digest(path):
            students.append(path.parents[1].name)
    return students


def _misplaced(course: Course) -> list[Path]:
    """Notebooks among the submissions that no released lab of that name claims."""
    top = course.folder / "submitted"
    claimed = {path for lab in course.labs() for path in top.glob(f"*/{lab}/{lab}.ipynb")}
    return [
        path.relative_to(course.folder)
        for path in sorted(top.rglob("*.ipynb"))
        if path not in claimed and ".ipynb_checkpoints" not in path.parts
    ]


def _grade_all(course: Course, lab: str, say: Say) -> None:
    """Grade the submissions of a lab that are new, and say each report, in the students' sequence.
    Several are graded at a time, in processes that stay: each keeps what it has imported, and the
    verdicts on answers that it has seen before (`mqlab.lessons.course.judging`)."""
    students = _to_grade(course, lab)
    worker_count = min(len(students), os.cpu_count() or 1, MOST_WORKERS)
    if worker_count == 0:
        return
    with ProcessPoolExecutor(worker_count, mp_context=get_context("spawn")) as workers:
        pending_reports = [workers.submit(_grade, course, lab, student) for student in students]
        for student, pending_report in zip(students, pending_reports, strict=True):
            try:
                report = pending_report.result()
            except BrokenProcessPool:
                report = [FAILED(lab, student, ENDED)]
            for line in report:
                say(str(line))


def _grade(course: Course, lab: str, student: str) -> list[Text]:
    """Grade one submission and write its feedback; what there is to say about it."""
    with tools():
        api = course.api()
        path = course.submitted(student, lab)
        submission = _digest(path)
        result = api.autograde(lab, student)
        if not result["success"]:
            return [FAILED(lab, student, _last_error(result))]
        notes = repair(read(path), read(course.released(lab)))
        warnings = find_warnings(str(result.get("log", "")))
        notes += [Text(one) for one in warnings if one.startswith(ANSWERS)]
        _note(course, lab, student).write_text(submission, "utf-8")
        check(api.generate_feedback(lab, student))
    return [GRADED(lab, student), *(NOTED(lab, student, note) for note in notes)]


def _note(course: Course, lab: str, student: str) -> Path:
    """Says which version was graded; nbgrader removes it together with the graded notebook."""
    return course.autograded(student, lab).with_name("submission.sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _last_error(result: dict[str, Any]) -> str:
    """nbgrader's log is long; what went wrong is in our own error, or in its first line."""
    lines = str(result.get("log", "")).splitlines()
    ours = [line.partition("GradingError: ")[2] for line in lines]
    theirs = [line for line in lines if line.startswith("[ERROR]")]
    return next((line for line in [*ours, *theirs] if line), "see nbgrader's log")


# --- a sample class --------------------------------------------------------------------


def hold_sample(labs: Sequence[Lab], folder: Path, say: Say) -> list[Mark]:
    """A course with the sample students, graded; every mark, in the order of the cells.

    An older sample class in `folder` is made again; ClassError where the folder holds more.
    """
    clear_sample(folder, STUDENTS)
    course = create(folder, SAMPLE)
    with tools():
        api = course.api()
        for lab in labs:
            say(release(course, lab, api))
            for student in STUDENTS:
                _submit(course, lab, student)
    grade(course, say)
    return [mark for lab in labs for mark in _marks(course, lab)]


def _submit(course: Course, lab: Lab, student: str) -> None:
    """As `nbgrader submit` leaves it: a folder in the inbox, with the time."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    inbox = course.inbound / f"{student}+{lab.name}+{now}"
    shutil.copytree(course.outbound / lab.name, inbox)
    notebook = fill_in(read(inbox / f"{lab.name}.ipynb"), answers(lab, student))
    (inbox / f"{lab.name}.ipynb").write_text(text_of(notebook), encoding="utf-8")
    (inbox / "timestamp.txt").write_text(now, encoding="utf-8")


def answers(lab: Lab, student: str) -> dict[str, str]:
    """What a sample student writes, by the name of the cell. The right files are not there where
    an answer is graded, so an answer that reads one has its text pasted, as a student would."""
    if student == SOLVED:
        cells = [cell for cell in read_source(lab).cells if utils.is_solution(cell)]
        return {cell.metadata["nbgrader"]["grade_id"]: paste(cell.source) for cell in cells}
    if student == MISLED and page_of(lab).exists():
        wrong = read_page(lab).wrong
        return {one.grade_id: paste(one.code) for one in reversed(wrong)}  # the first wins
    return {}


def paste(source: str) -> str:
    """An answer in which the text of a right file replaces the call that reads it."""
    from ..lab13 import read_right

    return re.sub(r"\bread_right\((\d)\)", lambda call: repr(read_right(int(call[1]))), source)


def fill_in(released: Notebook, written: dict[str, str]) -> Notebook:
    """A copy of the released notebook in which these cells are written."""
    notebook = deepcopy(released)
    for cell in notebook.cells:
        if utils.is_solution(cell):
            grade_id = cell.metadata["nbgrader"]["grade_id"]
            cell.source = written.get(grade_id, cell.source)
    return notebook


# --- the gradebook ---------------------------------------------------------------------


def _marks(course: Course, lab: Lab) -> Iterator[Mark]:
    tests = [c.metadata["nbgrader"] for c in read_source(lab).cells if utils.is_grade(c)]
    with course.book() as book:
        for student in STUDENTS:
            grades = {
                grade.cell.name: grade
                for notebook in book.find_submission(lab.name, student).notebooks
                for grade in notebook.grades
            }
            ran = course.autograded(student, lab.name)
            for cell in tests:
                name, of = cell["grade_id"], float(cell["points"])
                points = float(grades[name].score) if ran.exists() else 0.0
                yield Mark(lab.name, name, student, points, of, ran.exists())


def complaints(marks: Sequence[Mark]) -> list[str]:
    """One line for each mark that is not what that student deserves."""
    lines = []
    for mark in marks:
        deserved = mark.of if mark.student == SOLVED else 0.0
        if not mark.graded:
            lines.append(str(UNGRADED(mark.lab, mark.student, mark.cell)))
        elif mark.points != deserved:
            marked = mark.points, mark.of, mark.cell, deserved
            lines.append(str(UNDESERVED(mark.lab, mark.student, *marked)))
    return lines


def table(marks: Sequence[Mark]) -> str:
    """Student × lab × points, and the sums."""
    labs = list(dict.fromkeys(mark.lab for mark in marks))
    total, head, of = (Said(tr(one, "cell")) for one in ("total", "lab", "of"))
    width = max(map(count_columns, [*labs, total]))
    lines = [f"{head:<{width}}" + "".join(f"{one:>12}" for one in STUDENTS) + f"{of:>7}"]
    for lab in [*labs, ""]:
        mine = [mark for mark in marks if lab in ("", mark.lab)]
        got = partial(_sum, mine)
        cells = "".join(f"{got(student):>12g}" for student in STUDENTS)
        most = sum(mark.of for mark in mine if mark.student == SOLVED)
        lines.append(f"{Said(lab or total):<{width}}{cells}{most:>7g}")
    return "\n".join(lines)


def _sum(marks: Sequence[Mark], student: str) -> float:
    return sum(mark.points for mark in marks if mark.student == student)
