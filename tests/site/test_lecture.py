"""The answer of each vote of the lecture is what its run shows, and no caption is about nothing."""

from __future__ import annotations

import pytest

from mqlab.kernel import Trace
from mqlab.site.stories import Scene, read_scenes

SCENES = {scene.title.en: scene for scene in read_scenes()[1]}
VOTES = [scene for scene in SCENES.values() if scene.ask]


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


@pytest.mark.parametrize("scene", VOTES, ids=lambda scene: scene.title.en)
def test_a_vote_does_not_hold_its_answer(scene):
    assert scene.options[scene.answer - 1].lower() not in scene.ask.lower()


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.title.en)
def test_a_caption_stands_over_a_step_that_one_sees(scene):
    start = 0
    for end, caption in scene.cuts:
        assert any(not fact.fold for fact in scene.trace.facts[start:end]), caption
        start = end


def test_any_part_of_a_committed_transaction_may_be_read():
    scene = find_scene("A commit that")
    assert scene.options[scene.answer - 1] == "any part of it"
    (end, _), *_ = reversed(scene.cuts)
    assert list_got(scene, end, "read_committed") == ["a"]
    assert list_lines(scene.trace, "coordinator ⇒ app  ok epoch=1")


def test_the_brokers_question_alone_brings_the_order():
    """Nothing of the dead producer's decision is on its way."""
    scene = find_scene("RocketMQ")
    assert scene.options[scene.answer - 1] == "the broker asks another producer of the group"
    assert list_lines(scene.trace, "app → broker  EndTransaction") == []
    assert list_lines(scene.trace, "app ⇥") == []
    assert len(list_lines(scene.trace, "broker → twin  CheckTransactionState")) == 1
    assert list_got(scene, len(scene.trace), "stock") == ["T1"]


def test_pulsars_client_hears_an_exception_and_the_order_is_there():
    scene = find_scene("Pulsar")
    assert scene.options[scene.answer - 1] == "an exception, and the order is there"
    assert list_lines(scene.trace, "app ☞   commit t1: failed TransactionNotFoundException")
    assert list_lines(scene.trace, "stock ☞   receive stock: ok T1")


def test_a_row_whose_mark_was_never_sent_is_published_twice_and_applied_once():
    scene = find_scene("The relay of an outbox")
    assert scene.options[scene.answer - 1] == "once"
    killed = next(fact.index for fact in scene.trace if fact.kind == "kill")
    before = [fact.line("en") for fact in scene.trace.facts[:killed]]
    assert not any(line.startswith("relay → shop  MarkSent") for line in before)
    assert list_lines(scene.trace, "relay ⇥") == []
    assert len(list_lines(scene.trace, "relay → broker  Publish orders T1")) == 2
    assert len(list_lines(scene.trace, "stock ▮ disk  applied T1")) == 1


def test_both_commits_of_a_zombie_and_its_twin_are_read():
    scene = find_scene("An old process")
    assert "Pulsar" in scene.ask and scene.options[scene.answer - 1] == "twice"
    for node in ("app", "twin"):
        assert list_lines(scene.trace, f"{node} ☞   commit t1: ok")
    assert list_lines(scene.trace, "shop ☞   receive s: ok a @0, a @1")
