"""How a run plays in Chromium: at the pace of its words, with what messages carry, and told to who
hears it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Player

from .sample import sample
from .test_browser import open_page

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield page
    page.close()


def test_a_step_plays_as_long_as_its_words_take_to_read(page: Any, tmp_path: Path) -> None:
    """240 words a minute, at least 1.2 s; half, once or twice as fast."""
    player = Player(sample(), step=3)
    page.goto(player.save(tmp_path / "page.html").as_uri())
    page.wait_for_selector("svg.picture")
    fact = player.payload["meta"]["facts"][2]
    words = len(re.findall(r"[^\W_]\S*", f"{fact['line']} {fact['why']}"))
    pace = "document.querySelector('.mqlab').mqlab.pace()"
    assert page.evaluate(pace) == max(1_200, 250 * words)
    speed = page.get_by_role("button", name="Speed")
    seen = []
    for _ in range(3):
        speed.click()
        seen.append((speed.inner_text(), page.evaluate(pace)))
    whole = max(1_200, 250 * words)
    assert seen == [("2×", whole / 2), ("0.5×", whole * 2), ("1×", whole)]


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_what_a_message_carries_travels_along_its_arrow(
    page: Any, tmp_path: Path, motion: Any
) -> None:
    page.emulate_media(reduced_motion=motion)
    start = next(i for i, f in enumerate(sample().facts) if f.glyph == "→" and not f.fold)
    open_page(page, tmp_path, Player(sample(), step=start))
    page.evaluate("""() => { window.seen = []; new MutationObserver((all) => all.forEach(
      ({ addedNodes }) => addedNodes.forEach((el) => el.matches?.(".parcel")
        && seen.push(el.textContent)))).observe(document.body, { childList: true, subtree: true });
    }""")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"document.querySelector('.mqlab').dataset.step == '{start + 1}'")
    page.wait_for_function("!document.querySelector('.parcel')")
    seen = page.evaluate("seen")
    assert seen == ([] if motion == "reduce" else [sample().facts[start].text.en.split(" ", 1)[-1]])
    page.keyboard.press("Home")
    page.keyboard.press("End")
    page.wait_for_timeout(100)
    assert page.evaluate("seen") == seen, "a jump plays no step"


def test_a_screen_reader_hears_what_the_panels_say_and_a_light_that_turns_red(
    page: Any, tmp_path: Path
) -> None:
    trace, red = sample(), len(sample())
    broken = replace(trace.snapshots[red].lights[0], ok=False)
    last = replace(trace.snapshots[red], lights=(broken, *trace.snapshots[red].lights[1:]))
    trace = replace(trace, snapshots=(*trace.snapshots[:red], last))
    open_page(page, tmp_path, Player(trace, step=red - 1))
    alarm = page.locator("[role=alert]")
    assert alarm.text_content() == ""
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('[role=alert]').textContent")
    assert alarm.text_content() == "No longer true: money in = money out"
    label = "document.querySelector('[data-panel=readers]').getAttribute('aria-label')"
    got = trace.snapshots[red].readers[1].got[-1].label
    page.wait_for_function(f"{label}.includes('read_committed') && {label}.includes('{got}')")
