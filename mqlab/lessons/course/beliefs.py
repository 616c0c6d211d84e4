"""What a class believes: how many students gave which wrong answer, question by question.

A check reports the belief behind a wrong answer. nbgrader keeps that report in the graded
notebooks; here that is counted, so that a teacher sees what to say in the next hour.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from nbgrader import utils

from ...kernel import LANGUAGES, Words, tr
from ..misconceptions import label_named
from ..parsons import NOTHING_MOVED
from ..verdict import COLON, HEADS, NOT_WRITTEN
from .classroom import Course
from .notebooks import STUB, Notebook, read

RIGHT = ""
NOTHING = "nothing is written yet"
# How a verdict is printed: `Verdict.sentence`, and what checks say of a stub.
PREFIX = re.compile("|".join(f"{HEADS[False].of(lang)}{COLON.of(lang)}" for lang in LANGUAGES))
BELIEF = re.compile(r" \(The belief behind it: (.+)\.\)$|（背后的想法：(.+)。）$")
STUBS = tuple(
    re.split("[:：]", text.of(lang))[0]
    for text in (NOT_WRITTEN, NOTHING_MOVED) for lang in LANGUAGES
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What one student got in one graded cell. `said`: what the check printed, in full; `belief`:
    the belief it named, or what it printed where it named none; RIGHT where all points are
    given."""

    lab: str
    cell: str
    student: str
    points: float
    of: float
    belief: str
    said: str


def answers_in(course: Course) -> list[Answer]:
    """Every graded cell of every graded notebook, by lab, cell and student; ClassError."""
    course.need()
    return [
        answer
        for lab in course.labs()
        for path in sorted(course.folder.glob(f"autograded/*/{lab}/{lab}.ipynb"))
        for answer in _answers(read(path), lab, path.parents[1].name)
    ]


def _answers(notebook: Notebook, lab: str, student: str) -> Iterator[Answer]:
    written = True
    for cell in notebook.cells:
        if utils.is_solution(cell):
            written = not cell.source.rstrip().endswith(STUB)
        if utils.is_grade(cell) and not utils.is_solution(cell):
            points, of = utils.determine_grade(cell)
            if points is None:
                continue  # a person grades it
            message = "" if points == of else _first_line(cell) if written else NOTHING
            grade_id = cell.metadata["nbgrader"]["grade_id"]
            yield Answer(lab, grade_id, student, points, of, _belief(message), message)


def _first_line(cell: Notebook) -> str:
    """The first line of what the check said, or of the error that kept it from judging."""
    for error in _errors(cell):
        first: str = PREFIX.sub("", error.evalue.strip().partition("\n")[0], count=1)
        if error.ename == "NotImplementedError" or first.startswith(STUBS):
            return NOTHING
        if error.ename in ("AssertionError", "NotYet") and first:
            return first
        return f"({error.ename}: {first})" if first else f"({error.ename})"
    return "(the check wrote a warning)"


def _belief(message: str) -> str:
    """A verdict begins with the student's own case; the belief is what they have in common. Where
    none is named, as by an ordering, it is what went wrong, without why."""
    match = BELIEF.search(message)
    if match:
        return match[1] or match[2]
    return message if message.startswith("(") else re.split(": |：", message)[0]


def _errors(cell: Notebook) -> list[Notebook]:
    return [output for output in cell.get("outputs", []) if output.output_type == "error"]


RIGHTLY = Words("{}  {}: {} of {} right")


def table(answers: Sequence[Answer]) -> str:
    """For each graded cell: how many had it right, and how many held which belief."""
    if not answers:
        return str(tr("nothing is graded yet"))
    lines = []
    for lab, cell in dict.fromkeys((answer.lab, answer.cell) for answer in answers):
        mine = [answer for answer in answers if (answer.lab, answer.cell) == (lab, cell)]
        counts = Counter(answer.belief for answer in mine)
        right = counts.pop(RIGHT, 0)
        lines.append(str(RIGHTLY(lab, cell, right, len(mine))))
        lines += [f"{count:>6} × {_named(belief)}" for belief, count in counts.most_common()]
    return "\n".join(lines)


def _named(belief: str) -> str:
    """With the misconception's number and name, where it is one of the table."""
    label = label_named(belief)
    return f"{belief} [{label}]" if label else belief


def write_csv(answers: Sequence[Answer], path: Path) -> None:
    """A row per answer: the fields of `Answer`, and the misconception's label."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*(field.name for field in fields(Answer)), "misconception"])
        rows.writerows((*astuple(one), label_named(one.belief)) for one in answers)
