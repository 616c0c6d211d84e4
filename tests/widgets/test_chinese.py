"""Chinese in the pictures of all shipped stories, at all sizes in which a panel is drawn.

A Chinese character is as wide as the letters are high, so a short label may be wider than its
English. Widths are Python's; `test_fonts.py` holds them against Chromium's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Compare, Player
from mqlab_widgets.lecture import Lecture
from mqlab_widgets.payload import Look, draw_steps
from mqlab_widgets.player import BOTH
from mqlab_widgets.scene import Node, Scene
from mqlab_widgets.style import css, font_of
from mqlab_widgets.views import HALF, PANELS, WIDE, Panel
from mqlab_widgets.widths import NOT_FIRST, width, wrap

from mqlab.cli.run import open_scenario
from mqlab.kernel.text import LANGUAGES, Lang, Text
from mqlab.kernel.trace import Trace

from .sample import long_trace, sample
from .test_browser import OVERLAPS, axe, open_page, settle, step_of
from .test_comparison import LONG, SHORT
from .test_lecture import LECTURE

STORIES = Path(__file__).parents[2] / "datasets" / "scenarios"
spread = pytest.mark.spread("widgets/mqlab_widgets", "mqlab/locale", by="drawn")
BROKERS = [
    pytest.param(path.name, marks=spread) for path in sorted(STORIES.iterdir()) if path.is_dir()
]
ASCENT, DESCENT = 0.78, 0.12  # of the size: from the line of the letters to the ends of their ink
SLACK = 1  # px
#: stories' rows that two lines of the diagram do not hold
LONGEST = {"acknowledged-precommit lab:13:1", "group-rebalance lab:34:1", "group-zombie lab:80:1"}
Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in px of the panel."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text of a scene, and the box of its ink in px of the panel."""

    key: str
    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Label) -> bool:
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide > SLACK / 2 and high > SLACK


def list_labels(scene: Scene) -> list[Label]:
    return list(_list_labels(scene.nodes, 0, 0, None))


def _list_labels(nodes: tuple[Node, ...], x: float, y: float, seen: Box | None) -> Iterator[Label]:
    for node in nodes:
        left, top, within = x, y, seen
        if node.tag == "svg":
            left, top = x + float(node.attrs["x"]), y + float(node.attrs["y"])
            right, bottom = (float(node.attrs[name]) for name in ("width", "height"))
            within = left, top, left + right, top + bottom
        if moved := node.attrs.get("transform"):
            right, down = re.findall(r"-?[\d.]+", str(moved))
            left, top = x + float(right), y + float(down)
        if node.tag == "text" and node.text:
            yield from _measure(node, x, y, seen)
        yield from _list_labels(node.children, left, top, within)


def _measure(node: Node, x: float, y: float, seen: Box | None) -> Iterator[Label]:
    """The label of a text, without what a viewport cuts off; none where that is all."""
    cls = str(node.attrs["class"])
    size, bold, mono = font_of(cls)
    wide, at = width(node.text, size, bold, mono), x + float(node.attrs["x"])
    left = at - wide * {"start": 0, "middle": 0.5, "end": 1}[find_anchor(cls)]
    line = y + float(node.attrs["y"])
    box = left, line - ASCENT * size, left + wide, line + DESCENT * size
    if seen:
        box = *map(max, box[:2], seen[:2]), *map(min, box[2:], seen[2:])
    if box[0] < box[2] and box[1] < box[3]:
        yield Label(node.key, node.text, *box)


@cache
def find_anchor(cls: str) -> str:
    """Where a text of these classes stands at its x; the last rule that fits, as in CSS."""
    given, found = {*cls.split(), "mqlab"}, "start"
    plain = re.sub(r"/\*.*?\*/", "", css(), flags=re.S)
    for selectors, rule in re.findall(r"([^{}]+)\{([^{}]*)\}", plain):
        if anchor := re.search(r"text-anchor: (\w+)", rule):
            named = (set(re.findall(r"\.([\w-]+)", one)) for one in selectors.split(","))
            if any(names <= given for names in named):
                found = anchor[1]
    return found


def draw_all(trace: Trace, lang: Lang) -> Iterator[tuple[str, Scene]]:
    """Each panel at each size: a diagram once, with all its rows, others as often as they
    change."""
    for name in Look(lang=lang).names(trace):
        panel = PANELS[name]
        for wide in (WIDE, HALF) if panel.rows else (WIDE,):
            last = None
            for i, scene in enumerate(_draw(panel, trace, lang, wide)):
                if scene is not last:
                    yield f"{name} {wide} {i}", scene
                last = scene


