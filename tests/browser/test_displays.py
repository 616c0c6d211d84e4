"""Every kind of display as JupyterLab shows it at 1280×800: in the pane after Shift+Enter, its
signs and letters large enough."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.test_browser import settle

from . import displays
from .conftest import Served
from .jupyter import ROOT, errors, notebook, set_theme
from .test_exercises import RUN
from .test_predict import SELECT

pytestmark = pytest.mark.needs("chromium")

PICTURES = Path(os.environ.get("PICTURES", ROOT / ".cache" / "test" / "pictures"))
#: how often a cell was run, or null
WAS_RUN = """(id) => jupyterapp.shell.currentWidget.content.widgets
  .find(({ model }) => model.id === id).model.executionCount"""
#: what a screen reader is told of each kind of display, as Playwright writes it down
TREES = Path(__file__).with_name("trees")
#: from the pane's top and bottom to those of a display; negative where it is outside
PLACE = """(el) => {
  const pane = el.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
  const output = el.closest(".jp-OutputArea-child");
  const menus = output.previousElementSibling?.querySelector(".mqlab-vary, .mqlab-verdict");
  const { bottom } = el.getBoundingClientRect(), { top } = (menus ?? el).getBoundingClientRect();
  return [Math.round(top - pane.top), Math.round(pane.bottom - bottom)];
}"""
NO_RUN = ("trials", "explorer", "ordering")
"""What shows no run before it is used."""
LEAST_SIGN = 14  # px
LEAST_TEXT = 10.5  # px
LEAST_CONTRAST = 3  # of a row that is to come, against the ground
LEAST_CONTRAST_OF_TEXT = 4.5
FREE = 60  # px beside what is cut
#: width and height of what each sign of the legend draws; the legend is open then
SIGNS = """(el) => [...el.querySelectorAll(".legend dt svg")]
  .filter((svg) => svg.querySelector("path"))
  .map((svg) => svg.getBoundingClientRect()).map(({ width, height }) => [width, height])"""

#: [text, size in px] of all that is seen
SIZES_OF_TEXT = """(el) => {
  const out = [], walk = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const on = node.parentElement, text = node.data.trim();
    if (!text || !on.checkVisibility({ checkVisibilityCSS: true }) || on.closest("title")) continue;
    if (on.closest("style, script, select, .alarm")) continue;
    const scale = on.getScreenCTM?.().a ?? 1;
    out.push([text, parseFloat(getComputedStyle(on).fontSize) * scale]);
  }
  return out;
}"""
#: [text, colour, opacity, ground] of the labels of rows that are to come, and of what is folded
FUTURE = """(el) => [...el.querySelectorAll(".future .lab, .fold.future")].map((lab) => [
  lab.textContent, getComputedStyle(lab).fill,
  Number(getComputedStyle(lab.closest(".future")).opacity),
  getComputedStyle(lab.closest("div.mqlab")).backgroundColor])"""
#: [text, colour, opacity, ground] of every other text that is seen: the ground of a text in a
#: picture is the last filled shape below its middle
TEXTS = """(el) => {
  const out = [], clear = (colour) => /^(none|transparent|rgba\\(.*, 0\\))$/.test(colour);
  const within = ({ left, right, top, bottom }, x, y) =>
    left <= x && x <= right && top <= y && y <= bottom;
  const walk = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const on = node.parentElement, text = node.data.trim(), svg = on.closest("svg");
    if (!text || !on.checkVisibility({ checkVisibilityCSS: true })) continue;
    if (on.closest("title, style, script, option, .alarm, .future")) continue;
    if (on.closest(":disabled, [aria-disabled=true]")) continue;
    let opacity = 1, ground = "";
    for (let up = on; up; up = up.parentElement) {
      opacity *= Number(getComputedStyle(up).opacity);
      const under = getComputedStyle(up).backgroundColor;
      if (!ground && !clear(under)) ground = under;
    }
    if (svg) {
      const box = on.getBoundingClientRect();
      const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
      for (const shape of svg.querySelectorAll("rect, path, circle")) {
        if (!(shape.compareDocumentPosition(on) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
        if (!shape.ownerSVGElement.contains(on)) continue; // what scrolls below the heads
        const { fill, fillOpacity } = getComputedStyle(shape);
        if (clear(fill) || Number(fillOpacity) < 1 || !shape.checkVisibility()) continue;
        if (within(shape.getBoundingClientRect(), x, y)) ground = fill;
      }
    }
    const { fill, color } = getComputedStyle(on);
    out.push([text, svg ? fill : color, opacity, ground]);
  }
  return out;
}"""
#: [text, px that are free beside it] of what is cut, in the panels that are seen
CUT = """(el) => [...el.querySelectorAll("svg.picture text")]
  .filter((text) => /…|^\\+\\d/.test(text.textContent) && text.checkVisibility())
  .filter((text) => !text.matches(".fold"))
  .map((text) => {
    const own = (text.closest(".cell") ?? text).getBoundingClientRect();
    const lefts = [...text.closest(".stage").querySelectorAll("text, rect:not(.hit, .band, .veil)")]
      .filter((other) => other.checkVisibility() && !text.closest(".cell")?.contains(other))
      .map((other) => other.getBoundingClientRect())
      .filter((box) => box.left >= own.right - 2
        && box.top < own.bottom - 2 && box.bottom > own.top + 2)
      .map((box) => box.left);
    const end = text.closest(".left, .right, .tabpanel").getBoundingClientRect().right;
    return [text.textContent, Math.min(end, ...lefts) - own.right];
  })"""
#: of each panel that is seen but the diagram: its name, and the texts that it draws
PANELS = """(el) => [...el.querySelectorAll("svg.picture:not([data-panel^=space-time])")]
  .filter((svg) => svg.checkVisibility())
  .map((svg) => [svg.getAttribute("aria-label"),
    [...svg.querySelectorAll("text")].map((text) => text.textContent).filter(Boolean)])"""


def contrast(one: list[float], other: list[float]) -> float:
    """As WCAG 2.2 defines it, of two colours in 0 to 255."""

    def light(colour: list[float]) -> float:
        parts = [c / 255 for c in colour]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def read_colour(text: str) -> list[float]:
    return [float(part) for part in re.findall(r"[\d.]+", text)[:3]]


@pytest.fixture(scope="module")
def page(served: Served, browser: Any) -> Iterator[Any]:
    displays.write(served.labs)
    with notebook(browser, served.address, displays.NAME) as page:
        page.evaluate(RUN, "begin")
        assert errors(page) == []
        yield page


def show(page: Any, name: str) -> Any:
    """The display of a cell, which is run where no test has done so: a test may run by itself."""
    if not page.evaluate(WAS_RUN, name):
        page.evaluate(RUN, name)
    return displays.wait_for(page, name)


@pytest.mark.parametrize("name", displays.DISPLAYS)
def test_shift_enter_leaves_a_display_in_the_pane(page: Any, name: str) -> None:
    page.evaluate(SELECT, name)
    page.keyboard.press("Shift+Enter")
    display = displays.wait_for(page, name)
    page.wait_for_timeout(1500)  # whatever still moves the page would have moved it
    assert errors(page) == []
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"display-{name}.png"))
    above, below = page.evaluate(PLACE, display)
    assert above >= 0 and below >= 0, (above, below)


@pytest.mark.parametrize("name", [name for name in displays.DISPLAYS if name not in NO_RUN])
def test_the_signs_of_its_legend_are_large_enough(page: Any, name: str) -> None:
    display = show(page, name)
    opener = display.query_selector("button[aria-controls$=legend]")
    opener.click()
    signs = display.evaluate(SIGNS)
    opener.click()
    assert len(signs) > 10
    assert all(high >= LEAST_SIGN and wide >= LEAST_SIGN for wide, high in signs), signs


@pytest.mark.parametrize("name", displays.DISPLAYS)
def test_what_it_says_is_large_enough_and_not_cut_beside_free_room(page: Any, name: str) -> None:
    display = show(page, name)
    sizes = display.evaluate(SIZES_OF_TEXT)
    assert sizes
    assert [(text, size) for text, size in sizes if size < LEAST_TEXT - 0.01] == []
    assert [(text, free) for text, free in display.evaluate(CUT) if free >= FREE] == []


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def themed(page: Any, request: Any) -> Iterator[Any]:
    """The page in one of JupyterLab's two themes."""
    if request.param:
        set_theme(page, True)
    yield page
    if request.param:
        set_theme(page, False)


def measure(text: str, colour: str, opacity: float, ground: str) -> float:
    """The contrast of a text as it is seen: an opaque ground shines through it."""
    under, ink = read_colour(ground), read_colour(colour)
    return contrast(
        [opacity * a + (1 - opacity) * b for a, b in zip(ink, under, strict=True)], under
    )


def test_rows_to_come_can_be_read(themed: Any) -> None:
    rows = [
        row
        for name in ("playground", "follow", "pair")
        for row in show(themed, name).evaluate(FUTURE)
    ]
    display = show(themed, "player")
    end = display.evaluate("(el) => el.mqlab.end")
    for step in (3, end):
        display.evaluate("(el, step) => el.mqlab.go(step)", step)
        themed.wait_for_function("([el, n]) => el.dataset.step === String(n)", arg=[display, step])
        rows += display.evaluate(FUTURE)
    assert len(rows) > 5
    assert [row for row in rows if measure(*row) < LEAST_CONTRAST] == []


def test_every_other_text_has_the_contrast_of_text(themed: Any) -> None:
    weak, many = [], 0
    for name in displays.DISPLAYS:
        texts = show(themed, name).evaluate(TEXTS)
        many += len(texts)
        weak += [(name, *one) for one in texts if measure(*one) < LEAST_CONTRAST_OF_TEXT]
    assert many > 300
    assert weak == []


@pytest.mark.parametrize("name", displays.DISPLAYS)
def test_a_screen_reader_gets_the_tree_that_is_committed(page: Any, name: str) -> None:
    """Each panel says what it shows, and a light that has turned red is an alert. Where another
    tree is meant, the one that was found is copied into `trees/`."""
    display = show(page, name)
    settle(page)  # a panel is described once the reader stays at a step
    display.evaluate(
        "(el, name) => { (el.closest('.mqlab-pair') ?? el).dataset.kind = name; }", name
    )
    tree = page.locator(f"[data-kind={name}]").aria_snapshot()
    found = re.sub(r"(127\.0\.0\.1):\d+", r"\1", tree) + "\n"
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / f"{name}.yml").write_text(found, "utf-8")
    assert found == (TREES / f"{name}.yml").read_text("utf-8"), f"see {PICTURES}/{name}.yml"


@pytest.mark.parametrize("name", [name for name in displays.DISPLAYS if name not in NO_RUN])
def test_a_screen_reader_hears_what_its_panels_show(page: Any, name: str) -> None:
    display = show(page, name)
    settle(page)  # a panel is described once the reader stays at a step
    panels = display.evaluate(PANELS)
    assert panels
    for label, texts in panels:
        assert all(text in label for text in texts), (label, texts)
