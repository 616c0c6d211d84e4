"""The font that travels with the pictures, and what they look like where it cannot come along."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Player, style, widths
from mqlab_widgets.style import HERE, advances, font_css, font_of, page_css
from mqlab_widgets.widths import fit, width, wrap

from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace
from mqlab.lessons.atlas.brokers import BROKERS
from mqlab.lessons.atlas.map_panel import broker_map
from mqlab.lessons.atlas.timeline import timeline

from .fonts import SETS, TEXTS, chromium_with, compute_width, find_overlaps
from .sample import long_trace, sample
from .test_browser import OVERLAPS, open_page, step_of

TABLE = json.loads((HERE / "font" / "advances.json").read_text("utf-8"))


@pytest.fixture(scope="module", params=SETS)
def only(request: Any, launch: Callable[..., Any], tmp_path_factory: Any) -> Iterator[Any]:
    """A page of a Chromium that has one family of fonts."""
    folder = tmp_path_factory.mktemp("fonts")
    with chromium_with(launch, request.param, folder) as chromium:
        yield chromium.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")


# --- the files ----------------------------------------------------------------------------


def test_the_table_belongs_to_the_files() -> None:
    """To cut the font again, by `.ci/font`, is to commit the widths with it."""
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (HERE / "font").glob("*.woff2")
    }
    assert found == {name: entry["sha256"] for name, entry in TABLE.items()}


def test_the_licence_is_beside_them() -> None:
    text = (HERE / "font" / "OFL.txt").read_text("utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in text
    assert "The Inter Project Authors" in text and "The Noto Project Authors" in text


def test_a_long_page_stays_small() -> None:
    """The budget of a saved page with 2,000 facts, the font included."""
    assert len(font_css()) < 22_000
    assert len(Player(long_trace(2_000)).page()) <= 350_000


def test_every_glyph_of_the_narration_is_in_the_font() -> None:
    """What the engine says is legible on a machine without fonts for signs."""
    signs = advances(signs=True)
    missing = [char for char in "→⇒⇥✗▮↻⏲⇨☞·≠○●−…◂▶" if char not in signs | advances()]
    assert not missing


def test_a_page_brings_the_font_once() -> None:
    assert Player(sample()).page().count("@font-face") == len(TABLE)
    assert "@font-face" not in Player(sample()).svg(), "an <img> carries widths instead"


@pytest.mark.needs("chromium")
def test_a_notebook_gets_the_font_once_from_its_players(browser: Any) -> None:
    """Each font that comes lays a notebook out again, so a second player brings none."""
    page = browser.new_page()
    players = Player(sample()).html() + Player(sample()).html()
    page.set_content(f"<!doctype html><body>{players}</body>")
    page.wait_for_function("document.querySelectorAll('.mqlab[data-step]').length === 2")
    page.wait_for_function("[...document.fonts].some((face) => face.status === 'loaded')")
    styles = page.evaluate(
        "[...document.querySelectorAll('style')]"
        ".filter((el) => el.textContent.includes('@font-face')).map((el) => el.id)"
    )
    faces = page.evaluate("[...document.fonts].length")
    page.close()
    assert styles == ["mqlab-font"]
    assert faces == len(TABLE)


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("name", TABLE)
def test_the_widths_are_those_of_the_font(browser: Any, name: str) -> None:
    """Chromium draws each character of a file; Python's table says how wide it is."""
    family, weight = style._FAMILIES[name]
    page = browser.new_page()
    page.set_content(f"<!doctype html><style>{page_css()}</style>")
    measured = page.evaluate(
        """async ([font, chars]) => {
          await document.fonts.load(font, chars);
          const canvas = document.createElement("canvas").getContext("2d");
          canvas.font = font;
          return [...chars].map((char) => canvas.measureText(char).width);
        }""",
        [f'{weight[:3]} 1000px "{family}"', "".join(TABLE[name]["advances"])],
    )
    page.close()
    assert dict(zip(TABLE[name]["advances"], map(round, measured), strict=True)) == pytest.approx(
        TABLE[name]["advances"], abs=1
    )


