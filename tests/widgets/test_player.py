"""The player's output, read as text: what is in it, and what must never be."""

from __future__ import annotations

import base64
import json
import re
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from IPython.core.formatters import DisplayFormatter
from mqlab_widgets import Player

from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace

from .sample import long_trace, sample

EVIL = '</script><script>alert("x")</script>'


def payload(html: str) -> dict[str, object]:
    text = re.search(r'class="payload">([^<]+)<', html)
    assert text
    data: dict[str, object] = json.loads(zlib.decompress(base64.b64decode(text[1])))
    return data


def still(html: str) -> str:
    source = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert source
    return base64.b64decode(source[1]).decode()


def evil() -> Trace:
    trace = sample()
    facts = tuple(replace(f, text=Text(EVIL), why=Text(EVIL), label=Text("")) for f in trace.facts)
    return replace(trace, facts=facts, title=Text(EVIL), system=EVIL)


def test_one_output_with_still_payload_and_module() -> None:
    bundle = Player(sample(), step=21)._repr_mimebundle_()
    assert bundle.keys() == {"text/html", "text/plain"}
    html = bundle["text/html"]
    assert html.count("<img") == 1 and 'alt="Commit survives' in html
    assert payload(html)["v"] == 1
    assert "process killed" in bundle["text/plain"]
    assert "▶ o-0" in bundle["text/plain"]


def test_in_a_notebook_the_still_is_sent_first(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: sent.append(data))
    player = Player(sample(), step=21)
    given, _ = DisplayFormatter().format(player)  # as a terminal does
    assert not sent and given["text/plain"] == player.narration() and "<img" in given["text/html"]
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=True))
    assert DisplayFormatter().format(player) == ({}, {})
    seen, brought = sent
    assert "<img" in seen["text/html"] and "<script" not in seen["text/html"]
    assert seen["text/plain"] == player.narration()
    (name,) = re.findall(r'\bid="([^"]+)"', seen["text/html"])
    assert f"mountBrought('{name}')" in brought["text/html"] and "<img" not in brought["text/html"]
    assert payload(brought["text/html"]) == json.loads(json.dumps(player.payload))


def test_the_still_is_what_an_untrusted_notebook_shows() -> None:
    """Sanitised, an output loses scripts, styles and inline SVG: the <img> has to say it all."""
    html = Player(sample(), step=21).html()
    left = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.S)
    assert "<script" not in left and "<svg" not in left
    picture = still(left)
    ET.fromstring(picture)
    assert "<style>" in picture and "<script" not in picture
    assert "half of T1: torn until orders-1 has its marker" in picture
    assert "light-dark(#ffffff, #15181c)" in picture


def test_a_still_has_the_run_in_words_folded() -> None:
    html = Player(sample(), step=21).still_html()
    folded = re.search(r"<details><summary>(.*?)</summary><pre>(.*?)</pre></details>", html, re.S)
    assert folded and folded[1] == "The steps in words, 23 lines"
    assert unescape(folded[2]) == Player(sample(), step=21, title="").narration()
    past = Player(sample(), step=14).still_html(future=False)
    assert "The steps in words, 14 lines" in past and "process killed" not in past
    assert "文字叙述，共 23 行" in Player(sample(), lang="zh").still_html()


def test_a_long_run_is_told_in_words_around_the_step() -> None:
    html = Player(long_trace(2000), step=1000).still_html()
    lines = re.search(r"<pre>(.*?)</pre>", html, re.S)[1].splitlines()  # type: ignore[index]
    assert len(lines) == 202 and lines[0] == lines[-1] == "  …"
    assert "The steps in words, 2000 lines" in html and any(x.startswith("▶") for x in lines)


def test_two_players_on_one_page_share_no_id() -> None:
    one, two = (Player(sample()).html() for _ in range(2))
    ids = [re.findall(r'\bid="([^"]+)"', html) for html in (one, two)]
    assert len(ids[0]) == len(ids[1]) == 1
    assert ids[0] != ids[1]
    assert not re.findall(r'\bid="', still(one))


