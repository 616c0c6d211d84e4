"""The labs as a student meets them: JupyterLab in Chromium, run, light and dark. Each run opens
lab 07 (test_lab07.py) and a quarter of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.widgets.test_browser import OVERLAPS

from .conftest import Served
from .jupyter import errors, notebook, run_all, set_theme
from .panes import SIZES, find_faults, set_size, use_all

pytestmark = pytest.mark.needs("chromium")

#: notebook → how many pictures it shows at least
LABS = {
    "00-start-here": 6,
    "01-how-often": 8,
    "02-who-decides": 7,
    "03-half-message": 11,
    "04-check-back": 11,
    "05-idempotent-producer": 6,
    "06-coordinator": 12,
    "08-consume-transform-produce": 6,
    "09-coordinator-and-buffer": 16,
    "10-acknowledgement": 15,
    "12-which-one": 12,
    "13-build-a-coordinator": 7,
    "14-the-real-thing": 8,
    "15-articles-on-trial": 6,
    "16-on-call": 5,
}
spread = pytest.mark.spread("widgets/mqlab_widgets", by="opened")
SHOWN = ".jp-OutputArea-output .mqlab"
#: runs the code cells that have one of these words in them, after the outputs are cleared
RUN_SOME = """async (words) => {
  const { content } = jupyterapp.shell.currentWidget;
  await jupyterapp.commands.execute("notebook:clear-all-cell-outputs");
  for (const [i, { model }] of content.widgets.entries()) {
    const source = model.sharedModel.source;
    if (model.type !== "code" || !words.some((word) => source.includes(word))) continue;
    content.deselectAll();
    content.activeCellIndex = i;
    await jupyterapp.commands.execute("notebook:run-cell");
  }
}"""
#: tables that are wrapped, which makes them unreadable: taller than they have lines
WRAPPED = """() => [...document.querySelectorAll('.jp-OutputArea-output pre')]
    .filter((pre) => pre.textContent.includes('---  '))
    .filter((pre) => pre.clientHeight > parseFloat(getComputedStyle(pre).lineHeight)
        * (pre.textContent.trimEnd().split('\\n').length + 0.9))
    .map((pre) => pre.textContent.slice(0, 200))"""

#: rows of tabs that are cut off at the right, and graphs that are below
CUT = """() => [...document.querySelectorAll(
      '.mqlab .tabs, .mqlab .tabpanel:has([data-panel=graphs])')]
    .filter((el) => el.checkVisibility() && (el.matches('.tabs')
        ? el.scrollWidth > el.clientWidth : el.scrollHeight > el.clientHeight))
    .map((el) => el.textContent)"""


@dataclass
class Opened:
    lab: str
    page: Any


@pytest.fixture(scope="module", params=[pytest.param(lab, marks=spread) for lab in LABS])
def opened(request: Any, served: Served, browser: Any) -> Iterator[Opened]:
    """A notebook, run once."""
    with notebook(browser, served.address, f"solutions/{request.param}.ipynb") as page:
        run_all(page)
        page.wait_for_selector(SHOWN)
        yield Opened(request.param, page)


@pytest.fixture(scope="module")
def pairs(served: Served, browser: Any) -> Iterator[Any]:
    """Lab 11 with what draws two systems side by side; its other cells run a Spark job."""
    with notebook(browser, served.address, "solutions/11-order-to-income.ipynb") as page:
        page.evaluate(RUN_SOME, ["from mqlab.lessons.spark.lab11", "play_both()", "vary(play_both"])
        page.wait_for_function(f"document.querySelectorAll('{SHOWN}[data-step]').length === 4")
        yield page


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_two_systems_side_by_side_are_in_sight_at_once(pairs: Any, size: tuple[int, int]) -> None:
    assert find_faults(pairs, "11", size) == {}


def test_it_runs_without_an_error_and_shows_its_pictures(opened: Opened) -> None:
    assert errors(opened.page) == []
    assert opened.page.locator(SHOWN).count() >= LABS[opened.lab]


@spread
@pytest.mark.parametrize("opened", ["06-coordinator", "12-which-one"], indirect=True)
def test_no_table_is_wrapped_in_a_common_window(opened: Opened) -> None:
    """The labs with the widest tables."""
    assert opened.page.evaluate(WRAPPED) == []
    opened.page.set_viewport_size({"width": 700, "height": 800})
    opened.page.wait_for_function(f"() => ({WRAPPED})().length > 0")  # the measure works
    opened.page.set_viewport_size({"width": 1280, "height": 800})


@spread
@pytest.mark.parametrize("opened", ["10-acknowledgement", "13-build-a-coordinator"], indirect=True)
def test_no_tab_and_no_graph_is_cut_in_a_common_window(opened: Opened) -> None:
    """Two runs side by side with six tabs, and a graph below many promises."""
    assert opened.page.evaluate(CUT) == []


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_everything_is_in_sight_at_once(opened: Opened, size: tuple[int, int]) -> None:
    assert find_faults(opened.page, opened.lab[:2], size) == {}
    set_size(opened.page, SIZES[0])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_two_texts_overlap(opened: Opened, dark: bool) -> None:
    page = opened.page
    set_theme(page, dark)
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("size", (SIZES[0], SIZES[3]), ids=lambda size: f"{size[0]}x{size[1]}")
def test_everything_is_in_sight_when_all_is_told(opened: Opened, size: tuple[int, int]) -> None:
    """The last test of a lab: its Explorers have searched, its questions are answered."""
    use_all(opened.page)
    assert find_faults(opened.page, f"{opened.lab[:2]}-told", size) == {}
