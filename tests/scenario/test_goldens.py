"""Every committed scenario narrates what its file says, under any hash seed; each of its steps says
why, and can be drawn."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from mqlab_widgets.payload import Look, build

from mqlab import kernel
from mqlab.registry import SYSTEMS, scenario, with_evidence
from mqlab.scenario import Golden, load
from tests.lessons.test_whys import without_why

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios"
FILES = sorted(FOLDER.rglob("*.scn"))


@pytest.fixture(scope="module", params=FILES, ids=[path.stem for path in FILES])
def golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    """A file, run once for what is asked of it."""
    yield load(request.param, SYSTEMS)


@pytest.fixture(scope="module")
def judge() -> Callable[[Any], Any]:
    schema = json.loads(Path(kernel.__file__).with_name("trace.schema.json").read_text("utf-8"))
    del schema["$schema"]  # it says nothing that the older drafts of the compiler could not
    return fastjsonschema.compile(schema)


def test_the_narration_is_as_committed(golden: Golden) -> None:
    assert golden.equal, golden.diff()
    assert golden.script.comments, "a scenario begins with its story"


def test_invariants_hold_with_all_safeguards_on(golden: Golden) -> None:
    if "off=" not in golden.script.system and "claims=" not in golden.script.system:
        red = [light.name for light in golden.run.snapshots[-1].lights if not light.ok]
        assert red == []


def test_the_trace_is_what_the_committed_schema_says(
    golden: Golden, judge: Callable[[Any], Any]
) -> None:
    judge(with_evidence(golden.run.trace, "").to_json())


def test_every_visible_step_says_why(golden: Golden) -> None:
    assert without_why(golden.run.trace) == []


def test_no_answer_is_drawn_as_a_request(golden: Golden) -> None:
    """Also one that opens the other direction of its connection, as that to a heartbeat does."""
    for fact in golden.run.trace:
        kinds = [one.__name__ for one in type(fact.body).__mro__]
        answers = "Answer" in kinds or kinds[0].endswith("Response")
        assert not (fact.kind == "send" and answers), fact.line()
        assert not (fact.pushed and "kafka" in golden.path.parts), fact.line()
    if golden.path.stem in ("commit", "abort"):
        assert any(fact.pushed for fact in golden.run.trace)


@pytest.mark.spread("mqlab/kernel", "widgets/mqlab_widgets")
def test_every_step_has_its_picture(golden: Golden) -> None:
    trace = golden.run.trace
    data = build(trace, len(trace), Look())
    assert data["steps"] == len(trace) + 1
    names = [panel["name"] for panel in data["panels"]]
    assert names == Look().names(trace) and "space-time" in names


def test_what_the_schema_does_not_say_is_refused(judge: Callable[[Any], Any]) -> None:
    trace = scenario(FILES[0].read_text("utf-8")).to_json()
    trace["facts"][0]["surplus"] = 1
    with pytest.raises(fastjsonschema.JsonSchemaException, match="surplus"):
        judge(trace)


@pytest.mark.spread("mqlab/kernel")
@pytest.mark.parametrize("folder", sorted({path.relative_to(FOLDER).parts[0] for path in FILES}))
def test_all_are_equal_under_another_hash_seed(folder: str) -> None:
    """A seed beside the random one of the other tests here."""
    count = len(list((FOLDER / folder).rglob("*.scn")))
    done = subprocess.run(
        [sys.executable, "-m", "mqlab", "run", str(FOLDER / folder)],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} of {count} scenarios as expected" in done.stdout
