"""No tuple of RocketMQ's code grows in a loop: `row = (*row, one)` copies the row each time, so a
client that sends 40,000 of something makes everybody else wait. A list is filled, or a generator
is read."""

from __future__ import annotations

import ast

import pytest

from tests.project.sources import modules

PACKAGES = ("mqlab.rocketmq", "mqlab.serve.rocketmq")
LOOPS = (ast.For, ast.AsyncFor, ast.While)


def names_in(nodes: list[ast.expr]) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def find_growing(tree: ast.AST) -> set[int]:
    """The lines on which a loop binds a name to a tuple that unpacks that very name."""
    found = set()
    for loop in ast.walk(tree):
        if not isinstance(loop, LOOPS):
            continue
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                unpacked = [e.value for e in node.value.elts if isinstance(e, ast.Starred)]
                if names_in(node.targets) & {e.id for e in unpacked if isinstance(e, ast.Name)}:
                    found.add(node.lineno)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_tuple_grows_in_a_loop(package: str) -> None:
    here = {n: p for n, p in modules().items() if n == package or n.startswith(f"{package}.")}
    grown = {
        f"{name}:{line}"
        for name, path in here.items()
        for line in find_growing(ast.parse(path.read_text("utf-8")))
    }
    assert here and not grown, f"a list instead: {', '.join(sorted(grown))}"


def test_a_growing_tuple_is_found() -> None:
    source = (
        "for x in y:\n    if x:\n        row = (*row, x)\n    other = (*row, x)\nrow = (*row, 1)"
    )
    assert find_growing(ast.parse(source)) == {3}
