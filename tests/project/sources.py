"""The project's files, as the tests of its rules see them."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = {ROOT / "mqlab": "mqlab", ROOT / "widgets" / "mqlab_widgets": "mqlab_widgets"}

# what a compiler wrote, whose source is the file it was made from
GENERATED = "_pb2.py"

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def list_committed() -> list[Path]:
    """Every file git knows or would add, so that a rule also holds before the commit; none that a
    compiler wrote."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    names = done.stdout.decode("utf-8").split("\0")
    written = sorted({name for name in names if name and not name.endswith(GENERATED)})
    return [ROOT / name for name in written if (ROOT / name).is_file()]


def texts() -> dict[str, str]:
    """Name → contents of each committed text file."""
    found = {}
    for path in list_committed():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            found[relative(path)] = data.decode("utf-8", errors="replace")
    return found


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def modules() -> dict[str, Path]:
    """Dotted name → file of every module of the two packages."""
    found = {}
    for folder, package in CODE.items():
        for path in sorted(folder.rglob("*.py")):
            if path.name.endswith(GENERATED):
                continue
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def imports(name: str, path: Path) -> list[tuple[int, str]]:
    """(line, absolute dotted name) of every import, those inside functions too.

    `from a import b` gives `a.b` where that is a module, else `a`.
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found.append((node.lineno, inner if inner in modules() else base))
    return found


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Numbers of the lines that hold code: neither blank nor comment, nor of a docstring."""
    rows = enumerate(text.split("\n"), 1)
    lines = {i for i, row in rows if row.strip() and not row.lstrip().startswith("#")}
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, Scope) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(_span(node.body[0]))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and len(_span(node)) > 1:
            lines.update(_span(node))  # a string may have blank lines, and some that begin with `#`
    return lines - docstrings


def _span(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
