"""Predictions come with what is handed in, and a teacher sees them question by question."""

from __future__ import annotations

import csv
from pathlib import Path

import nbformat
import pytest

from mqlab.cli import main
from mqlab.lessons.course.classroom import REAL, Course, create
from mqlab.lessons.course.notebooks import labs_in
from mqlab.lessons.course.predictions import (
    Prediction,
    draw_histogram,
    find_predictions,
    read_beliefs,
    write_csv,
)
from mqlab.lessons.questions import find_question
from tests.project.sources import ROOT

LAB = "07-markers-and-lso"
ASKED = find_question("07-commit-returned")


def hand_in(course: Course, student: str, *cells: str) -> Path:
    path = course.submitted(student, LAB)
    path.parent.mkdir(parents=True)
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=code), path)
    return path


@pytest.fixture
def course(tmp_path: Path) -> Course:
    made = create(tmp_path / "course", REAL)
    made.released(LAB).parent.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), made.released(LAB))
    return made


def test_a_class_is_counted_by_question_and_belief(course: Course) -> None:
    hand_in(course, "anna", 'Predict("07-commit-returned", chosen=1, revealed=True, trace=torn)')
    hand_in(course, "ben", 'Predict("07-commit-returned", chosen=0, trace=torn)')
    hand_in(course, "carl", 'Predict("07-commit-returned", chosen=0, trace=torn)')
    hand_in(course, "dora", 'Predict("07-commit-returned", trace=torn)')
    beliefs = read_beliefs(labs_in(ROOT / "labs", ["07"]))
    found = find_predictions(course, beliefs)
    believed = beliefs[ASKED.text, ASKED.options[0]]
    assert believed
    assert found == [
        Prediction(LAB, ASKED.name, "anna", ASKED.options[1], True, ""),
        Prediction(LAB, ASKED.name, "ben", ASKED.options[0], False, believed),
        Prediction(LAB, ASKED.name, "carl", ASKED.options[0], False, believed),
    ]
    lines = draw_histogram(found).splitlines()
    assert lines[0] == "07-commit-returned: 3 predicted, 1 rightly"
    counts = [line.split()[0] for line in lines if any(o in line for o in ASKED.options)]
    assert counts == ["2", "1", "0", "0"]
    assert lines[2].count("▇") == 2 * lines[4].count("▇") == 14
    assert believed in lines[3] and "✓" in lines[4] and "✓" not in lines[2]


def test_what_a_stranger_hands_in_is_neither_run_nor_believed(course: Course) -> None:
    hand_in(
        course, "eve",
        'Predict("07-fetch", chosen=99)',  # no such option
        'Predict("07-nothing", chosen=0)',  # no such question
        'Predict("05-sent-again", chosen=0)',  # not of this lab
        'Predict("07-position", chosen=1)\nPredict("07-position", chosen=2)',  # the first counts
        'raise SystemExit; Predict("07-<b>\x1b[2J", chosen=0)',
    )  # fmt: skip
    hand_in(course, "mallory", "x").write_text("{", "utf-8")
    found = find_predictions(course, {})
    asked = find_question("07-position")
    assert found == [Prediction(LAB, asked.name, "eve", asked.options[1], False, "")]
    assert "\x1b" not in draw_histogram(found)


def test_the_command_prints_the_histogram_and_writes_who_chose_what(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(course, "ben", 'Predict("07-commit-returned", chosen=0)')
    assert main(["class", str(course.folder), "--report"]) == 0
    said = capsys.readouterr().out
    assert "07-commit-returned: 1 predicted, 0 rightly" in said and ASKED.options[0] in said
    with (course.folder / "predictions.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["student"], row["question"], row["is_right"]) == ("ben", ASKED.name, "False")


def test_nobody_has_predicted(course: Course, tmp_path: Path) -> None:
    assert find_predictions(course, {}) == [] and draw_histogram([]) == ""
    write_csv([], tmp_path / "empty.csv")
    assert (tmp_path / "empty.csv").read_text("utf-8").startswith("lab,question,student,option")
