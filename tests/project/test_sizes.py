"""Style is a test: a function of 60 lines, a file of 600, a line of 100 characters at most.

Docstrings, comments and blank lines are free, so that nobody saves on explaining. Aim at half.
A file may be as long as its topic: a protocol is read in one sitting, and in one file of 500 lines
sooner than in ten of 50.
The source of a lab is mostly prose, which stands in comments: its code obeys the same bounds, and
a cell has 45 lines of code at most, for one screen (how many cells: `notebook_checks`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqlab.scenario.golden import split_blocks
from tests.project.sources import ROOT, code_lines, list_committed, relative

FUNCTION, FILE, LINE = 60, 600, 100
CELL = 45
#: a broker's roles together, so that a student can read all of them
ROLES = 3_000
PULSAR = ("buffer", "client", "coordinator", "ledger", "pending_ack", "subscription", "topic")

# What may be larger, by name, each with its reason:
# "path/to/file.py" (file) or "path/to/file.py:function".
EXCEPTIONS: dict[str, str] = {}

# Derived files, data, and texts whose lines are paragraphs.
FREE_LINES = ("labs/", "datasets/", "LICENSE", "requirements.lock")
LINES_OF = {".py", ".js", ".css", ".toml", ".scn", ".sh", ""}
LABS = sorted((ROOT / "labs" / "source").glob("*.py"))
SCRIPTS = [path for path in list_committed() if path.suffix == ".js"]


def script_lines(text: str) -> int:
    """How many lines of JavaScript hold code; a comment of ours has lines of its own."""
    text = re.sub(r"^\s*/\*.*?\*/\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith("//") for line in lines)


def oversized(name: str, text: str) -> Iterator[str]:
    """Each way in which a Python file is too large."""
    tree = ast.parse(text)
    lines = code_lines(text, tree)
    if len(lines) > FILE and name not in EXCEPTIONS:
        yield f"{name} has {len(lines)} lines of code: make it a package of its name"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            size = sum(line in lines for line in inside)
            if size > FUNCTION and f"{name}:{node.name}" not in EXCEPTIONS:
                yield f"{name}:{node.lineno} {node.name} has {size} lines: one decision a function"


def test_no_function_and_no_file_is_too_long() -> None:
    python = [path for path in list_committed() if path.suffix == ".py"]
    wrong = [line for path in python for line in oversized(relative(path), path.read_text("utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_no_file_of_javascript_is_too_long() -> None:
    scripts = {path: script_lines(path.read_text("utf-8")) for path in SCRIPTS}
    assert len(scripts) > 10
    assert {relative(path): size for path, size in scripts.items() if size > FILE} == {}


def test_pulsars_roles_are_short_enough_to_be_read() -> None:
    layer = ROOT / "mqlab" / "pulsar"
    packages = [[*layer.glob(f"{name}.py"), *layer.glob(f"{name}/*.py")] for name in PULSAR]
    texts = [path.read_text("utf-8") for package in packages for path in sorted(package)]
    assert len(texts) >= len(PULSAR) and all(packages)
    assert sum(len(code_lines(text, ast.parse(text))) for text in texts) <= ROLES


@pytest.mark.parametrize("lab", LABS, ids=[lab.stem for lab in LABS])
def test_no_cell_of_a_lab_is_longer_than_a_screen(lab: Path) -> None:
    """A helper that makes a cell too long belongs in `mqlab/lessons`."""
    first, *cells = ("\n" + lab.read_text("utf-8")).split("\n# %%")
    assert not first and cells
    code = ["# %%" + cell for cell in cells if not cell.startswith(" [markdown]")]
    sizes = {cell.splitlines()[1]: len(code_lines(cell, ast.parse(cell))) for cell in code}
    assert {line: size for line, size in sizes.items() if size > CELL} == {}


def test_no_line_is_too_long() -> None:
    wrong = [
        f"{relative(path)}:{number} has {len(line)} characters"
        for path in list_committed()
        if path.suffix in LINES_OF and not _free(path)
        for number, line in enumerate(_written(path).splitlines(), 1)
        if len(line) > LINE and relative(path) not in EXCEPTIONS
    ]
    assert not wrong, "\n".join(wrong)


def _written(path: Path) -> str:
    """What somebody wrote: of a scenario the story, not the narration that comes out."""
    text = path.read_text("utf-8")
    if path.suffix != ".scn":
        return text
    return "\n".join(block.source for block in split_blocks(text))


def test_every_exception_is_still_needed() -> None:
    names = {relative(path) for path in list_committed()}
    gone = [entry for entry in EXCEPTIONS if entry.partition(":")[0] not in names]
    assert not gone, f"remove from EXCEPTIONS: {gone}"


def test_the_rule_itself() -> None:
    body = '    """Free."""\n\n    # free\n' + "    x = 1\n" * 60
    assert list(oversized("a.py", "def f():\n" + body)) == [
        "a.py:1 f has 61 lines: one decision a function"
    ]
    assert not list(oversized("a.py", "def f():\n" + body.replace("x", "# x", 1)))
    assert script_lines("/** Free,\n * and so is this. */\n// this too\n\nconst x = 1;\n" * 3) == 3
    assert "601 lines of code" in next(oversized("b.py", "x = 1\n" * 601))


def _free(path: Path) -> bool:
    return relative(path).startswith(FREE_LINES)
