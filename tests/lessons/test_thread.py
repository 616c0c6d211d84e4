"""What runs through all labs: the map, the way from each to the next, one story, its words."""

from __future__ import annotations

import itertools
import re

import pytest

from mqlab.lessons.course.notebooks import Lab, labs_in, read_source
from mqlab.lessons.course.ways import measure, short_way
from tests.project.sources import ROOT

LABS = labs_in(ROOT / "labs")
STAGES = ["reserve", "write", "decide", "publish the decision", "make visible", "forget"]


def markdown(lab: Lab) -> list[str]:
    return [c.source for c in read_source(lab).cells if c.cell_type == "markdown"]


def test_the_map_lists_the_labs_there_are_in_their_order() -> None:
    (shown,) = [text for text in markdown(LABS[0]) if "## Map of the course" in text]
    table = shown.partition("## Map of the course")[2].partition("\n## ")[0]
    assert re.findall(r"^\| \[?(\d\d) ", table, re.M) == [lab.name[:2] for lab in LABS]
    assert re.findall(r"\((\d\d-[a-z-]+)\.ipynb\)", table) == [lab.name for lab in LABS[1:]]


@pytest.mark.parametrize(
    ("lab", "following"), [*itertools.pairwise(LABS)], ids=lambda lab: lab.name
)
def test_each_short_way_ends_by_naming_the_next_lab(lab: Lab, following: Lab) -> None:
    cells = [c for c in short_way(read_source(lab).cells) if c.cell_type == "markdown"]
    links = re.findall(r"\((\d\d-[a-z-]+)\.ipynb\)", cells[-1].source)
    assert links[-1:] == [following.name]


def test_the_stages_are_told_in_one_order_with_their_names() -> None:
    table = next(text for text in markdown(LABS[0]) if "| stage | RocketMQ |" in text)
    assert re.findall(r"^\| \*\*(.+?)\*\* \|", table, re.M) == STAGES


def test_the_first_labs_take_no_longer_than_one_sitting() -> None:
    for lab in LABS[:3]:
        assert measure(read_source(lab).cells).minutes <= 45, lab.name
