"""Runs on one clock: what belongs to the same moment, in Python; one slider, in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Compare, Player
from mqlab_widgets.comparison import spread

from mqlab.kernel.text import Text

from .sample import sample
from .test_browser import axe, settle

LONG = sample()
SHORT = replace(LONG, facts=LONG.facts[:9], snapshots=LONG.snapshots[:10], title=Text("the other"))
SHORT = replace(SHORT, system="another")
MOMENTS = ((4, 2), (12, 8))


def plain(trace: Any) -> Any:
    """The same without folds: each fact is a row."""
    return replace(trace, facts=tuple(replace(fact, fold=False) for fact in trace.facts))


def test_between_two_moments_each_run_takes_its_steps_evenly() -> None:
    moments = ((0, 0), (4, 2), (4, 2), (6, 6))
    places = spread(moments, plain(LONG), plain(SHORT))
    assert places[:7] == (0, 0, 1, 1, 2, 4, 6)
    back = spread([(b, a) for a, b in moments], plain(SHORT), plain(LONG))
    assert back[:7] == (0, 2, 4, 4, 5, 5, 6)


def test_what_is_folded_goes_with_the_row_before_it() -> None:
    long = plain(LONG)
    folded = replace(long.facts[1], fold=True)
    long = replace(long, facts=(long.facts[0], folded, *long.facts[2:]))
    assert spread(((0, 0), (3, 2)), long, plain(SHORT))[:4] == (0, 1, 1, 2)


def test_a_pair_stands_where_the_clock_has_both_and_says_both() -> None:
    pair = Compare((Player(LONG, step=4), Player(SHORT)), MOMENTS)
    said = pair.narration()
    assert said.count("▶") == 2 and said.count("\n\n") == 1
    assert pair.players[1].step == 2 and pair.places[0][0][len(LONG)] == len(SHORT)
    assert pair.html().count("<img ") == 2, "both stills, where no script runs"
    assert pair._repr_mimebundle_()["text/plain"] == said


def test_a_clock_that_goes_back_is_refused() -> None:
    with pytest.raises(ValueError, match=r"moment \(3, 8\) is not after \(4, 2\)"):
        Compare((Player(LONG), Player(SHORT)), ((4, 2), (3, 8)))


@pytest.mark.parametrize("count", [1, 5])
def test_there_is_room_for_two_to_four(count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} runs to compare: there is room for two to four"):
        Compare([Player(SHORT)] * count)


def test_four_runs_show_what_came_of_them_without_a_diagram() -> None:
    found = Compare([Player(LONG, step=4), *(Player(SHORT) for _ in range(3))], [(4, 2, 2, 2)])
    beside = found.payload["beside"]["others"]
    assert len(beside) == 3 and not any(one["rows"] for one in beside)
    for panels in (found.payload["panels"], *(one["data"]["panels"] for one in beside)):
        assert panels and "space-time" not in panels
    for data in (found.payload, *(one["data"] for one in beside)):
        assert data["panels"][0]["name"].startswith("readers")
        assert not any(panel["pinned"] for panel in data["meta"]["panels"].values())
    assert found.narration().count("▶") == 4 and found.players[3].step == 2


def test_two_runs_of_one_system_have_their_differences_marked() -> None:
    same = replace(SHORT, system=LONG.system)
    ((first, other),) = (
        one["rows"] for one in Compare((Player(LONG), Player(same))).payload["beside"]["others"]
    )
    assert list(first) == list(range(len(SHORT) + 1, len(LONG) + 1)) and not other
    (one,) = Compare((Player(LONG), Player(SHORT))).payload["beside"]["others"]
    assert one["rows"] is None
    third, fourth = Compare((Player(LONG), Player(same), Player(SHORT))).payload["beside"]["others"]
    assert third["rows"] and fourth["rows"] is None, "each is compared with the first"


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "pair.html").write_text(
        Compare((Player(LONG, step=4), Player(SHORT)), MOMENTS).page("light"), "utf-8"
    )
    found = browser.new_page(viewport={"width": 1280, "height": 800})
    errors: list[str] = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.goto((tmp_path / "pair.html").as_uri())
    found.wait_for_selector(".twin[data-step]")
    settle(found)
    yield found
    found.close()
    assert not errors


@pytest.mark.needs("chromium")
def test_both_move_with_one_slider_and_a_click_on_either_moves_both(page: Any) -> None:
    ((there, _),) = Compare((Player(LONG), Player(SHORT)), MOMENTS).places

    def stand() -> tuple[int, int]:
        settle(page)
        found = [page.locator(name).get_attribute("data-step") for name in (".first", ".twin")]
        return int(found[0]), int(found[1])

    assert page.get_by_role("slider").count() == 1
    assert stand() == (4, 2)
    page.keyboard.press("End")
    page.wait_for_function(f"document.querySelector('.twin').dataset.step == {len(SHORT)}")
    assert stand() == (len(LONG), len(SHORT))
    page.keyboard.press("Home")
    page.wait_for_function("document.querySelector('.twin').dataset.step == 0")
    row = page.locator(".twin .row").nth(3)
    row.click()
    page.wait_for_function("document.querySelector('.twin').dataset.step != 0")
    first, second = stand()
    assert there[first] == second and 0 < first < len(LONG)
    assert page.locator(".differs").count() == 0, "two systems differ in everything"
    boxes = [page.locator(name).bounding_box() for name in (".first", ".twin")]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert boxes[0]["height"] == boxes[1]["height"]
    assert page.get_by_text("One clock").locator("visible=true").count() == 1
    assert axe(page, "main") == []


@pytest.mark.needs("chromium")
def test_where_two_have_no_room_one_is_seen_and_a_button_shows_the_other(page: Any) -> None:
    first, twin = page.locator(".first"), page.locator(".twin")
    page.set_viewport_size({"width": 500, "height": 440})
    twin.wait_for(state="hidden")
    first.get_by_role("button", name="⇄ the other").press("Enter")
    first.wait_for(state="hidden")
    back = twin.get_by_role("button", name="⇄ Commit survives")
    assert back.evaluate("(el) => el === document.activeElement")
    page.keyboard.press("End")
    page.wait_for_function(f"document.querySelector('.twin').dataset.step == {len(SHORT)}")
    twin.get_by_role("button", name="Back").click()  # its own controls move both
    page.wait_for_function(f"document.querySelector('.twin').dataset.step < {len(SHORT)}")
    settle(page)
    assert int(first.get_attribute("data-step")) < len(LONG)
    assert axe(page, "main") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    first.wait_for()
    assert twin.is_visible() and page.locator(".swap").locator("visible=true").count() == 0
