"""Acting in the picture: what each area offers, and where it is in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mqlab_widgets import Playground

from mqlab.registry import continue_scenario

from .harness import put
from .test_browser import SCHEMES, axe, settle
from .test_widgets import shown

STORY = """
system orders claims=whole_read
hold app→coordinator EndTxn#1
run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit
"""
END_TXN = "app>coordinator"
MARKERS = (END_TXN, "coordinator.", "coordinator.")  # and now both markers are under way


def ground(*choices: str, **more: Any) -> Playground:
    made = Playground(continue_scenario(STORY), **more)
    for choice in choices:
        made.do(choice)
    return made


def areas(made: Playground, kind: str) -> dict[str, dict[str, Any]]:
    return {area["key"]: area for area in made.ui["areas"] if area["kind"] == kind}


# ---- in Python -------------------------------------------------------------------------


def test_a_message_under_way_is_delivered_held_back_or_loses_its_connection() -> None:
    made = ground()
    [message] = areas(made, "message").values()
    assert message["title"] == "EndTxn commit epoch=0: app → coordinator, in flight"
    assert shown(made)["meta"]["facts"][message["at"] - 1]["line"].startswith("app → coord")
    assert message["ends"] == ["app", "coordinator"]
    labels = [item["label"] for item in message["items"]]
    assert labels[:2] == ["deliver it", "hold it back: the others go first"]
    assert labels[-1] == "break the connection to coordinator"
    assert made.ui["nodes"][1]["steps"][0]["label"] == "EndTxn commit epoch=0 arrives from app"


def test_what_is_held_back_waits_while_the_rest_runs() -> None:
    made = ground(*MARKERS)
    key = "coordinator>payments-0"
    made._asked(None, {"type": "hold", "choice": key}, None)
    assert areas(made, "message")[key]["held"]
    assert areas(made, "message")[key]["items"][1]["label"] == "hold it back no longer"
    made._asked(None, {"type": "on"}, None)
    assert list(areas(made, "message")) == [key], "everything else has arrived"
    made._asked(None, {"type": "hold", "choice": key}, None)
    made._asked(None, {"type": "on"}, None)
    assert areas(made, "message") == {}


def test_a_lane_offers_its_steps_first_and_then_what_breaks_it() -> None:
    made = ground(lang="zh")
    lane = areas(made, "lane")["lane coordinator"]
    assert [item["kind"] for item in lane["items"]] == ["deliver", "timer", "kill", "power"]
    assert "杀死 coordinator" in [item["label"] for item in lane["items"]]
    made.do("kill coordinator")
    lane = areas(made, "lane")["lane coordinator"]
    assert [item["kind"] for item in lane["items"]] == ["restart"]


def test_a_timer_has_a_sign_of_its_own() -> None:
    own = areas(ground(), "own")
    assert [(area["lane"], area["glyph"]) for area in own.values()] == [("coordinator", "⏲")]
    assert "runs out" in own["fire coordinator"]["title"]


def test_a_gap_leads_to_the_death_exactly_there() -> None:
    made = ground(*MARKERS)
    first = next(
        area for area in areas(made, "gap").values()
        if "1 of 2 markers had left" in area["items"][0]["label"]
    )  # fmt: skip
    kill, heard, power, _ = first["items"]  # its answer to EndTxn is under way
    assert kill["label"] == "kill coordinator here: 1 of 2 markers had left"
    made._asked(None, {"type": "do", "keep": kill["keep"], "choice": kill["choice"]}, None)
    assert shown(made)["meta"]["facts"][-1]["line"].endswith("killed: 1 of 2 markers had left")
    assert len(made.play.trace) == first["at"] + 1
    made._asked(None, {"type": "do", "keep": power["keep"], "choice": power["choice"]}, None)
    assert "power cut" in shown(made)["meta"]["facts"][-1]["line"]
    made._asked(None, {"type": "do", "keep": heard["keep"], "choice": heard["choice"]}, None)
    assert shown(made)["meta"]["facts"][-1]["line"].endswith("its answer to app still arrives")


# ---- in Chromium -----------------------------------------------------------------------


@pytest.fixture(params=SCHEMES)
def page(browser: Any, request: Any) -> Iterator[Any]:
    context = browser.new_context(
        viewport={"width": 950, "height": 679}, color_scheme=request.param, reduced_motion="reduce"
    )
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
    yield page
    context.close()


def step(page: Any, number: int) -> None:
    page.wait_for_selector(f".mqlab[data-step='{number}']")
    settle(page)


def focused(page: Any) -> str:
    name = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    said: str = page.evaluate(name)
    return said


in_browser = pytest.mark.needs("chromium")


@in_browser
def test_spots_lie_on_what_they_are_about(page: Any) -> None:
    made = ground(*MARKERS)
    put(page, made)
    step(page, len(made.play.trace))
    for key, area in areas(made, "message").items():
        at = page.get_by_label(area["title"]).bounding_box()
        row = page.evaluate(
            """(line) => {
              const row = [...document.querySelectorAll("g.row")].find((g) => g.mqlabKey === line);
              const { x, y, width, height } = row.querySelector(".msg").getBoundingClientRect();
              return { x, y, width, height };
            }""",
            f"row:{area['at']}",
        )
        middle = row["y"] + row["height"] / 2
        assert at["y"] < middle < at["y"] + at["height"], key
        assert abs(at["x"] - row["x"]) < 8 and abs(at["width"] - row["width"]) < 16, key
    page.focus(".mqlab")
    page.keyboard.press("ArrowLeft")
    step(page, len(made.play.trace) - 1)
    assert page.locator(".area.message, .area.lane, .area.own").count() == 0, "that is the past"
    assert page.locator(".area.gap").count() > 0


@in_browser
def test_a_click_opens_a_menu_and_a_choice_moves_the_system(page: Any) -> None:
    made = ground()
    put(page, made)
    step(page, 22)
    page.locator(".area.message").click()
    menu = page.get_by_role("menu")
    assert [row.inner_text() for row in menu.get_by_role("menuitem").all()][:2] == [
        "deliver it", "hold it back: the others go first",
    ]  # fmt: skip
    menu.get_by_role("menuitem", name="hold it back").click()
    page.wait_for_selector(".area.message.held")
    assert not menu.is_visible() and made.play.choices == made.play.start
    page.locator(".area.message").click()
    menu.get_by_role("menuitem", name="deliver it").click()
    step(page, len(made.play.trace))
    assert made.play.choices[-1] == END_TXN
    page.get_by_label("what can be done with app").click()
    menu.get_by_role("menuitem", name="kill app").click()
    step(page, len(made.play.trace))
    assert made.play.choices[-1] == "kill app"
    page.locator("h1").click()
    assert not menu.is_visible()


@in_browser
def test_everything_by_keys_and_the_focus_stays(page: Any) -> None:
    made = ground()
    put(page, made)
    step(page, 22)
    page.evaluate("() => { window.heard = []; document.onkeydown = (e) => heard.push(e.key); }")
    page.locator(".area.message").focus()
    page.keyboard.press("Enter")
    assert focused(page) == "deliver it"
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("hold it back")
    page.keyboard.press("Escape")
    assert focused(page).startswith("EndTxn commit") and not page.get_by_role("menu").is_visible()
    for _ in MARKERS:
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        step(page, len(made.play.trace))
        assert page.locator(".area:focus").count() == 1, "on the next thing that can be done"
    assert made.play.choices[-3:] == MARKERS
    before = focused(page)
    page.keyboard.press("ArrowUp")
    assert page.locator(".area:focus").count() == 1 and focused(page) != before
    page.keyboard.press("ArrowLeft")
    step(page, len(made.play.trace) - 1)
    assert page.evaluate("heard") == [], "JupyterLab hears none of it"
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("heard") == ["Escape", "Enter"], "but these are its own"


@in_browser
def test_the_tab_key_stops_once_at_the_areas(page: Any) -> None:
    put(page, ground(*MARKERS))
    step(page, 27)
    assert page.locator(".area[tabindex='0']").count() == 1
    assert page.locator(".area").count() > 5
    assert page.get_by_role("toolbar").get_attribute("aria-orientation") == "vertical"


@in_browser
def test_a_gap_is_clicked_and_the_node_dies_there(page: Any) -> None:
    made = ground(*MARKERS)
    put(page, made)
    step(page, len(made.play.trace))
    gap = next(s for s in areas(made, "gap").values() if "1 of 2 markers" in s["items"][0]["label"])
    at = [s["key"] for s in made.ui["areas"] if s["kind"] == "gap"].index(gap["key"])
    page.locator(".area.gap").nth(at).click()
    death = "kill coordinator here: 1 of 2 markers had left"
    page.get_by_role("menuitem", name=death, exact=True).click()
    step(page, gap["at"] + 1)
    assert "1 of 2 markers had left" in page.inner_text(".say .line")


@in_browser
def test_the_goal_is_reached_in_sight_and_axe_finds_nothing(page: Any) -> None:
    made = ground(goal="whole read")
    put(page, made)
    step(page, 22)
    page.add_style_tag(content="h1 { display: none } body, main { margin: 0; padding: 0 }")
    assert page.locator(".goal .text").inner_text().endswith("0 choices so far.")
    page.get_by_role("button", name="let it run").click()
    page.wait_for_selector(".goal.reached")
    settle(page)
    broken = page.locator(".lamp.broken")
    assert broken.count() == 1 and broken.is_visible()
    assert page.get_by_role("button", name="copy the example you found").is_visible()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "one screen"
    page.locator(".area.gap").first.click()
    assert axe(page, "#widget") == []