# --- on machines with other fonts -------------------------------------------------------------


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_player_is_drawn_with_its_own_letters(only: Any, tmp_path: Path, lang: Any) -> None:
    trace = sample()
    open_page(only, tmp_path, Player(trace, step=0, lang=lang))
    for step in range(len(trace) + 1):
        only.fill(".slide input", str(step))
        assert step_of(only) == step
        assert only.evaluate(OVERLAPS) == [], f"step {step}"
        for text in only.evaluate(TEXTS):
            assert text["wide"] <= compute_width(text) + 0.6, text
            if set(text["text"]) <= advances().keys() and "mono" not in text["cls"]:
                assert text["wide"] == pytest.approx(compute_width(text), abs=0.6), text


PICTURES: dict[str, Callable[[], str]] = {
    "still": lambda: Player(sample(), step=21).svg(),
    "start": lambda: Player(sample(), step=0).svg(),
    "chinese": lambda: Player(sample(), step=21, lang="zh").svg(),
    "long": lambda: Player(long_trace(120)).svg(),
    "timeline": lambda: timeline().svg(),
    **{name: lambda name=name: broker_map(name).svg() for name in BROKERS},  # type: ignore[misc]
}


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("name", PICTURES)
def test_a_still_fits_whatever_letters_there_are(only: Any, name: str) -> None:
    only.set_content(f'<body style="margin:0">{PICTURES[name]()}</body>')
    texts = only.evaluate(TEXTS)
    wide, high = only.evaluate("""() => {
      const { right, bottom } = document.querySelector("svg").getBoundingClientRect();
      return [right, bottom];
    }""")
    assert len(texts) > 15
    for text in texts:
        assert text["wide"] == pytest.approx(compute_width(text), abs=1), text
        assert text["left"] >= -1 and text["right"] <= wide + 1, text
        assert text["top"] >= 0 and text["bottom"] <= high, text
    assert find_overlaps(texts) == []


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("name", PICTURES)
def test_python_knows_the_letters_of_each_class(browser: Any, name: str) -> None:
    page = browser.new_page()
    page.set_content(PICTURES[name]())
    texts = page.evaluate(TEXTS)
    page.close()
    for text in texts:
        size, bold, mono = font_of(text["cls"])
        assert text["size"] == size, text
        assert (text["weight"] == "600") == bold, text
        assert ("monospace" in text["family"]) == mono, text


# --- long and hostile texts -----------------------------------------------------------------


def test_a_text_costs_what_its_room_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be anybody's transactional id: 100,000 characters are cut before they are measured."""
    looked = 0
    real = widths._em

    def counting(*args: Any) -> float:
        nonlocal looked
        looked += 1
        return real(*args)

    monkeypatch.setattr(widths, "_em", counting)
    shown = fit("x" * 100_000, 200)
    assert shown.endswith("…") and width(shown) <= 200
    assert len(wrap("words " * 50_000, 200, lines=3)) == 3
    assert looked < 5_000


def test_a_run_with_a_long_id_is_drawn_at_the_cost_of_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0
    real = widths._em

    def counting(*args: Any) -> float:
        nonlocal looked
        looked += 1
        return real(*args)

    monkeypatch.setattr(widths, "_em", counting)
    player = Player(named("y" * 8_000))
    assert player.payload and player.svg()
    assert looked < 60 * 8_000


def named(words: str) -> Trace:
    """The sample with these words wherever a client may put some."""
    trace = sample()
    facts = tuple(replace(f, text=Text(words), label=Text(words), txn=words) for f in trace.facts)
    shots = tuple(
        replace(
            shot,
            logs=tuple(
                replace(x, cells=tuple(replace(c, label=words, txn=words) for c in x.cells))
                for x in shot.logs
            ),
            readers=tuple(
                replace(r, got=tuple(replace(g, label=words) for g in r.got)) for r in shot.readers
            ),
        )
        for shot in trace.snapshots
    )
    return replace(trace, facts=facts, snapshots=shots)