def _draw(panel: Panel, trace: Trace, lang: Lang, wide: int) -> Iterator[Scene]:
    if panel.rows:
        draw = partial(panel.view, rows=len(trace), wide=wide)
        return iter([draw(trace, len(trace), lang=lang)])
    return draw_steps(panel, trace, lang, wide)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A panel at a size and a step, in both languages. `where`: the story, the panel, its width,
    the step."""

    where: str
    width: float
    english: list[Label]
    chinese: list[Label]


@pytest.fixture(scope="module", params=BROKERS)
def drawn(request: pytest.FixtureRequest) -> list[Drawn]:
    """All that the stories of a broker show."""
    out = []
    for path in sorted((STORIES / request.param).rglob("*.scn")):
        trace = open_scenario(path).run.trace
        for (where, english), (_, chinese) in zip(
            draw_all(trace, "en"), draw_all(trace, "zh"), strict=True
        ):
            labels = list_labels(english), list_labels(chinese)
            out.append(Drawn(f"{path.stem} {where}", chinese.width, *labels))
    assert sum(len(one.chinese) for one in out) > 5_000
    return out


def test_no_label_leaves_its_picture_or_lies_on_another(drawn: list[Drawn]) -> None:
    wrong = []
    for one in drawn:
        labels = sorted(one.chinese, key=lambda label: label.top)
        for i, label in enumerate(labels):
            if label.left < -SLACK or label.right > one.width + SLACK:
                wrong.append(f"{one.where}: “{label.text}” leaves it")
            for other in labels[i + 1 :]:
                if other.top > label.bottom:
                    break
                if label.overlaps(other):
                    wrong.append(f"{one.where}: “{label.text}” lies on “{other.text}”")
    assert wrong == []


def test_a_label_that_is_whole_in_english_is_whole_in_chinese(drawn: list[Drawn]) -> None:
    """And one that is cut in both is not cut to what another has."""
    wrong, count = [], 0
    for one in drawn:
        told = {label.key: label.text for label in one.english}
        shown = {label.key: label.text for label in one.chinese}
        for key, text in shown.items():
            if "…" not in text:
                continue
            count += 1
            if "…" not in told.get(key, "…"):
                wrong.append(f"{one.where}: “{told[key]}” is cut to “{text}”")
            for other, same in shown.items():
                if same == text and told.get(other) != told.get(key):
                    wrong.append(f"{one.where}: two labels are cut to “{text}”")
    assert count > 0 and wrong == []


def test_the_rows_of_a_diagram_are_whole(drawn: list[Drawn]) -> None:
    """In two lines where one is too short. As wide as beside the right column all but three are."""
    cut = {
        f"{one.where.split()[0]} {label.key}"
        for one in drawn
        for label in one.english + one.chinese
        if " space-time 456 " in one.where and label.key[:4] == "lab:" and "…" in label.text
    }
    assert cut <= LONGEST


def test_no_line_of_a_picture_begins_with_a_sign(drawn: list[Drawn]) -> None:
    signs = NOT_FIRST.replace("…", "")  # which stands for the beginning of a name
    begun = {label.text for one in drawn for label in one.chinese if label.text[0] in signs}
    assert begun == set()


def test_a_sign_goes_to_the_next_line_with_its_word() -> None:
    assert wrap("协调者已经决定，读者等待", 12 * 7, 12, 3) == ["协调者已经决", "定，读者等待"]
    assert wrap("协调者已经写下（未决）", 12 * 8, 12, 3) == ["协调者已经写下", "（未决）"]
    assert wrap("他说“好”。", 12 * 4, 12, 3) == ["他说", "“好”。"]


# --- a saved page, in both languages -----------------------------------------------------


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
    yield page
    page.close()


@pytest.mark.needs("chromium")
def test_a_page_changes_its_language_and_keeps_the_step(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=14, scale=1.2))
    page.focus(".mqlab")
    page.keyboard.press("ArrowRight")
    settle(page)
    told, place = page.inner_text(".say .line"), page.inner_text(".count")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("html[lang=zh]")
    assert step_of(page) == 15 and page.locator(".mqlab").get_attribute("lang") == "zh"
    assert "第 15 步，共 23 步" in page.inner_text(".count")
    assert page.title() == Player(sample(), lang="zh").title
    settle(page)
    assert page.evaluate(OVERLAPS) == []
    page.get_by_role("button", name="English").click()
    page.wait_for_selector("html[lang=en]")
    assert (page.inner_text(".say .line"), page.inner_text(".count")) == (told, place)


@pytest.mark.needs("chromium")
def test_the_whole_window_stays_whole_in_the_other_language(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=3))
    scale = "Number(document.querySelector('.mqlab').mqlab.data.meta.scale)"
    page.get_by_role("button", name="中文").click()
    page.focus(".mqlab")
    page.keyboard.press("f")
    large = page.evaluate(scale)
    page.get_by_role("button", name="English").click()
    page.wait_for_selector("html[lang=en]")
    assert page.evaluate(scale) == large >= 1
    page.keyboard.press("f")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("html[lang=zh]")
    assert page.evaluate(scale) == 1


#: for each run: its language, its step, and all that is seen of it, with the names of its parts
SAID = """() => [...document.querySelectorAll(".mqlab")].map((host) => [
  host.lang, host.dataset.step,
  ...[...host.querySelectorAll("*")].filter((el) => el.checkVisibility()).flatMap((el) =>
    [...[...el.childNodes].map((node) => node.nodeType === 3 ? node.data : ""), el.title,
      ...["aria-label", "aria-valuetext"].map((name) => el.getAttribute(name))])
    .filter((text) => text && typeof text === "string")])"""
NAMES = {"en": "English", "zh": "中文"}
OTHER = replace(SHORT, title=Text("the other", "另一个"))


def put_beside(count: int, lang: Lang) -> Compare:
    """A comparison of so many runs."""
    others = [Player(OTHER, step=0, lang=lang) for _ in range(count - 1)]
    return Compare([Player(LONG, step=4, lang=lang), *others], [(4, *[2] * (count - 1))])


def say_all(page: Any, path: Path, text: str) -> Any:
    """Open a page and go three steps on; what it then says."""
    path.write_text(text, "utf-8")
    page.set_viewport_size({"width": 1440, "height": 1400})
    page.goto(path.as_uri())
    page.wait_for_selector(".mqlab[data-step]")
    page.focus(".mqlab")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        settle(page)
    return page.evaluate(SAID)


def check_switch(page: Any, path: Path, text: str, other: Lang, twin: str) -> None:
    """A page and the one that was saved in the other language: each says, once the switch is
    pressed, all that the other says; pressed again, what it said before."""
    lang: Lang = "en" if other == "zh" else "zh"
    wanted = say_all(page, path, twin)
    title = page.title()
    before = say_all(page, path, text)
    assert [one[:2] for one in before] == [[lang, step] for _, step, *_ in wanted]
    assert all(not set(there) <= set(one) for one, there in zip(before, wanted, strict=True))
    own = page.title()
    for name, says, head in (other, wanted, title), (lang, before, own):
        page.get_by_role("button", name=NAMES[name]).press("Enter")
        page.wait_for_selector(f"html[lang={name}]")
        settle(page)
        assert page.evaluate(SAID) == says
        assert page.title() == head
        assert page.evaluate("document.activeElement.closest('.top') !== null"), "it has the focus"
        assert page.evaluate(OVERLAPS) == []
    assert axe(page, "main") == []


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_all_columns_of_a_comparison_change_and_stay_where_they_are(
    page: Any, tmp_path: Path, count: int, lang: Lang
) -> None:
    runs = put_beside(count, lang)
    other: Lang = "en" if lang == "zh" else "zh"
    twin = put_beside(count, other).page()
    check_switch(page, tmp_path / "runs.html", runs.page(), other, twin)
    clock = ("One clock", "同一个时钟")[other == "en"]
    assert page.get_by_text(clock).locator("visible=true").count() == 1


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_lecture_changes_its_language_and_keeps_the_step(
    page: Any, tmp_path: Path, lang: Lang
) -> None:
    other: Lang = "en" if lang == "zh" else "zh"
    here, there = (LECTURE.page(Player(sample(), step=3, lang=one)) for one in (lang, other))
    check_switch(page, tmp_path / "lecture.html", here, other, there)
    page.get_by_role("button", name=NAMES[other]).click()
    page.wait_for_selector(f"html[lang={other}]")
    for key, (_, caption) in zip(("End", "PageUp"), LECTURE.scenes[:0:-1], strict=True):
        page.keyboard.press(key)
        settle(page)
        assert page.inner_text(".caption .text") == caption.of(other)
    page.keyboard.press("Home")
    settle(page)
    assert page.inner_text(".caption .text") == LECTURE.story.of(other)
    black = page.locator(".black").get_attribute("aria-label")
    assert ("黑屏" in black) == (other == "zh")
    assert page.evaluate("document.querySelector('.mqlab').offsetHeight <= innerHeight + 1")


@pytest.mark.needs("chromium")
def test_where_one_run_stands_behind_the_other_the_switch_is_with_the_one_that_is_seen(
    page: Any, tmp_path: Path
) -> None:
    (tmp_path / "pair.html").write_text(put_beside(2, "en").page(), "utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((tmp_path / "pair.html").as_uri())
    page.wait_for_selector(".first[data-step='4']")
    at = page.get_by_role("button", name="中文").bounding_box()
    page.get_by_role("button", name="⇄ the other").click()
    page.locator(".twin").wait_for()
    assert page.get_by_role("button", name="中文").bounding_box() == at
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("html[lang=zh]")
    settle(page)
    assert page.evaluate(SAID)[0][:2] == ["zh", "4"] and page.evaluate(SAID)[1][:2] == ["zh", "2"]
    assert page.locator(".twin .title").inner_text() == "另一个"
    page.get_by_role("button", name="⇄ 协调者崩溃").click()
    assert page.locator(".first").get_by_role("button", name="English").is_visible()


def test_only_a_page_that_stays_small_has_both_languages() -> None:
    for count, is_there in (BOTH, True), (BOTH + 1, False):
        player = Player(long_trace(count))
        half = Player(long_trace(count - BOTH // 2)), Player(long_trace(BOTH // 2))
        for page in player.page(), Lecture().page(player), Compare(half).page():
            assert ('class="twin"' in page) == is_there
    for shown in Player(sample()), put_beside(2, "en"):
        assert 'class="twin"' not in shown.html(), "a notebook has its own"
