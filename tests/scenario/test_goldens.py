"""Every committed scenario narrates what its file says, under any hash seed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqlab import kernel
from mqlab.registry import SYSTEMS, scenario
from mqlab.scenario import load

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios"
FILES = sorted(FOLDER.rglob("*.scn"))


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_the_narration_is_as_committed(path):
    golden = load(path, SYSTEMS)
    assert golden.equal, golden.diff()
    assert golden.script.comments, "a scenario begins with its story"


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_all_are_equal_under_another_hash_seed(seed):
    done = subprocess.run(
        [sys.executable, "-m", "mqlab", "run", str(FOLDER)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(FILES)} of {len(FILES)} scenarios equal" in done.stdout


def test_invariants_hold_in_every_scenario_with_all_safeguards_on():
    for path in FILES:
        golden = load(path, SYSTEMS)
        if "off=" in golden.script.system or "claims=" in golden.script.system:
            continue
        red = [light.name for light in golden.run.snapshots[-1].lights if not light.ok]
        assert not red, (path.stem, red)


def test_every_scenarios_trace_is_what_the_committed_schema_says():
    import jsonschema

    schema = json.loads(Path(kernel.__file__).with_name("trace.schema.json").read_text("utf-8"))
    judge = jsonschema.Draft202012Validator(schema)
    for path in FILES:
        judge.validate(scenario(path.read_text("utf-8")).to_json())
