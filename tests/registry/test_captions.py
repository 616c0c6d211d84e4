"""Stories that labs, the page *Choose* or the lecture play are captioned by hand, part by part.

Counterexamples are left out: a search writes them (`tests/registry/renew.py`), choice by choice.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mqlab.places import SCENARIOS
from mqlab.registry import SYSTEMS
from mqlab.registry.cases.ways import ORDER
from mqlab.scenario import load

ROOT = Path(__file__).parents[2]
MOST_WORDS = 10


def find_stories() -> list[str]:
    """By name, without `.scn`."""
    runs = tomllib.loads((ROOT / "mqlab/lessons/choice.toml").read_text("utf-8"))["runs"]
    page = (ROOT / "labs/choose/choose.md").read_text("utf-8")
    named = {run["story"] for run in runs.values()} | {way.story for way in ORDER.values()}
    named |= set(re.findall(r"\(story:([^)]+)\)", page))
    return sorted(name for name in named | {"kafka/torn-read"} if "/counterexamples/" not in name)


@pytest.mark.parametrize("name", find_stories())
def test_each_part_has_a_caption_of_few_words(name):
    captions = load(SCENARIOS / f"{name}.scn", SYSTEMS).captions
    assert captions
    for caption in captions:
        assert caption.written, f"by its commands only: {caption.text.en}"
        assert all(len(line.split()) <= MOST_WORDS for line in caption.text.en.splitlines())
