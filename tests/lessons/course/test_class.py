"""Instructor's pages hold to their labs, and a class can be held with nbgrader."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from nbgrader import utils

from mqlab.cli import main
from mqlab.lessons.course import classroom
from mqlab.lessons.course.answering import page_of, read_page
from mqlab.lessons.course.classroom import ClassError, Course, Mark, complaints, hold_sample, table
from mqlab.lessons.course.notebooks import (
    Lab,
    LabError,
    build,
    labs_in,
    read_source,
    student_copy,
    text_of,
)
from mqlab.lessons.questions import CALL, Question, load_questions
from tests.project.sources import ROOT

from .sample_lab import SAMPLE

LABS = labs_in(ROOT / "labs")
every_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)


# --- pages --------------------------------------------------------------------------------


def predicts(lab: Lab) -> list[Question]:
    """The questions of a lab, in the order in which its cells ask them."""
    calls = [
        call["name"]
        for cell in read_source(lab).cells
        if cell.cell_type == "code"
        for call in CALL.finditer(cell.source)
    ]
    asked = load_questions(lab.name[:2])
    assert sorted(calls) == sorted(asked), "each question is asked once"
    return [asked[name] for name in calls]


@every_lab
def test_minutes_add_up_to_what_the_lab_says(lab: Lab) -> None:
    page = read_page(lab)
    said = re.search(r"(\d+) minutes", read_source(lab).cells[0].source)
    assert said is not None
    assert page.minutes == int(said[1]) == sum(int(row[0]) for row in page.timing)


@every_lab
def test_every_wrong_option_of_every_question_has_its_row(lab: Lab) -> None:
    rows = [(question, option) for question, option, _, _ in read_page(lab).questions]
    assert rows == [
        (question.text, option)
        for question in predicts(lab)
        for place, option in enumerate(question.options)
        if place != question.answer
    ]
    assert all(all(row) for row in read_page(lab).questions), "a belief or a reply is empty"


@every_lab
def test_every_graded_cell_has_its_row_and_its_wrong_answers(lab: Lab) -> None:
    page, cells = read_page(lab), read_source(lab).cells
    graded = [cell.metadata["nbgrader"] for cell in cells if utils.is_grade(cell)]
    rows = [(row[0], float(row[1])) for row in page.cells]
    assert rows == [(cell["grade_id"], cell["points"]) for cell in graded]
    assert page.points == sum(points for _, points in rows)
    written = [c.metadata["nbgrader"]["grade_id"] for c in cells if utils.is_solution(c)]
    assert set(written) == {answer.grade_id for answer in page.wrong}


@every_lab
def test_a_page_says_which_of_its_questions_carry_points(lab: Lab) -> None:
    """The Predicts carry none: nothing that is asked there is in the gradebook."""
    cells = [cell for cell in read_source(lab).cells if "Predict(" in cell.source]
    assert not any(utils.is_grade(cell) for cell in cells if cell.cell_type == "code")
    said = "For discussion, without points; the points are in *Graded cells*."
    assert f"## Questions\n\n{said}\n" in page_of(lab).read_text("utf-8")


def test_a_page_that_is_not_in_the_form_says_what_is_missing(tmp_path: Path) -> None:
    lab = _sample(tmp_path)
    page = page_of(lab)
    whole = page.read_text("utf-8")
    for gone, says in (
        ("*10 minutes, 2 points.*", "60 minutes, 10 points"),
        ("## Trouble", "no part “## Trouble”"),
        ("# lso · ", "begins with “# cell · belief”"),
    ):
        page.write_text(whole.replace(gone, "…"), "utf-8")
        with pytest.raises(LabError, match=re.escape(says)):
            read_page(lab)
    page.unlink()
    with pytest.raises(LabError, match=r"no instructor's page for 07-sample: write 07\.md"):
        read_page(lab)


@every_lab
def test_no_copy_of_a_lab_answers_its_questions(lab: Lab) -> None:
    """Neither the text that a student gets, nor what the solution's outputs show."""
    source = read_source(lab)
    texts = text_of(student_copy(source)) + lab.solution.read_text("utf-8")
    for question in predicts(lab):
        for why in question.explanations:
            assert json.dumps(why, ensure_ascii=False)[1:-1] not in texts, question.name


# --- a class ------------------------------------------------------------------------------

