"""The tree of futures: in Python its nodes and rows, in Chromium that each of them opens."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import Play
from mqlab.registry import system

from .harness import put
from .test_acts import END_TXN, MARKERS, areas, focused, ground, page, step  # noqa: F401
from .test_browser import axe, settle
from .test_goal import PLAIN, TWICE, play

in_browser = pytest.mark.needs("chromium")


def tree(made: Any) -> dict[str, Any]:
    found: dict[str, Any] = made.ui["branches"]
    return found


def test_each_choice_is_a_node_and_each_other_future_a_row() -> None:
    made = ground(*MARKERS)
    assert (tree(made)["rows"], tree(made)["columns"], tree(made)["now"]) == (1, 3, 3)
    made.undo()
    made.do("kill coordinator")
    made.do("restart coordinator")
    nodes = tree(made)["nodes"]
    assert [(n["column"], n["row"], n["parent"]) for n in nodes] == [
        (0, 0, -1), (1, 0, 0), (2, 0, 1), (3, 0, 2), (3, 1, 2), (4, 1, 4),
    ]  # fmt: skip
    assert nodes[0]["title"] == "the beginning"
    assert nodes[4]["title"] == "after 3: coordinator ✗ killed"
    made._asked(None, {"type": "visit", "number": 3}, None)
    assert made.play.choices[-3:] == MARKERS and tree(made)["now"] == 3
    before = made.payload
    made._asked(None, {"type": "visit", "number": 6}, None)
    assert made.payload == before, "there is no such node"


def test_the_node_that_reaches_the_goal_is_red_and_no_other() -> None:
    made = play((*TWICE, "kill payments-0"), lang="zh")
    red = [n for n in tree(made)["nodes"] if n["red"]]
    assert [n["column"] for n in red] == [len(TWICE)]
    assert red[0]["title"].endswith("（已达到目标）")


def test_a_token_adds_its_run_to_the_tree() -> None:
    made = play(TWICE[:2])
    made.open_token(Play(system(PLAIN), ("call order-service", "kill order-service")).token)
    assert tree(made)["rows"] == 2 and tree(made)["nodes"][-1]["column"] == 2


@in_browser
def test_any_future_opens_by_click_and_by_keys(page: Any) -> None:  # noqa: F811
    made = ground(*MARKERS)
    put(page, made)
    step(page, len(made.play.trace))
    assert not page.get_by_role("tree").is_visible(), "one future is no tree"
    gap = next(s for s in areas(made, "gap").values() if "1 of 2 markers" in s["items"][0]["label"])
    at = [s["key"] for s in made.ui["areas"] if s["kind"] == "gap"].index(gap["key"])
    page.locator(".area.gap").nth(at).click()
    page.get_by_role("menuitem", name="kill coordinator here").first.click()
    step(page, gap["at"] + 1)
    nodes = page.get_by_role("treeitem")
    assert nodes.count() == 5 and page.locator(".node[tabindex='0']").count() == 1
    slider = page.locator(".slide").bounding_box()
    assert page.get_by_role("tree").bounding_box()["y"] < slider["y"]
    nodes.nth(3).click()
    step(page, len(made.play.trace))
    assert made.play.choices[-3:] == MARKERS
    page.locator(".node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert focused(page) == "after 3: coordinator ✗ killed: 1 of 2 markers had left"
    page.keyboard.press("Enter")
    step(page, gap["at"] + 1)
    assert focused(page).startswith("after 3"), "the focus stays in the tree"
    assert page.get_by_role("treeitem", selected=True).count() == 1
    page.add_style_tag(content="h1 { display: none } body, main { margin: 0; padding: 0 }")
    settle(page)
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "one screen"
    assert axe(page, "#widget") == []
