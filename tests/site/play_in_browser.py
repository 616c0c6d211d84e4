"""Play in Chromium with Pyodide, which npm brings: `.ci/run` asks for it where there is npm.

.venv/bin/python -m pytest tests/site/play_in_browser.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel.play import decode, encode
from mqlab.registry import run_scenario
from mqlab.site import stories
from tests.site.conftest import serve_folder

pytestmark = pytest.mark.needs("chromium")
PATIENCE_MS = 120_000  # Python has to begin, on a machine that may be busy
STORY = "# Two.\nsystem kafka partitions=1\nrun app: init, begin, send orders-0 a, commit\n"
LARGE = (stories.SCENARIOS / "kafka/torn-read.scn").read_text("utf-8")


@pytest.fixture(scope="module")
def address(whole: Path) -> Iterator[str]:
    with serve_folder(whole) as top:
        yield f"{top}/below/"


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Iterator[Any]:
    """The page, with one Python for all tests; whatever it asks of another address is noted."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE_MS)
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("request", lambda one: failed.extend([one.url] * (not one.url.startswith(address))))
    page.goto(f"{address}play.html")
    page.wait_for_selector("#picture .mqlab[data-step='0']")
    yield page
    assert failed == []
    page.close()


def write(page: Any, text: str, button: str) -> None:
    page.get_by_label("The scenario").fill(text)
    page.get_by_role("button", name=button, exact=True).click()


def find_token(page: Any) -> str:
    return str(page.url.partition("#")[2])


def test_the_licences_name_the_python_that_is_bundled(whole: Path) -> None:
    index = json.loads((whole / "below/play/pyodide/pyodide-lock.json").read_text("utf-8"))
    version = index["info"]["python"].rpartition(".")[0]
    page = (whole / "below/licences.html").read_text("utf-8")
    assert f"Python {version} and its standard library" in page


def test_a_story_is_told_and_steps_by_keys(opened: Any) -> None:
    write(opened, STORY, "Run it")
    opened.wait_for_selector("#picture .mqlab[data-step='0']")
    opened.wait_for_function("location.hash.length > 40")
    assert decode(find_token(opened)).choices == tuple(run_scenario(STORY).choices)
    opened.locator("#picture .mqlab").focus()
    opened.keyboard.press("End")
    opened.wait_for_selector("#picture .mqlab:not([data-step='0'])")
    opened.get_by_text("In words").click()
    assert "commit: ok" in opened.text_content("#words pre")


def test_an_address_opens_the_run_of_another_machine(opened: Any) -> None:
    run = run_scenario(STORY.replace("commit", "abort"))
    token = encode(run.system, run.trace)
    opened.evaluate("(token) => { location.hash = token; }", token)
    opened.wait_for_selector("#picture .acts fieldset")
    assert opened.text_content("#state") == "", "the same engine: nothing is to be said"
    assert opened.get_by_label("The scenario").input_value().count("\ndo ") == len(run.choices)
    opened.locator(".acts .kill").first.click()
    opened.wait_for_function("(old) => location.hash !== `#${old}`", arg=token)
    assert len(decode(find_token(opened)).choices) == len(run.choices) + 1


def test_a_search_ends_and_a_large_one_is_stopped(opened: Any) -> None:
    opened.get_by_label("processes killed").fill("0")
    write(opened, STORY, "Search")
    opened.wait_for_selector(".explorer[data-phase=done] .verdict.good")
    opened.get_by_label("processes killed").fill("1")
    write(opened, LARGE, "Search")
    opened.wait_for_selector(".explorer[data-phase=running]")
    opened.locator(".explorer .toggle").click()
    opened.wait_for_selector(".explorer[data-phase=done]")
    assert "Not exhaustive" in opened.text_content(".explorer .verdict")


def test_a_mistake_is_said_as_text(opened: Any) -> None:
    write(opened, "system kafka\n<img src=x onerror=alert(1)> app\n", "Run it")
    opened.wait_for_selector("#state.failed")
    assert "no command '<img'" in opened.text_content("#state")
    assert opened.locator("main img").count() == 0
    assert opened.locator("#picture > *").count() == 0


def test_what_takes_too_long_is_given_up(opened: Any) -> None:
    """The button shows itself after half a second only, but it may be pressed at any time."""
    write(opened, LARGE, "Run it")
    opened.locator("#stop").dispatch_event("click")
    assert opened.text_content("#state").startswith("Stopped")
    assert opened.locator("#picture > *").count() == 0
    write(opened, STORY, "Run it")
    opened.wait_for_selector("#picture .mqlab[data-step='0']")
    assert opened.text_content("#state") == ""


@pytest.mark.parametrize("button", ["Run it", "Play on from its end", "Search"])
def test_axe_finds_nothing_and_nothing_leaves_the_width(opened: Any, button: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    write(opened, STORY, button)
    opened.wait_for_selector("#picture .mqlab .line, #picture .explorer[data-phase=done]")
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found = axe.run(opened).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], scheme
    opened.set_viewport_size({"width": 390, "height": 800})
    # The picture arranges itself in another window with the next frame.
    opened.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    opened.set_viewport_size({"width": 1280, "height": 800})
