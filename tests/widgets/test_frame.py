"""In Chromium: a picture is as tall as its window, what does not fit is a tab, keys stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Player

from mqlab.kernel.snapshot import Table
from mqlab.kernel.text import Text

from .sample import long_trace, sample
from .test_browser import axe, open_page, settle, step_of

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
    yield page
    page.close()


def test_a_narrow_cell_has_tabs_and_letters_keep_their_size(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=21))
    size = "() => getComputedStyle(document.querySelector('svg.picture text')).fontSize"
    drawn = "() => document.querySelector('svg.picture').getBoundingClientRect().width"
    wide = page.evaluate(size), page.evaluate(drawn)
    assert page.get_by_role("tab", name="Diagram").count() == 0
    page.set_viewport_size({"width": 560, "height": 500})
    diagram = page.get_by_role("tab", name="Diagram")
    diagram.wait_for()
    settle(page)
    assert (page.evaluate(size), page.evaluate(drawn)) == wide, "text keeps its size"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert page.locator(".controls").is_visible() and page.locator(".say").is_visible()
    diagram.focus()
    page.keyboard.press("ArrowRight")
    chosen = page.locator("[role=tab][aria-selected=true]")
    assert chosen.evaluate("(el) => el === document.activeElement")
    assert chosen.inner_text() != "Diagram"
    assert page.locator("[role=tabpanel]:visible").count() == 1
    assert page.get_attribute(".mqlab", "data-step") == "21", "the tabs took the key"
    assert axe(page, "html") == []


def test_a_tab_is_marked_at_the_step_that_changes_it(page: Any, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 560, "height": 500})
    trace = sample()
    open_page(page, tmp_path, Player(trace, step=0))
    marks = "() => document.querySelectorAll('[role=tab].news').length"
    marked: dict[bool, list[bool]] = {}
    for step in (i for i, fact in enumerate(trace.facts, 1) if not fact.fold):
        page.fill(".slide input", str(step))
        assert step_of(page) == step
        before = max((i for i in range(1, step) if not trace.facts[i - 1].fold), default=0)
        old, new = trace.snapshots[before], trace.snapshots[step]
        same = replace(old, lanes=new.lanes) == new
        marked.setdefault(same, []).append(page.evaluate(marks) > 0)
    assert all(marked[False]) and not any(marked[True])


def test_the_player_is_as_tall_as_the_window_and_its_rows_fit(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(long_trace(200), step=100))
    seen = []
    for height in (500, 800, 1000):
        page.set_viewport_size({"width": 1280, "height": height})
        settle(page)
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        stage = page.locator(".stage").bounding_box()
        band = page.locator("rect.band").bounding_box()
        assert (
            stage["y"] <= band["y"] and band["y"] + band["height"] <= stage["y"] + stage["height"]
        )
        seen.append(stage["height"])
    assert seen == sorted(set(seen))


def test_columns_use_all_of_a_wide_pane(page: Any, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1700, "height": 900})
    open_page(page, tmp_path, Player(sample(), step=21))
    page.add_style_tag(content="main { max-width: none }")
    settle(page)
    stage = page.locator(".stage").bounding_box()
    boxes = [box.bounding_box() for box in page.locator(".stage > *").all()]
    assert len(boxes) == 3
    assert boxes[0]["x"] == stage["x"]
    end = boxes[2]["x"] + boxes[2]["width"]
    assert end == pytest.approx(stage["x"] + stage["width"], abs=1)


def test_f_takes_the_whole_window_and_escape_leaves_it(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=5))
    page.evaluate("() => { window.heard = []; document.onkeydown = (e) => heard.push(e.key); }")
    page.focus(".mqlab")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("heard") == ["Escape", "Enter"], "they are JupyterLab's"
    page.keyboard.press("f")
    page.wait_for_selector(".mqlab.whole")
    settle(page)
    box = page.locator(".mqlab").bounding_box()
    assert box["width"] == page.evaluate("innerWidth")
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 6
    page.keyboard.press("Escape")
    page.wait_for_selector(".mqlab:not(.whole)")
    page.keyboard.press("?")
    legend = page.get_by_role("dialog", name="Legend")
    assert legend.is_visible() and legend.locator("svg path").count() > 20
    assert axe(page, "html") == []
    page.keyboard.press("Escape")
    assert legend.is_hidden()
    page.keyboard.press("ArrowRight")
    assert step_of(page) > 6, "the focus came back"


def test_no_button_takes_the_focus_away(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=3))
    last = page.get_by_role("button", name="Last step")
    last.click()
    assert step_of(page) == 23 and last.is_disabled()
    assert last.evaluate("(el) => el === document.activeElement")
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == 22


def test_the_keys_of_a_page_work_at_once(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=0))
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1


def test_nothing_jumps_from_step_to_step(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=0))
    places = """() => ["button", ".slide", ".say", ".stage", ".title"].map((name) => {
      const { x, y, height } = document.querySelector(`.mqlab ${name}`).getBoundingClientRect();
      return [x, y, height];
    })"""
    first = page.evaluate(places)
    for step in range(1, len(sample()) + 1):
        page.fill(".slide input", str(step))
        assert step_of(page) == step
        assert page.evaluate(places) == first, f"step {step}"


PINNED = ("space-time", "logs", "readers", "money", "lights")


def find_cut(page: Any) -> list[str]:
    """The pinned pictures that are in sight and reach below the frame."""
    settle(page)
    limit = page.locator(".bottom").bounding_box()["y"]
    pictures = [(name, page.locator(f"svg.picture[data-panel={name}]")) for name in PINNED]
    boxes = [(name, svg.bounding_box()) for name, svg in pictures if svg.is_visible()]
    return [name for name, box in boxes if box["y"] + box["height"] > limit]


def test_what_is_in_sight_is_whole_at_every_height(page: Any, tmp_path: Path) -> None:
    run = sample()
    short = replace(
        run, facts=run.facts[:2], snapshots=run.snapshots[:3]
    )  # few rows ask for little
    open_page(page, tmp_path, Player(short))
    for height in range(400, 680, 20):
        page.set_viewport_size({"width": 950, "height": height})
        assert find_cut(page) == [], height


def test_a_wide_window_has_two_columns_beside_the_diagram(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=21))
    for width, height, columns in ((950, 779, 1), (1240, 779, 1), (1240, 540, 2)):
        page.set_viewport_size({"width": width, "height": height})
        assert find_cut(page) == [] and page.locator(".right").count() == columns
    assert all(column.locator("svg.picture").count() > 1 for column in page.locator(".right").all())


def test_a_tab_that_is_a_little_too_low_takes_it_from_the_space_between_panels(
    page: Any, tmp_path: Path
) -> None:
    """Lab 13's graph of states was 10 px too low, for its tables are lower still."""
    tables = (Table(Text("Log"), ("id",), (("1",),)),)
    trace = sample()
    trace = replace(trace, snapshots=tuple(replace(s, tables=tables) for s in trace.snapshots))
    open_page(page, tmp_path, Player(trace, step=21))
    seen = "(el) => [el.clientHeight, el.scrollHeight]"
    closer = 0
    for height in range(500, 620, 4):
        page.set_viewport_size({"width": 950, "height": height})
        settle(page)
        for box in page.query_selector_all(".right.close .tabpanel:not([hidden])"):
            shown, needed = box.evaluate(seen)
            assert shown >= needed, height
            closer += 1
    assert closer
