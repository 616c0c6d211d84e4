"""A lecture in Chromium: it fills the projector, hides what comes, and obeys a remote control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from mqlab_widgets import Player
from mqlab_widgets.lecture import MOST_STEPS, Lecture, Part, divide

from mqlab.kernel.text import Text

from .sample import long_trace, sample
from .test_browser import OVERLAPS, axe, settle, step_of

pytestmark = pytest.mark.needs("chromium")

# Fact 13 is folded away, so the second scene ends where row 12 stands.
SCENES = (
    (8, Text("The records are written.", "记录已经写入。")),
    (13, Text("The application commits.", "应用提交。")),
    (23, Text("A crash.", "崩溃。")),
)
STORY = Text(
    "One of two markers has left when the coordinator dies.",
    "协调者崩溃时，两条控制消息只发出了一条。",
)
LECTURE = Lecture(STORY, SCENES)
Show = Callable[..., Any]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Opens a lecture as `mqlab view --present` writes it."""
    contexts = []

    def open_lecture(
        lecture: Lecture = LECTURE, size: tuple[int, int] = (1280, 720), **look: Any
    ) -> Any:
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
        (tmp_path / "lecture.html").write_text(
            lecture.page(Player(sample(), step=0, **look)), "utf-8"
        )
        page.goto((tmp_path / "lecture.html").as_uri())
        page.wait_for_selector(".lecture .caption", state="attached")
        settle(page)
        return page

    yield open_lecture
    for context in contexts:
        context.close()


def caption(page: Any) -> tuple[str, str]:
    page.evaluate("() => new Promise(requestAnimationFrame)")
    return page.inner_text(".caption .number"), page.inner_text(".caption .text")


