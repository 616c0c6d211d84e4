"""The legend: every sign that views draw has a sentence in both languages, and stays small."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Player
from mqlab_widgets.legend import AGAIN, EVIDENCE, MONEY_SIGNS, READER_SIGNS, SIGNS, list_signs
from mqlab_widgets.payload import build
from mqlab_widgets.scene import Node
from mqlab_widgets.style import css
from mqlab_widgets.views import PANELS
from mqlab_widgets.widths import width

from mqlab.kernel.snapshot import Cell, Log, Progress, Snapshot, Stretch
from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace
from mqlab.places import SCENARIOS
from mqlab.registry import SYSTEMS
from mqlab.scenario import load, parse_script
from tests.widgets.decode import decode
from tests.widgets.harness import put
from tests.widgets.sample import sample
from tests.widgets.test_acts import END_TXN, ground
from tests.widgets.test_browser import open_page
from tests.widgets.test_views import draw
from tests.widgets.test_widgets import shown

CHINESE = re.compile(r"[一-鿿]")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_carries_the_legend_its_words_and_what_evidence_means(lang: Lang) -> None:
    said = (Text("LSO"), Text("Everything below it is decided.", "它之前的一切都已决定。"))
    meta = Player(replace(sample(), terms=(said,)), lang=lang).payload["meta"]
    legend = dict(meta["legend"])
    assert legend["diamond"] == SIGNS["diamond"].of(lang)
    assert legend["flag f1"].startswith("LSO" + ("：" if lang == "zh" else ": "))
    assert meta["terms"]["LSO"] in legend["flag f1"], "a flag and a tooltip say the same"
    assert {f["kind"] for f in meta["facts"]} <= meta["evidence"].keys()
    carried = json.dumps([meta["legend"], meta["terms"], meta["evidence"]], ensure_ascii=False)
    assert len(zlib.compress(carried.encode())) <= 3_000


def test_every_sentence_is_in_both_languages() -> None:
    for text in (
        *SIGNS.values(),
        *MONEY_SIGNS.values(),
        *READER_SIGNS.values(),
        *AGAIN.values(),
        *EVIDENCE.values(),
    ):
        assert re.search(r"[a-z]{3}", text.en) and CHINESE.search(text.zh), text


def test_every_sign_is_one_that_views_draw() -> None:
    """A sign nobody draws any more has no place in the legend."""
    drawn = set(re.findall(r"[\w-]+", " ".join(classes(sample()))))
    # not in the sample: an aborted record, a broken connection, a late request
    assert set(SIGNS) - drawn <= {"struck", "lost", "late", "clock", "change", "call"}
    assert {"f1", "f2"} <= drawn
    assert set(MONEY_SIGNS) <= drawn


def test_money_is_in_the_legend_of_runs_that_have_it() -> None:
    run = sample()
    poor = replace(run, snapshots=tuple(replace(s, money=None) for s in run.snapshots))
    signs, fewer = (dict(list_signs(trace, "en")) for trace in (run, poor))
    assert signs.keys() - fewer.keys() == set(MONEY_SIGNS)


def test_rows_of_readers_are_in_the_legend_of_runs_that_have_them() -> None:
    taken = Stretch(1, 1, "T1", refused="T2")
    log = Log(
        "p", (Cell(0, "a"), Cell(1, "b")), progress=(Progress("s", 1, (Stretch(0, 0), taken)),)
    )
    run = Trace("s", (), (), (Snapshot(logs=(log,)),))
    drawn = set(re.findall(r"[\w-]+", " ".join(classes(run))))
    assert set(READER_SIGNS) <= drawn
    assert dict(list_signs(run, "en")).keys() >= set(READER_SIGNS)
    assert not dict(list_signs(sample(), "en")).keys() & set(READER_SIGNS)


def classes(trace: Trace) -> list[str]:
    svg = ""
    for panel in PANELS.values():
        if panel.shows(trace):
            for step in range(len(trace) + 1):
                scene = panel.view(trace, step)
                svg += "".join(node.svg() for node in scene.nodes)
    return re.findall(r'class="([^"]*)"', svg)


def test_a_record_that_a_reader_is_given_again_has_its_sign() -> None:
    run = load(SCENARIOS / "kafka/idempotence-plain-retry.scn", SYSTEMS).run.trace
    once, twice = (reader.got for step in (0, -1) for reader in run.snapshot(step).readers[:1])
    assert [got.label for got in twice].count("b") == 2 and not once
    assert "again" in classes(run) and "again" in dict(list_signs(run, "en"))
    assert "again" not in classes(sample()) and "again" not in dict(list_signs(sample(), "en"))


# ---- Contrast of the colours in the style sheet: 4.5 : 1 for text, 3 : 1 for lines, both themes

TXNS = [f"t{i}" for i in range(7)]
TEXT = [
    *((name, "ground") for name in ("ink", "muted", "bad", "good", "accent", *TXNS)),
    *((name, "band") for name in ("ink", "muted", "bad", *TXNS)),
    *((name, "soft") for name in ("ink", "muted", "bad", "good")),
    *(("ink", f"b{i}") for i in range(7)),
    *(("ground", name) for name in ("f1", "f2", "f3", "good", "bad", *TXNS)),
]
LINES = [(name, "ground") for name in ("line", "f1", "f2", "f3", "accent", "good", "bad", *TXNS)]


def colours(theme: int) -> dict[str, str]:
    pairs = re.findall(r"--(\w[\w-]*): light-dark\((#\w{6}), (#\w{6})\)", css())
    return {name: pair[theme] for name, *pair in pairs}


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("pairs, least", [(TEXT, 4.5), (LINES, 3.0)], ids=["text", "lines"])
def test_contrast(theme: int, pairs: list[tuple[str, str]], least: float) -> None:
    known = colours(theme)
    weak = {
        f"{a} on {b}": round(found, 2)
        for a, b in pairs
        if (found := contrast(known[a], known[b])) < least
    }
    assert not weak


# ---- No story's title is cut: one line that is too short for it becomes two ----------

TITLES = [parse_script(path.read_text("utf-8")).title for path in SCENARIOS.rglob("*.scn")]
#: for each of some titles: [px that the top grows by, if it is cut, its size]
MEASURE = """(titles) => {
  const { mqlab } = document.querySelector(".mqlab"), top = document.querySelector(".top");
  const before = top.offsetHeight;
  return titles.map((text) => {
    mqlab.title.textContent = text;
    mqlab.keepTitle();
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = mqlab.title;
    return [top.offsetHeight - before, scrollWidth > clientWidth || scrollHeight > clientHeight + 1,
      getComputedStyle(mqlab.title).fontSize];
  });
}"""


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_picture_has_its_whole_title_and_stays_as_tall(
    browser: Any, tmp_path: Path, lang: str
) -> None:
    """At the width of JupyterLab's pane at 1280×800, and on a phone, where the top may grow."""
    page = browser.new_page(viewport={"width": 950, "height": 679})
    open_page(page, tmp_path, Player(sample(), step=21, lang=lang, title="Short"))
    titles = [title.of(lang) for title in TITLES]
    found = dict(zip(titles, page.evaluate(MEASURE, titles), strict=True))
    assert [title for title, (grown, cut, _) in found.items() if grown or cut] == []
    assert {size for *_, size in found.values()} == {"15px", "12.24px"}
    page.set_viewport_size({"width": 390, "height": 679})
    assert [cut for _, cut, _ in page.evaluate(MEASURE, titles) if cut] == []
    page.close()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_still_has_its_whole_title(lang: str) -> None:
    trace = sample()
    for title in sorted(TITLES, key=lambda title: width(title.of(lang)))[-20:]:
        still = Player(replace(trace, title=Text(title.en, title.zh)), step=21, lang=lang).svg()
        lines = [unescape(line) for line in re.findall(r'class="title[^>]*>([^<]*)', still)]
        assert "".join(lines).replace(" ", "") == title.of(lang).replace(" ", "")


