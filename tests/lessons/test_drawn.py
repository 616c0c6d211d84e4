"""Every step of every shipped story can be drawn, counterexamples too."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from mqlab_widgets.payload import Look, build
from mqlab_widgets.views import PANELS

from mqlab.registry import scenario

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios"
FILES = sorted(FOLDER.rglob("*.scn"), key=lambda path: (path.parent, path.name))
FOLDERS = [(folder, list(files)) for folder, files in groupby(FILES, lambda path: path.parent)]


@pytest.mark.parametrize(
    ("folder", "files"), FOLDERS, ids=[str(folder.relative_to(FOLDER)) for folder, _ in FOLDERS]
)
def test_every_step_of_every_story_has_its_picture(folder: Path, files: list[Path]) -> None:
    for path in files:
        trace = scenario(path.read_text("utf-8"))
        names = Look().names(trace)
        try:
            data = build(trace, len(trace), Look())
        except ValueError as error:
            pytest.fail(f"{path.relative_to(FOLDER)}: {error}")
        assert data["steps"] == len(trace) + 1
        assert [panel["name"] for panel in data["panels"]] == names
        assert "space-time" in names, path.stem


def test_one_name_in_two_topics_is_two_lines_that_say_which() -> None:
    trace = scenario((FOLDER / "pulsar" / "two-topics.scn").read_text("utf-8"))
    scene = PANELS["readers"].view(trace, len(trace))
    keys = [node.key for node in scene.nodes if node.key.startswith("reader:")]
    assert {"reader:billing · worker · orders-0", "reader:billing · worker · payments-0"} <= {*keys}
