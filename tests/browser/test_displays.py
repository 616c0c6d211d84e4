"""Every kind of display as JupyterLab shows it at 1280×800: in the pane after Shift+Enter, its
signs and letters large enough."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import displays
from .conftest import Served
from .jupyter import ROOT, errors, notebook
from .test_exercises import RUN
from .test_predict import SELECT

pytestmark = pytest.mark.needs("chromium")

PICTURES = Path(os.environ.get("PICTURES", ROOT / ".cache" / "test" / "pictures"))
#: from the pane's top and bottom to those of a display; negative where it is outside
PLACE = """(el) => {
  const pane = el.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
  const output = el.closest(".jp-OutputArea-child");
  const menus = output.previousElementSibling?.querySelector(".mqlab-vary");
  const { bottom } = el.getBoundingClientRect(), { top } = (menus ?? el).getBoundingClientRect();
  return [Math.round(top - pane.top), Math.round(pane.bottom - bottom)];
}"""
NO_RUN = ("trials", "explorer", "ordering")
"""What shows no run before it is used."""
LEAST_SIGN = 14  # px
#: width and height of what each sign of the legend draws; the legend is open then
SIGNS = """(el) => [...el.querySelectorAll(".legend dt svg")]
  .filter((svg) => svg.querySelector("path"))
  .map((svg) => svg.getBoundingClientRect()).map(({ width, height }) => [width, height])"""


@pytest.fixture(scope="module")
def page(served: Served, browser: Any) -> Iterator[Any]:
    displays.write(served.labs)
    with notebook(browser, served.address, displays.NAME) as page:
        page.evaluate(RUN, "begin")
        assert errors(page) == []
        yield page


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
    display = displays.wait_for(page, name)
    opener = display.query_selector("button[aria-controls$=legend]")
    opener.click()
    signs = display.evaluate(SIGNS)
    opener.click()
    assert len(signs) > 10
    assert all(high >= LEAST_SIGN and wide >= LEAST_SIGN for wide, high in signs), signs