PAGE = """\
# Lab 07 for instructors

*10 minutes, 2 points.*

## Timing

| minutes | part | say or do |
|---|---|---|
| 10 | all | nothing |

## Questions

## Graded cells

| cell | points | what is graded |
|---|---|---|
| lso-test | 2 | min \\| max |

```python
# lso · the high watermark decides
def lso(first_offsets, high_watermark):
    return high_watermark
```

```python
# lso · a second one
def lso(first_offsets, high_watermark):
    return 0
```

## Trouble
"""


def _sample(folder: Path) -> Lab:
    labs = folder / "labs"
    (labs / "source").mkdir(parents=True)
    (labs / "instructor").mkdir()
    (labs / "source" / "07-sample.py").write_text(SAMPLE, "utf-8")
    (labs / "instructor" / "07.md").write_text(PAGE, "utf-8")
    (lab,) = labs_in(labs)
    build(lab, print, student_only=True, force=False)
    return lab


@pytest.mark.spread("mqlab/lessons/course")
def test_a_class_is_held(tmp_path: Path) -> None:
    """Released, answered by three students, collected, graded by nbgrader, exported."""
    lab, said = _sample(tmp_path), []
    marks = hold_sample([lab], tmp_path / "course", said.append)
    assert [(m.student, m.cell, m.points, m.of) for m in marks] == [
        ("solved", "lso-test", 2, 2),
        ("untouched", "lso-test", 0, 2),
        ("misled", "lso-test", 0, 2),
    ]
    assert complaints(marks) == []
    course = Course(tmp_path / "course")
    with course.gradebook.open(encoding="utf-8") as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert rows == {"solved": 2, "untouched": 0, "misled": 0}
    for student in classroom.STUDENTS:
        page = course.folder / "feedback" / student / lab.name / f"{lab.name}.html"
        text = page.read_text("utf-8")
        assert "HIDDEN TESTS" not in text and "high_watermark" in text
    wrong = course.folder / "autograded" / "misled" / lab.name / f"{lab.name}.ipynb"
    assert "return high_watermark" in wrong.read_text("utf-8")
    assert said[0] == "07-sample: released"


@pytest.mark.spread("mqlab/lessons/course")
def test_an_answer_that_ends_its_process_gets_no_point_and_the_class_goes_on(
    tmp_path: Path,
) -> None:
    lab, said = _sample(tmp_path), []
    page = page_of(lab)
    deadly = page.read_text("utf-8").replace(
        "    return high_watermark", "    pass\n\nimport os; os._exit(1)"
    )
    page.write_text(deadly, "utf-8")
    marks = hold_sample([lab], tmp_path / "course", said.append)
    assert [(m.student, m.points, m.graded) for m in marks] == [
        ("solved", 2, True),
        ("untouched", 0, True),
        ("misled", 0, True),
    ]
    assert complaints(marks) == []
    wrong = Course(tmp_path / "course").autograded("misled", lab.name).read_text("utf-8")
    assert "the program with this answer cannot be asked: it has ended" in wrong
    assert (tmp_path / "course" / "gradebook.csv").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", "utf-8")
    with pytest.raises(ClassError, match="is not empty, and `mqlab class` did not make it"):
        hold_sample([], tmp_path, print)
    assert (tmp_path / "thesis.tex").exists()


def test_a_mark_that_nobody_deserves_is_a_complaint() -> None:
    marks = [
        Mark("07", "lso-test", "solved", 4, 5),
        Mark("07", "lso-test", "untouched", 1, 5),
        Mark("07", "lso-test", "misled", 0, 5),
    ]
    assert complaints(marks) == [
        "07: solved got 4 of 5 points in lso-test instead of 5",
        "07: untouched got 1 of 5 points in lso-test instead of 0",
    ]
    assert [line.split() for line in table(marks).splitlines()] == [
        ["lab", "solved", "untouched", "misled", "of"],
        ["07", "4", "1", "0", "5"],
        ["total", "4", "1", "0", "5"],
    ]


def test_the_command_says_what_cannot_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").touch()
    assert main(["class", str(tmp_path), "--lab", "07"]) == 2
    assert "name a new folder" in capsys.readouterr().err
    assert main(["class", str(tmp_path / "new"), "--lab", "99"]) == 2
    assert "no lab begins with 99" in capsys.readouterr().err
