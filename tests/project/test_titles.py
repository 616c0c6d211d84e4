"""A scenario's first comment is its title above pictures: one line, whole. Its line `#?` is asked
in the gallery and on its page, and the title answers it."""

from __future__ import annotations

from collections import Counter
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


def test_every_story_asks_before_it_is_played() -> None:
    """A question of its own, short, in both languages, which does not say its own answer."""
    asked = {}
    for path in sorted(SCENARIOS.rglob("*.scn")):
        script = parse_script(path.read_text("utf-8"))
        question, title = script.question, script.title
        name = path.relative_to(SCENARIOS).as_posix()
        assert script.asked and question.en.endswith("?") and question.zh.endswith("？"), name
        words, letters = (24, 120) if "answers" in script.head else (20, 110)
        assert len(question.en.split()) <= words and len(question.en) <= letters, name
        assert title.en.lower() not in question.en.lower() and title.zh not in question.zh, name
        asked[name] = question
    for texts in ([one.en for one in asked.values()], [one.zh for one in asked.values()]):
        assert [text for text, times in Counter(texts).items() if times > 1] == []
