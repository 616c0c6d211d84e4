"""The panel of a search: the same in Python, as text and in Chromium."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from mqlab_widgets import Explorer
from mqlab_widgets.search_words import describe_choice, name_nodes
from mqlab_widgets.style import page_css

from mqlab.explore import Budget, Search, explore
from mqlab.kernel import Choice, Property, Text, World, parse, replay
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from mqlab.registry import system

from .decode import unpack
from .harness import script_of, state
from .test_browser import OVERLAPS, SCHEMES, axe, settle

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


def test_the_run_that_refutes_a_claim_opens_where_its_light_turns_red() -> None:
    """A claim of the reader's own, which is no light of the system."""
    never = Property("never twice", Text("the log never holds two records"), holds_one)
    panel = Explorer(system(LINE), properties=(never,))
    panel.run()
    player = panel.player()
    assert player is not None
    lights = [snapshot.lights[0] for snapshot in player.trace.snapshots]
    assert {light.name for light in lights} == {"never twice"}
    assert [light.ok for light in lights].index(False) == player.step > 0
    shown = inflate(panel)
    assert shown["meta"]["step"] == player.step
    assert shown["meta"]["facts"][player.step - 1]["mark"] == "crash", "marked on the slider"


def holds_one(world: World) -> bool:
    return len(system(LINE).snapshot(world).logs[0].cells) < 2


def inflate(panel: Explorer) -> dict[str, Any]:
    return unpack(panel.payload)


def test_a_state_of_the_tree_is_played_by_its_choices() -> None:
    panel = Explorer(system(LINE))
    panel.run()
    assert panel.payload == b""
    tree = panel.ui["tree"]
    assert sum(tree["sizes"]) == panel.verdict.states
    depths = {number: depth for number, _, depth, _, _ in tree["states"]}
    number = max(depths)
    panel._asked(panel, {"type": "visit", "number": number}, None)
    assert panel.ui["tree"]["at"] == number
    assert panel.ui["run"] == "An execution that leads to the state you chose:"
    run = replay(system(LINE), panel._sample.schedule(number))
    assert len(run.choices) == depths[number]
    assert [fact["line"] for fact in inflate(panel)["meta"]["facts"]] == [f.line() for f in run]
    before = panel.payload
    panel._asked(panel, {"type": "visit", "number": -1}, None)
    assert panel.payload == before, "there is no such state"


def test_a_click_on_a_refuting_state_shows_the_claim_and_a_new_search_forgets_it() -> None:
    panel = broken()
    panel.run()
    first = panel.ui["shown"]
    name, number, _ = next(f for f in panel.ui["tree"]["found"] if f[2] and f[0] != first)
    same = [f[0] for f in panel.ui["tree"]["found"] if f[1] == number]
    panel._asked(panel, {"type": "visit", "number": number}, None)
    assert panel.ui["shown"] in same and name in same
    panel._begin()
    assert (panel.ui["shown"], panel.ui["run"], panel.payload) == ("", "", b"")


def test_what_a_search_is_doing_is_drawn_while_it_does_it() -> None:
    panel = Explorer(TwoPhaseSet(managers=5))
    search = panel._begin()
    search.advance(0)
    panel._keep(search)
    panel._show()
    first = panel.ui["tree"]
    assert 0 < len(first["states"]) <= sum(first["sizes"]) < 8_832
    panel._search = search
    panel.run()
    assert len(panel.ui["tree"]["sizes"]) > len(first["sizes"])


BOUNDS = (
    (Budget(), "every order of 4 calls and all messages, without faults and timers"),
    (
        Budget(kills=2, breaks=1, timers=1, killable=("coordinator",), restartable=()),
        "every order of 4 calls and all messages, with up to 2 kills (only of coordinator), "
        "1 lost connection, 1 timer running out, what has stopped stays stopped",
    ),
    (
        Budget(power_cuts=1, retries=2, restartable=("orders-0",)),
        "every order of 4 calls and all messages, with up to 1 power cut, "
        "each retry timer runs out up to 2 ×, only orders-0 may start again",
    ),
)


@pytest.mark.parametrize(("budget", "said"), BOUNDS)
def test_bounds_are_said_in_words(budget: Budget, said: str) -> None:
    assert f"It tries {said}." in Explorer(system(LINE), budget).narration()
    chinese = Explorer(system(LINE), budget, lang="zh").ui["within"]
    words = re.sub("orders|coordinator", "", chinese)
    assert "4 次调用" in words and not re.search("[a-z]{3}", words)


def test_every_choice_of_a_search_has_words_in_both_languages() -> None:
    search = Search(system(LINE), Budget(kills=1, power_cuts=1, breaks=1, timers=1, states=20_000))
    while search.advance():
        pass
    names = name_nodes(search.system, "en")
    said = {
        choice: describe_choice(choice, names, "en") for choice in map(str_of, search.moves.choices)
    }
    assert {choice.kind for choice in said} >= {"call", "request", "response", "local"}
    assert {choice.kind for choice in said} >= {"fire", "break", "kill", "power", "restart"}
    assert len(set(said.values())) > len(said) / 2
    inside = next(c for c in said if c.kind == "request" and c.b == "coordinator" and c.stop == 1)
    assert said[inside].endswith("; coordinator is killed after effect 1 of this")
    for choice in said:
        assert describe_choice(choice, names, "zh") != said[choice]


