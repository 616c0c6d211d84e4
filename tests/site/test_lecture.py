"""The answer of each vote of the lecture is what its run shows, and no caption is about nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mqlab.cli import doctor, lecture, main
from mqlab.kernel import Trace
from mqlab.registry import scenario
from mqlab.registry.cases.prices import ORDER
from mqlab.site import pages, stories
from mqlab.site.stories import Scene, fill, read_scenes

SCENES = {scene.title.en: scene for scene in read_scenes()[1]}
EVERY = pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.title.en)


def find_scene(begin: str) -> Scene:
    """The scene whose title begins so."""
    (scene,) = (one for title, one in SCENES.items() if title.startswith(begin))
    return scene


def list_lines(trace: Trace, begin: str) -> list[str]:
    """The facts of a run whose line begins so, in English."""
    return [line for line in (fact.line("en") for fact in trace) if line.startswith(begin)]


def list_got(scene: Scene, position: int, reader: str) -> list[str]:
    snapshot = scene.trace.snapshot(position)
    return [got.label for one in snapshot.readers if one.name == reader for got in one.got]


def say_before(scene: Scene) -> str:
    """All that a student has seen before the vote, and the handout without its blanks."""
    earlier = list(SCENES.values())[: list(SCENES.values()).index(scene)]
    shown = [text.en for one in earlier for _, text in (*one.told, *one.cuts)]
    told = [text for one in earlier for text in (*one.options, one.ask, one.idea)]
    blanks = [fill(one.idea, answers=False) for one in SCENES.values()]
    return "\n".join([*SCENES, *shown, *told, *blanks, scene.ask]).lower()


@EVERY
def test_nothing_before_a_vote_holds_its_answer(scene):
    """A single word, such as *twice*, says something else elsewhere: it is in no title."""
    assert 1 <= scene.answer <= len(scene.options) == len(set(scene.options))
    before, titles = say_before(scene), " ".join(SCENES).lower()
    for hidden in (scene.options[scene.answer - 1], *re.findall(r"\[(.*?)\]", scene.idea)):
        shown = before if " " in hidden else titles
        assert not re.search(rf"\b{re.escape(hidden.lower())}\b", shown), hidden


@EVERY
def test_a_caption_stands_over_a_step_that_one_sees(scene):
    start = 0
    for end, caption in scene.cuts:
        assert not scene.trace.facts[end - 1].fold and end > start, caption
        start = end


def test_the_plans_are_as_long_as_they_say():
    told, scenes = read_scenes()
    assert len(scenes) == 7
    assert sum(scene.minutes for scene in scenes) == told["minutes"] == 90
    assert sum(scene.short for scene in scenes) == told["short"] == 45


def get_end(scene: Scene, caption: str) -> int:
    return next(end for end, one in scene.cuts if one.en == caption)


def test_any_part_of_a_committed_transaction_may_be_read():
    """In turn: nothing, the order alone, both; the client has heard ok before all three."""
    scene = find_scene("The commit has returned")
    assert scene.options[scene.answer - 1] == "none, one or both"
    ends = [end for end, caption in scene.cuts if caption.en.split()[0] not in ("A", "Both", "The")]
    half = get_end(scene, "The reader has the order alone.")
    for end, count in (ends[0], 0), (half, 1), (ends[-1], 2):
        assert len(list_got(scene, end, "read_committed")) == count
        assert list_lines(replace(scene.trace, facts=scene.trace.facts[:end]), "app ☞   commit: ok")


def test_who_dies_after_one_record_undoes_nothing_and_before_it_all():
    scene = find_scene("One order through Kafka")
    assert "one record is in the coordinator's log" in scene.options[scene.answer - 1]
    lines = ORDER["kafka"].text.splitlines()
    until = lines.index("run app: commit")
    undone = "kill app when=EndTxn#1 after=0", "fire coordinator timeout order-service"
    done = "kill coordinator when=PrepareCommit#1 after=1", "kill app\nrestart coordinator"
    for (before, after), outcome in (undone, "abort"), (done, "commit"):
        run = scenario("\n".join([*lines[:until], before, lines[until], after]))
        assert list_lines(run, f"coordinator → orders-0  WriteTxnMarkers {outcome}"), outcome


def test_an_open_transaction_hides_what_was_committed_after_it():
    scene = find_scene("Two producers")
    assert scene.options[scene.answer - 1] == "only A"
    assert list_got(scene, get_end(scene, "The reader gets A alone."), "read_committed") == ["A"]
    (first, then) = list_lines(scene.trace, "reader ☞")
    assert first.endswith("ok A") and then.endswith("ok B, C")
    assert list_lines(scene.trace, "fast ☞   commit: ok")


def test_the_brokers_question_alone_brings_the_order():
    """Nothing of the dead producer's decision is on its way."""
    scene = find_scene("RocketMQ")
    assert scene.options[scene.answer - 1] == "the broker asks another producer of the group"
    assert list_lines(scene.trace, "app → broker  EndTransaction") == []
    assert list_lines(scene.trace, "app ⇥") == []
    assert len(list_lines(scene.trace, "broker → twin  CheckTransactionState")) == 1
    assert list_got(scene, len(scene.trace), "stock") == ["T1"]


