"""Grading a notebook: each answer to the judge, with the cells that it depends on.

nbgrader puts the locked cells back and reads the marks off the outputs of the test cells. Between
the two, `ExecuteApart` runs no test cell. It reads the exercise and the name of the answer off it,
hands the cells that the answer depends on to the judge (`mqlab.lessons.course.judging`), and writes
the judge's verdict where nbgrader looks for it. All that a submission adds to its graded notebook
is text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from symtable import SymbolTable, symtable

from nbconvert.exporters.exporter import ResourcesDict
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Integer, List, Unicode

from ...kernel import speaking
from .graded import list_exercises
from .judging import NOTEBOOK_S, GradingError, Judge, Result, Task
from .notebooks import Notebook, read_language

MOST_SHOWN = 30_000  # characters of one output
ANSWERS = "graded in part: "  # how a warning about a submission begins, in nbgrader's log

# --- which cells ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Names:
    """What a cell's text says: names it binds or changes, those it uses at once, and those that
    functions in it use when they are called."""

    changed: set[str]
    used: set[str]
    used_later: set[str]


def find_needed_cells(cells: Sequence[Notebook], name: str) -> list[int]:
    """Find the cells that the value of `name` depends on: their indexes, in ascending sequence.
    Text and the cells that grade are left out.

    A cell is needed if it binds or changes the name, or one that a needed cell uses after it, or if
    its effect cannot be read off its text (a magic, `import *`, a syntax error). In doubt a cell is
    run: too many rather than too few.
    """
    names: dict[int, Names | None] = {
        index: _find_names(cell.source)
        for index, cell in enumerate(cells)
        if cell.cell_type == "code" and not utils.is_grade(cell)
    }
    needed = {index for index, found in names.items() if found is None or name in found.changed}
    # cells that give names which needed cells use
    while givers := _find_givers(names, needed):
        needed |= givers
    return sorted(needed)


def _find_givers(names: dict[int, Names | None], needed: set[int]) -> set[int]:
    """The cells not yet found that bind or change a name which a found one uses."""
    used = {name for place in needed for name in getattr(names[place], "used_later", ())}
    givers = set()
    for place, known in reversed(names.items()):
        if place in needed:
            used |= known.used if known else set()
        elif known and known.changed & used:
            givers.add(place)
    return givers


def _find_names(source: str) -> Names | None:
    """Find the names of the notebook that a cell changes, those it uses, and those it uses later,
    when its functions are called; None where its text does not say it (no plain Python, `import *`,
    or `get_ipython`)."""
    try:
        tree, cell_scope = ast.parse(source), symtable(source, "cell", "exec")
    except (SyntaxError, ValueError):  # a magic is no Python, nor is a null character
        return None
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.alias) and node.name == "*" for node in nodes):
        return None
    # `_owners`: `table` in `table.x = 1` or `table.append(1)`
    names = Names({name for node in nodes for name in _owners(node)}, set(), set())
    for scope in _scopes(cell_scope):
        is_later = scope.get_type() == "function"
        for symbol in scope.get_symbols():
            if scope is cell_scope or symbol.is_global():
                if symbol.is_assigned() or symbol.is_imported():
                    names.changed.add(symbol.get_name())
                if symbol.is_referenced():
                    (names.used_later if is_later else names.used).add(symbol.get_name())
    # a magic that was written out as a call may change any name
    return None if "get_ipython" in names.used else names


def _scopes(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _owners(node: ast.AST) -> Iterator[str]:
    """`table` in `table.x = 1`, `table[0] = 1` and the statement `table.append(1)`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        target: ast.AST = node.value.func
    elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        target = node
    else:
        return
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
        if isinstance(target, ast.Name):
            yield target.id


# --- what is judged ------------------------------------------------------------------------


class ExecuteApart(NbGraderPreprocessor):
    """Takes the place of nbgrader's `Execute`."""

    command = List(
        Unicode(),
        help="what runs a submission's cells for the judge, for example `docker run --rm -i "
        "--network=none IMAGE python -m mqlab.lessons.course.apart`; empty: a process of this "
        "machine, without a network where the machine allows it",
    ).tag(config=True)
    timeout = Integer(60, help="seconds for the cells of one answer").tag(config=True)
    notebook = Integer(int(NOTEBOOK_S), help="seconds for all answers of a notebook").tag(
        config=True
    )

    def preprocess(self, nb: Notebook, resources: ResourcesDict) -> tuple[Notebook, ResourcesDict]:
        """Raises GradingError where no answer can be run, or a test cell names no exercise."""
        limits = self.timeout, self.notebook
        with speaking(read_language(nb)), Judge(self.command, *limits) as judge:
            for place, cell in enumerate(nb.cells):
                if cell.cell_type == "code" and utils.is_grade(cell):
                    places, task = read_task(nb.cells, place)
                    result = judge.judge(task)
                    _write_ran([nb.cells[one] for one in places], result)
                    cell.outputs = [_verdict(result)]
            if judge.is_spent:
                self.log.warning("%s%s", ANSWERS, judge.spent)
        return nb, resources


def read_task(cells: Sequence[Notebook], place: int) -> tuple[list[int], Task]:
    """What the test cell at `place` has judged, and where the cells are that it depends on."""
    test = cells[place]
    for node in ast.walk(ast.parse(test.source)):
        match node:
            case ast.Call(ast.Name("grade"), [ast.Constant(str(exercise)), ast.Name(name)]):
                if exercise in list_exercises():
                    places = find_needed_cells(cells[:place], name)
                    return places, Task(exercise, name, tuple(cells[p].source for p in places))
    raise GradingError(
        f"the test cell {test.metadata.nbgrader.grade_id} does not say what to judge: "
        '`grade("exercise", answer)`, with an exercise of mqlab.lessons.course.judging'
    )


def _write_ran(cells: Sequence[Notebook], result: Result) -> None:
    """What the cells printed and raised, once, as text."""
    for cell, (printed, error) in zip(cells, result.ran, strict=False):
        cell.outputs = [new_output("stream", name="stdout", text=_cap(printed))] if printed else []
        if error:
            cell.outputs.append(_error(*error))


def _verdict(result: Result) -> Notebook:
    if result.ok:
        return new_output("stream", name="stdout", text=f"{_cap(result.says)}\n")
    return _error("NotYet", result.says)


def _error(name: str, words: str) -> Notebook:
    text = _cap(words)
    return new_output("error", ename=_cap(name), evalue=text, traceback=[f"{_cap(name)}: {text}"])


def _cap(text: str) -> str:
    left = len(text) - MOST_SHOWN
    return text if left <= 0 else f"{text[:MOST_SHOWN]}\n… {left:,} more characters are left out"
