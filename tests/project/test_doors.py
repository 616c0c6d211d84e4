"""What is loaded by what: commands run without lessons, a lab of one broker without another.

Each is asked in a process of its own, since what one test has loaded stays loaded.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mqlab.kernel.token import encode
from mqlab.registry import run_scenario
from tests.project.sources import ROOT

STORY = "datasets/scenarios/kafka/counterexamples/lso.scn"
#: the labs of one broker, and the brokers that they need not know
LABS = {
    "03": ("kafka", "pulsar"),
    "04": ("kafka", "pulsar"),
    "05": ("rocketmq", "pulsar"),
    "06": ("rocketmq", "pulsar"),
    "07": ("rocketmq", "pulsar"),
    "08": ("rocketmq", "pulsar"),
    "09": ("kafka", "rocketmq"),
    "10": ("kafka", "rocketmq"),
}


def loaded(code: str) -> set[str]:
    """Our modules that are loaded when this program ends."""
    end = "\nimport sys\nprint('', *(m for m in sys.modules if m.startswith('mqlab')), sep='\\n@')"
    done = subprocess.run(
        [sys.executable, "-c", code + end], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {line[1:] for line in done.stdout.splitlines() if line.startswith("@")}


def rooms(found: set[str], *names: str) -> list[str]:
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
        ("bench", "--help"),
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
    assert not rooms(found, "mqlab.lessons", "mqlab.lab")


@pytest.mark.parametrize("number", LABS)
def test_a_lab_of_one_broker_loads_no_other(number: str) -> None:
    """What its cells import, and what a picture's first scenario needs."""
    (path,) = (ROOT / "labs" / "source").glob(f"{number}-*.py")
    tree = ast.parse(path.read_text("utf-8"))
    cells = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mqlab")
    ]
    found = loaded("\n".join(cells))
    places = ("mqlab", "mqlab.lessons", "mqlab.serve", "mqlab.real", "mqlab.registry.cases")
    assert rooms(found, "mqlab.lessons")
    assert not rooms(found, *(f"{place}.{other}" for place in places for other in LABS[number]))
