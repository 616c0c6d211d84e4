"""A click in a Playground is answered with its picture; those of the past follow when asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mqlab_widgets.payload import build

from .decode import decode
from .harness import put
from .test_acts import END_TXN, ground
from .test_widgets import shown

PAST = {"type": "past"}


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 950, "height": 679})
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
    yield page
    context.close()


def pictures(data: dict[str, Any], step: int) -> dict[str, Any]:
    """Each panel at a step, as the browser draws it."""
    names = [panel["name"] for panel in data["panels"]]
    return {name: json.loads(json.dumps(decode(data, name, step))) for name in names}


def test_a_click_draws_its_step_and_the_one_before_and_the_rest_when_asked() -> None:
    made = ground()
    assert shown(made)["meta"]["first"] == 0, "what is displayed first is whole"
    made.do(END_TXN)
    made.go_on()
    quick = shown(made)
    first, step = quick["meta"]["first"], quick["meta"]["step"]
    assert 0 < first < step == len(made.play.trace)
    made._asked(None, PAST, None)
    whole = shown(made)
    assert whole["meta"] == {**quick["meta"], "first": 0}, "same run, same sizes, same step"
    for at in (first, step):
        assert pictures(quick, at) == pictures(whole, at)
    assert pictures(quick, first - 1) != pictures(whole, first - 1)
    plain = build(made.play.trace, step, made._look)
    for at in range(step + 1):
        assert pictures(whole, at) == pictures(plain, at)


def test_asking_for_the_past_of_two_futures_side_by_side_leaves_them() -> None:
    made = ground(END_TXN)
    made.branch(len(made.play.start), f"break {END_TXN.replace('>', ' ')}")
    made.compare()
    before = made.payload, made.other
    made._asked(None, PAST, None)
    assert (made.payload, made.other) == before


def run_on(page: Any, made: Any) -> Any:
    """The player, when the picture of a click has come."""
    put(page, made)
    page.wait_for_selector("body[data-ready]")
    page.get_by_role("button", name="let it run").click()
    page.wait_for_selector(f".mqlab[data-step='{len(made.play.trace)}']")
    return page.locator(".mqlab").first


def test_a_step_that_is_not_drawn_yet_is_asked_for(page: Any) -> None:
    made = ground()
    player = run_on(page, made)
    player.press("Home")
    page.wait_for_selector(".mqlab[data-step='0']")
    assert shown(made)["meta"]["first"] == 0
    player.press("ArrowRight")
    page.wait_for_selector(".mqlab[data-step='1']")
    line = made.play.trace.facts[0].line("en")
    assert player.locator(".say .line").text_content() == line


def test_the_past_comes_by_itself_and_the_reader_stays_where_she_is(page: Any) -> None:
    made = ground()
    player = run_on(page, made)
    for _ in range(100):
        if shown(made)["meta"]["first"] == 0:
            break
        page.wait_for_timeout(100)
    assert shown(made)["meta"]["first"] == 0
    assert player.get_attribute("data-step") == str(len(made.play.trace))
