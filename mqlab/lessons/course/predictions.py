"""What a class predicted: question by question, how many chose which option before they saw it.

An answer that was locked is in the notebook's cell (`mqlab.lessons.predict`), so it comes with
what is handed in. A notebook is a stranger's: it is searched as text and never run, and only the
names of our questions and the numbers of their options are taken from it.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from ...kernel import Words
from ..misconceptions import label_chosen
from ..questions import CALL, Question, load_questions
from .answering import page_of, read_page
from .classroom import Course
from .notebooks import DAMAGE, Lab, read

MOST_BYTES = 50_000_000  # of a notebook; a larger one is none of a student's making
PREDICTED = Words("{}: {} predicted, {} rightly")
BELIEF = Words("(belief: {})")
WIDTH = 20  # of the longest bar

#: the belief behind a wrong option, by the texts of the question and of the option
Beliefs = Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one student chose. `belief`: the belief behind a wrong option; empty for the right."""

    lab: str
    question: str
    student: str
    option: str
    is_right: bool
    belief: str


def find_predictions(course: Course, beliefs: Beliefs) -> list[Prediction]:
    """Every answer in every notebook handed in, by lab, question and student; ClassError."""
    course.need()
    return [
        prediction
        for lab in course.labs()
        for questions in [_questions_in(lab)]
        for path in sorted(course.folder.glob(f"submitted/*/{lab}/{lab}.ipynb"))
        for prediction in _predictions(path, lab, questions, beliefs)
    ]


def read_beliefs(labs: Sequence[Lab]) -> Beliefs:
    """What the instructor's pages say of wrong options."""
    return {
        (question, option): belief
        for lab in labs
        if page_of(lab).exists()
        for question, option, belief, _ in read_page(lab).questions
    }


def _questions_in(lab: str) -> Mapping[str, Question]:
    try:
        return load_questions(lab[:2])
    except ValueError:
        return {}  # this lab asks nothing by name


def _predictions(
    path: Path, lab: str, questions: Mapping[str, Question], beliefs: Beliefs
) -> Iterator[Prediction]:
    chosen = _chosen_in(path)
    for name, question in questions.items():
        place = chosen.get(name, -1)
        if 0 <= place < len(question.options):
            option = question.options[place]
            belief = beliefs.get((question.text, option), "")
            is_right = place == question.answer
            yield Prediction(lab, name, path.parents[1].name, option, is_right, belief)


def _chosen_in(path: Path) -> dict[str, int]:
    """The options kept in a notebook's cells, by the names of their questions; the first counts."""
    chosen: dict[str, int] = {}
    try:
        if path.stat().st_size > MOST_BYTES:
            return {}
        sources = [str(cell.source) for cell in read(path).cells if cell.cell_type == "code"]
    except DAMAGE:
        return {}  # grading says what is wrong with it
    for source in sources:
        for call in CALL.finditer(source):
            if call["chosen"]:
                chosen.setdefault(call["name"], int(call["chosen"]))
    return chosen


def draw_histogram(predictions: Sequence[Prediction]) -> str:
    """Draw, for each question that was answered, how many chose each option: a line with a bar, the
    right option marked, below a wrong one that was chosen the belief that it shows."""
    lines = []
    for lab, name in dict.fromkeys((one.lab, one.question) for one in predictions):
        question = load_questions(lab[:2])[name]
        of_question = [one for one in predictions if (one.lab, one.question) == (lab, name)]
        counts = Counter(one.option for one in of_question)
        beliefs = {one.option: one.belief for one in of_question}
        lines.append(str(PREDICTED(name, len(of_question), counts[_right(question)])))
        lines.append(f"       {question.text}")
        for option in question.options:
            # rounded up, so that every choice is seen
            bar = "▇" * -(-counts[option] * WIDTH // len(of_question))
            mark = "✓" if option == _right(question) else " "
            belief = beliefs.get(option, "")
            lines.append(f"{counts[option]:>6} {mark} {bar:<{WIDTH}} {option}")
            if belief:
                # the label of the misconception, by which the instructor's pages name it
                label = label_chosen(name, question.options.index(option))
                suffix = f" [{label}]" if label else ""
                lines.append(f"{'':>{WIDTH + 9}} {BELIEF(belief)}{suffix}")
    return "\n".join(lines)


def _right(question: Question) -> str:
    return question.options[question.answer]


def write_csv(predictions: Sequence[Prediction], path: Path) -> None:
    """A row per prediction: the fields of `Prediction`, and the misconception's label."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*(field.name for field in fields(Prediction)), "misconception"])
        for one in predictions:
            place = load_questions(one.lab[:2])[one.question].options.index(one.option)
            rows.writerow([*astuple(one), label_chosen(one.question, place)])
