"""A course folder of nbgrader, made from the labs' sources.

    mqlab-course.json    says that `mqlab class` made this folder, and which of two kinds it is
    nbgrader_config.py   nbgrader's settings; paths are relative, so the folder can be moved
    source/ release/     the assignments with and without their solutions
    submitted/           what students handed in: submitted/ANNA/07-…/07-….ipynb
    autograded/ feedback/ gradebook.db
    exchange/            where students of the same machine fetch and submit

A course holds a term's work, so it is never made again: a second `create` adds what is missing.
Only a *sample* course, with nobody in it but the sample students, is ever deleted; `clear_sample`
refuses as soon as it finds anything that it did not make.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from traitlets.config.loader import PyFileConfigLoader

from ...kernel import Lang
from .notebooks import STUB, Lab, read, read_source, text_of
from .showing import course_settings

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
# Submissions are mended, and only their text is shown.
from mqlab.lessons.course.showing import course_settings  # noqa: E402

c.merge(course_settings(here))
'''
# The sample students are folders, not users of this machine.
SAMPLE_CONFIG = "c.ExchangeCollect.check_owner = False\n"

# What a course consists of; anything else in its folder is somebody's own.
OURS = {
    MARKER, "nbgrader_config.py", "source", "release", "submitted", "autograded", "feedback",
    "exchange", "cache", "gradebook.db", "gradebook.csv", "beliefs.csv",
    "predictions.csv", "students.zip",
}  # fmt: skip


class ClassError(Exception):
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
        """nbgrader on this course, with the settings that stand in its folder."""
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
                f"{self.folder} is no course: make one with `mqlab class {self.folder}`"
            )


def create(folder: Path, kind: str) -> Course:
    """The course in `folder`, made where the folder is new or empty; nothing is overwritten.

    Raises ClassError where the folder holds something else, or a course of the other kind.
    """
    course = Course(folder.resolve())
    stored = course.kind()
    if stored is None:
        if course.folder.exists() and (not course.folder.is_dir() or any(course.folder.iterdir())):
            raise ClassError(
                f"{course.folder} is not empty, and `mqlab class` did not make it: nothing was "
                "changed; name a new folder"
            )
        course.folder.mkdir(parents=True, exist_ok=True)
        (course.folder / MARKER).write_text(json.dumps({"kind": kind}) + "\n", "utf-8")
    elif stored != kind:
        raise ClassError(
            f"{course.folder} holds {'the sample class' if stored == SAMPLE else 'a real course'}: "
            "nothing was changed; name another folder"
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
    files = sorted(path.name for path in course.folder.iterdir() if path.name not in OURS)
    if strangers or files:
        what = [f"work of {', '.join(strangers)}"] if strangers else []
        what += [f"{', '.join(files)}"] if files else []
        raise ClassError(
            f"the sample class in {course.folder} holds more than the sample students: "
            f"{'; '.join(what)}. Nothing was deleted: take that out, or name another folder"
        )
    shutil.rmtree(course.folder)


def release(course: Course, lab: Lab, api: NbGraderAPI, lang: Lang = "en") -> str:
    """Make the assignment of a lab from the lab's source, in a language, and release it; what was
    done, in words.

    A lab that is released already stays as the students have it.
    """
    notebook = read_source(lab, lang)
    source = course.folder / "source" / lab.name / f"{lab.name}.ipynb"
    if course.released(lab.name).exists():
        same = read(source).metadata["mqlab"]["source"] == notebook.metadata["mqlab"]["source"]
        more = "" if same else "; the lab has changed since, your students keep what they have"
        return f"{lab.name}: released before{more}"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text_of(notebook), encoding="utf-8")
    images = lab.student.parent / "images"
    if images.is_dir():
        shutil.copytree(images, source.parent / "images", dirs_exist_ok=True)
    check(api.generate_assignment(lab.name))
    check(api.release_assignment(lab.name))
    return f"{lab.name}: released"


def check(result: dict[str, Any]) -> None:
    """ClassError with nbgrader's own words where a step did not succeed."""
    if not result["success"]:
        raise ClassError(f"nbgrader says:\n{result.get('log', '')}{result.get('error', '')}")


@contextmanager
def tools() -> Iterator[None]:
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
