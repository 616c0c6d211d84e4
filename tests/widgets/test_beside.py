"""Two futures side by side: what differs, in Python; one slider and the marks, in Chromium."""

from __future__ import annotations

from typing import Any

import pytest
from mqlab_widgets import Playground
from mqlab_widgets.comparison import compare, find_fork

from .decode import unpack
from .harness import put
from .test_acts import END_TXN, MARKERS, areas, ground, page, step  # noqa: F401
from .test_browser import axe, settle
from .test_widgets import shown

in_browser = pytest.mark.needs("chromium")


def both_futures(**more: Any) -> Playground:
    """The coordinator goes on, and it dies when one of two markers has left."""
    made = ground(*MARKERS, "coordinator>orders-0", "orders-0.", **more)
    gap = next(s for s in areas(made, "gap").values() if "1 of 2 markers" in s["items"][0]["label"])
    made.branch(gap["items"][0]["keep"], gap["items"][0]["choice"])
    return made


def second(made: Playground) -> dict[str, Any]:
    return unpack(made.other)


def test_only_what_the_other_does_not_tell_is_a_difference() -> None:
    made = both_futures()
    left, died = (made.play.find_trace(c) for c in (made._left, made.play.choices))
    found = compare(left, died)
    assert left.facts[: found.parts] == died.facts[: found.parts]
    assert died.facts[found.parts].kind == "kill"
    rows = [
        [trace.facts[r - 1].line() for r in found.rows[i]] for i, trace in enumerate((left, died))
    ]
    assert rows[1] == ["coordinator ✗   killed: 1 of 2 markers had left"]
    assert not set(rows[0]) & {fact.line() for fact in died} and len(rows[0]) > 3
    assert compare(left, left).rows == ((), ()) and compare(left, left).parts == len(left)
    assert (find_fork(("a", "b"), ("a", "c", "d")), find_fork(("a",), ("a", "b"))) == (1, 1)


def test_the_future_that_was_left_stands_beside_the_present_one() -> None:
    made = both_futures()
    assert made.ui["comparable"] and made.ui["compared"] is None and made.other == b""
    made._asked(None, {"type": "compare"}, None)
    first, other = shown(made), second(made)
    assert len(first["meta"]["facts"]) >= len(other["meta"]["facts"]), "the slider has the longer"
    assert other["meta"]["title"] == "coordinator ✗ killed: 1 of 2 markers had left"
    assert first["meta"]["title"] == "coordinator → payments-0 WriteTxnMarkers commit epoch=1"
    parts = first["meta"]["step"] - 1
    assert first["meta"]["facts"][:parts] == other["meta"]["facts"][:parts]
    assert min(made.ui["compared"]["rows"][1]) == parts + 1 and made.ui["areas"] == []
    made._asked(None, {"type": "compare"}, None)
    assert made.other == b"" and made.ui["compared"] is None and made.ui["areas"] != []
    assert shown(made)["meta"]["facts"][-1]["line"].endswith("1 of 2 markers had left")


def test_without_another_future_there_is_nothing_to_compare() -> None:
    made = ground(END_TXN)
    assert not made.ui["comparable"]
    made._asked(None, {"type": "compare"}, None)
    assert "go back and choose something else" in made.ui["error"] and made.other == b""
    made.undo()
    assert not made.ui["comparable"], "the beginning of a future is no other one"
    made.do("kill app")
    assert made.ui["comparable"]
    made.compare()
    made.reset()
    assert made.ui["compared"] is None and made.other == b"", "the two have not parted there"


@in_browser
def test_two_futures_share_a_slider_and_differences_are_marked(page: Any) -> None:  # noqa: F811
    made = both_futures(goal="whole read")
    put(page, made)
    page.add_style_tag(content="h1 { display: none } body, main { margin: 0; padding: 0 }")
    step(page, len(made.play.trace))
    page.get_by_role("button", name="side by side").click()
    page.wait_for_selector(".twin[data-step]")
    settle(page)
    left, right = page.locator(".mqlab.first"), page.locator(".mqlab.twin")
    assert left.get_attribute("data-step") == right.get_attribute("data-step")
    boxes = [host.bounding_box() for host in (left, right)]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] and boxes[0]["y"] == boxes[1]["y"]
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "one screen"
    now = [host.locator(".row.now").bounding_box() for host in (left, right)]
    assert now[0]["y"] == now[1]["y"], "the same step stands at the same height"
    assert "killed: 1 of 2" in right.locator(".row.now.differs").text_content()
    assert "WriteTxnMarkers" in left.locator(".row.now.differs").text_content()
    assert left.locator(".row.past.differs").count() == 0
    assert page.get_by_role("slider").count() == 1
    left.focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "() => document.querySelector('.twin').dataset.step < "
        "document.querySelector('.first').dataset.step"
    )
    for host in (left, right):  # the outcomes are compared, not the arrows alone
        for panel in ("logs", "readers"):
            picture = host.locator(f"svg.picture[data-panel={panel}]").bounding_box()
            assert picture["y"] + picture["height"] <= host.locator(".bottom").bounding_box()["y"]
        lane = host.locator("svg[data-panel=space-time] text.lane").last.bounding_box()
        inside = host.bounding_box()
        assert lane["x"] + lane["width"] <= inside["x"] + inside["width"], "the last lane is whole"
    marked = "(host) => [...host.querySelectorAll('text.differs')].map((el) => el.textContent)"
    assert any("half of T1:" in text for text in left.evaluate(marked))
    assert any("waits until T1" in text for text in right.evaluate(marked))
    assert "orders-0" not in left.evaluate(marked), "what both say is not marked"
    assert axe(page, "#widget") == []
    page.get_by_role("button", name="one picture").click()
    page.wait_for_selector(".twin", state="hidden")
    settle(page)
    assert page.locator(".mqlab:not(.twin) .differs").count() == 0
    assert left.count() == 0 and page.locator(".acts").is_visible()