def test_pulsars_client_hears_an_exception_and_the_order_is_there():
    scene = find_scene("Pulsar: the coordinator")
    assert scene.options[scene.answer - 1] == "an exception, and the order is there"
    assert list_lines(scene.trace, "app ☞   commit t1: failed TransactionNotFoundException")
    assert list_lines(scene.trace, "stock ☞   receive stock: ok T1")


def test_a_row_whose_mark_was_never_sent_is_published_twice_and_applied_once():
    scene = find_scene("An outbox")
    assert scene.options[scene.answer - 1] == "in the topic twice, applied once"
    killed = next(fact.index for fact in scene.trace if fact.kind == "kill")
    before = [fact.line("en") for fact in scene.trace.facts[:killed]]
    assert not any(line.startswith("relay → shop  MarkSent") for line in before)
    assert list_lines(scene.trace, "relay ⇥") == []
    assert len(list_lines(scene.trace, "relay → broker  Publish orders T1")) == 2
    assert len(list_lines(scene.trace, "stock ▮ disk  applied T1")) == 1


def test_both_commits_of_a_zombie_and_its_twin_are_read():
    scene = find_scene("Pulsar: an old process")
    assert "Pulsar" in scene.ask and scene.options[scene.answer - 1] == "twice"
    for node in ("app", "twin"):
        assert list_lines(scene.trace, f"{node} ☞   commit t1: ok")
    assert list_lines(scene.trace, "shop ☞   receive s: ok a @0, a @1")


# ---- slides ----------------------------------------------------------------------------


@pytest.mark.needs("chromium", "driver")
def test_a_slide_for_each_vote_answer_and_caption(tmp_path, monkeypatch):
    told, scenes = read_scenes()
    monkeypatch.setattr(stories, "read_scenes", lambda: (told, scenes[6:]))
    pages._write_shared(tmp_path)
    known = {"version": "0", "brokers": {}, "count": 0, "pyodide": "", "lite": False}
    stories.write_lecture(pages._Pages(tmp_path, "en", known).page)
    out, (scene,) = tmp_path / "slides.pdf", scenes[6:]
    count = lecture.write_slides(tmp_path / "lecture", out)
    assert count == 2 + -(-len(scene.told) // lecture.ROWS) + len(scene.cuts)
    for thing in (rb"/Type /Page\b", rb"/Subtype /Image\b"):  # and no picture is there twice
        assert len(re.findall(thing, out.read_bytes())) == count


def test_without_chromium_a_line_says_how_to_get_slides(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "chromium", lambda: "")
    monkeypatch.setattr(lecture, "show_page", lambda args, name: 0)
    assert main(["lecture", "-o", str(tmp_path)]) == 0
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("no slides as a PDF: a .png, .gif or .pdf needs Chromium")
    assert "apt-get install chromium" in said and not [*tmp_path.iterdir()]
