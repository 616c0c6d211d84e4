"""No story's title is cut: one line that is too short for it becomes two."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Player
from mqlab_widgets.widths import width

from mqlab.kernel.text import Text
from mqlab.places import SCENARIOS
from mqlab.scenario import parse_script

from .sample import sample
from .test_browser import open_page

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