def test_text_from_a_run_is_data_everywhere() -> None:
    player = Player(evil(), step=5)
    for html in (player.html(), player.page()):
        assert 'alert("x")' not in html
        assert "alert(&quot;x&quot;)" in html  # the title or the alternative text, escaped
    assert "<script" not in player.svg()


def test_control_characters_leave_a_still_well_formed() -> None:
    """XML 1.0 has no way to write them, not even escaped; half a pair cannot even be encoded."""
    words = "a\0b\x1bc\x0cd\ud800e\uffff"
    facts = tuple(replace(f, text=Text(words), why=Text(words)) for f in sample().facts)
    player = Player(replace(sample(), facts=facts, title=Text(words)), step=5)
    picture = ET.fromstring(player.svg())
    assert "a␀b␛c␌d�e�" in "".join(picture.itertext())
    assert "a␀b␛c␌d�e�" in picture.attrib["aria-label"]
    assert player.page().encode()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "1.5", '"3"'])
def test_a_trace_whose_numbers_are_none_is_refused(number: str) -> None:
    """A browser's JSON knows no NaN: the page would stay a still for ever."""
    text = json.dumps(sample().to_json()).replace('"index": 2,', f'"index": {number},', 1)
    with pytest.raises(ValueError, match="expected a whole number"):
        Trace.from_json(json.loads(text))


def test_save_by_ending(tmp_path: Path) -> None:
    player = Player(sample())
    svg = player.save(tmp_path / "step.svg").read_text("utf-8")
    assert svg.startswith("<svg") and ET.fromstring(svg).tag.endswith("svg")
    page = player.save(tmp_path / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") and "http://" not in page.replace(
        "http://www.w3.org/2000/svg", ""
    )
    with pytest.raises(ValueError, match=r"\.svg or \.html"):
        player.save(tmp_path / "step.png")


def test_mistakes_are_told_with_what_to_do() -> None:
    with pytest.raises(TypeError, match="did you mean 'title'"):
        Player(sample(), titel="x")
    with pytest.raises(ValueError, match="positions 0 to 23"):
        Player(sample(), step=24)
    with pytest.raises(ValueError, match="did you mean logs"):
        Player(sample(), panels=["log"])
    with pytest.raises(ValueError, match="'en' and 'zh'"):
        Player(sample(), lang="de")  # type: ignore[arg-type]


def test_steps_count_from_both_ends() -> None:
    assert Player(sample()).step == 23
    assert Player(sample(), step=-2).step == 22
    assert Player(sample(), step=0).step == 0


def test_only_the_panels_that_were_asked_for() -> None:
    data = Player(sample(), panels=["space-time", "logs"]).payload
    assert [p["name"] for p in data["panels"]] == ["space-time", "space-time/all", "logs"]


def test_chinese() -> None:
    player = Player(sample(), step=21, lang="zh")
    assert "协调者崩溃" in player.svg()
    assert "第 21 步" in player.caption
    assert 'lang="zh"' in player.html()


def test_marks_of_the_slider() -> None:
    facts = Player(sample()).payload["meta"]["facts"]
    marks = [fact["mark"] for fact in facts]
    assert marks[17] == "crash" and marks[1] == "durable" and marks[0] == ""
    assert [i for i, fact in enumerate(facts, 1) if fact.get("fold")] == [3, 7, 10, 13]


def test_a_trace_without_facts() -> None:
    trace = sample()
    player = Player(replace(trace, facts=(), snapshots=trace.snapshots[:1]))
    assert "before the first step" in player.svg()
    assert payload(player.html())["steps"] == 1


def test_a_picture_of_two_panels_is_one_idea_without_chips() -> None:
    calm = Player(sample(), panels=("diagram", "readers"))
    shown = list(calm.payload["meta"]["panels"])
    assert shown == ["space-time", "space-time/all", "readers", "readers/wide"]
    assert calm.payload["meta"]["system"] == "" and calm.payload["meta"]["calm"]
    assert 'class="chip"' not in calm.svg() and 'class="chip"' in Player(sample()).svg()
    assert not Player(sample(), panels=("diagram", "readers", "logs")).payload["meta"]["calm"]
