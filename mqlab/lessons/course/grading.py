"""Grading: only the cells that grades depend on, and apart from the course.

What a student hands in is a program. nbgrader would run it inside the course's folder, beside the
gradebook and everybody else's work, every cell of it. Here nbgrader still puts the locked cells and
the hidden tests back and still reads the grades off the outputs; between the two,

- `find_needed_cells` says which cells a grade depends on, so that a lab's long demonstrations are
  not run once for each student;
- `ExecuteApart` hands those cells to another process, on its standard input, and takes nothing but
  their outputs from its standard output. That process (`mqlab.lessons.course.apart`) starts in
  an empty folder, with an environment that says nothing of the course; no file goes with it, so
  the same command works in a container that mounts nothing of this machine.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from symtable import SymbolTable, symtable

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Integer, List, Unicode

from .notebooks import CELL_TIMEOUT_S, Notebook

APART = (sys.executable, "-m", "mqlab.lessons.course.apart")
# All that a grading process is told of this one: where programs are and how text is written.
ENVIRONMENT = ("PATH", "JAVA_HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")


class GradingError(Exception):
    """A submission that could not be run to its end; the message says why."""


# --- which cells ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Names:
    """What a cell's text says: names it binds or changes, those it uses at once, and those that
    functions in it use when they are called."""

    changed: set[str]
    used: set[str]
    used_later: set[str]


def find_needed_cells(cells: Sequence[Notebook]) -> list[int]:
    """The places of the cells that the graded ones depend on, themselves included, in order.

    A cell is needed if it is graded or holds an answer, if it binds or changes a name that a
    needed cell uses after it, or if its effect cannot be read off its text (a magic, `import *`, a
    syntax error). In doubt a cell is run: too many rather than too few.
    """
    names: dict[int, Names | None] = {
        place: _names(cell.source) for place, cell in enumerate(cells) if cell.cell_type == "code"
    }
    found = {
        place
        for place, known in names.items()
        if known is None or utils.is_grade(cells[place]) or utils.is_solution(cells[place])
    }
    while more := _givers(names, found):
        found |= more
    return sorted(found)


def _givers(names: dict[int, Names | None], found: set[int]) -> set[int]:
    """The cells not yet found that bind or change a name which a found one uses."""
    used = {name for place in found for name in getattr(names[place], "used_later", ())}
    givers = set()
    for place, known in reversed(names.items()):
        if place in found:
            used |= known.used if known else set()
        elif known and known.changed & used:
            givers.add(place)
    return givers


def _names(source: str) -> Names | None:
    """None where the text does not say it."""
    try:
        tree, top = ast.parse(source), symtable(source, "cell", "exec")
    except (SyntaxError, ValueError):  # a magic is no Python, nor is a null character
        return None
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.alias) and node.name == "*" for node in nodes):
        return None
    names = Names({name for node in nodes for name in _owners(node)}, set(), set())
    for scope in _scopes(top):
        is_later = scope.get_type() == "function"
        for symbol in scope.get_symbols():
            if scope is top or symbol.is_global():
                if symbol.is_assigned() or symbol.is_imported():
                    names.changed.add(symbol.get_name())
                if symbol.is_referenced():
                    (names.used_later if is_later else names.used).add(symbol.get_name())
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


# --- where they run ------------------------------------------------------------------------


class ExecuteApart(NbGraderPreprocessor):
    """Takes the place of nbgrader's `Execute`."""

    command = List(
        Unicode(),
        help="what runs a notebook from standard input to standard output, for example "
        "`docker run --rm -i --network=none IMAGE python -m mqlab.lessons.course.apart`; empty: a "
        "process of this machine",
    ).tag(config=True)
    timeout = Integer(CELL_TIMEOUT_S, help="seconds for one cell").tag(config=True)

    def preprocess(self, nb: Notebook, resources: ResourcesDict) -> tuple[Notebook, ResourcesDict]:
        """Raises GradingError where the notebook cannot be run to its end."""
        places = find_needed_cells(nb.cells)
        asked = [nb.cells[place] for place in places]
        ran = run_apart(asked, self.command or APART, self.timeout)
        for cell, outputs in zip(asked, ran, strict=True):
            cell.outputs = outputs
        return nb, resources


def run_apart(
    cells: Sequence[Notebook], command: Sequence[str], timeout_s: int
) -> list[list[Notebook]]:
    """The outputs of these cells, run one after another by `command`; GradingError otherwise."""
    task = json.dumps({"cells": [cell.source for cell in cells], "timeout_s": timeout_s})
    with tempfile.TemporaryDirectory(prefix="mqlab-grading-") as folder:
        here = {"HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        known = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        try:
            process = subprocess.Popen(
                list(command), cwd=folder, env={**known, **here}, text=True, encoding="utf-8",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise GradingError(f"the command for grading cannot be started: {error}") from error
        try:
            # Each cell has its own limit inside; this one is for a process that has lost its way.
            out, err = process.communicate(task, timeout=(len(cells) + 1) * timeout_s)
        except subprocess.TimeoutExpired as error:
            raise GradingError("the submission does not come to an end") from error
        finally:
            _end(process)
    last = next((line for line in reversed(err.splitlines()) if line.strip()), "it did not say why")
    if process.returncode != 0:
        raise GradingError(f"the submission could not be run: {last}")
    try:
        ran = [nbformat.from_dict(outputs) for outputs in json.loads(out)]
    except (ValueError, AttributeError) as error:
        raise GradingError(f"{command[0]} did not answer with outputs: {last}") from error
    if len(ran) != len(cells):
        raise GradingError(f"{command[0]} answered for {len(ran)} of {len(cells)} cells")
    return ran


def _end(process: subprocess.Popen[str]) -> None:
    """Also what a submission has left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()
    process.wait()
