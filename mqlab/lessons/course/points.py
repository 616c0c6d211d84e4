"""What a lab's test cell asks for its points, in its notebook.

    grade("lso", lso)

Here, in a lab's own kernel, it compares an answer with its exercise, the unseen cases included, so
that a solution can be seen to get every point and an untouched copy none. No mark comes from this:
when a class is graded no test cell is run. `mqlab.lessons.course.grading` reads the name of the
exercise and of the answer off the cell, and another process judges.
"""

from __future__ import annotations

from typing import Any


class NotYet(AssertionError):
    """An answer that gets no points. A notebook shows its message, and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def grade(exercise: str, answer: Any) -> None:
    """Compare an answer with an exercise (`course.graded`); NotYet if it is wrong."""
    from .graded import find_exercise

    verdict = find_exercise(exercise)[0].check(answer, graded=True)
    if not verdict.ok:
        raise NotYet(str(verdict))