# ---- Rows below a log's strip: how far each of its readers has come ------------------


def read_by(*readers: Progress, cells: int = 4, name: str = "orders-0") -> dict[str, Node]:
    """The strip of a log, with a row for each of its readers."""
    log = Log(name, tuple(Cell(i, f"r{i}") for i in range(cells)), progress=readers)
    return draw("logs", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)


def test_each_reader_of_a_log_has_a_row_below_its_strip() -> None:
    held = Stretch(1, 1, "T1", refused="T2")
    seen = read_by(
        Progress("billing", 1, (Stretch(0, 0), held, Stretch(2, 2))), Progress("audit", 0)
    )
    done = [seen[f"done:orders-0:billing:{at}:"].attrs for at in (0, 2)]
    assert [float(a["x"]) for a in done] == [0, 84] and {a["width"] for a in done} == {38}
    assert seen["by:orders-0:billing:1:T1"].text == "T1"
    assert "cross" in str(seen["refused:orders-0:billing:1:T1"].attrs["class"])
    assert seen["cursor:orders-0:billing"].attrs["transform"] == "translate(40,0)"
    names = [float(seen[f"reader:orders-0:{name}"].attrs["y"]) for name in ("billing", "audit")]
    assert names == sorted(names) and names[1] - names[0] > 12
    assert "free:orders-0:audit:3" in seen and "done:orders-0:audit:0:" not in seen


def test_what_a_reader_has_done_long_ago_ends_at_the_edge() -> None:
    seen = read_by(Progress("s", 38, (Stretch(0, 37),)), Progress("far", 2), cells=40)
    bar = seen["done:orders-0:s:0:"].attrs
    first = min(int(key.rpartition(":")[2]) for key in seen if key.startswith("free:orders-0:s:"))
    assert float(bar["x"]) == first * 42
    assert float(bar["x"]) + float(bar["width"]) == 37 * 42 + 38
    assert "cursor:orders-0:far" not in seen


def test_short_names_stand_beside_rows_where_a_long_one_stands_above_its_strip() -> None:
    logs = (
        Log("orders-0", (Cell(0, "a"),), progress=(Progress("billing", 0),)),
        Log("__a_log_with_a_very_long_name", (Cell(0, "b"),)),
    )
    seen = draw("logs", Trace("s", (), (), (Snapshot(logs=logs),)), 0)
    assert float(seen["view:orders-0"].attrs["x"]) > width("orders-0", 11.5, bold=True)
    assert float(seen["view:__a_log_with_a_very_long_name"].attrs["x"]) == 0


# ---- A click in a Playground is answered with its picture; those of the past follow when asked

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
