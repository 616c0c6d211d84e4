"""What notebooks import: every name is there, documented, and loaded when it is asked for."""

import ast
import subprocess
import sys

import pytest

import mqlab.lab
from tests.project.sources import ROOT

LABS = sorted((ROOT / "labs" / "source").glob("*.py"))
#: what a hidden cell imports again, so that nothing in the notebook can stand in its place
JUDGE = "mqlab.lessons.course.points"


def test_every_name_is_there_and_in_the_text() -> None:
    assert len(mqlab.lab.__all__) <= 33  # three of them for tables as text
    for name in mqlab.lab.__all__:
        assert getattr(mqlab.lab, name) is not None
        assert name in (mqlab.lab.__doc__ or ""), f"{name} is not described"
    assert dir(mqlab.lab) == sorted(mqlab.lab.__all__)
    with pytest.raises(AttributeError, match=r"mqlab.lab has no 'scenarios'; it has .*scenario"):
        _ = mqlab.lab.scenarios


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    script = (
        "import sys, mqlab.lab; print(*sorted(m for m in sys.modules if m.startswith('mqlab')))"
        "; mqlab.lab.system('kafka'); print('mqlab.kafka' in sys.modules, 'pyspark' in sys.modules,"
        " 'anywidget' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["mqlab mqlab.lab", "True False False"]


@pytest.mark.parametrize("path", LABS, ids=[path.stem for path in LABS])
def test_a_lab_imports_mqlab_lab_and_its_own_module(path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    modules = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mqlab")
    }
    own = {module for module in modules if module.rpartition(".")[2] == f"lab{path.name[:2]}"}
    assert len(own) == 1
    assert modules - own - {JUDGE} == {"mqlab.lab"}
    assert not any(
        alias.name.startswith("mqlab")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    )
