"""The process that runs a student's cells, for the judge only.

    python -I -m mqlab.lessons.course.apart

For each answer to be judged the judge sends the sources of the cells it depends on and its name. A
child is forked, so that no answer disturbs another; it runs the cells, says what they have
printed, and then answers what the judge asks (`mqlab.lessons.course.answering`). The process knows
no course, no gradebook, no student, no exercise and no verdict: an exercise that is imported here
is withheld, and with it the right answer that it holds and finds. See
`mqlab.lessons.course.judging`, which asks, and labs/instructor, which says how to put it into a
container.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from ... import places
from ..check import limit_resources
from .answering import Answering, shown
from .wire import Wire, WireError

MOST_PRINTED = 20_000  # characters of a cell
MOST_MEMORY = 4_000_000_000  # bytes
#: functions that answer an exercise, outside of its module
ALSO = {"mqlab.spark.sinks": ("decide", "resume")}


class Printed:
    """What a cell prints: its beginning, and how much there was. In place of `sys.stdout`."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._kept, self._count = "", 0

    def write(self, text: str) -> int:
        self._kept += text[: MOST_PRINTED - len(self._kept)]
        self._count += len(text)
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        return False

    def take(self) -> str:
        """What was printed since the last time, which is then forgotten."""
        kept, left = self._kept, self._count - len(self._kept)
        self._kept, self._count = "", 0
        return f"{kept}\n… {left:,} more characters were printed and are left out" if left else kept


class Withheld:
    """In the place of an exercise: whatever a cell asks of it, it says nothing. What the student
    has put in order stays so."""

    def arrange(self, order: Sequence[str] = (), **look: object) -> SimpleNamespace:
        return SimpleNamespace(order=tuple(order))

    def __getattr__(self, name: str) -> Withheld:
        return self

    def __call__(self, *given: object, **named: object) -> Withheld:
        return self


class Withholding(SourceFileLoader):
    """Loads a module of ours without what is the judge's alone. As a finder it is asked first."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.startswith("mqlab.") else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Withholding(name, spec.loader.path)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        withhold(module)


def withhold(module: ModuleType) -> None:
    """Take the exercises out of a module that has some, and its own answers, whose names begin
    with `right`."""
    graded = vars(module).get("GRADED", {})
    exercises = [exercise for exercise, _ in graded.values()]
    for name, value in list(vars(module).items()):
        answers = bool(graded) and name.lower().startswith("right")
        if answers or any(value is one for one in exercises):
            setattr(module, name, Withheld())
    for name in ALSO.get(module.__name__, ()):
        setattr(module, name, Withheld())
    graded.clear()


def main() -> int:
    """Run the cells of one answer after the other, each answer in a process of its own, until the
    judge ends the wire. That is stdin and stdout, which no cell can use."""
    wire = Wire(os.dup(0), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a cell writes past Python goes to the log
    limit_resources(MOST_MEMORY)
    places.LABS = Path.cwd() / "labs"  # no function of ours reads an answer where no wall hides it
    sys.meta_path.insert(0, Withholding)  # an answer can import nothing that is the judge's
    shell = build_shell()
    wire.say("ready")
    while True:
        try:
            _, cells, name = wire.hear()
        except WireError:
            return 0
        import_ours(cells)  # before the fork, so that no child has to do it again
        child = os.fork()
        if child == 0:
            try:
                answer(shell, cells, name, wire)
            finally:
                os._exit(0)  # nothing of what the cells left behind runs
        os.waitpid(child, 0)
        wire.say("ended")


def build_shell() -> InteractiveShell:
    """IPython without a kernel: cells may hold its magics and `display`."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell._showtraceback = lambda *given: None  # type: ignore[method-assign]  # by `run_cell`
    return shell


def import_ours(cells: Sequence[str]) -> None:
    """Import this project's modules that the cells ask for, once for all answers."""
    for source in cells:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mqlab."):
                    with suppress(ImportError):
                        importlib.import_module(str(node.module))


def answer(shell: InteractiveShell, cells: Sequence[str], name: str, wire: Wire) -> None:
    """Run the cells, say what became of each, and serve what is bound to `name` then."""
    printed = sys.stdout = sys.stderr = Printed()
    ran = [(run_cell(shell, source), printed.take()) for source in cells]
    wire.say("ran", ran)
    if name not in shell.user_ns:
        wire.say("nothing")
        wire.hear()  # that this is understood
        return
    Answering(shell.user_ns[name], wire).serve()


def run_cell(shell: InteractiveShell, source: str) -> tuple[str, str] | None:
    """The name of the error that it ended with and what it says; None if it ended well."""
    done: Any = shell.run_cell(source, store_history=False)
    error = done.error_before_exec or done.error_in_exec
    return None if error is None else (type(error).__name__, shown(error, str))


if __name__ == "__main__":
    sys.exit(main())
