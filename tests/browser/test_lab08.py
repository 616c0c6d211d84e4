"""Lab 08 as a student meets it: JupyterLab in Chromium, run, looked at in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.test_browser import OVERLAPS

from .jupyter import errors, jupyterlab, open_notebook, run_all, set_theme

pytestmark = pytest.mark.needs("chromium")

LAB = "solutions/08-consume-transform-produce.ipynb"
PICTURES = Path(__file__).parents[2] / ".cache" / "test" / "pictures"
PLAYER = ".jp-OutputArea-output .mqlab"


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: Any) -> Iterator[Any]:
    """The notebook, run once."""
    with jupyterlab(tmp_path_factory.mktemp("lab")) as address:
        found = browser.new_page(viewport={"width": 1280, "height": 800})
        open_notebook(found, address, LAB)
        run_all(found)
        found.wait_for_selector(PLAYER)
        yield found
        found.close()


def test_the_notebook_runs_without_an_error_and_shows_its_pictures(page: Any) -> None:
    assert errors(page) == []
    assert page.locator(PLAYER).count() >= 6


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_two_texts_overlap(page: Any, dark: bool) -> None:
    set_theme(page, dark)
    PICTURES.mkdir(parents=True, exist_ok=True)
    shown = [output for output in page.locator(PLAYER).all() if output.is_visible()]
    for number, output in enumerate(shown):
        output.scroll_into_view_if_needed()
        name = f"lab08-{number}-{'dark' if dark else 'light'}.png"
        output.screenshot(path=str(PICTURES / name))
    assert page.evaluate(OVERLAPS) == []
