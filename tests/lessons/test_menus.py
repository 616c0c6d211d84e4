"""Menus for `vary`: what a learner reads in them, and that every value is accepted by a story."""

import pytest

from mqlab.lessons.menus import list_kills, list_safeguards
from mqlab.registry import scenario

STORY = "system kafka partitions=2 {options}\n{kill}\n{calls}\n"
CALLS = "run app: init, begin, send orders-0 a, send orders-1 b, commit"


def test_a_menu_of_safeguards_begins_with_everything_on():
    first, second = list_safeguards("kafka", "lso")
    assert first == ("everything is on", "")
    assert second[1] == "lso" and second[0].startswith("lso is off: read_committed reads only")
    assert len(list_safeguards("kafka")) > 8
    with pytest.raises(ValueError, match=r"no safeguard brakes; there are: .*lso"):
        list_safeguards("kafka", "brakes")


def test_a_menu_of_deaths_is_told_as_the_picture_tells_them():
    story = STORY.format(options="", kill="", calls=CALLS)
    menu = dict(list_kills(story, "coordinator"))
    assert menu["nobody dies"] == ""
    line = menu["coordinator, WriteTxnMarkers#1: killed: 1 of 2 markers had left"]
    torn = scenario(STORY.format(options="off=lso", kill=line, calls=CALLS))
    assert any(f.text.en == "killed: 1 of 2 markers had left" for f in torn)
    with pytest.raises(ValueError, match=r"no node tc; there are: .*coordinator"):
        list_kills(story, "tc")
