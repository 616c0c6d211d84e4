"""The legend: every sign that views draw has a sentence in both languages, and stays small."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import replace

import pytest
from mqlab_widgets import Player
from mqlab_widgets.legend import AGAIN, EVIDENCE, MONEY_SIGNS, READER_SIGNS, SIGNS, list_signs
from mqlab_widgets.views import PANELS

from mqlab.kernel.snapshot import Cell, Log, Progress, Snapshot, Stretch
from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace
from mqlab.places import SCENARIOS
from mqlab.registry import SYSTEMS
from mqlab.scenario import load
from tests.widgets.sample import sample

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
