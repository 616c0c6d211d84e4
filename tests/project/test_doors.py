"""What is loaded by what: commands run without lessons, a lab of one broker without another.

Each is asked in a process of its own, since what one test has loaded stays loaded.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mqlab.brokers import list_brokers
from mqlab.kernel.play import encode
from mqlab.registry import run_scenario
from tests.project.sources import ROOT

LAB_SOURCES = sorted((ROOT / "labs" / "source").glob("*.py"))
STORY = "datasets/scenarios/kafka/counterexamples/lso.scn"
BROKERS = tuple(list_brokers("serve"))


def loaded(code: str) -> set[str]:
    """Our modules that are loaded when this program ends."""
    end = "\nimport sys\nprint('', *(m for m in sys.modules if m.startswith('mqlab')), sep='\\n@')"
    done = subprocess.run(
        [sys.executable, "-c", code + end], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {line[1:] for line in done.stdout.splitlines() if line.startswith("@")}


def imports_of(lab: Path) -> list[ast.ImportFrom]:
    """What the lab's cells import of ours."""
    nodes = ast.walk(ast.parse(lab.read_text("utf-8")))
    found = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return [node for node in found if (node.module or "").startswith("mqlab.")]


def broker_of(lab: Path) -> str:
    """The broker whose lab this is, by its own module; "" where it is about several or none."""
    own = f"lab{lab.name[:2]}"
    packages = [str(node.module).split(".")[-2:] for node in imports_of(lab)]
    return next((package for package, name in packages if name == own and package in BROKERS), "")


LABS = {lab: broker for lab in LAB_SOURCES if (broker := broker_of(lab))}


def packages(found: set[str], *names: str) -> list[str]:
    return sorted(m for m in found if any(m == n or m.startswith(n + ".") for n in names))


@pytest.mark.parametrize(
    "words",
    [
        ("run", STORY),
        ("view", STORY, "-o", "PAGE"),
        ("open", "TOKEN", "-o", "PAGE"),
        ("explore", "kafka", "--off", "lso"),
        ("explore", "--help"),
        ("serve", "kafka", "--help"),
        ("real", "kafka", "--help"),
        ("income", "--help"),
        ("doctor", "--help"),
    ],
    ids=" ".join,
)
def test_a_command_that_is_not_about_lessons_loads_none(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    run = run_scenario((ROOT / STORY).read_text("utf-8"))
    token = encode(run.system, run.trace)
    given = {"PAGE": str(tmp_path / "page.html"), "TOKEN": token}
    line = [given.get(word, word) for word in words]
    code = f"from mqlab.cli import main\ntry: main({line})\nexcept SystemExit: pass"
    found = loaded(code)
    assert f"mqlab.cli.{words[0]}" in found
    assert not packages(found, "mqlab.lessons", "mqlab.lab")


def test_each_broker_has_a_lab() -> None:
    assert {*LABS.values()} == {*BROKERS}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_a_lab_of_one_broker_loads_no_other(lab: Path) -> None:
    """What its cells import."""
    found = loaded("\n".join(ast.unparse(node) for node in imports_of(lab)))
    places = ("mqlab", "mqlab.lessons", "mqlab.serve", "mqlab.real", "mqlab.registry.cases")
    assert packages(found, "mqlab.lessons")
    assert not packages(
        found, *(f"{place}.{other}" for place in places for other in BROKERS if other != LABS[lab])
    )
