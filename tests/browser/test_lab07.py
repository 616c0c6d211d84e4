"""Lab 07 as a student meets it: JupyterLab in Chromium, run, stepped, light and dark."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.test_browser import OVERLAPS, settle

from .conftest import Served
from .jupyter import errors, notebook, run_all, set_theme
from .panes import SIZES as PANES
from .panes import find_faults, set_size, use_all

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.spread("widgets/mqlab_widgets", by="file"),
]

LAB = "solutions/07-markers-and-lso.ipynb"
SIZES = ((1280, 800), (1920, 1080))
PICTURES = Path(__file__).parents[2] / ".cache" / "test" / "pictures"
PLAYER = ".jp-OutputArea-output .mqlab"


@pytest.fixture(scope="module")
def lab(served: Served, browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """The notebook, run once, and every request that was made."""
    requests: list[str] = []
    with notebook(browser, served.address, LAB, requests.append) as page:
        run_all(page)
        page.wait_for_selector(PLAYER)
        yield page, requests


def test_the_notebook_runs_without_an_error_and_shows_its_players(lab: Any) -> None:
    page, _ = lab
    assert errors(page) == []
    assert page.locator(PLAYER).count() >= 6


def test_keys_and_slider_step_and_jupyterlab_does_not_take_the_keys(lab: Any) -> None:
    page, _ = lab
    player = page.locator(PLAYER).nth(1)
    player.scroll_into_view_if_needed()
    # A step is drawn with the next frame.
    at = """(el) => new Promise((tell) => requestAnimationFrame(() =>
        requestAnimationFrame(() => tell(el.mqlab.step))))"""
    player.evaluate("(el) => el.mqlab.go(5)")
    player.focus()
    active = page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex")
    page.keyboard.press("ArrowRight")
    forward = player.evaluate(at)
    assert forward > 5
    page.keyboard.press("ArrowLeft")
    assert player.evaluate(at) < forward
    page.keyboard.press("End")
    assert player.evaluate(at) == player.evaluate("(el) => el.mqlab.end")
    assert page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex") == active
    slider = player.locator("input[type=range]")
    slider.evaluate("(el) => { el.value = el.min; el.dispatchEvent(new Event('input')); }")
    page.wait_for_timeout(300)
    assert player.evaluate(at) <= 1


def test_an_order_is_judged_where_it_is_made(lab: Any) -> None:
    page, _ = lab
    ordering = page.locator(".mqlab.ordering")
    ordering.scroll_into_view_if_needed()
    for _ in range(3):  # the solution stands there
        ordering.locator("li[data-key=answer] [data-action=up]").click()
    ordering.locator("li[data-key=append] [data-action=down]").focus()
    cell = page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex")
    ordering.get_by_text("Judge this order").click()
    ordering.locator(".verdict .no").wait_for()
    assert "before the marker was in the log" in ordering.locator(".verdict").inner_text()
    ordering.locator(".controls").wait_for()  # the run that refutes it
    ordering.locator("li[data-key=append] [data-action=down]").focus()
    page.keyboard.press("ArrowUp")
    ordering.get_by_text("Judge this order").click()
    ordering.locator(".verdict .yes").wait_for()
    assert page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex") == cell


def test_the_playground_is_played_in_the_picture_by_keys(lab: Any) -> None:
    page, _ = lab
    ground = page.locator(".mqlab:has(.acts)")
    ground.scroll_into_view_if_needed()
    message = ground.locator(".area.message")
    message.wait_for()
    message.focus()
    cell = page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex")
    focused = "() => document.activeElement.getAttribute('aria-label')"
    title = page.evaluate(focused)
    page.keyboard.press("Enter")
    assert page.get_by_role("menu").is_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert not page.get_by_role("menu").is_visible() and page.evaluate(focused) == title
    before = ground.get_attribute("data-step")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # delivered
    page.wait_for_function(
        "([el, before]) => el.dataset.step !== before", arg=[ground.element_handle(), before]
    )
    page.wait_for_function("() => document.activeElement.matches('.area')")
    assert page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex") == cell
    assert "1 choice so far." in ground.locator(".goal").inner_text()
    ground.get_by_role("button", name="let it run").click()
    ground.locator(".goal.reached").wait_for()
    ground.get_by_text("(allowed: no faults, no timers)").wait_for()  # searched meanwhile
    ground.get_by_role("button", name="start again").click()
    message.wait_for()


@pytest.mark.parametrize("size", PANES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_everything_is_in_sight_at_once(lab: Any, size: tuple[int, int]) -> None:
    page, _ = lab
    assert find_faults(page, "07", size) == {}
    set_size(page, PANES[0])


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_two_texts_overlap(lab: Any, size: tuple[int, int], dark: bool) -> None:
    page, _ = lab
    page.set_viewport_size({"width": size[0], "height": size[1]})
    set_theme(page, dark)
    PICTURES.mkdir(parents=True, exist_ok=True)
    player = page.locator(PLAYER).nth(1)
    player.evaluate("(el) => el.mqlab.go(47)")
    settle(page)
    name = f"lab07-{size[0]}-{'dark' if dark else 'light'}.png"
    player.screenshot(path=str(PICTURES / name))
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("size", (PANES[0], PANES[3]), ids=lambda s: f"{s[0]}x{s[1]}")
def test_everything_is_in_sight_when_all_is_told(lab: Any, size: tuple[int, int]) -> None:
    page, _ = lab
    use_all(page)
    assert find_faults(page, "07-told", size) == {}
    set_size(page, PANES[0])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_the_outputs(lab: Any, dark: bool) -> None:
    page, _ = lab
    set_theme(page, dark)
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec is not None and spec.origin is not None
    page.evaluate((Path(spec.origin).parent / "axe.min.js").read_text("utf-8"))
    found = page.evaluate(
        "() => axe.run({ include: [['.jp-OutputArea-output']] }).then((r) => r.violations.map("
        "(v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200))]))"
    )
    assert found == []


def test_no_request_leaves_the_machine(lab: Any) -> None:
    _, requests = lab
    assert requests
    outside = [r for r in requests if not r.startswith(("http://127.0.0.1", "data:", "blob:"))]
    assert outside == []
