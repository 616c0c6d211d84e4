"""Which exercises are graded. The module of an exercise says so itself:

    GRADED = {"lso": (LSO, "rule")}     what a test cell names → what judges, what it is

An answer is a "value", a "rule" (a function of plain values), a "listener" (two functions), the
"execute" of one, or "work" (a function that calls an `app`).
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

from ..check import Checked

LESSONS = Path(__file__).parents[1]


@cache
def list_exercises() -> dict[str, str]:
    """The name of each graded exercise → its module in `mqlab.lessons`. It is read off the text:
    importing every module would load every broker for one answer. ValueError where two modules
    grade the same name."""
    modules: dict[str, str] = {}
    for path in sorted(LESSONS.rglob("*.py")):
        module = ".".join(path.relative_to(LESSONS).with_suffix("").parts)
        for name in _graded_in(path.read_text("utf-8")):
            if name in modules:
                raise ValueError(f"{module} and {modules[name]} both grade {name!r}: rename one")
            modules[name] = module
    return modules


def _graded_in(source: str) -> list[str]:
    if "\nGRADED = " not in source:
        return []
    (names,) = (
        node.value.keys
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "GRADED"
        and isinstance(node.value, ast.Dict)
    )
    return [ast.literal_eval(name) for name in names if name is not None]


def find_exercise(name: str) -> tuple[Checked, str]:
    """The exercise of that name, and of what kind its answers are; KeyError."""
    module = import_module(f"mqlab.lessons.{list_exercises()[name]}")
    exercise: tuple[Checked, str] = module.GRADED[name]
    return exercise
