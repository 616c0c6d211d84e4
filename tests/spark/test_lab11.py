"""What lab 11 computes in plain Python is what the Spark job does when it is killed. What the right
rules come to, and the databases, is seen in the notebook itself, whose outputs nbval compares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqlab.lessons.check import Belief
from mqlab.lessons.spark import decide, two_phase
from mqlab.lessons.spark.kill_bench import Bench, bestsellers, copies
from mqlab.lessons.spark.lab11 import DEATHS, kill_broker
from mqlab.spark import Point
from mqlab.spark.crashes import Cell

pytestmark = pytest.mark.needs("java")
spread = pytest.mark.spread("mqlab/spark", "mqlab/lessons/spark")
RULES = {one.name: one.rule for one in decide.BELIEFS}
ENDED = list(
    zip(
        two_phase.BELIEFS[:2],
        (Point.NEXT, Point.COMMITTED),
        (two_phase.DEATHS[1], two_phase.DEATHS[0]),
        strict=True,
    )
)
PLAYED = list(zip(decide.STORIES, RULES.values(), strict=True))  # each story refutes one belief


@pytest.fixture(scope="module")
def bench(broker_address: str) -> Iterator[Bench]:
    found = Bench(broker_address)
    yield found
    found.stop()


@spread
@pytest.mark.parametrize(("story", "rule"), PLAYED, ids=[one.title.en for one in decide.STORIES])
def test_a_wrong_rule_makes_the_sum_that_the_model_says(
    bench: Bench, story: decide.Story, rule: decide.Rule
) -> None:
    cell = bench._live(story, rule, lambda line: None)
    model = story.play(rule)
    assert cell.tenths == model.tenths != sum(decide.amounts_of_batches(decide.HALF_HOUR))
    assert bool(cell.stopped) == model.stopped
    assert model.decisions[-len(cell.asked) :] == list(cell.asked)


@spread
@pytest.mark.parametrize(
    ("belief", "point", "death"), ENDED, ids=[one.name for one in two_phase.BELIEFS[:2]]
)
def test_ended_otherwise_it_makes_the_sum_that_the_model_says(
    bench: Bench, belief: Belief, point: Point, death: two_phase.Death
) -> None:
    rule = belief.rule
    cell = bench.kill("two-phase", point, rule, say=lambda line: None)
    answer = rule(decide.KILLED, death.checkpoint)
    assert cell.asked == ((decide.KILLED, death.checkpoint, answer),)
    assert (
        cell.tenths == death.play(answer).tenths != sum(decide.amounts_of_batches(decide.HALF_HOUR))
    )


@pytest.fixture(scope="module")
def doubled(bench: Bench) -> Cell:
    """At least once, killed between commit and checkpoint."""
    return bench.kill("at-least-once", Point.COMMITTED, say=lambda line: None)


@spread
def test_a_double_shows_in_each_minute_and_not_in_a_ranking(bench: Bench, doubled: Cell) -> None:
    right = bench.kill("exactly-once", Point.COMMITTED, say=lambda line: None)
    assert set(copies(right.rows).values()) == {1} and set(copies(doubled.rows).values()) == {1, 2}
    assert bestsellers(right.rows) == bestsellers(doubled.rows)


@spread
def test_sparks_own_sink_doubles_what_at_least_once_doubles(bench: Bench, doubled: Cell) -> None:
    from mqlab.spark import IncomeError, topics
    from mqlab.spark.sinks import BUILT_IN

    if not topics.jars():  # it could not be fetched: one who asks for it is told why
        with pytest.raises(IncomeError, match=r"[Mm]aven"):
            bench.kill(BUILT_IN, Point.COMMITTED, say=lambda line: None)
        return
    own = bench.kill(BUILT_IN, Point.COMMITTED, say=lambda line: None)
    assert own.tenths == doubled.tenths > sum(decide.amounts_of_batches(decide.HALF_HOUR))


def test_the_income_is_right_although_the_broker_is_killed_three_times(spark: object) -> None:
    """Rows half out, after the commit, and all out before the commit: each in a batch of its own.
    The broker is always our own server: a real one is not killed here."""
    said: list[str] = []
    found = kill_broker(say=said.append)
    assert [line.partition(": ")[2] for line in said] == [point for _, point in DEATHS]
    assert len(set(found.pids)) == 4, "each death was followed by a new process"
    assert found.error == ""
    assert found.tenths == sum(decide.amounts_of_batches(decide.HALF_HOUR))