def str_of(choice: Choice) -> Choice:
    """A choice as it comes out of the text that travels."""
    return parse(str(choice))


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
    page.set_content(
        f'<!doctype html><html lang="en"><title>notebook</title><style>{css}</style>'
        f'<body data-jp-theme-light="{str(theme == "light").lower()}"><main><h1>Notebook</h1>'
        f'<div data-still="{panel.ui["still"]}">{panel.still_html()}</div>'
        f'<div id="widget"></div></main>{script_of(panel)}'
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
    assert "claims are violated" in page.locator(".outcome > .verdict").inner_text()
    page.locator("summary").press("Enter")
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


PINNED = """() => [...document.querySelectorAll("svg.picture")]
    .filter((svg) => ["space-time", "logs", "readers", "lights"].includes(svg.dataset.panel))
    .filter((svg) => svg.checkVisibility()
        && svg.getBoundingClientRect().bottom <= document.querySelector(".bottom")
          .getBoundingClientRect().top).length"""


@pytest.mark.needs("chromium")
def test_tree_verdict_and_run_are_in_sight_at_once_in_a_notebooks_pane(page: Any) -> None:
    page.set_viewport_size({"width": 950, "height": 679})
    panel = broken()
    panel.run()
    put(page, panel, page.theme)
    player = page.locator(".explorer .mqlab")
    player.locator(".row.now").wait_for()
    assert page.locator(".explorer").bounding_box()["height"] <= 679 - 10
    assert page.evaluate(PINNED) == 4
    assert "shortest example that breaks" in player.locator(".title").inner_text()
    page.locator("summary").click()  # the claims are longer than what the picture can do without
    page.wait_for_selector(".claims[open]")
    settle(page)
    assert player.bounding_box()["height"] <= 679 - 10, "then the player alone is in sight"
    assert page.evaluate(PINNED) == 4


@pytest.mark.needs("chromium")
def test_the_tree_is_walked_and_played_by_keyboard_and_by_pointer(page: Any) -> None:
    panel = broken(title=EVIL)
    panel.run()
    put(page, panel, page.theme)
    page.wait_for_selector(".items [tabindex='0']")
    here = "document.activeElement.state?.number"
    page.locator(".items [tabindex='0']").focus()
    target = panel.ui["tree"]["at"]
    assert page.evaluate(here) == target, "the state that is shown is what Tab reaches"
    assert "is refuted" in page.locator(".hint").inner_text()
    page.keyboard.press("Home")
    assert page.evaluate(here) == 0
    way = []
    while page.evaluate(here) != target:
        page.keyboard.press("ArrowRight")
        way.append(page.evaluate(here))
    found = panel.counterexample()
    assert found is not None and len(way) == len(found.schedule), "right follows the red way"
    page.keyboard.press("ArrowLeft")
    before = page.evaluate(here)
    page.keyboard.press("Enter")
    title = page.locator(".explorer .mqlab .title")
    title.get_by_text("An execution that leads to").wait_for()
    assert panel.ui["tree"]["at"] == before == page.evaluate(here), "the focus stays"
    page.locator("circle.bad").first.click()
    title.get_by_text("The shortest example").wait_for()
    assert page.locator(".way.bad").get_attribute("d")


@pytest.mark.needs("chromium")
def test_a_tree_that_thins_keeps_the_focus_on_the_way_back(page: Any) -> None:
    panel = Explorer(TwoPhaseSet(managers=3))
    panel.run()
    put(page, panel, page.theme)
    states = panel.ui["tree"]["states"]
    last = states[-1]
    page.evaluate("(n) => [...document.querySelectorAll('.items circle')]"
                  ".find((el) => el.state.number === n).focus()", last[0])  # fmt: skip
    panel.ui = panel.ui | {"tree": panel.ui["tree"] | {"states": states[:-1]}}
    page.evaluate("(now) => take(now)", state(panel))
    assert page.locator(".items circle").count() == len(states) - 1
    assert page.evaluate("document.activeElement.state.number") == last[1]


@pytest.mark.needs("chromium")
def test_a_claim_stays_in_its_columns(page: Any) -> None:
    long = Property("a claim of some length", Text("words " * 40), lambda world: True)
    panel = Explorer(TwoPhaseSet(managers=3), properties=(long,))
    panel.run()
    put(page, panel, page.theme)
    page.set_viewport_size({"width": 820, "height": 679})
    edges = page.evaluate(
        "() => [...document.querySelectorAll('.explorer tbody td')].map((td) => {"
        " const range = document.createRange(); range.selectNodeContents(td);"
        " const { left, right } = range.getBoundingClientRect(); return [left, right]; })"
    )
    assert len(edges) == 4
    assert all(a[1] <= b[0] for a, b in pairwise(edges))


@pytest.mark.needs("chromium")
def test_nothing_overlaps_and_axe_finds_nothing(page: Any) -> None:
    panel = broken()
    panel.run()
    put(page, panel, page.theme)
    page.wait_for_selector(".explorer .controls")
    assert axe(page, "#widget") == []
    for width in (1280, 560):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
