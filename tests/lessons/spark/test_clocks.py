"""Lab 11's two jobs on one clock: what each has written when its process dies, and after."""

from __future__ import annotations

import pytest

from mqlab.kernel.trace import Trace
from mqlab.lessons.beside import put_beside
from mqlab.lessons.spark.decide import DECIDED, EARLY, HIDDEN, MOMENTS, NOTHING, RULE, play_both

ONCE = ["a1", "a2"]
TWICE = ["a1", "a1", "a2"]


def read(trace: Trace, step: int = -1) -> list[str]:
    return [got.label for got in trace.snapshot(step).readers[0].got]


def find_red(trace: Trace) -> set[str]:
    return {light.name for snapshot in trace.snapshots for light in snapshot.lights if not light.ok}


@pytest.mark.parametrize("killed", MOMENTS)
def test_both_are_right_whenever_they_are_killed(killed: str) -> None:
    pair = play_both(killed)
    for player in pair.players:
        assert read(player.trace) == ONCE and not find_red(player.trace)
        coming = (fact for fact in player.trace.facts[player.step :] if not fact.fold)
        assert next(coming).kind == "kill", "the picture opens just before the kill"


def test_after_the_decision_one_has_yet_to_show_it_and_the_other_to_note_it() -> None:
    pair = play_both(DECIDED)
    flink, spark = pair.players
    assert (read(flink.trace, flink.step), read(spark.trace, spark.step)) == ([], ["a1"])
    before, after = (
        {log.name: len(log.cells) for log in spark.trace.snapshot(at).logs}
        for at in (spark.step, pair.moments[-3][1])
    )
    assert (before["offsets"], before["commits"]) == (1, 0)
    assert (after["offsets"], after["commits"]) == (1, 1)


@pytest.mark.parametrize(
    ("killed", "flink", "spark"),
    [(NOTHING, ONCE, ONCE), (HIDDEN, TWICE, ONCE), (DECIDED, ONCE, TWICE)],
)
def test_without_its_rule_each_doubles_at_its_own_moment(
    killed: str, flink: list[str], spark: list[str]
) -> None:
    pair = play_both(killed, EARLY)
    assert [read(player.trace) for player in pair.players] == [flink, spark]
    assert ("written once" in find_red(pair.players[0].trace)) is (flink == TWICE)
    assert ("written once" in find_red(pair.players[1].trace)) is (spark == TWICE)


def test_the_order_behind_the_barrier_is_on_its_way_while_the_checkpoint_is_taken() -> None:
    """What a checkpoint cannot know: it is in the sink's memory, and is computed again."""
    facts = play_both(DECIDED, RULE).players[0].trace.facts
    taken = next(i for i, fact in enumerate(facts) if "completed cp1 {s1: 1" in fact.line())
    sent = [
        i for i, fact in enumerate(facts) if (fact.node, str(fact.text)) == ("sum", "record a2")
    ]
    assert len(sent) == 2 and sent[0] < taken < sent[1]


def test_stories_of_different_lengths_are_refused() -> None:
    story = "system micro_batches\nat 0\n---\n"
    with pytest.raises(ValueError, match="1 beside 2 blocks: a block of one is a block of"):
        put_beside(story, story + "\nfire driver trigger\n---\n")
