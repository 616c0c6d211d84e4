"""The process that runs a student's cells, for the judge and for nobody else.

    python -I -m mqlab.lessons.course.apart

For each answer to be judged the judge sends the sources of the cells it depends on and its name. A
child is forked, so that no answer stands in another's way; it runs the cells, says what they have
printed, and then answers what the judge asks (`mqlab.lessons.course.answering`). The process knows
no course, no gradebook, no student, no exercise and no verdict. See `mqlab.lessons.course.judging`,
which asks, and labs/instructor, which says how to put it into a container.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from ... import places
from ..check import limit_resources
from .answering import Answering, shown
from .wire import Wire, WireError

MOST_PRINTED = 20_000  # characters of a cell
MOST_MEMORY = 4_000_000_000  # bytes


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


def main() -> int:
    """Take one answer after the other until the judge ends."""
    wire = Wire(os.dup(0), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a cell writes past Python goes to the log
    limit_resources(MOST_MEMORY)
    places.LABS = Path.cwd() / "labs"  # no function of ours reads an answer where no wall hides it
    shell = build_shell()
    wire.say("ready")
    while True:
        try:
            _, cells, name = wire.hear()
        except WireError:
            return 0
        import_ours(cells)
        child = os.fork()
        if child == 0:
            try:
                answer(shell, cells, name, wire)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        wire.say("ended")


def build_shell() -> InteractiveShell:
    """IPython without a kernel: cells may hold its magics and `display`."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell._showtraceback = lambda *given: None  # type: ignore[method-assign]  # told by `run_cell`
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