def scale_of(page: Any) -> float:
    return float(
        page.evaluate("document.querySelector('.mqlab').style.getPropertyValue('--scale')")
    )


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720)])
def test_it_fits_the_projector_and_its_letters_grow_with_it(
    size: tuple[int, int], show: Show
) -> None:
    page = show(size=size)
    page.keyboard.press("End")
    settle(page)
    left, top, right, bottom = page.evaluate(
        "() => { const b = document.querySelector('.lecture').getBoundingClientRect();"
        " return [b.left, b.top, b.right, b.bottom]; }"
    )
    assert (left, top, right) == (0, 0, size[0])
    assert size[1] - 2 <= bottom <= size[1] + 1
    outside = page.evaluate(
        """() => [...document.querySelectorAll(".title, .caption, .controls, .say, svg.picture")]
          .filter((el) => el.checkVisibility())
          .map((el) => [el.className, el.getBoundingClientRect()])
          .filter(([, b]) => b.bottom > innerHeight + 1 || b.right > innerWidth + 1)"""
    )
    assert outside == []
    assert page.evaluate(OVERLAPS) == []
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("svg.picture .lab, svg.picture .row text:not(.num)"
          + ", .say div")].filter((el) => el.checkVisibility())
          .map((el) => (el.getScreenCTM?.().a ?? 1) * parseFloat(getComputedStyle(el).fontSize))"""
    )
    least = 24 * min(1, size[1] / 1080)
    assert len(sizes) > 10 and min(sizes) >= least * 0.9 and median(sizes) >= least
    used = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.stage > *')]"
        ".map((el) => el.getBoundingClientRect().right))"
    )
    assert used > 0.95 * size[0], "the whole width"


def test_its_letters_follow_the_window_and_the_scale_that_was_asked_for(show: Show) -> None:
    page = show(size=(1280, 720))
    page.keyboard.press("ArrowRight")
    small = scale_of(page)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function(f"document.querySelector('.mqlab').style.cssText != '--scale: {small};'")
    assert scale_of(page) > 1.3 * small
    assert step_of(page) == 1, "it stays where it was"
    assert scale_of(show(size=(1280, 720), scale=0.5)) < small


def test_the_right_arrow_works_at_once_and_nothing_to_come_is_seen(show: Show) -> None:
    page = show()
    visible = (
        "[...document.querySelectorAll('.row')]"
        ".filter((el) => el.checkVisibility({ visibilityProperty: true })).length"
    )
    assert page.evaluate(visible) == 0
    assert not page.evaluate(
        "[...document.querySelectorAll('.slide .crash, .slide .tall')].some((el) => "
        "el.checkVisibility({ visibilityProperty: true }))"
    )
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1
    settle(page)
    assert page.evaluate(visible) == 1
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 2, "wherever the focus is"


def test_a_remote_control_goes_from_scene_to_scene(show: Show) -> None:
    page = show()
    page.evaluate("() => { document.querySelector('.mqlab').mqlab.pace = () => 1e9; }")
    assert caption(page) == ("", "One of two markers has left when the coordinator dies.")
    page.keyboard.press("PageDown")
    assert step_of(page) == 1 and caption(page) == ("1/3", "The records are written.")
    page.keyboard.press("PageDown")
    assert step_of(page) == 8, "asked once more, it is there at once"
    for _ in range(2):
        page.keyboard.press("PageDown")
    assert step_of(page) == 12 and caption(page) == ("2/3", "The application commits.")
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 14 and caption(page) == ("3/3", "A crash.")
    page.keyboard.press("PageUp")
    assert step_of(page) == 12
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    assert step_of(page) == 0 and caption(page)[0] == ""
    page.keyboard.press("End")
    assert step_of(page) == 23
    page.keyboard.press("PageDown")
    assert step_of(page) == 23
    page.keyboard.press("Home")
    assert step_of(page) == 0


def test_a_scene_plays_by_itself_and_stops_at_its_end(show: Show) -> None:
    page = show(Lecture(scenes=((2, Text("Two steps.")), (23, Text("The rest.")))))
    page.keyboard.press("PageDown")
    page.wait_for_selector(".mqlab[data-step='2']")
    page.wait_for_selector(".main[aria-label^='Play']")
    assert step_of(page) == 2
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 4, "and the next step is free again"


def test_a_caption_may_wait_until_its_scene_is_over(show: Show) -> None:
    page = show(Lecture(STORY, SCENES[:2], after=True))
    first, second = (caption.en for _, caption in SCENES[:2])
    is_said = "said => document.querySelector('.caption .text').innerText === said"
    for key, said in zip(
        ("ArrowRight", "PageDown", "PageDown", "PageUp"), (STORY.en, first, second, first),
        strict=True,
    ):  # fmt: skip
        page.keyboard.press(key)
        page.wait_for_function(is_said, arg=said)


def test_without_scenes_a_remote_control_steps(show: Show) -> None:
    page = show(Lecture())
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    assert step_of(page) == 2
    page.keyboard.press("PageUp")
    assert step_of(page) == 1


@pytest.mark.parametrize("key", ["b", "."])
def test_the_screen_turns_black_and_any_key_brings_it_back(key: str, show: Show) -> None:
    page = show()
    page.keyboard.press("ArrowRight")
    page.keyboard.press(key)
    assert page.locator(".black").is_visible()
    assert page.locator(".black").bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 720}
    assert axe(page, ".black") == []
    page.keyboard.press("ArrowRight")
    assert page.locator(".black").is_hidden() and step_of(page) == 1
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 2


def test_f_asks_for_the_full_screen_and_gives_it_back(show: Show) -> None:
    page = show()
    page.keyboard.press("f")
    page.wait_for_function("document.fullscreenElement === document.documentElement")
    page.keyboard.press("f")
    page.wait_for_function("document.fullscreenElement === null")


def test_axe_finds_nothing_in_a_lecture(show: Show) -> None:
    page = show(lang="zh")
    page.keyboard.press("PageDown")
    settle(page)
    assert axe(page, "html") == []


def test_a_caption_is_text_and_no_markup(show: Show) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    page = show(Lecture(Text(evil), ((23, Text(evil)),)))
    assert caption(page)[1] == evil
    assert page.locator("img").count() == 0


def test_a_part_without_a_caption_is_told_by_its_reason_and_a_long_one_is_cut() -> None:
    trace = long_trace(60)
    scenes = divide(trace, [Part(*SCENES[0]), Part(len(trace))])
    assert scenes[0] == SCENES[0] and scenes[-1][0] == len(trace)
    ends = [0, *(end for end, _ in scenes)]
    assert len(scenes) > 4 and ends == sorted(set(ends))
    for first, last in pairwise(ends):
        assert sum(not fact.fold for fact in trace.facts[first:last]) <= MOST_STEPS
    told = {fact.why.en for fact in trace.facts} | {fact.line() for fact in trace.facts}
    assert {caption.en for _, caption in scenes[1:]} <= told
