"""The Kafka labs as a student meets them: JupyterLab in Chromium, run, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.test_browser import OVERLAPS

from .jupyter import errors, jupyterlab, open_notebook, run_all, set_theme
from .panes import SIZES, find_faults, set_size

pytestmark = pytest.mark.needs("chromium")

#: notebook → how many pictures it shows at least
LABS = {
    "00-start-here": 6,
    "01-how-often": 8,
    "05-idempotent-producer": 6,
    "06-coordinator": 12,
    "08-consume-transform-produce": 6,
}
PICTURES = Path(__file__).parents[2] / ".cache" / "test" / "pictures"
SHOWN = ".jp-OutputArea-output .mqlab"
#: tables that are wrapped, which makes them unreadable: taller than they have lines
WRAPPED = """() => [...document.querySelectorAll('.jp-OutputArea-output pre')]
    .filter((pre) => pre.textContent.includes('---  '))
    .filter((pre) => pre.clientHeight > parseFloat(getComputedStyle(pre).lineHeight)
        * (pre.textContent.trimEnd().split('\\n').length + 0.9))
    .map((pre) => pre.textContent.slice(0, 200))"""


@dataclass
class Opened:
    lab: str
    page: Any


@pytest.fixture(scope="module", params=LABS)
def opened(request: Any, tmp_path_factory: Any, browser: Any) -> Iterator[Opened]:
    """A notebook, run once, in a JupyterLab of its own."""
    with jupyterlab(tmp_path_factory.mktemp("lab")) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        open_notebook(page, address, f"solutions/{request.param}.ipynb")
        run_all(page)
        page.wait_for_selector(SHOWN)
        yield Opened(request.param, page)
        page.close()


def test_it_runs_without_an_error_and_shows_its_pictures(opened: Opened) -> None:
    assert errors(opened.page) == []
    assert opened.page.locator(SHOWN).count() >= LABS[opened.lab]


@pytest.mark.parametrize("opened", ["06-coordinator"], indirect=True)
def test_no_table_is_wrapped_in_a_common_window(opened: Opened) -> None:
    """The lab with the widest tables."""
    assert opened.page.evaluate(WRAPPED) == []
    opened.page.set_viewport_size({"width": 700, "height": 800})
    opened.page.wait_for_function(f"() => ({WRAPPED})().length > 0")  # the measure works
    opened.page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_everything_is_in_sight_at_once(opened: Opened, size: tuple[int, int]) -> None:
    assert find_faults(opened.page, opened.lab, size) == {}
    set_size(opened.page, SIZES[0])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_two_texts_overlap(opened: Opened, dark: bool) -> None:
    page = opened.page
    set_theme(page, dark)
    PICTURES.mkdir(parents=True, exist_ok=True)
    shown = [output for output in page.locator(SHOWN).all() if output.is_visible()]
    for number, output in enumerate(shown):
        output.scroll_into_view_if_needed()
        name = f"{opened.lab[:2]}-{number}-{'dark' if dark else 'light'}.png"
        output.screenshot(path=str(PICTURES / name))
    assert page.evaluate(OVERLAPS) == []
