"""The panel of a search: the same in Python, as text and in Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mqlab_widgets import Explorer
from mqlab_widgets.style import page_css
from mqlab_widgets.widget import join_modules

from mqlab.explore import Budget, explore
from mqlab.kernel import Property, Text
from mqlab.lessons.registry import system
from mqlab.patterns.two_phase.oracle import TwoPhaseSet

from .harness import MODEL, state
from .test_browser import OVERLAPS, SCHEMES, axe

LINE = "kafka partitions=1 'app=init; begin; send orders-0 a; abort'"
EVIL = "<img src=x onerror=alert(1)>"


def run_loop(main: Callable[[], Awaitable[Any]]) -> Any:
    """What `main` gives in an event loop of its own: this thread's may be Playwright's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(main())).result()  # type: ignore[arg-type]


def broken(**more: Any) -> Explorer:
    return Explorer(system(f"{LINE} off=lso"), **more)


def result(panel: Explorer, name: str) -> str:
    return next(row["result"] for row in panel.rows() if row["name"] == name)


# ---- in Python -------------------------------------------------------------------------


def test_a_search_to_its_end_says_what_explore_says() -> None:
    panel = Explorer(TwoPhaseSet(managers=3))
    assert "Nothing has been searched" in panel.narration()
    assert panel.run() == explore(TwoPhaseSet(managers=3)) == panel.verdict
    assert panel.sentence == "Complete: nothing is violated in any of 288 states."
    assert result(panel, "consistent") == "held"
    assert result(panel, "commits").startswith("reached in ")
    assert str(panel.verdict).startswith("complete within 288 states")
    assert panel.player() is None


def test_what_is_violated_is_shown_as_a_run_and_as_text() -> None:
    panel = broken(lang="zh")
    panel.run()
    found = panel.counterexample()
    assert found is not None
    assert f"{len(found.schedule)} 步内被违反" in panel.narration()
    assert panel.player() is not None
    assert panel.payload, "the browser is given the run as well"
    shortest = min(len(c.schedule) for c in panel.verdict.counterexamples.values())
    assert len(found.schedule) == shortest


def test_the_kernel_does_other_things_while_it_searches_and_a_search_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mqlab_widgets.explorer.SLICE_S", 0)

    async def notebook() -> tuple[int, Explorer]:
        panel = Explorer(TwoPhaseSet(managers=7))
        panel._asked(panel, {"type": "start"}, None)
        turns = 0
        while panel.verdict.states < 3_000:
            await asyncio.sleep(0)
            turns += 1
        panel._asked(panel, {"type": "stop"}, None)
        await asyncio.sleep(0)
        return turns, panel

    turns, panel = run_loop(notebook)
    assert turns > 1
    assert panel.ui["phase"] == "done"
    assert not panel.verdict.complete
    assert "Not exhaustive" in panel.sentence
    assert panel.verdict.states < 296_448


def test_a_search_can_be_begun_again_while_one_runs() -> None:
    async def notebook() -> Explorer:
        panel = Explorer(TwoPhaseSet(managers=5))
        panel.start()
        panel.start()
        while panel.ui["phase"] != "done":
            await asyncio.sleep(0)
        return panel

    assert run_loop(notebook).verdict.states == 8_832


def test_a_claim_that_raises_is_said_where_the_search_is_shown() -> None:
    def holds(world: object) -> bool:
        raise ValueError("nobody knows")

    panel = Explorer(
        TwoPhaseSet(managers=3), properties=(Property("odd", Text("it is odd"), holds),)
    )
    panel.run()
    assert panel.sentence == "ValueError: nobody knows"
    assert panel.ui["mood"] == "bad"


def test_what_stands_in_a_saved_notebook_is_escaped() -> None:
    claim = Property(EVIL, Text(EVIL), lambda world: True)
    panel = Explorer(TwoPhaseSet(managers=3), properties=(claim,))
    assert "<img" not in panel.still_html()
    assert "&lt;img" in panel.still_html()


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="budgit"):
        Explorer(TwoPhaseSet(managers=3), budgit=Budget())


# ---- in Chromium -----------------------------------------------------------------------


def put(page: Any, panel: Explorer, theme: str) -> None:
    """The panel on a page as in a notebook, its clicks answered by Python."""

    def python(message: dict[str, Any]) -> Any:
        if message["type"] == "start":
            panel.run()  # the page waits for the answer, so nothing can run beside it
        elif message["type"] != "state":
            panel._asked(panel, message, None)
        return state(panel)

    page.expose_function("python", python)
    css = page_css("explorer.css")
    module = join_modules("explorer.js").replace("export default { render: explorer };", "")
    script = module + MODEL.replace("await render(", "await explorer(")
    page.set_content(
        f'<!doctype html><html lang="en"><title>notebook</title><style>{css}</style>'
        f'<body data-jp-theme-light="{str(theme == "light").lower()}"><main><h1>Notebook</h1>'
        f'<div data-still="{panel.ui["still"]}">{panel.still_html()}</div>'
        f'<div id="widget"></div></main>'
        f'<script type="module">{script.replace("</", "<" + chr(92) + "/")}</script>'
    )
    page.wait_for_selector("body[data-ready=yes]")


@pytest.fixture(params=SCHEMES)
def page(browser: Any, request: Any) -> Any:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=request.param
    )
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
    page.theme = request.param
    yield page
    context.close()


@pytest.mark.needs("chromium")
def test_it_is_searched_and_read_by_keyboard(page: Any) -> None:
    panel = broken(title=EVIL)
    put(page, panel, page.theme)
    assert page.locator("img").count() == 0
    assert not page.locator("[data-still]").is_visible()
    page.locator(".toggle").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-phase=done] .controls")
    assert page.evaluate("document.activeElement.className") == "toggle"
    assert "claims are violated" in page.locator(".explorer > .verdict").inner_text()
    shows = page.locator(".result button")
    assert shows.count() == len(panel.verdict.counterexamples) > 1
    other = page.locator(".result button[aria-pressed=false]").first
    name = other.get_attribute("aria-label").partition(": ")[2]
    other.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"tr.shown code:text-is('{name}')")
    assert panel.ui["shown"] == name
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.endswith(name), "the focus stays on the button that was used"


@pytest.mark.needs("chromium")
def test_nothing_overlaps_and_axe_finds_nothing(page: Any) -> None:
    panel = broken()
    panel.run()
    put(page, panel, page.theme)
    page.wait_for_selector(".explorer .controls")
    assert axe(page, "#widget") == []
    for width in (1280, 560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
