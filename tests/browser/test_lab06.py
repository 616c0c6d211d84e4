"""Lab 06 as a student meets it: JupyterLab in Chromium, run, looked at in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.test_browser import OVERLAPS

from .jupyter import errors, jupyterlab, open_notebook, run_all, set_theme

pytestmark = pytest.mark.needs("chromium")

LAB = "solutions/06-coordinator.ipynb"
PICTURES = Path(__file__).parents[2] / ".cache" / "test" / "pictures"
SHOWN = ".jp-OutputArea-output .mqlab"
#: tables that are wrapped, which makes them unreadable: taller than they have lines
WRAPPED = """() => [...document.querySelectorAll('.jp-OutputArea-output pre')]
    .filter((pre) => pre.textContent.includes('---  '))
    .filter((pre) => pre.clientHeight > parseFloat(getComputedStyle(pre).lineHeight)
        * (pre.textContent.trimEnd().split('\\n').length + 0.9))
    .map((pre) => pre.textContent.slice(0, 200))"""


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: Any) -> Iterator[Any]:
    """The notebook, run once."""
    with jupyterlab(tmp_path_factory.mktemp("lab")) as address:
        found = browser.new_page(viewport={"width": 1280, "height": 800})
        open_notebook(found, address, LAB)
        run_all(found)
        found.wait_for_selector(SHOWN)
        yield found
        found.close()


def test_the_notebook_runs_without_an_error_and_shows_its_pictures(page: Any) -> None:
    assert errors(page) == []
    assert page.locator(SHOWN).count() >= 12


def test_no_table_is_wrapped_in_a_common_window(page: Any) -> None:
    assert page.evaluate(WRAPPED) == []
    page.set_viewport_size({"width": 900, "height": 800})
    assert page.evaluate(WRAPPED) != []
    page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_two_texts_overlap(page: Any, dark: bool) -> None:
    set_theme(page, dark)
    PICTURES.mkdir(parents=True, exist_ok=True)
    shown = [output for output in page.locator(SHOWN).all() if output.is_visible()]
    for number, output in enumerate(shown):
        output.scroll_into_view_if_needed()
        name = f"lab06-{number}-{'dark' if dark else 'light'}.png"
        output.screenshot(path=str(PICTURES / name))
    assert page.evaluate(OVERLAPS) == []
