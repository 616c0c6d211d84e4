"""A scenario's first comment is its title above pictures: one line, whole. Its line `#?` is asked in
the gallery and on its page, and the title answers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.scenario import parse_script

SCENARIOS = Path(__file__).parents[2] / "datasets" / "scenarios"


@pytest.mark.parametrize("broker", sorted(p.name for p in SCENARIOS.iterdir() if p.is_dir()))
def test_a_title_does_not_break_off(broker: str) -> None:
    broken = {}
    for path in sorted((SCENARIOS / broker).rglob("*.scn")):
        script = parse_script(path.read_text("utf-8"))
        title, after = script.title.en, script.comments[1:2]
        if (after and after[0][:1].islower()) or title.count("(") != title.count(")"):
            broken[path.name] = title
    assert broken == {}
