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


def test_commands_that_are_not_about_lessons_load_none(tmp_path: Path) -> None:
    run = run_scenario((ROOT / STORY).read_text("utf-8"))
    token, page = encode(run.system, run.trace), str(tmp_path / "page.html")
    lines = (
        ("run", STORY),
        ("view", STORY, "-o", page),
        ("open", token, "-o", page),
        ("explore", "kafka", "--off", "lso"),
        ("explore", "--help"),
        ("serve", "kafka", "--help"),
        ("real", "kafka", "--help"),
        ("income", "--help"),
        ("doctor", "--help"),
    )
    one = "try: main({})\nexcept SystemExit: pass".format
    found = loaded("\n".join(["from mqlab.cli import main", *(one([*line]) for line in lines)]))
    assert {f"mqlab.cli.{words[0]}" for words in lines} <= found
    assert not packages(found, "mqlab.lessons", "mqlab.lab")


def test_each_broker_has_a_lab() -> None:
    assert {*LABS.values()} == {*BROKERS}


@pytest.mark.parametrize("broker", BROKERS)
def test_labs_of_one_broker_load_no_other(broker: str) -> None:
    """What their cells import."""
    nodes = [node for lab, its in LABS.items() if its == broker for node in imports_of(lab)]
    found = loaded("\n".join(map(ast.unparse, nodes)))
    places = ("mqlab", "mqlab.lessons", "mqlab.serve", "mqlab.real", "mqlab.registry.cases")
    assert packages(found, "mqlab.lessons")
    assert not packages(
        found, *(f"{place}.{other}" for place in places for other in BROKERS if other != broker)
    )
