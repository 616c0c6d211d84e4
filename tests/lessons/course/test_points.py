"""Points are for answers: what a cell puts in the place of the judge gets none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader import utils

from mqlab.lessons.course.judging import EXERCISES
from mqlab.lessons.course.notebooks import KERNEL, execute, grades, labs_in, read_source
from mqlab.lessons.course.points import NotYet, grade
from mqlab.lessons.kafka.exercises.copying import LOOP, MANY
from mqlab.lessons.kafka.lab07 import LSO
from mqlab.lessons.kafka.systems.loop import Abortable, App
from mqlab.lessons.spark.decide import DECIDE
from tests.project.sources import ROOT

LABS = labs_in(ROOT / "labs")
#: what a test cell begins with, in words that a cell before it cannot shadow
HIDDEN = re.compile(
    r"""### BEGIN HIDDEN TESTS
import sys

sys\.modules\.pop\("mqlab\.lessons\.course\.points", None\)
from mqlab\.lessons\.course\.points import grade

grade\("(\w+)", (\w+)\)
### END HIDDEN TESTS
check\((\w+), (\w+)\)$"""
)
SHADOWS = """
class V:
    ok = True
    order = []
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __call__(self, *given, **named): return V()
    def __getattr__(self, name): return V()

check = check_kill = judge = grade = assert_ = sys = display = V()
"""
PATCHES = """
import subprocess, sys, types
import mqlab.lessons, mqlab.lessons.check, mqlab.lessons.parsons, mqlab.lessons.verdict
import mqlab.lessons.course.points, mqlab.lessons.kafka.lab07
import mqlab.lessons.kafka.exercises.copying, mqlab.lessons.kafka.exercises.kills

fake = types.ModuleType("mqlab.lessons.course.points")
fake.grade = lambda *given: None
sys.modules["mqlab.lessons.course.points"] = fake
mqlab.lessons.course.points = fake
subprocess.Popen = V()
ours = [module for name, module in sys.modules.items() if name.startswith("mqlab.lessons.")]
for module in ours:
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and "check" in vars(value) and not name.startswith("_"):
            value.check = lambda *given, **named: V()
        if name in ("explore", "Verdict", "judge", "NotYet"):
            setattr(module, name, V())
mqlab.lessons.verdict.Verdict.__init__ = lambda self, *given, **named: None
"""


def graded_cells() -> list[tuple[str, str, Any]]:
    """(lab, its own imports, test cell) of all graded cells."""
    found = []
    for lab in LABS:
        cells = read_source(lab).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        imports = re.findall(r"(?m)^from mqlab\.lessons[^\n]*import (?:[^\n(]+$|\([^)]*\))", code)
        found += [(lab.name, "\n".join(imports), cell) for cell in cells if utils.is_grade(cell)]
    return found


def test_every_graded_cell_judges_anew() -> None:
    cells = graded_cells()
    assert cells
    for lab, _, cell in cells:
        found = HIDDEN.fullmatch(cell.source)
        assert found is not None, f"{lab}: {cell.metadata['nbgrader']['grade_id']}"
        exercise, answer, _, shown = found.groups()
        assert exercise in EXERCISES
        assert answer == shown


@pytest.mark.parametrize("cheat", [SHADOWS, SHADOWS + PATCHES], ids=["shadows", "patches"])
def test_whoever_replaces_the_judge_gets_no_point(cheat: str, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL})
    for number, (_, imports, cell) in enumerate(graded_cells()):
        found = HIDDEN.fullmatch(cell.source)
        assert found is not None
        cell.metadata["nbgrader"]["grade_id"] = f"cell-{number}"
        answer = nbformat.v4.new_code_cell(f"{imports}\n{cheat}\n{found[2]} = V()")
        notebook.cells += [nbformat.v4.new_code_cell("%reset -f\nimport sys"), answer, cell]
    executed = execute(notebook, tmp_path, allow_errors=True)
    given = list(grades(executed))
    assert len(given) == len(graded_cells())
    assert [grade.points for grade in given] == [0] * len(given)
    for cell in executed.cells:
        if utils.is_grade(cell):
            errors = [out for out in cell.outputs if out.output_type == "error"]
            assert [error.ename for error in errors] == ["NotYet"], errors
            assert "not yet: " in errors[0].evalue
            assert not any("Traceback" in line for line in errors[0].traceback)


def recorded(check: Callable[[Any], Any], right: Callable[..., Any]) -> Callable[..., Any]:
    """A table of all that the shown check asks, instead of a rule."""
    known: dict[tuple[Any, ...], Any] = {}

    def noted(*given: Any) -> Any:
        known[given] = right(*given)
        return known[given]

    assert check(noted).ok
    return lambda *given: known.get(given, next(iter(known.values())))


def decided(marker: int, batch: int) -> str:
    return "skip" if batch == marker else "write" if batch == marker + 1 else "stop"


@pytest.mark.parametrize(
    ("name", "exercise", "right"),
    [
        ("lso", LSO, lambda firsts, hw: min([*firsts, hw])),
        ("decide", DECIDE, decided),
    ],
)
def test_an_answer_learned_by_heart_passes_what_is_shown_and_gets_no_point(
    name: str, exercise: Any, right: Callable[..., Any]
) -> None:
    by_heart = recorded(exercise.check, right)
    assert exercise.check(by_heart).ok
    with pytest.raises(NotYet):
        grade(name, by_heart)
    grade(name, right)


def loop(app: App, worth: Callable[[App, Any], str]) -> None:
    while orders := app.poll():
        try:
            app.begin()
            for order in orders:
                app.send(worth(app, order))
            app.send_offsets(orders[-1].offset + 1)
            app.commit()
        except Abortable:
            app.abort()
            app.seek(orders[0].offset)


def test_a_loop_that_knows_the_orders_gets_no_point() -> None:
    known = {order: order.replace(":", "+") for order in MANY.orders}

    def by_heart(app: App, order: Any) -> str:
        app.income(order)
        return known.get(order.value, "tea+3")

    def by_rule(app: App, order: Any) -> str:
        return app.income(order)

    assert LOOP.check(lambda app: loop(app, by_heart)).ok
    with pytest.raises(NotYet, match="counted"):
        grade("loop", lambda app: loop(app, by_heart))
    grade("loop", lambda app: loop(app, by_rule))


def endless(*given: Any) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("lso", endless, "a loop without an end"),
        ("loop", endless, "a loop without an end"),
        ("lso", lambda *given: 1 // 0, "it raised ZeroDivisionError"),
        ("lso", lambda *given: {1: 2}, r"it said \{1: 2\}: an offset is a whole number"),
        ("lso", 5, "'int' object is not callable"),
        ("loop", lambda app: app.fly(), "`app` has no call `fly`"),
        ("loop", lambda app: app.send(3.5), "a number or a text"),
        ("loop", lambda app: None, "nothing is written yet"),
        ("decide", lambda *given: None, "nothing is written yet"),
        ("half", 7, "write one line"),
        ("half", "kill coordinator when=… after=…", "still has its blanks"),
        ("commit", "prepare", "an order is a list of pieces"),
        ("commit", [], "no piece is in your list yet"),
        ("commit", ["vanish"], "no piece 'vanish'"),
    ],
)
def test_what_is_no_answer_is_told_in_a_sentence(name: str, answer: Any, says: str) -> None:
    with pytest.raises(NotYet, match=says):
        grade(name, answer)


def test_the_unseen_cases_are_not_those_of_the_lab() -> None:
    assert not set(DECIDE.pairs) & set(DECIDE.unseen)
