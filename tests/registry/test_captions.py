"""Stories that labs, the page *Choose* or the lecture play are captioned by hand, part by part.

Counterexamples are left out: a search writes them (`tests/registry/renew.py`), choice by choice.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.places import SCENARIOS
from mqlab.registry import SYSTEMS
from mqlab.registry.cases.prices import ORDER
from mqlab.scenario import load

ROOT = Path(__file__).parents[2]
MOST_WORDS = 10
TEXTS = (".py", ".toml", ".md")


def find_stories() -> list[str]:
    """By name, without `.scn`: those of the ways, and those that a text names."""
    folders = [ROOT / "labs" / name for name in ("source", "choose", "lecture")]
    folders.append(ROOT / "mqlab/lessons")
    texts = [path for folder in folders for path in sorted(folder.rglob("*.*")) if path.is_file()]
    words = "\n".join(path.read_text("utf-8") for path in texts if path.suffix in TEXTS)
    every = (path.relative_to(SCENARIOS).with_suffix("") for path in SCENARIOS.rglob("*.scn"))
    named = {name.as_posix() for name in every if "counterexamples" not in name.parts}
    shown = {name for name in named if re.search(rf"{re.escape(name)}(?![\w-])", words)}
    return sorted(shown | {way.story for way in ORDER.values()})


@pytest.mark.parametrize("name", find_stories())
def test_each_part_has_a_caption_of_few_words(name):
    captions = load(SCENARIOS / f"{name}.scn", SYSTEMS).captions
    assert captions
    for caption in captions:
        assert caption.written, f"by its commands only: {caption.text.en}"
        assert all(len(line.split()) <= MOST_WORDS for line in caption.text.en.splitlines())
